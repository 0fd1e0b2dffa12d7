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
NotRules = Annotated[
    list[str] | None, typer.Option("--not-rule", metavar="ID", help="No findings of this rule; repeatable.", show_default=False)
]
Level = Annotated[
    str | None,
    typer.Option("--level", metavar="LEVEL", help="Only frames with a finding of this level or a graver one: MUST, SHOULD, INFO.",
                 show_default=False),
]  # fmt: skip
Only = Annotated[
    str | None,
    typer.Option("--only", metavar="WHAT", help="Only findings, errors (ERROR frames), slow (acknowledged after --slower-than, else 1 s), "
                 "unsettled (MESSAGEs without an ACK that counts), or incidents (ERRORs, silences, gaps, resets, unsettled, findings "
                 "of MUST rules).",
                 show_default=False),
]  # fmt: skip
Slower = Annotated[
    str | None,
    typer.Option("--slower-than", metavar="TIME", help="Only ACKs and NACKs that came later than this after their MESSAGE: 40ms, 1.5s.",
                 show_default=False),
]  # fmt: skip
Begin = Annotated[
    str | None, typer.Option("--from", metavar="TIME", help="Only what was complete at this time or later.", show_default=False)
]
End = Annotated[str | None, typer.Option("--to", metavar="TIME", help="Only what was complete before this time.", show_default=False)]
Grep = Annotated[
    str | None,
    typer.Option("--grep", metavar="PATTERN", help="Only frames whose headers, body or findings match this regular expression.",
                 show_default=False),
]  # fmt: skip
Streams = Annotated[
    list[str] | None,
    typer.Option("--stream", metavar="ID", help="Only the stream with this id or its first digits; repeatable.", show_default=False),
]
Logins = Annotated[
    list[str] | None, typer.Option("--login", metavar="NAME", help="Only sessions with this login; repeatable.", show_default=False)
]
Clients = Annotated[
    list[str] | None,
    typer.Option("--client", metavar="NAME", help="Only sessions of this client: address, client-id, user-agent or library; repeatable.",
                 show_default=False),
]  # fmt: skip
Ports = Annotated[
    list[int] | None,
    typer.Option("--port", metavar="PORT", help="Only sessions with this port at either end; repeatable.", show_default=False),
]
Summary = Annotated[bool, typer.Option("--summary", help="One line a session.")]
Hex = Annotated[bool, typer.Option("--hex", help="The bytes of each frame with a finding, in hex and text; secrets are masked.")]
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
    not_rule: NotRules = None
    level: Level = None
    only: Only = None
    slower_than: Slower = None
    begin: Begin = None
    end: End = None
    grep: Grep = None
    count: Most = None


@dataclass(frozen=True)
class Sessions:
    """Which sessions are shown."""

    stream: Streams = None
    login: Logins = None
    client: Clients = None
    port: Ports = None


@dataclass(frozen=True)
class Output:
    """How they are shown."""

    absolute: Absolute = False
    time_zone: common.TimeZone = "UTC"
    headers: Headers = False
    octets: Hex = False
    form: Form = "text"
    as_json: Json = False
