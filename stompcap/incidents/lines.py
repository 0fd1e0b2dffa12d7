"""The words beside a sentence: since when, whose, and in which packets; the same on terminals and in the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stompcap.units import moment
from stompcap.visible import visible

NAMED = 60  # characters of a file's name
NAMES = {kind: kind for kind in ("login", "client", "connection", "destination")} | {"network": "address"}
"""What the name of a subject is; a broker and a capture are called so in the sentence."""


def since(row: Mapping[str, Any], dates: bool = True) -> str:
    """`since 06:25:22`, or from when to when; with its date unless all that is shown is of one day."""
    begin = moment(row["begin_ns"], 0)
    said = begin if dates else begin[11:]
    if row["end_ns"] is None:
        return f"since {said}"
    end = moment(row["end_ns"], 0)
    return said if end == begin else f"{said} to {end[11:] if end[:10] == begin[:10] else end}"


def whose(row: Mapping[str, Any]) -> str:
    """`login at Artemis`: what the subject's name is, and at which broker, where the sentence does not say it."""
    product = visible(row["server_product"] or "", NAMED)
    names = NAMES.get(row["subject_kind"], "")
    return " at ".join(one for one in (names, "" if product in row["sentence"] else product) if one)


def packets(row: Mapping[str, Any]) -> str:
    """`packets 6667 to 11003 of a.pcap`, of the first capture that is named; nothing where none is known."""
    known = [one for one in row["packets"] or () if one["packet"] is not None]
    if not known:
        return ""
    capture = known[0]["capture"]
    numbers = sorted({one["packet"] for one in known if one["capture"] == capture})
    of = visible(capture or "", NAMED)
    return f"packet {numbers[0]} of {of}" if len(numbers) == 1 else f"packets {numbers[0]} to {numbers[-1]} of {of}"
