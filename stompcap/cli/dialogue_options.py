"""The options of the commands that show dialogues: which frames, in which form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from stompcap.cli import common

Commands = Annotated[
    list[str] | None, typer.Option("--command", metavar="NAME", help="Only frames of this command; repeatable.", show_default=False)
]
Destinations = Annotated[
    list[str] | None,
    typer.Option("--destination", metavar="NAME", help="Only frames with this destination; repeatable.", show_default=False),
]
Rules = Annotated[
    list[str] | None, typer.Option("--rule", metavar="ID", help="Only frames with a finding of this rule; repeatable.", show_default=False)
]
Most = Annotated[int | None, typer.Option("-c", "--count", min=1, metavar="N", help="Stop after N frames.", show_default=False)]
Absolute = Annotated[bool, typer.Option("--absolute", help="Times of day instead of seconds since the session's first packet.")]
Headers = Annotated[bool, typer.Option("--headers", help="All headers of each frame; lines are not cut.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
Form = Annotated[str, typer.Option("--format", help="Output format: text, csv, json.")]


@dataclass(frozen=True)
class Frames:
    """Which frames are shown."""

    command: Commands = None
    destination: Destinations = None
    rule: Rules = None
    count: Most = None


@dataclass(frozen=True)
class Output:
    """How they are shown."""

    absolute: Absolute = False
    time_zone: common.TimeZone = "UTC"
    headers: Headers = False
    form: Form = "text"
    as_json: Json = False
