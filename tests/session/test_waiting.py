"""What decides a rule is waited for as long as names are known, counted in frames: the same in sessions whole and in pieces."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from stompcap.session import Options
from tests.session.pieces import differences, resumed, whole
from tests.session.test_analyse import OPENINGS
from tests.session.transcript import made

OPENING = OPENINGS["1.2"]
HEARD = "< EOL\n"
EARLY = "\n".join(["> CONNECT accept-version:1.2 host:/", *(f"@{500 * n} > EOL" for n in range(1, 9)), "< CONNECTED version:1.2"])

# name: (what comes behind CONNECTED, rule, applicable, failed, not evaluable), of what is known for three frames
DECIDED = {
    "the server is never heard": ("> ACK id:7\n" * 6, "AK-04", 6, 4, 2),
    "the server is heard in time": (("> ACK id:7\n" + HEARD) * 6, "AK-04", 6, 6, 0),
    "the server is heard late": ("> ACK id:7\n" * 6 + HEARD, "AK-04", 6, 4, 2),
    "nothing answers": ("> SEND receipt:1\n< ERROR\n" + HEARD + "> SEND\n" * 6 + "> FIN\n< FIN\n", "ER-04", 1, 1, 0),
    "the answer comes late": ("> SEND receipt:1\n< ERROR\n" + HEARD + "> SEND\n" * 6 + "< RECEIPT receipt-id:1\n", "ER-04", 0, 0, 0),
    "nobody hears whether it was answered": ("> SEND receipt:1\n< ERROR\n" + "> SEND\n" * 6, "ER-04", 1, 0, 1),
    "nothing comes for what was unsubscribed": ("> SUBSCRIBE id:1\n> UNSUBSCRIBE id:1\n" + HEARD + "> SEND\n" * 6, "SB-08", 1, 0, 0),
    "a gap comes long after": ("> SUBSCRIBE id:1\n> UNSUBSCRIBE id:1\n" + HEARD + "> SEND\n" * 12 + "< GAP 5\n" + HEARD, "SB-08", 1, 0, 0),
    "a gap comes soon": ("> SUBSCRIBE id:1\n> UNSUBSCRIBE id:1\n< GAP 5\n" + HEARD + "> SEND\n" * 6, "SB-08", 1, 0, 1),
    "the last word of the server": ("< ERROR\n" + "> SEND\n" * 6, "ER-03", 1, 0, 1),
    "transactions wait for the close": ("> BEGIN transaction:1\n" + "> SEND\n" * 6 + "> FIN", "TX-07", 1, 1, 0),
    "receipts wait for the close": ("> SEND receipt:1\n" + "> SEND\n" * 6 + "@60000 < EOL", "RC-03", 1, 1, 0),
    "EOLs before an agreement": ("", "HB-07", 8, 4, 4),
}


Tables = dict[str, pa.Table]


@pytest.fixture(scope="module")
def decided() -> tuple[Tables, dict[int, Tables]]:
    """The tables of all of them whole, and by step in pieces."""
    sessions, options = made(*(OPENING + case[0] if case[0] else EARLY for case in DECIDED.values())), Options(retention=3)
    return whole(sessions, options), {step: resumed(sessions, range(step, 20, step), options) for step in (1, 2, 5)}


def of(tables: Tables, name: str) -> Tables:
    """The rows of one of them."""
    stream = f"{list(DECIDED).index(name):020d}"
    return {table: rows.filter(pc.equal(rows["stream_id"], stream)) for table, rows in tables.items()}


@pytest.mark.parametrize("name", DECIDED)
def test_decided(name: str, decided: tuple[Tables, dict[int, Tables]]) -> None:
    _, rule, *counts = DECIDED[name]
    tables, pieces = of(decided[0], name), decided[1]
    judged = {row["rule_id"]: (row["applicable"], row["failed"], row["not_evaluable"]) for row in tables["compliance"].to_pylist()}
    assert judged.get(rule, (0, 0, 0)) == tuple(counts)
    for step, found in pieces.items():
        assert differences(tables, of(found, name)) == [], step


def test_what_was_not_judged_yet_keeps_what_it_looks_at() -> None:
    """The server's last MESSAGE waits for what comes behind it, which tells the line ends behind a frame from its next word."""
    message = "< MESSAGE message-id:1 ack:1 subscription:1 destination:/queue/1\n"
    sessions, options = made(3 * message + "> ACK id:1\n" + message + 2 * "> UNSUBSCRIBE id:1\n"), Options(retention=1)
    for packets in ([7], [8], [6, 7]):
        assert differences(whole(sessions, options), resumed(sessions, packets, options)) == [], packets


def test_what_opens_a_session_late_changes_nothing_of_before() -> None:
    """What CN-09b, CN-10 and HB-03 find of the first session, and HB-07 of the second."""
    late = "< CONNECTED version:1.2\n< ERROR receipt-id:2\n> STOMP accept-version:1.2\n"
    sessions = made(late, EARLY.replace("< CONNECTED", "< GAP 9\n< CONNECTED"))
    assert differences(whole(sessions), resumed(sessions, range(2, 16))) == []
