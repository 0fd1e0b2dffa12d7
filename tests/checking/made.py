"""Dialogues that are captures: what a client and a broker may say, well and ill."""

from __future__ import annotations

from pathlib import Path

from stompcap.checking import Dialogue

HOSTILE = "\x1b[31m%0A::error::x\n\r,:|`<script>alert(1)</script>](http://e)@all \u202e\ud800&\"'\x00"
"""What a peer may write where a test shows it: repaints terminals, ends lines, columns, attributes; mentions, links, scripts."""

CLIENT = b"CONNECT\naccept-version:1.2\nhost:h\n\n\0"
SERVER = b"CONNECTED\nversion:1.2\nserver:RabbitMQ/3.10.8\n\n\0"


def connected() -> Dialogue:
    """A connection of 1.2."""
    return Dialogue().client(CLIENT, at=0.1).server(SERVER, at=0.2)


def capture(folder: Path, dialogue: Dialogue, name: str = "made.pcap") -> str:
    """It as a file."""
    path = folder / name
    dialogue.write(path)
    return str(path)


def hostile(folder: Path) -> str:
    """A client that breaks rules with octets that are meant for who reads of it, in a file of such a name."""
    text = HOSTILE.replace("\n", "").replace("\0", "").encode("utf-8", "surrogatepass")
    dialogue = connected().client(b"SEND\nx:" + text + b"\n\n" + text + b"\0").client(b"ACK" + text + b"\n\n\0")
    return capture(folder, dialogue.close("client", at=2.0), "a,b:c%`|<b> \x1b[0m\u202e.pcap")
