"""What is kept of sessions that go on: it does not grow, and what a session leaves open beyond a limit is given up as unknown."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stompcap.assembly.resume import session_steps
from stompcap.rules import RULES
from stompcap.session import Options
from stompcap.tables import TABLES
from tests.rules import transcript as rules
from tests.session.forgetting import OPEN
from tests.session.pieces import differences, resumed, rows_of, whole
from tests.session.test_analyse import SCOPES
from tests.session.test_pieces import TEXTS
from tests.session.transcript import made, picked

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


STEADY_CUTS = range(40, 720, 40)  # the longest says six lines again and again
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
    assert max(sessions["segments"]["packet"].to_pylist()) in range(STEADY_CUTS.stop, STEADY_CUTS.stop + STEADY_CUTS.step)
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
    assert len(sizes) > 2
    assert sizes[-1] <= sizes[(len(sizes) + 1) // 2] + 8, sizes


@pytest.mark.slow
def test_thousands_beside_one_that_stays() -> None:
    main = "> SUBSCRIBE id:main destination:/queue/a\n"
    each = "> SUBSCRIBE id:{0} destination:/t/{0}\n< MESSAGE subscription:{0} message-id:{0} destination:/t/{0}\n> UNSUBSCRIBE id:{0}\n"
    news = "< MESSAGE subscription:main message-id:m{0} destination:/queue/a\n"
    sessions = made(OPEN + main + "".join((each + news * (n % 100 == 0)).format(n) for n in range(2000)))
    sizes: list[Counter[str]] = []
    options = Options(retention=16)
    tables, found = whole(sessions, options), resumed(sessions, range(500, 6000, 500), options, sizes)
    for name in ("subscriptions", "deliveries", "compliance", "compliance_findings"):
        assert rows_of(tables, name) == rows_of(found, name), name
    assert max(size.total() for size in sizes[:-1]) < 200
    assert ("main", 20, "open") in picked(tables["subscriptions"], "subscription", "delivered", "status")


def test_what_is_no_state_is_refused() -> None:
    """Those of other versions are taken up: tests/assembly/resume/test_state_layout.py, tests/e2e/test_older_lakes.py."""
    with pytest.raises(pa.ArrowInvalid):
        session_steps.from_bytes(b"something else")


@pytest.mark.slow
@settings(max_examples=8, derandomize=True)
@given(TEXTS, SCOPES, st.sampled_from([2, 3, 6]))
def test_nothing_is_invented_of_what_is_forgotten(texts: list[str], scope: str, most: int) -> None:
    sessions = made(*texts)
    full, short = (resumed(sessions, range(4, 30, 3), Options(ack_scope=scope, open_limit=limit)) for limit in (65_536, most))
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


@pytest.mark.slow
def test_no_rule_finds_more_of_what_is_forgotten() -> None:
    """The examples of all rules."""
    examples = rules.tables(*(text for rule in RULES for text in (rule.breaks, rule.keeps) if text))
    tables = (resumed(examples, range(2, 40, 5), Options(open_limit=limit)) for limit in (65_536, 0))
    full, short = (each["compliance_findings"].to_pylist() for each in tables)
    true = {(f["stream_id"], f["rule_id"], f["direction"], f["stream_offset"]) for f in full}
    assert [f for f in short if (f["stream_id"], f["rule_id"], f["direction"], f["stream_offset"]) not in true] == []
    assert len(short) < len(full)


def test_a_session_that_leaves_too_much_open_goes_on_as_behind_a_loss() -> None:
    opening = "> CONNECT accept-version:1.2 host:/|< CONNECTED version:1.2|> SUBSCRIBE id:1 destination:/queue/1 ack:client-individual"
    sent = [f"< MESSAGE message-id:{n} ack:{n} subscription:1 destination:/queue/1" for n in range(12)]
    rest = ["> ACK id:11", "> ACK id:2", "> ACK id:x", sent[0].replace(":0", ":12"), "> DISCONNECT", "> FIN"]
    sessions = made("\n".join([*opening.split("|"), *sent, *rest]))
    full, short = (resumed(sessions, [17], Options(open_limit=most)) for most in (100, 8))
    in_full, in_short = ([row["status"] for row in rows_of(tables, "deliveries")] for tables in (full, short))
    assert in_full == [*["unsettled"] * 2, "settled", *["unsettled"] * 8, "settled", "unsettled"]
    assert in_short == [*["unknown"] * 11, "settled", "unknown"]
    judged = {row["rule_id"]: row for row in short["compliance"].to_pylist()}["AK-04"]
    assert (judged["applicable"], judged["failed"], judged["not_evaluable"]) == (3, 0, 2)
