"""The cost of reassembly with scapy's TCPSession, the usual approach in Python, packet by packet.

Every session object gets each packet's payload and waits for a NUL, as a STOMP layer of scapy would.
"""

from __future__ import annotations

import sys
from typing import Any


def main() -> None:
    """Read a capture whole: python -m benchmarks.scapy_sessions CAPTURE."""
    from scapy.layers.inet import TCP
    from scapy.layers.l2 import Ether  # noqa: F401 - registers the link layer
    from scapy.packet import Packet, Raw, bind_layers
    from scapy.sendrecv import sniff
    from scapy.sessions import TCPSession

    class Frame(Packet):
        """Octets up to a NUL."""

        name = "frame"

        @classmethod
        def tcp_reassemble(cls, data: bytes, metadata: dict[str, Any], session: dict[str, Any]) -> Packet | None:
            return Raw(data) if data.endswith((b"\0", b"\n")) else None

    bind_layers(TCP, Frame, dport=61613)
    bind_layers(TCP, Frame, sport=61613)
    sniff(offline=sys.argv[1], session=TCPSession, store=False)


if __name__ == "__main__":
    main()
