"""What decides a rule is waited for as long as names are known, counted in frames: the same in sessions whole and in pieces."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stompcap.session import Options
from tests.session.pieces import differences, resumed, whole
from tests.session.test_analyse import ASKING, IDS, LINES, OPENINGS, SCOPES
from tests.session.test_resume import CUTS
from tests.session.transcript import made

OPENING = OPENINGS["1.2"]
HEARD = "< EOL\n"
EARLY = "\n".join(["> CONNECT accept-version:1.2 host:/", *(f"@{500 * n} > EOL" for n in range(1, 9)), "< CONNECTED version:1.2"])

# name: (what comes behind CONNECTED, rule, applicable, failed, not evaluable), of what is known for three frames
DECIDED = {
    "the server is never heard": ("> ACK id:7\n" * 6, "AK-04", 6, 4, 2),
    "the server is heard in time": (("> ACK id:7\n" + HEARD) * 6, "AK-04", 6, 6, 0),
    "the server is heard late": ("> ACK id:7\n" * 6 + HEARD, "AK-04", 6, 4, 2),
    "nothing answers": ("> SEND receipt:1\n< ERROR\n" + HEARD + "> SEND\n" * 6, "ER-04", 1, 1, 0),
    "the answer comes late": ("> SEND receipt:1\n< ERROR\n" + HEARD + "> SEND\n" * 6 + "< RECEIPT receipt-id:1\n", "ER-04", 1, 1, 0),
    "nobody hears whether it was answered": ("> SEND receipt:1\n< ERROR\n" + "> SEND\n" * 6, "ER-04", 1, 0, 1),
    "nothing comes for what was unsubscribed": ("> SUBSCRIBE id:1\n> UNSUBSCRIBE id:1\n" + HEARD + "> SEND\n" * 6, "SB-08", 1, 0, 0),
    "a gap comes long after": ("> SUBSCRIBE id:1\n> UNSUBSCRIBE id:1\n" + HEARD + "> SEND\n" * 6 + "< GAP 5\n" + HEARD, "SB-08", 1, 0, 0),
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
    assert judged[rule] == tuple(counts)
    for step, found in pieces.items():
        assert differences(tables, of(found, name)) == [], step


def test_what_was_not_judged_yet_keeps_what_it_looks_at() -> None:
    """The server's last MESSAGE waits for what comes behind it, which tells the line ends behind a frame from its next word."""
    message = "< MESSAGE message-id:1 ack:1 subscription:1 destination:/queue/1\n"
    sessions, options = made(3 * message + "> ACK id:1\n" + message + 2 * "> UNSUBSCRIBE id:1\n"), Options(retention=1)
    for packets in ([7], [8], [6, 7]):
        assert differences(whole(sessions, options), resumed(sessions, packets, options)) == [], packets


SAID = st.one_of(
    LINES,
    st.builds("> ACK id:x{0}".format, IDS),
    st.builds("> UNSUBSCRIBE id:{0} {1}".format, IDS, ASKING),
    st.builds("< ERROR message:bad receipt-id:{0}".format, IDS),
    st.sampled_from([
        "< ERROR message:bad", "< ERROR message:heart-beat", "< RECEIPT receipt-id:9", "< CONNECTED version:1.2", "& < EOL",
        "> SEND receipt:3", r"> SEND destination:/queue/a x:\\q", "> STOMP accept-version:1.2", "> DISCONNECT receipt:2",
        "> CONNECT accept-version:1.2 host:/ receipt:1", "> SUBSCRIBE destination:/queue/1", "> SUBSCRIBE id:1", "& > EOL",
        "< MESSAGE message-id:1 subscription:9 destination:/queue/9", '> RAW "xx"', r'< RAW "\x00"',
    ]),
)
RUNS = st.lists(st.tuples(SAID, st.integers(1, 6), st.sampled_from([1, 1, 1, 1, 1500, 3000, 20_000])), max_size=14)


def repeated(opening: str, runs: list[tuple[str, int, int]]) -> str:
    """Each line as often as its run says, so many milliseconds apart; until a side closes."""
    said, now = opening.splitlines(), 10
    for line, times, step in runs:
        for _ in range(times):
            now += step
            said.append(line if line[0] == "&" and said else f"@{now} {line.lstrip('& ')}")
            if line.endswith(("FIN", "RST")):
                return "\n".join(said)
    return "\n".join(said)


HOSTILE = st.builds(repeated, st.sampled_from(["", *OPENINGS.values()]), RUNS)


@pytest.mark.slow
@settings(max_examples=16, deadline=None)
@given(st.lists(HOSTILE, min_size=1, max_size=8), CUTS, SCOPES, st.sampled_from([1, 3, 10]))
def test_hostile_sessions_cut_anywhere(texts: list[str], cuts: list[int], scope: str, memory: int) -> None:
    sessions, options = made(*texts), Options(ack_scope=scope, retention=memory)
    assert differences(whole(sessions, options), resumed(sessions, cuts, options)) == []
