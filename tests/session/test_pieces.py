"""Sessions in pieces: cut anywhere, with the state stored as octets in between, they give the rows that they give whole."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import chain, product
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stompcap import capture
from stompcap.assembly import Assembly
from stompcap.assembly.parts import Sessions
from stompcap.assembly.resume import session_steps
from stompcap.options import Options as Choices
from stompcap.rules import RULES
from stompcap.session import Options
from stompcap.tcp import WIRE_ORDER
from tests.examples import every, one_in
from tests.rules import transcript as rules
from tests.rules.pitfalls import CASES as PITFALLS
from tests.session.delivered import OPENINGS as GREETINGS
from tests.session.delivered import dialogue
from tests.session.deliveries.test_deliveries import CASES as DELIVERIES
from tests.session.deliveries.test_guessed import CASES as GUESSED
from tests.session.deliveries.test_losses import COPIES, GAP, HOLES, SILENT
from tests.session.deliveries.test_lost_settling import CLIENTS, drawn, without_some
from tests.session.forgetting import FORGOTTEN, LATE, OPEN, SUBSCRIBE, UNSUBSCRIBE
from tests.session.pieces import cut, differences, resumed, staggered, whole
from tests.session.test_analyse import ASKING, IDS, LINES, OPENINGS, SCOPES
from tests.session.transcript import made

CUTS = st.lists(st.integers(1, 30), max_size=4, unique=True).map(sorted)
RETENTIONS = (2, 8, 65_536)
FRAMES = st.one_of(
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
    st.sampled_from([
        "> SUBSCRIBE destination:/queue/2 ack:client", "> UNSUBSCRIBE", "< MESSAGE message-id:1 ack:1 destination:/queue/1", "> ACK id:1",
    ]),
)


def possible(lines: list[str]) -> str:
    """A dialogue in which no side speaks after its FIN, and none after a RST."""
    possible_lines, silent = [], set()
    for line in lines:
        side = line[0]
        if side not in silent:
            possible_lines.append(line)
        if line.endswith("RST"):
            break
        if line.endswith("FIN"):
            silent.add(side)
    return "\n".join(possible_lines)


TEXTS = st.lists(st.builds(lambda v, lines: OPENINGS[v] + possible(lines), st.sampled_from(sorted(OPENINGS)),
                           st.lists(FRAMES, max_size=25)), min_size=1, max_size=12)  # fmt: skip
COMMITTED_UNBEGUN = OPENINGS["1.2"] + """> SUBSCRIBE id:1 destination:/queue/1 ack:client
< MESSAGE message-id:3 ack:3 subscription:1 destination:/queue/1
> ACK id:3 transaction:2
< MESSAGE message-id:3 ack:4 subscription:1 destination:/queue/1
< MESSAGE message-id:1 ack:1 subscription:1 destination:/queue/1
> COMMIT transaction:2"""
CONNECTED_TWICE = OPENINGS["1.0"] + """> CONNECT accept-version:1.2 host:/ receipt:1
> CONNECT accept-version:1.2 host:/ receipt:1
< ERROR message:bad receipt-id:1
> SUBSCRIBE id:1 destination:/queue/1
< ERROR message:bad receipt-id:1"""
SENT = "> SEND destination:/a\n"
LATER = SENT + GAP + SILENT + SENT * 2 + GAP + SILENT + SENT * 4


@pytest.mark.slow
@one_in(6)
@example([COMMITTED_UNBEGUN], [8], "auto", 8)
@example([CONNECTED_TWICE], [8], "auto", 8)
@given(TEXTS, CUTS, SCOPES, st.sampled_from(RETENTIONS))
def test_any_dialogues_cut_anywhere(texts: list[str], cuts: list[int], scope: str, retention: int) -> None:
    sessions, options = made(*texts), Options(ack_scope=scope, retention=retention)
    assert differences(whole(sessions, options), resumed(sessions, cuts, options)) == []


def lossy(habit: str) -> list[str]:
    """Dialogues of clients of a habit, a part of the frames lost."""
    chance = random.Random(habit)
    opening = GREETINGS["1.2"].format("")
    return [opening + "\n".join(without_some(lines, chance)) for lines in drawn("1.2", "Other/1", habit, chance, 12)]


LOSSES = [each for case in HOLES + COPIES for each in (case[1], case[1] + LATER, GAP + SILENT + case[1] + LATER)]
CASES = [
    *(dialogue(*case[1:4]) for case in DELIVERIES),
    *(dialogue("1.2", "", text) for text, _ in GUESSED.values()),
    *(dialogue("1.2", "", text) for text in LOSSES),
    *FORGOTTEN.values(),
    *chain.from_iterable(map(lossy, CLIENTS)),
]


def cut_every(texts: Sequence[str], step: int, options: Options) -> list[str]:
    """What comes out otherwise where the sessions are cut behind every so many packets."""
    sessions = made(*texts)
    last = max(sessions["segments"]["packet"].to_pylist())
    return differences(whole(sessions, options), resumed(sessions, range(step, last + 1, step), options))


@pytest.mark.parametrize(("retention", "step"), [(2, 3), (65_536, 4)])
@pytest.mark.slow
def test_every_case_comes_out_in_pieces_as_whole(retention: int, step: int) -> None:
    assert cut_every(CASES, step, Options(retention=retention)) == []


@pytest.mark.slow
@pytest.mark.parametrize(("retention", "step"), every(7, list(product((65_536, 1, 2, 3, 4, 8), (5, 1)))))
def test_and_so_by_other_bounds(retention: int, step: int) -> None:
    assert cut_every(CASES, step, Options(retention=retention)) == []


def test_every_rule_finds_in_pieces_what_it_finds_whole() -> None:
    """The examples and pitfalls of all rules at once, cut behind every packet."""
    shown = (text for rule in RULES for text in (rule.breaks, rule.keeps) if text)
    examples = rules.tables(*shown, *(text for *_, text in PITFALLS))
    last = max(examples["segments"]["packet"].to_pylist())
    assert differences(whole(examples), resumed(examples, range(1, last + 1))) == []


HALF_CLOSED = {  # the other side speaks on
    "by a server that waited": "> SEND destination:/queue/1|@6500 < FIN|@7000 > SEND destination:/queue/1|@9000 > FIN",
    "before DISCONNECT": "> SEND destination:/queue/1|@6500 < FIN|@7000 > DISCONNECT|@9000 > FIN",
    "by a client that waited": "< ERROR message:x|@6500 > FIN|@7000 < MESSAGE message-id:2 subscription:1 destination:/queue/1|@9000 < FIN",
    "by a client behind ERROR": "< ERROR message:x|@1700 > FIN|@9000 < EOL|@12000 < ERROR message:y|@20000 < FIN",
    "by a server behind ERROR": "< ERROR message:x|@1700 < FIN|@9000 > SEND destination:/queue/1|@20000 > FIN",
}


def test_half_closed_sessions_cut_anywhere() -> None:
    opening = "> CONNECT accept-version:1.2 host:/ heart-beat:1000,1000|< CONNECTED version:1.2 heart-beat:1000,1000|"
    sessions = staggered(made(*((opening + text).replace("|", "\n") for text in HALF_CLOSED.values())), 7)
    tables = whole(sessions)
    judged = {row["stream_id"] for row in tables["compliance"].to_pylist() if row["rule_id"] == "HB-06" and row["applicable"]}
    assert len(judged) == 7 * len(HALF_CLOSED)
    assert differences(tables, resumed(sessions, [8])) == []


def test_a_gap_changes_nothing_of_what_came_before_it() -> None:
    text = """
    > CONNECT accept-version:1.1 host:/
    < CONNECTED version:1.1
    < MESSAGE message-id:1 subscription:1 destination:/queue/1
    > BEGIN transaction:t
    < MESSAGE message-id:2 subscription:1 destination:/queue/1
    > GAP 20
    """
    sessions = made(text)
    assert differences(whole(sessions), resumed(sessions, [6])) == []
    judged = {row["rule_id"]: row for row in whole(sessions)["compliance"].to_pylist()}["MS-04"]
    assert (judged["failed"], judged["not_evaluable"]) == (1, 1)


@pytest.mark.parametrize(("before", "said"), [
    ("< MESSAGE message-id:1 ack:2 subscription:1 destination:/queue/1", "is the message-id of a MESSAGE, not its ack"),
    ("", "names no MESSAGE delivered"),
])
def test_evidence_speaks_of_what_came_before_it(before: str, said: str) -> None:
    text = f"""
    > CONNECT accept-version:1.2 host:/
    < CONNECTED version:1.2
    {before}
    > ACK id:1
    < MESSAGE message-id:1 ack:3 subscription:1 destination:/queue/1
    < MESSAGE message-id:4 ack:4 subscription:1 destination:/queue/1
    """
    sessions = made("\n".join(line for line in text.splitlines() if line.strip()))
    assert differences(whole(sessions), resumed(sessions, [5, 6])) == []
    evidence = [row["evidence"] for row in whole(sessions)["compliance_findings"].to_pylist() if row["rule_id"] == "AK-04"]
    assert evidence == [f"ACK 1 {said}"]


@pytest.mark.slow
def test_its_row_comes_out_when_nothing_can_change_it() -> None:
    """Not before it is forgotten, nor before what it delivered is settled and the server was heard since, or not for long."""
    settled = "> SUBSCRIBE id:2 destination:/b\n> UNSUBSCRIBE id:2\n"
    text = OPEN + SUBSCRIBE + LATE + UNSUBSCRIBE + settled + "> SEND\n" * 8 + "> ACK id:late\n< EOL\n" + "> SEND\n" * 8
    sessions, options, state, found = made(text), Options(retention=4), session_steps.EMPTY, {}
    for number, piece in enumerate(cut(sessions, range(4, 27))):
        tables, state = session_steps.resume(piece, state, {"cap": 0}, options)
        found |= {row["subscription"]: (number + 3, row["acked"], row["status"]) for row in tables["subscriptions"].to_pylist()}
    # packets: 4 MESSAGE, 5 and 7 UNSUBSCRIBE, 16 ACK, 17 EOL: until then the client's wait for the server, but not for more than four
    assert found == {"2": (17, 0, "unsubscribed"), "1": (18, 1, "unsubscribed")}


RECORDED = sorted((Path(__file__).resolve().parents[2] / "data").glob("*.pcap*"))


def recorded() -> dict[str, pa.Table]:
    """The sessions of all captures, each with the packet numbers of its own."""
    found: list[Sessions] = []
    for path in RECORDED:
        segments = pa.Table.from_batches(list(capture.read_segments(str(path), 0))).sort_by(WIRE_ORDER)
        parts = Assembly([(str(path), "cap")], "batch", Choices()).parts(segments)
        found += [part.sessions for part in parts if part.sessions is not None]
    names = {"streams": "streams", "rows": "raw_frames", "frames": "frames", "segments": "segments", "stalls": "stalls"}
    return {name: pa.concat_tables(getattr(one, of) for one in found) for name, of in names.items()}


@pytest.mark.slow
def test_recorded_sessions_cut_anywhere() -> None:
    sessions = recorded()
    assert sessions["streams"].num_rows == len(set(sessions["streams"]["stream_id"].to_pylist())) > 400
    cuts = (10, 31, 60, 91, 130, 200, 333, 500, 800)  # a capture has 87 packets at least, and 1,148 at most
    assert differences(whole(sessions), resumed(sessions, cuts)) == []
