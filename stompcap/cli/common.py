"""The options that several commands share, and the session they work in."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stompcap import logs, units, zones
from stompcap.errors import EnvironmentProblem, UsageError
from stompcap.options import ACK_SCOPES, KEYLOG_VARIABLE, LIMIT_VARIABLE, OVERLAPS, STOMP_PORTS, Options, one_of
from stompcap.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from stompcap.spark.session import LazySession

Lake = Annotated[str, typer.Option("--lake", help="The lake: a directory or URI, one folder per Delta table.", show_default=False)]
Master = Annotated[str | None, typer.Option("--master", help="Spark master; local[*] unless spark-submit has set one.", show_default=False)]
Conf = Annotated[list[str] | None, typer.Option("--conf", help="Spark setting KEY=VALUE; repeatable.", show_default=False)]
Source = Annotated[str, typer.Option("--source", help="Name of the capture point.")]
OfSource = Annotated[str | None, typer.Option("--source", help="Only what this capture point saw.", show_default=False)]
BodyPreview = Annotated[int, typer.Option("--body-preview", min=0, max=1 << 20, help="Bytes of each body kept as text.")]
KeepCredentials = Annotated[bool, typer.Option("--keep-credentials", help="Keep secrets instead of masking them; docs/secrets.md.")]
AckScope = Annotated[str, typer.Option("--ack-scope", help="What a cumulative ACK settles: auto, subscription or connection.")]
SettingsFile = Annotated[
    str | None, typer.Option("--settings", help="TOML file: rules, thresholds, secret headers; docs/rules.md.", show_default=False)
]
Overlap = Annotated[
    str, typer.Option("--overlap", help="Which bytes are kept where captured segments differ: first captured or last.")
]
IdleTimeout = Annotated[
    str, typer.Option("--idle-timeout", help="Silence (30min, 24h, 7d) after which packets of the same endpoints are another connection.")
]
Ports = Annotated[
    str,
    typer.Option(
        "--ports", show_default=False,
        help="Ports of servers, comma-separated, on which a command's line shows STOMP in a connection captured mid-stream, and EOLs alone "
        f"do; always: {', '.join(map(str, sorted(STOMP_PORTS)))}. Other STOMP connections are found on any port.",
    ),
]  # fmt: skip
AllPorts = Annotated[
    bool,
    typer.Option(
        "--all-ports", help="Search the first 16 MiB of a direction captured mid-stream for a frame, not just the first MiB."
    ),
]
Vlan = Annotated[bool, typer.Option("--vlan", help="Separate connections by VLAN id: two VLANs may use the same addresses.")]
Tunnels = Annotated[bool, typer.Option("--tunnels/--no-tunnels", help="Read inner packets of tunnels (GRE, VXLAN, ...), or outer ones.")]
KeyLogs = Annotated[
    list[str] | None,
    typer.Option(
        "--keylog", metavar="PATH", show_default=False,
        help="Key log of TLS (SSLKEYLOGFILE's format): a file, folder, glob or URI; repeatable. Sessions that it has the secrets of are "
        f"read. Default: {KEYLOG_VARIABLE}.",
    ),
]  # fmt: skip
SplitOctets = Annotated[
    int, typer.Option("--split-octets", min=1 << 16, help="Bytes of a capture that one task reads; the tables do not depend on it.")
]
MaxDecompressed = Annotated[
    int | None,
    typer.Option(
        "--max-decompressed", min=1, show_default=False,
        help=f"Refuse compressed captures larger than this when unpacked, in bytes; default {LIMIT_VARIABLE}, else 64 GiB.",
    ),
]  # fmt: skip
TimeZone = Annotated[
    str, typer.Option("--time-zone", metavar="ZONE", help="Time zone of the times shown: an IANA name such as Europe/Berlin, or local.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else there.")]


def _known_format(value: str) -> str:
    """The option --log-format, which takes effect before commands begin (`stompcap.cli.entry`); raises UsageError for another word."""
    if value not in logs.FORMATS:
        raise UsageError(f"--log-format {value}: must be {one_of(logs.FORMATS)}")
    return value


LogFormat = Annotated[
    str,
    typer.Option(
        "--log-format", metavar="text|json", callback=_known_format,
        help="json: standard error has one JSON object a line, and run and watch print no summary; docs/logs.md.",
    ),
]  # fmt: skip
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress, no summary.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print more, with tracebacks of errors.")]


Wait = Annotated[
    float,
    typer.Option(
        "--wait", min=0, metavar="[SECONDS]", show_default=False,
        help="Wait for another run that holds the lake, for so long at most; without a number until it has ended.",
    ),
]  # fmt: skip


KeepReplaced = Annotated[
    str,
    typer.Option(
        "--keep-replaced", metavar="DURATION",
        help="How long to keep files that runs replaced, for readers of older versions and followers of the change feed (10min, 1h, 1d).",
    ),
]  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """How captures are read."""

    source: Source = Options.source
    overlap: Overlap = Options.overlap
    idle_timeout: IdleTimeout = f"{Options.idle_timeout // 3600}h"
    ports: Ports = ""
    all_ports: AllPorts = Options.all_ports
    vlan: Vlan = Options.vlan
    tunnels: Tunnels = Options.tunnels
    keylog: KeyLogs = None
    split_octets: SplitOctets = Options.split_octets
    max_decompressed: MaxDecompressed = Options.max_decompressed


@dataclass(frozen=True)
class Where:
    """Where Spark runs and its settings, and how long the command waits for a lake that another run holds, and keeps what it replaced."""

    master: Master = None
    conf: Conf = None
    wait: Wait = 0.0
    keep_replaced: KeepReplaced = "1h"


@dataclass(frozen=True)
class Verbosity:
    """What a command prints while it works and at its end."""

    as_json: Json = False
    quiet: Quiet = False
    verbose: Verbose = False
    log_format: LogFormat = "text"


Reprocess = Annotated[
    bool,
    typer.Option(
        "--reprocess", help="Compute connections of the lake anew from their captures, with these options: all of --source, or those of "
        "the captures named, narrowed by --stream, --from and --to.",
    ),
]  # fmt: skip


def streams_named(only: str = "") -> Any:
    """The option --stream; `only` begins its help where the option counts in one case only."""
    says = f"{only}this stream_id, or enough first digits of it; repeatable."
    return typer.Option("--stream", metavar="ID", help=says[0].upper() + says[1:], show_default=False)


StreamIds = Annotated[list[str] | None, streams_named("With --reprocess: ")]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", help="With --reprocess: last packet at TIME (ISO 8601, UTC) or later.", show_default=False),
]
To = Annotated[str | None, typer.Option("--to", metavar="TIME", help="With --reprocess: first packet before TIME.", show_default=False)]


@dataclass(frozen=True)
class Again:
    """Which connections of the lake are computed again, if any; all that is given must hold."""

    reprocess: Reprocess = False
    stream: StreamIds = None
    since: From = None
    until: To = None


def options(
    reading: Reading = Reading(),
    *,
    body_preview: int = Options.body_preview,
    keep_credentials: bool = Options.keep_credentials,
    ack_scope: str = Options.ack_scope,
    settings: str | None = None,
) -> Options:
    """The options as a record; raises UsageError for invalid words and numbers."""
    if ack_scope not in ACK_SCOPES:
        raise UsageError(f"--ack-scope {ack_scope}: must be {one_of(ACK_SCOPES)}")
    if reading.overlap not in OVERLAPS:
        raise UsageError(f"--overlap {reading.overlap}: must be {one_of(OVERLAPS)}")
    extra = set()
    for word in filter(None, (part.strip() for part in reading.ports.split(","))):
        if not word.isdecimal() or not 0 < int(word) < 65536:
            raise UsageError(f"--ports {word}: not a port number (1 to 65535)")
        extra.add(int(word))
    found = Options(
        reading.source, STOMP_PORTS | extra, reading.all_ports, body_preview, keep_credentials, ack_scope, reading.overlap,
        reading.split_octets, vlan=reading.vlan, tunnels=reading.tunnels, max_decompressed=reading.max_decompressed,
        idle_timeout=seconds("--idle-timeout", reading.idle_timeout), keylog=key_logs(reading.keylog),
    )  # fmt: skip
    if settings is None:
        return found
    from stompcap.rules import settings_of

    chosen = settings_of(settings)
    if chosen.quality.expectations:
        from stompcap.quality.catalogue import derived, told

        known = derived().keys() | told().keys()
        for name, _ in chosen.quality.expectations:
            if name not in known:
                raise UsageError(f'{settings}: quality.expectations."{visible(name, 80)}": no such expectation; docs/quality.md lists them')
    if chosen.quality.suites:
        from stompcap.quality.user_suites import load

        for table, path in chosen.quality.suites:
            load(table, path)
    return replace(found, settings=chosen)


def key_logs(named: Sequence[str] | None) -> tuple[str, ...]:
    """The key logs named, or those that the environment names; raises CaptureError where one cannot be read, tells of one that is none."""
    given = list(named or filter(None, [os.environ.get(KEYLOG_VARIABLE)]))
    if not given:
        return ()
    from stompcap.assembly import key_logs as files
    from stompcap.capture import uris
    from stompcap.cli.stderr import to_stderr

    for name in given:
        found = files.of_files([name])
        if found.malformed and not found:
            to_stderr(f"{name}: no line of it is one of a key log (RFC 9850); check the name")
    return tuple(name if uris.is_uri(name) else os.path.abspath(uris.local(name)) for name in given)


def times_in(zone: str) -> AbstractContextManager[None]:
    """Times are shown in the zone that --time-zone names; raises UsageError where there is none."""
    try:
        return zones.showing(zones.find(zone))
    except ValueError as error:
        raise UsageError(f"--time-zone {visible(zone, 40)}: {error}") from error


def keep_replaced(where: Where) -> None:
    """Have this process keep replaced files as --keep-replaced says; raises UsageError where that is no duration."""
    from stompcap.lake import replaced

    replaced.keep(seconds("--keep-replaced", where.keep_replaced))


def seconds(option: str, text: str) -> int:
    """A duration in seconds; raises UsageError where it is none."""
    try:
        return units.seconds(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}") from error


def demand_place(output: str, remedy: str = "name another file with -o") -> None:
    """Raise EnvironmentProblem where a file of this name cannot be written, before any work is done; an existing file is replaced."""
    folder = os.path.dirname(output) or "."
    if not os.path.isdir(folder):
        wrong = errno.ENOTDIR if os.path.exists(folder) else errno.ENOENT
    elif os.path.isdir(output):
        wrong = errno.EISDIR
    elif not os.access(folder, os.W_OK | os.X_OK):
        wrong = errno.EROFS if os.statvfs(folder).f_flag & os.ST_RDONLY else errno.EACCES
    else:
        return
    raise EnvironmentProblem(f"{output}: cannot be written ({os.strerror(wrong)}); {remedy}")


def session(master: str | None, conf: list[str] | None) -> LazySession:
    """The session of a command, not yet started; raises UsageError for a malformed --conf."""
    from stompcap.spark.session import LazySession, get_session, hush, named_master

    settings = {}
    for item in conf or []:
        key, sign, value = item.partition("=")
        if not sign or not key:
            raise UsageError(f"--conf {item}: must be KEY=VALUE")
        settings[key] = value

    def make() -> SparkSession:
        made = get_session(master, settings)
        hush()
        return made

    return LazySession(make, settings.get("spark.master") or named_master(master))
