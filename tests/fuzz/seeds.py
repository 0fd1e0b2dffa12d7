"""What mutations begin with: small captures of every packaging, public traces where they are at hand."""

from __future__ import annotations

from pathlib import Path

from stompcap.capture import is_capture
from tests.e2e.truth import DATA
from tests.mangler.files import Write
from tests.mangler.packagings import ALL, Packaging, source
from tests.shared import SHARED

NAMES = ("rabbitmq_library.pcap", "artemis_heartbeats.pcapng")
PACKETS = 30  # of a recorded capture in a seed
LARGEST = 12_000  # octets of a public trace in use


def packaged(name: str, packaging: Packaging, folder: Path) -> list[bytes]:
    """The first packets of a recorded capture in a packaging, a seed for each file."""
    packets = packaging.change(source(DATA / name, packaging.micro, packaging.ipv6)[:PACKETS])
    frames = [frame for one in packets for frame in packaging.encapsulation.frames(one)]
    write: Write = packaging.write
    return [path.read_bytes() for path in write(folder, frames, packaging.encapsulation.link)]


def seeds(folder: Path) -> list[bytes]:
    """All of them; `folder` is an empty one to write in."""
    found = []
    for i, (name, packaging) in enumerate((name, packaging) for name in NAMES for packaging in ALL.values()):
        (place := folder / str(i)).mkdir()
        found += packaged(name, packaging, place)
    public = [path for path in sorted(SHARED.glob("captures/**/*")) if path.is_file() and path.stat().st_size <= LARGEST]
    return found + [path.read_bytes() for path in public if path.is_file() and is_capture(str(path))]
