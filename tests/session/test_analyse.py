"""The analysis as a whole: schemas, invariants, sessions of any interleaving."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stompcap.session import Options, analyse
from stompcap.tables import TABLES
from stompcap.tables.bronze import RAW_FRAMES, SEGMENTS, STREAMS
from stompcap.tables.silver import FRAMES
from tests.examples import one_in
from tests.session.transcript import commands, run

OPENINGS = {
    "1.0": "> CONNECT login:a\n< CONNECTED session:1\n",
    "1.1": "> CONNECT accept-version:1.1 host:/\n< CONNECTED version:1.1\n",
    "1.2": "> CONNECT accept-version:1.2 host:/ heart-beat:5,5\n< CONNECTED version:1.2 heart-beat:5,5\n",
}
IDS = st.sampled_from(["1", "2", "3"])
MODES = st.sampled_from(["", "ack:auto", "ack:client", "ack:client-individual"])
INSIDE = st.sampled_from(["", "transaction:1", "transaction:2"])
ASKING = st.sampled_from(["", "receipt:1", "receipt:2"])
LINES = st.one_of(
    st.builds("> SUBSCRIBE id:{0} destination:/queue/{0} {1} {2}".format, IDS, MODES, ASKING),
    st.builds("> UNSUBSCRIBE {0}{1}".format, st.sampled_from(["id:", "id:", "destination:/queue/"]), IDS),
    st.builds("< MESSAGE message-id:{0} ack:{0} subscription:{1} destination:/queue/{1}".format, IDS, IDS),
    st.builds("< MESSAGE message-id:{0} destination:/queue/{1}".format, IDS, IDS),
    st.builds("> {0} id:{1} message-id:{1} subscription:{2} {3} {4}".format, st.sampled_from(["ACK", "NACK"]), IDS, IDS, INSIDE, ASKING),
    st.builds("> {0} transaction:{1}".format, st.sampled_from(["BEGIN", "COMMIT", "ABORT"]), IDS),
    st.builds("> SEND destination:/queue/a {0} {1} | body".format, INSIDE, ASKING),
    st.builds("< {0} receipt-id:{1}".format, st.sampled_from(["RECEIPT", "ERROR"]), IDS),
    st.sampled_from(["> EOL", "< EOL", "> GAP 20", "< GAP 20", "> DISCONNECT", "> FIN", "< FIN", "< RST"]),
)
DIALOGUES = st.builds(lambda v, lines: OPENINGS[v] + "\n".join(lines), st.sampled_from(sorted(OPENINGS)), st.lists(LINES, max_size=25))
SCOPES = st.sampled_from(["auto", "subscription", "connection"])


@one_in(3)
@given(DIALOGUES, SCOPES)
def test_every_dialogue_keeps_the_invariants(text: str, scope: str) -> None:
    analysis = run(text, options=Options(ack_scope=scope))
    for name, table in analysis.tables.items():
        assert table.schema.equals(TABLES[name].arrow), name
        table.validate(full=True)
        for column in TABLES[name].columns:
            if not column.nullable:
                assert table.column(column.name).null_count == 0, column.name
            if column.words:
                assert set(table.column(column.name).to_pylist()) <= {None, *column.words}

    spoken = commands(analysis.dialogue)
    rows = {name: table.to_pylist() for name, table in analysis.tables.items()}
    assert len(rows["deliveries"]) == spoken.count("<MESSAGE")
    assert len(rows["subscriptions"]) == spoken.count(">SUBSCRIBE")
    assert len(rows["transactions"]) == spoken.count(">BEGIN")
    asking = [r for r, c in zip(analysis.dialogue.column("receipt").to_pylist(), spoken, strict=True) if r and c[0] == ">"]
    assert len(rows["receipts"]) == len(asking)

    for row in rows["deliveries"]:
        settled = row["status"] == "settled"
        assert not settled or (row["settlement"] and row["settled_by"] and row["ack_latency_us"] >= 0)
        assert (row["settled_ns"] is None) == (row["settlement"] is None)
        assert row["status"] not in ("auto", "unsettled") or row["settlement"] is None
        assert (row["commit_latency_us"] is None) == (row["transaction_outcome"] != "committed")
        assert row["status"] != "voided" or row["transaction_outcome"] in ("aborted", "implicitly_aborted")
    for row in rows["subscriptions"]:
        assert 0 <= row["acked"] + row["nacked"] + row["unsettled"] <= row["delivered"]
        assert row["max_in_flight"] <= row["delivered"]
        assert row["ack_mode"] != "auto" or row["max_in_flight"] == 0
    for row in rows["receipts"]:
        assert row["latency_us"] is None or row["latency_us"] >= 0
    for row in rows["heartbeats"]:
        listed = [v for v in rows["heartbeat_violations"] if v["direction"] == row["direction"]]
        assert row["late"] + row["violations"] + row["dead"] == len(listed) <= row["gaps"]


@one_in(6)
@given(st.lists(DIALOGUES, min_size=2, max_size=4))
def test_sessions_analysed_together_are_as_they_are_alone(texts: list[str]) -> None:
    together, alone = run(*texts).tables, [run(text).tables for text in texts]
    for name, table in together.items():
        # under the id that each has among the others
        rows = [row | {"stream_id": f"{n:020d}"} for n, tables in enumerate(alone) for row in tables[name].to_pylist()]
        assert table.to_pylist() == rows, name


def test_nothing_in_nothing_out() -> None:
    analysis = analyse(
        STREAMS.arrow.empty_table(), RAW_FRAMES.arrow.empty_table(), FRAMES.arrow.empty_table(), SEGMENTS.arrow.empty_table(), {}
    )
    for name, table in analysis.tables.items():
        assert table.num_rows == 0
        assert table.schema.equals(TABLES[name].arrow)
    assert len(analysis.dialogue) == len(analysis.facts.previous) == 0


def test_a_session_without_frames() -> None:
    tables = run("> EOL\n< EOL\n").tables
    [row] = tables["sessions"].to_pylist()
    assert (row["version"], row["version_source"], row["frames_c2s"]) == (None, "unknown", 0)


def test_raw_octets_are_not_needed() -> None:
    rows = RAW_FRAMES.arrow.empty_table().drop_columns(["raw"])
    assert isinstance(rows, pa.Table)
    analyse(STREAMS.arrow.empty_table(), rows, FRAMES.arrow.empty_table(), SEGMENTS.arrow.empty_table(), {})
