"""The options that many commands share, and the session they work in."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from stompcap.errors import EnvironmentProblem, UsageError
from stompcap.options import LIMIT_VARIABLE, SPLIT_OCTETS, STOMP_PORTS, Options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from stompcap.spark.session import LazySession

Lake = Annotated[str, typer.Option("--lake", help="The lake: a directory or URI, one Delta table a folder.", show_default=False)]
Master = Annotated[str | None, typer.Option("--master", help="Spark master; local[*] unless spark-submit has set one.", show_default=False)]
Conf = Annotated[list[str] | None, typer.Option("--conf", help="Spark setting KEY=VALUE; repeatable.", show_default=False)]
Source = Annotated[str, typer.Option("--source", help="Name of the capture point.")]
BodyPreview = Annotated[int, typer.Option("--body-preview", min=0, max=1 << 20, help="Octets of each body kept as text.")]
KeepCredentials = Annotated[bool, typer.Option("--keep-credentials", help="Keep passcodes instead of overwriting them.")]
AckScope = Annotated[str, typer.Option("--ack-scope", help="What a cumulative ACK settles: auto, subscription or connection.")]
SettingsFile = Annotated[
    str | None, typer.Option("--settings", help="TOML file of rule severities and thresholds; docs/rules.md.", show_default=False)
]
Overlap = Annotated[
    str, typer.Option("--overlap", help="Which octets stand where captured segments differ: the first that came, or the last.")
]
Ports = Annotated[
    str,
    typer.Option(
        "--ports", show_default=False,
        help="Ports, comma-separated, where STOMP is believed of a connection that is caught in the middle and shows no whole frame; "
        f"always: {', '.join(map(str, sorted(STOMP_PORTS)))}. What begins with STOMP is found on any port.",
    ),
]  # fmt: skip
AllPorts = Annotated[
    bool,
    typer.Option(
        "--all-ports", help="Look for a frame in the first 16 MiB of a direction that is caught in the middle, not in the first MiB alone."
    ),
]
Vlan = Annotated[bool, typer.Option("--vlan", help="Take VLAN ids for part of a connection: two VLANs may carry the same addresses.")]
Tunnels = Annotated[bool, typer.Option("--tunnels/--no-tunnels", help="Look into tunnels (GRE, VXLAN, ...), or take their outer packets.")]
SplitOctets = Annotated[
    int, typer.Option("--split-octets", min=1 << 16, help="Octets of a capture one task reads; the tables are the same for any number.")
]
MaxDecompressed = Annotated[
    int | None,
    typer.Option(
        "--max-decompressed", min=1, show_default=False,
        help=f"Octets that a compressed capture may decompress to; {LIMIT_VARIABLE} or 64 GiB where it is not given.",
    ),
]  # fmt: skip
Wait = Annotated[
    float,
    typer.Option(
        "--wait", min=0, metavar="[SECONDS]", show_default=False,
        help="Wait for another run that holds the lake, so long at most; without a number until it has ended.",
    ),
]  # fmt: skip
Json = Annotated[bool, typer.Option("--json", help="A machine-readable summary on standard output, nothing else there.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress, no summary.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Say more, with tracebacks of errors.")]


@dataclass(frozen=True)
class Reading:
    """How captures are read."""

    source: Source = "default"
    overlap: Overlap = "first"
    ports: Ports = ""
    all_ports: AllPorts = False
    vlan: Vlan = False
    tunnels: Tunnels = True
    split_octets: SplitOctets = SPLIT_OCTETS
    max_decompressed: MaxDecompressed = None


@dataclass(frozen=True)
class Where:
    """Where Spark runs and how it is set, and how long the command waits for a lake that another one holds."""

    master: Master = None
    conf: Conf = None
    wait: Wait = 0.0


@dataclass(frozen=True)
class Telling:
    """What a command says while it works and at its end."""

    as_json: Json = False
    quiet: Quiet = False
    verbose: Verbose = False


def options(
    reading: Reading = Reading(),
    *,
    body_preview: int = 256,
    keep_credentials: bool = False,
    ack_scope: str = "auto",
    settings: str | None = None,
) -> Options:
    """The options as a record; raises UsageError for words and numbers that make no sense."""
    if ack_scope not in ("auto", "subscription", "connection"):
        raise UsageError(f"--ack-scope {ack_scope}: say auto, subscription or connection")
    if reading.overlap not in ("first", "last"):
        raise UsageError(f"--overlap {reading.overlap}: say first or last")
    extra = set()
    for word in filter(None, (part.strip() for part in reading.ports.split(","))):
        if not word.isdecimal() or not 0 < int(word) < 65536:
            raise UsageError(f"--ports {word}: not a port number (1 to 65535)")
        extra.add(int(word))
    found = Options(
        reading.source, STOMP_PORTS | extra, reading.all_ports, body_preview, keep_credentials, ack_scope, reading.overlap,
        reading.split_octets, vlan=reading.vlan, tunnels=reading.tunnels, max_decompressed=reading.max_decompressed,
    )  # fmt: skip
    if settings is None:
        return found
    from stompcap.rules import settings_of

    return replace(found, settings=settings_of(settings))


def with_seconds(words: Sequence[str]) -> list[str]:
    """A command line in which every --wait has its seconds."""
    found: list[str] = []
    for word, after in zip(words, [*words[1:], ""], strict=True):
        found.append("--wait=inf" if word == "--wait" and not after.replace(".", "", 1).isdecimal() else word)
    return found


def demand_place(output: str) -> None:
    """Raise EnvironmentProblem where a file of this name cannot be written, before anything is done for it; older ones are replaced."""
    folder = os.path.dirname(output) or "."
    if not os.path.isdir(folder):
        wrong = errno.ENOTDIR if os.path.exists(folder) else errno.ENOENT
    elif os.path.isdir(output):
        wrong = errno.EISDIR
    elif not os.access(folder, os.W_OK | os.X_OK):
        wrong = errno.EROFS if os.statvfs(folder).f_flag & os.ST_RDONLY else errno.EACCES
    else:
        return
    raise EnvironmentProblem(f"{output}: cannot be written ({os.strerror(wrong)}); name another file with -o")


def session(master: str | None, conf: list[str] | None) -> LazySession:
    """The session of a command, not yet begun; raises UsageError for a malformed --conf."""
    from stompcap.spark.session import LazySession, get_session, hush, named_master

    settings = {}
    for item in conf or []:
        key, sign, value = item.partition("=")
        if not sign or not key:
            raise UsageError(f"--conf {item}: say KEY=VALUE")
        settings[key] = value

    def make() -> SparkSession:
        made = get_session(master, settings)
        hush()
        return made

    return LazySession(make, settings.get("spark.master") or named_master(master))
