"""`generate`: synthetic captures with their truth, for tests, training and sizing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stompcap import units
from stompcap.cli import common
from stompcap.errors import EnvironmentProblem, UsageError
from stompcap.visible import visible

if TYPE_CHECKING:
    from stompcap.generate.write import Request

NAMES = (
    "normal, slow-consumer, broken-heart-beats, violations, loss, rotation, journeys, journeys-activemq, day, incidents, "
    "websocket, deflate, sockjs, tls12, tls13, wss, proxy"
)
MOST_MESSAGES, MOST_BEATS = 200_000, 2_000_000
"""Of all connections of a group together: it is held in memory, some 2 GB then."""

Out = Annotated[
    str,
    typer.Argument(
        metavar="OUT.pcap",
        help="The capture to write or replace; the truth is OUT.truth.json, and of TLS the key log is OUT.keys.txt.",
        show_default=False,
    ),
]
Profile = Annotated[
    str,
    typer.Option(
        "--profile",
        metavar="NAME",
        help=f"{NAMES}. journeys are producers and consumers of one broker; day is services that are well, incidents an hour of them "
        "with known incidents; the last seven are one conversation, carried by each of these.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed and options give the same bytes.")]
Size = Annotated[
    str | None,
    typer.Option(
        "--size",
        help="At least so much (500MB, 1GB), in whole groups of connections; default one group. All groups are the same bytes, "
        "keys and masks of transports too: addresses and times differ.",
        show_default=False,
    ),
]
Connections = Annotated[int, typer.Option("--connections", min=1, max=10_000, help="Connections of a group; not of violations.")]
Messages = Annotated[
    int | None,
    typer.Option(
        "--messages",
        min=1,
        max=100_000,
        help="MESSAGE frames of each connection (default 50); of day and incidents, SEND frames of the busiest hour (default 3600).",
        show_default=False,
    ),
]
Duration = Annotated[
    str | None,
    typer.Option(
        "--duration",
        help="How long the connections of rotation live (default 7d), or the time that day (24h) and incidents (1h) take.",
        show_default=False,
    ),
]
Rotate = Annotated[str, typer.Option("--rotate", help="The time that each file of rotation takes.")]
Rules = Annotated[
    str, typer.Option("--rules", help="Rules to break, comma-separated; default all that have an example.", show_default=False)
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(generate)


def generate(
    output: Out,
    profile: Profile = "normal",
    seed: Seed = 0,
    size: Size = None,
    connections: Connections = 20,
    messages: Messages = None,
    duration: Duration = None,
    rotate: Rotate = "1h",
    rules: Rules = "",
    as_json: common.Json = False,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Write synthetic STOMP traffic, and beside it what the tables must say about it."""
    del verbose
    from stompcap.generate.profiles import Wanted
    from stompcap.generate.write import Request
    from stompcap.generate.write import generate as write

    lives, each = common.seconds("--duration", duration) if duration else 0, common.seconds("--rotate", rotate)
    broken = tuple(filter(None, (word.strip().upper() for word in rules.split(","))))
    wanted = Wanted(connections, messages or 50, lives, broken, hourly=messages or 3_600)
    request = Request(profile, seed, _octets(size), each, wanted)
    _demand(request)
    common.demand_place(output, "name another file")
    try:
        made = write(Path(output), request)
    except OSError as error:
        raise EnvironmentProblem(f"{output}: cannot be written ({error.strerror}); make room or name another file") from error
    names = [str(path) for path in made.paths]
    if as_json:
        found: dict[str, Any] = {"captures": names, "truth": str(made.truth), "octets": made.octets, "packets": made.packets}
        found |= {"keys": str(made.keys)} if made.keys else {}
        print(json.dumps(found | {"totals": made.totals}))
    elif not quiet:
        first = visible(names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more")
        frames = sum(made.totals["commands"].values())
        counts = [units.counted(made.packets, "packet"), units.counted(made.totals["connections"], "connection")]
        counts += [units.counted(frames, "frame")] * bool(frames)
        print(f"{first}: {units.size(made.octets)}, {', '.join(counts)}")
        print(f"{visible(str(made.truth))}: what the tables must say")
        if made.keys:
            print(f"{visible(str(made.keys))}: the keys that open it (--keylog)")


def _octets(size: str | None) -> int:
    """The size asked for; raises UsageError where it is none."""
    try:
        return units.octets(size) if size else 0
    except ValueError as error:
        raise UsageError(f"--size {visible(size or '', 20)}: {error}") from error


def _demand(request: Request) -> None:
    """Raise UsageError for what cannot be generated."""
    from stompcap.generate.profiles import BEAT_S, DAY_S, DAYS, PROFILES
    from stompcap.rules import RULES

    if request.profile not in PROFILES:
        raise UsageError(f"--profile {visible(request.profile, 20)}: must be one of {NAMES}")
    if request.wanted.rules and request.profile != "violations":
        raise UsageError("--rules: only violations break rules by choice; add --profile violations")
    if request.profile in ("rotation", *DAYS) and request.octets:
        raise UsageError(f"--size: {request.profile} is as large as --connections, --messages and --duration make it; leave --size out")
    if request.profile in DAYS:
        most = request.wanted.hourly * (request.wanted.duration_s or DAYS[request.profile]) // 3_600
        if most > MOST_MESSAGES:
            raise UsageError(f"--messages times the hours of --duration is {most:,}, at most {MOST_MESSAGES:,}; generate less")
        return
    of_all = request.wanted.connections * request.wanted.messages
    if request.profile not in ("violations", "broken-heart-beats") and of_all > MOST_MESSAGES:
        remedy = "generate fewer" if request.profile == "rotation" else "repeat a smaller group with --size"
        raise UsageError(f"--connections times --messages is {of_all:,}, at most {MOST_MESSAGES:,}; {remedy}")
    if request.profile == "rotation" and request.wanted.connections * ((request.wanted.duration_s or 7 * DAY_S) // BEAT_S) > MOST_BEATS:
        raise UsageError(f"--connections times --duration makes more than {MOST_BEATS:,} heart-beats; generate fewer or shorter ones")
    known = {rule.id for rule in RULES if rule.breaks and rule.observed != "L"}
    unknown = [rule for rule in request.wanted.rules if rule not in known]
    if unknown:
        raise UsageError(f"--rules {visible(unknown[0], 20)}: no rule with an example of how to break it; see docs/rules.md")
