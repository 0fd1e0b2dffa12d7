"""Sessions in pieces: cut anywhere, with the state stored in between, they give the rows that they give whole."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stompcap import capture
from stompcap.assembly import Assembly
from stompcap.assembly.parts import Sessions
from stompcap.options import Options as Choices
from stompcap.rules import RULES
from stompcap.session import Options
from stompcap.tables import TABLES
from stompcap.tcp import WIRE_ORDER
from tests.rules import transcript as rules
from tests.rules.pitfalls import CASES as PITFALLS
from tests.session.delivered import dialogue
from tests.session.pieces import differences, resumed, rows_of, staggered, whole
from tests.session.test_analyse import DIALOGUES, OPENINGS, SCOPES
from tests.session.test_deliveries import CASES as DELIVERIES
from tests.session.transcript import made

CUTS = st.lists(st.integers(1, 30), max_size=4, unique=True).map(sorted)


def possible(text: str) -> str:
    """A dialogue in which no side speaks after its FIN, and none after a RST."""
    said, silent = [], set()
    for line in text.splitlines():
        side = line[0]
        if side not in silent:
            said.append(line)
        if line.endswith("RST"):
            break
        if line.endswith("FIN"):
            silent.add(side)
    return "\n".join(said)


COMMITTED_UNBEGUN = OPENINGS["1.2"] + """> SUBSCRIBE id:1 destination:/queue/1 ack:client
< MESSAGE message-id:3 ack:3 subscription:1 destination:/queue/1
> ACK id:3 transaction:2
< MESSAGE message-id:3 ack:4 subscription:1 destination:/queue/1
< MESSAGE message-id:1 ack:1 subscription:1 destination:/queue/1
> COMMIT transaction:2"""


@settings(max_examples=8, deadline=None)
@example([COMMITTED_UNBEGUN], [8], "auto", 8)
@given(st.lists(DIALOGUES, min_size=1, max_size=12), CUTS, SCOPES, st.sampled_from([2, 8, 65_536]))
def test_any_dialogues_cut_anywhere(texts: list[str], cuts: list[int], scope: str, memory: int) -> None:
    sessions, options = made(*map(possible, texts)), Options(ack_scope=scope, retention=memory)
    assert differences(whole(sessions, options), resumed(sessions, cuts, options)) == []


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(st.lists(DIALOGUES, min_size=1, max_size=12), CUTS, SCOPES, st.sampled_from([2, 65_536]), st.sampled_from([2, 3, 6]))
def test_what_is_forgotten_does_not_depend_on_the_cuts(texts: list[str], cuts: list[int], scope: str, memory: int, most: int) -> None:
    sessions, options = made(*map(possible, texts)), Options(ack_scope=scope, retention=memory, open_limit=most)
    assert differences(resumed(sessions, [], options), resumed(sessions, cuts, options)) == []


@pytest.mark.slow
@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.lists(DIALOGUES, min_size=1, max_size=12), SCOPES, st.sampled_from([2, 3, 6]))
def test_nothing_is_invented_of_what_is_forgotten(texts: list[str], scope: str, most: int) -> None:
    sessions = made(*map(possible, texts))
    full, short = (resumed(sessions, [], Options(ack_scope=scope, open_limit=limit)) for limit in (65_536, most))
    for name in ("subscriptions", "deliveries", "transactions", "receipts"):
        keys = TABLES[name].key
        known = {tuple(row[key] for key in keys): row for row in full[name].to_pylist()}
        assert len(known) == short[name].num_rows
        for row in short[name].to_pylist():
            true = known[tuple(row[key] for key in keys)]
            fate = "outcome" if name == "transactions" else "status"
            counted = {key: row[key] for key in ("delivered", "acked", "nacked", "unsettled") if name == "subscriptions"}
            fewer = bool(counted) and all(count <= true[key] for key, count in counted.items())
            assert row == true or row[fate] in ("open", "unknown") or fewer or row.get("octets_missing"), (row, true)
    true = [(f["stream_id"], f["rule_id"], f["direction"], f["stream_offset"]) for f in full["compliance_findings"].to_pylist()]
    for f in short["compliance_findings"].to_pylist():
        assert (f["stream_id"], f["rule_id"], f["direction"], f["stream_offset"]) in true, f


def test_no_rule_finds_more_of_what_is_forgotten() -> None:
    """The examples of all rules."""
    examples = rules.tables(*(text for rule in RULES for text in (rule.breaks, rule.keeps) if text))
    full, short = (resumed(examples, [], Options(open_limit=limit))["compliance_findings"].to_pylist() for limit in (65_536, 2))
    true = {(f["stream_id"], f["rule_id"], f["direction"], f["stream_offset"]) for f in full}
    assert [f for f in short if (f["stream_id"], f["rule_id"], f["direction"], f["stream_offset"]) not in true] == []
    assert len(short) < len(full)


def test_a_session_that_leaves_too_much_open_goes_on_as_behind_a_loss() -> None:
    opening = "> CONNECT accept-version:1.2 host:/|< CONNECTED version:1.2|> SUBSCRIBE id:1 destination:/queue/1 ack:client-individual"
    sent = [f"< MESSAGE message-id:{n} ack:{n} subscription:1 destination:/queue/1" for n in range(12)]
    rest = ["> ACK id:11", "> ACK id:2", "> ACK id:x", sent[0].replace(":0", ":12"), "> DISCONNECT", "> FIN"]
    sessions = made("\n".join([*opening.split("|"), *sent, *rest]))
    full, short = (resumed(sessions, [], Options(open_limit=most)) for most in (100, 8))
    in_full, in_short = ([row["status"] for row in rows_of(tables, "deliveries")] for tables in (full, short))
    assert in_full == [*["unsettled"] * 2, "settled", *["unsettled"] * 8, "settled", "unsettled"]
    assert in_short == [*["unknown"] * 11, "settled", "unsettled"]
    judged = {row["rule_id"]: row for row in short["compliance"].to_pylist()}["AK-04"]
    assert (judged["applicable"], judged["failed"], judged["not_evaluable"]) == (3, 0, 2)


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


def test_what_was_not_judged_yet_knows_what_was_answered_before_it() -> None:
    asked, answered = "> SEND receipt:1\n", "< RECEIPT receipt-id:1\n"
    sessions, options = made(OPENINGS["1.2"] + asked * 2 + "> SEND\n" + answered * 5 + "> SEND\n"), Options(retention=3)
    assert differences(whole(sessions, options), resumed(sessions, [20], options)) == []


@pytest.mark.parametrize("step", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_every_rule_finds_in_pieces_what_it_finds_whole(step: int) -> None:
    """The examples and pitfalls of all rules at once, cut behind every packet, every second and every third."""
    shown = (text for rule in RULES for text in (rule.breaks, rule.keeps) if text)
    examples = rules.tables(*shown, *(text for *_, text in PITFALLS))
    last = max(examples["segments"]["packet"].to_pylist())
    assert differences(whole(examples), resumed(examples, range(step, last + 1, step))) == []


@pytest.mark.parametrize(("step", "memory"), [(1, 2), (2, 65_536), (3, 2)])
def test_every_case_of_a_delivery_comes_out_in_pieces_as_whole(step: int, memory: int) -> None:
    cases = made(*(dialogue(*case[1:4]) for case in DELIVERIES))
    last = max(cases["segments"]["packet"].to_pylist())
    options = Options(retention=memory)
    assert differences(whole(cases, options), resumed(cases, range(step, last + 1, step), options)) == []


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


def test_recorded_sessions_cut_anywhere() -> None:
    sessions = recorded()
    assert sessions["streams"].num_rows == len(set(sessions["streams"]["stream_id"].to_pylist())) > 400
    cuts = (10, 31, 60, 91, 130, 200, 333, 500, 800)  # a capture has 87 packets at least, and 1,148 at most
    assert differences(whole(sessions), resumed(sessions, cuts)) == []


STEADY = {
    "sends": "> SEND destination:/queue/a | body\n",
    "deliveries acknowledged": "< MESSAGE message-id:m{n} ack:m{n} subscription:1 destination:/queue/a\n> ACK id:m{n}\n",
    "deliveries that ask for none": "< MESSAGE message-id:m{n} subscription:2 destination:/queue/b\n",
    "receipts": "> SEND destination:/queue/a receipt:r{n}\n< RECEIPT receipt-id:r{n}\n",
    "transactions": "> BEGIN transaction:t{n}\n> SEND destination:/queue/a transaction:t{n}\n> COMMIT transaction:t{n}\n",
    "deliveries aborted and delivered anew": "< MESSAGE message-id:m{n} ack:m{n} subscription:1 destination:/queue/a\n"
    "> BEGIN transaction:t{n}\n> ACK id:m{n} transaction:t{n}\n> ABORT transaction:t{n}\n"
    "< MESSAGE message-id:m{n} ack:n{n} subscription:1 destination:/queue/a\n> ACK id:n{n}\n",
    "heart-beats": "> EOL\n< EOL\n",
    "one long transaction": "> SEND destination:/queue/a transaction:long | body\n",
    "a transaction begun again": "> BEGIN transaction:again\n",
    "a transaction never begun": "> SEND destination:/queue/a transaction:never\n",
    "ACKs of nothing": "> ACK id:x{n}\n",
    "ACKs in no transaction": "> ACK id:x transaction:t{n}\n",
    "RECEIPTs of nothing": "< RECEIPT receipt-id:r{n}\n",
    "MESSAGEs of nothing": "< MESSAGE message-id:m{n} subscription:x{n} destination:/queue/x\n",
    "ERRORs": "< ERROR message:no\n",
    "undefined escapes": r"> SEND destination:/queue/a x:\\q" + "\n",
    "CONNECTs": "> CONNECT accept-version:1.2 receipt:{n}\n",
    "DISCONNECTs": "> DISCONNECT\n",
    "frames of no version": "> A\n",
    "subscriptions that end": "> SUBSCRIBE id:s{n} destination:/temp/{n} receipt:s{n}\n< RECEIPT receipt-id:s{n}\n> UNSUBSCRIBE id:s{n}\n",
    "subscriptions of one id": "> SUBSCRIBE id:s destination:/temp/{n}\n> UNSUBSCRIBE id:s\n",
    "subscriptions taken anew": "> SUBSCRIBE id:s destination:/temp/{n}\n> SUBSCRIBE id:s destination:/temp/{n}\n> UNSUBSCRIBE id:s\n",
    "subscriptions ended by destination": "> SUBSCRIBE id:s destination:/temp/{n}\n> UNSUBSCRIBE destination:/temp/{n}\n",
    "subscriptions without id": "> SUBSCRIBE destination:/temp/{n}\n> UNSUBSCRIBE destination:/temp/{n}\n",
    "answers to temporary queues": "> SUBSCRIBE id:s{n} destination:/temp/{n} ack:client\n"
    "< MESSAGE message-id:m{n} ack:m{n} subscription:s{n} destination:/temp/{n}\n> ACK id:m{n}\n> UNSUBSCRIBE id:s{n}\n",
    "UNSUBSCRIBEs of nothing": "> UNSUBSCRIBE id:s{n}\n",
}


STEADY_CUTS = range(20, 720, 20)  # the longest says six lines again and again
Steady = tuple[dict[str, pa.Table], dict[str, pa.Table], dict[str, pa.Table], list[Counter[str]]]


@pytest.fixture(scope="module")
def steady() -> Steady:
    """The sessions, their tables whole and in pieces, and the sizes of the states between the pieces."""
    opening = """
    > CONNECT accept-version:1.2 host:/ heart-beat:5,5
    < CONNECTED version:1.2 heart-beat:5,5
    > SUBSCRIBE id:1 destination:/queue/a ack:client-individual
    > SUBSCRIBE id:2 destination:/queue/b
    > BEGIN transaction:long
    """
    sessions = made(*(opening + "".join(said.replace("{n}", str(n)) for n in range(120)) for said in STEADY.values()))
    assert max(sessions["segments"]["packet"].to_pylist()) in range(STEADY_CUTS.stop, STEADY_CUTS.stop + 20)
    sizes: list[Counter[str]] = []
    return sessions, whole(sessions, Options(retention=16)), resumed(sessions, STEADY_CUTS, Options(retention=16), sizes), sizes


@pytest.mark.parametrize("kind", STEADY)
def test_what_goes_on_for_ever_needs_no_more_and_more(kind: str, steady: Steady) -> None:
    stream = f"{list(STEADY).index(kind):020d}"
    sessions, tables, found = ({name: table.filter(pc.equal(table["stream_id"], stream)) for name, table in one.items()}
                               for one in steady[:3])  # fmt: skip
    assert differences(tables, found) == []
    last = max(sessions["segments"]["packet"].to_pylist())
    sizes = [size[stream] for packet, size in zip(STEADY_CUTS, steady[3], strict=False) if packet < last]
    assert len(sizes) > 4
    assert sizes[-1] <= sizes[(len(sizes) + 1) // 2] + 8, sizes
