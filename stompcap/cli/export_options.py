"""The options of `export`: which packets, and what of them is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

Original = Annotated[bool, typer.Option("--original", help="Write all bytes as they were captured, secrets and all.")]
Inner = Annotated[
    bool,
    typer.Option("--inner", help="Write what the stream carries as plain TCP, as the tables have it: a packet a frame, secrets masked."),
]
Anonymise = Annotated[
    bool,
    typer.Option("--anonymise", help="Write other addresses, logins and destinations of the same length, and blank bodies; "
                 "OUTPUT.names.csv says which name stands for which: keep it."),
]  # fmt: skip
Comments = Annotated[
    bool,
    typer.Option("--comments", help="Write a pcapng with the findings, and the incident of --incident, as comments of the packets that "
                 "show them, as Wireshark shows them."),
]  # fmt: skip
Around = Annotated[
    str | None,
    typer.Option("--around", metavar="FRAME", help="Only the seconds around a frame, STREAM_ID:OFFSET or STREAM_ID:c2s:OFFSET, of its "
                 "stream and those that are named.", show_default=False),
]  # fmt: skip
Seconds = Annotated[float, typer.Option("--seconds", min=0, help="How many seconds before and after it.")]
Incident = Annotated[
    str | None,
    typer.Option("--incident", metavar="ID", help="The streams of an incident, by its incident_id or enough first digits.",
                 show_default=False),
]  # fmt: skip


@dataclass(frozen=True)
class Which:
    """Which packets, besides those of streams that are named."""

    incident: Incident = None
    around: Around = None
    seconds: Seconds = 5.0


@dataclass(frozen=True)
class Form:
    """What of them is written."""

    original: Original = False
    inner: Inner = False
    anonymise: Anonymise = False
    comments: Comments = False
