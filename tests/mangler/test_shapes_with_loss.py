"""Files of which order and packets are lost at once: no connection falls apart, and nothing is found that is not in the whole capture."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.truth import DATA
from tests.examples import THOROUGH, every
from tests.mangler.compare import Tables, rows_of
from tests.mangler.packagings import in_turn
from tests.mangler.shapes import MS, recorded, to_server, written

RECORDED = every(3, sorted(path.name for path in DATA.glob("*.pcap*")))
"""Of each dialogue the recording of one broker, in turn."""

SOME = ("activemq_violations.pcap", "artemis_dialogue.pcapng")
LOSSES = {f"{share:.0%} lost, the server {early} ms early": (share, early * MS) for share in (0.02, 0.1) for early in (-3, 3)}
KNOWN = {"deliveries": ("message_id", "ack_id", "subscription", "status"), "transactions": ("transaction", "outcome")}
LEFT = ("unknown", "open")


def files(name: str, share: float, early_ns: int, folder: Path) -> list[Path]:
    """A file for each direction of a capture that lacks a share of its packets; the server's clock is fast."""
    dice = random.Random(f"{name} {share}")
    sides: tuple[list, list] = ([], [])
    for frame in recorded(DATA / name):
        if dice.random() >= share:
            sides[to_server(frame)].append(frame)
    of_server = [replace(one, ts_ns=one.ts_ns + early_ns) for one in sides[False]]
    return [written(folder, "client.pcap", sides[True]), written(folder, "server.pcap", of_server)]


def said(tables: Tables, table: str) -> Counter[tuple[str, ...]]:
    return Counter((str(row["stream"]), *(str(row[name]) for name in KNOWN[table])) for row in tables.get(table, []))


def must(tables: Tables) -> Counter[tuple[str, str]]:
    return Counter((row["rule_id"], str(row["stream"])) for row in tables.get("compliance_findings", []) if row["level"] == "M")


def check(name: str, share: float, early_ns: int, folder: Path) -> None:
    """`rows_of` demands that a client's port names one connection."""
    found, whole = rows_of(files(name, share, early_ns, folder)), rows_of([DATA / name])
    assert not must(found) - must(whole)
    wrong = {table: [row for row in said(found, table) - said(whole, table) if row[-1] not in LEFT] for table in KNOWN}
    named = {table: {row[:-1] for row in said(whole, table)} for table in KNOWN}
    assert not [row for table, rows in wrong.items() for row in rows if row[:-1] in named[table]]


@pytest.mark.parametrize("early_ns", [-3 * MS, 3 * MS])
@pytest.mark.parametrize("name", SOME)
def test_no_connection_falls_apart_and_nothing_is_invented(name, early_ns, tmp_path):
    check(name, 0.3, early_ns, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "words"), in_turn(RECORDED, LOSSES, 1 if THOROUGH else 3))
def test_no_connection_of_recordings_falls_apart(name, words, tmp_path):
    check(name, *LOSSES[words], tmp_path)
