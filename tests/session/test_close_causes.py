"""Why sessions ended: each cause by what must have been captured for it, and what leaves it unknown."""

from __future__ import annotations

import pyarrow as pa
import pytest

from stompcap.session import analyse
from stompcap.session.close_causes import CUT_OFFS_S
from stompcap.tables import words
from tests.examples import slow_behind
from tests.session.pieces import resumed, whole
from tests.session.transcript import MS, START, Session, made, picked, run, tables

OPEN = "> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2\n"
BEATS = "> CONNECT accept-version:1.2 heart-beat:1000,1000\n< CONNECTED version:1.2 heart-beat:1000,1000\n"
TTL = 'message:"AMQ229014: Did not receive data from 10.0.0.1 within the 60000ms connection TTL. The connection will now be closed."'
ACK_TIMEOUT = "< ERROR message:precondition_failed | PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out\n"
MAXIMUM = '< ERROR message:"The maximum data length was exceeded"\n'

CAUSES = [
    (OPEN + "> DISCONNECT receipt:1\n< RECEIPT receipt-id:1\n> FIN\n< FIN\n", "disconnect"),
    (OPEN + "> DISCONNECT\n> RST\n", "disconnect"),
    (OPEN + "> DISCONNECT\n", "disconnect"),
    (OPEN + "< EOL\n", "capture_end"),
    (OPEN + "> FIN\n< FIN\n", "unknown"),
    (OPEN + "< FIN\n> FIN\n", "unknown"),
    (OPEN + "< RST\n", "reset"),
    (OPEN + "> RST\n", "reset"),
    ("> CONNECT\n< ERROR message:no\n< FIN\n", "refused"),
    ("> CONNECT\n< ERROR message:no\n> FIN\n", "refused"),
    ("> CONNECT\n< ERROR message:no\n> DISCONNECT\n> FIN\n", "refused"),
    ("> CONNECT\n> DISCONNECT\n< ERROR message:no\n< FIN\n", "refused"),
    ("> CONNECT\n< ERROR message:no\n> DISCONNECT\n", "disconnect"),
    ("> CONNECT\n< FIN\n", "unknown"),
    # an ERROR ends what closes behind it, nothing that goes on or closes much later
    (OPEN + "> SEND\n< ERROR message:no\n< FIN\n", "error"),
    (OPEN + "> SEND\n< ERROR message:no\n> FIN\n", "error"),
    (OPEN + "> SEND\n< ERROR message:no\n> SEND destination:a\n> FIN\n", "unknown"),
    (OPEN + "> SEND\n< ERROR message:no\n> SEND destination:a\n< FIN\n", "error"),
    (OPEN + "> SEND\n< ERROR message:no\n< MESSAGE message-id:1\n< FIN\n", "unknown"),
    (OPEN + "> SEND\n< ERROR message:no\n@20000 < FIN\n", "unknown"),
    (OPEN + "> SEND\n< ERROR message:no\n> DISCONNECT\n< FIN\n", "error"),
    (OPEN + "> SEND\n< ERROR message:no\n> DISCONNECT\n> FIN\n", "disconnect"),
    (OPEN + "> SEND\n< ERROR message:no\n@2000 > DISCONNECT\n@2006 < FIN\n", "disconnect"),  # ActiveMQ goes on behind most of its ERRORs
    (OPEN + "> SEND\n< ERROR message:no\n@2000 > DISCONNECT\n@5000 < FIN\n", "error"),
    (OPEN + "> DISCONNECT\n< ERROR message:no\n< FIN\n", "disconnect"),
    # a DISCONNECT behind the server's close ended nothing
    (OPEN + "< FIN\n> DISCONNECT receipt:1\n> FIN\n", "unknown"),
    (OPEN + "< RST\n> DISCONNECT\n", "reset"),
    (OPEN + "> SEND\n< ERROR message:no\n< FIN\n> DISCONNECT\n", "error"),
    (BEATS + "@500 < EOL\n@1500 < EOL\n@2500 < EOL\n@3500 < FIN\n> DISCONNECT\n", "heartbeat_client"),
    # a client that goes on behind the server's close does not hide the ERROR, also where heart-beats are agreed
    (BEATS + "> SEND\n< ERROR message:no\n@10 < FIN\n@20 > ACK id:1\n", "error"),
    (BEATS + "> SEND\n@10 < RST\n@20 > SEND\n", "reset"),
    # what an ERROR says
    (OPEN + "> SEND\n" + MAXIMUM + "< FIN\n", "size_limit"),
    (OPEN + '> SEND\n< ERROR message:x | message size 9 is larger than configured max size 8\n< FIN\n', "size_limit"),
    (OPEN + ACK_TIMEOUT + "< FIN\n", "slow_consumer"),
    (OPEN + f"@60000 < ERROR {TTL}\n< FIN\n", "idle_cut"),
    # beats that were missed, and who closed for that
    (BEATS + "@500 < EOL\n@1500 < EOL\n@2500 < EOL\n@3500 < RST\n", "heartbeat_client"),
    (BEATS + "@500 > EOL\n@1500 > EOL\n@2500 > EOL\n@3500 > FIN\n", "heartbeat_server"),
    (BEATS + f"@500 < EOL\n@1500 < EOL\n@2500 < EOL\n@3500 < ERROR {TTL}\n< FIN\n", "heartbeat_client"),
    (BEATS + "@500 < EOL\n@500 > EOL\n@1000 < RST\n", "reset"),
    # a sender that beats agreed on is no case of a silence without beats
    (BEATS + "@500 < EOL\n@500 > EOL\n@60500 > RST\n", "heartbeat_server"),
    *((OPEN + f"@{1000 * at + 2} {way} {kind}\n", "idle_cut") for at in CUT_OFFS_S for way in "<>" for kind in ("FIN", "RST")),
    (OPEN + "@45000 < RST\n", "reset"),
    (OPEN + "@45000 < FIN\n", "unknown"),
    # octets missing behind a side's last frame hide a cause
    (OPEN + "> GAP 30\n> FIN\n", "unknown"),
    (OPEN + "> GAP 30\n< RST\n", "unknown"),
    (OPEN + "< GAP 30\n< RST\n", "unknown"),
    (OPEN + "> SEND\n< ERROR message:no\n> GAP 20\n< FIN\n", "unknown"),
    (OPEN + "> GAP 30\n@60000 < RST\n", "unknown"),
    # those before it hide none
    (OPEN + "> GAP 30\n> SEND destination:a\n< RST\n", "reset"),
    (OPEN + "> GAP 30\n> DISCONNECT\n> FIN\n", "disconnect"),
    (OPEN + "< GAP 30\n> SEND\n< ERROR message:no\n< FIN\n", "error"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "cause"), CAUSES)
def test_causes(text: str, cause: str) -> None:
    assert picked(run(text).tables["sessions"], "close_cause") == [(cause,)]


@pytest.mark.parametrize(("text", "ends"), [
    (OPEN + "> DISCONNECT\n< FIN\n", ("disconnect", "client")),
    (OPEN + "< FIN\n> DISCONNECT\n> FIN\n", ("fin", "server")),
    (OPEN + "< RST\n> DISCONNECT\n", ("rst", "server")),
])  # fmt: skip
def test_a_session_ends_by_what_comes_first_of_a_disconnect_and_the_close_of_the_server(text: str, ends: tuple[str, str]) -> None:
    assert picked(run(text).tables["sessions"], "end_kind", "ended_by") == [ends]


def test_a_side_of_which_nothing_was_captured_hides_a_cause() -> None:
    text = "> SEND destination:a\n> SEND destination:a\n< RST\n"
    assert picked(run(text, syn=False, synack=False).tables["sessions"], "close_cause") == [("unknown",)]


LOST = "; octets of the client are missing behind its last frame"
EVIDENCE = [
    (OPEN + "> DISCONNECT\n@53 > FIN\n", "DISCONNECT at c2s 36; FIN of the client 0.05 s later"),
    (OPEN + "> SEND\n< ERROR message:no\n< FIN\n", "ERROR at s2c 24: no; FIN of the server 0.001 s later"),
    (OPEN + "< ERROR\n< FIN\n", "ERROR at s2c 24; FIN of the server 0.001 s later"),
    (BEATS + "@502 < EOL\n@1502 < EOL\n@2502 < EOL\n@3502 < RST\n", "client silent for 3.5 s, 3.5 intervals of 1 s; RST of the server"),
    (OPEN + "@60002 < RST\n", "no heart-beats agreed; RST of the server 60 s after the last octets"),
    (OPEN + "> GAP 30\n@7 < RST\n", "RST of the server 0.005 s after the last octets" + LOST),
    (OPEN, "no FIN or RST captured"),
]


@pytest.mark.parametrize(("text", "evidence"), EVIDENCE)
def test_evidence(text: str, evidence: str) -> None:
    assert picked(run(text).tables["sessions"], "close_evidence") == [(evidence,)]


VANISHED = [
    # a SEND at 3 ms, repeated until the last packet
    ([203, 603, 1403], 1403, "vanished"),
    ([603, 1403], 1403, "capture_end"),  # a loss or two are everyday
    ([203, 603, 1403], 1500, "capture_end"),  # something came behind it
    ([1, 2, 1403], 1403, "capture_end"),  # of octets from before
]


@pytest.mark.parametrize(("again", "last", "cause"), VANISHED)
def test_who_repeats_without_an_answer_to_the_end_has_lost_its_peer(again: list[int], last: int, cause: str) -> None:
    session = Session(OPEN + "> SEND destination:a\n", "0" * 20)
    session.last = START + last * 1_000_000
    given = tables([session])
    repeated = {"stream_id": "0" * 20, "direction": "c2s", "kind": "retransmission"}
    stalls = pa.Table.from_pylist([repeated | {"begin_ns": START + at * MS, "end_ns": START + at * MS} for at in again])
    found = analyse(given["streams"], given["rows"], given["frames"], given["segments"], {"cap": 0}, stalls)
    [row] = found.tables["sessions"].to_pylist()
    assert row["close_cause"] == cause
    if cause == "vanished":
        assert row["close_evidence"] == "no FIN or RST; for 1.4 s the client repeats what it sent last, no octets of the server"


def test_pings_of_a_layer_are_signs_of_life() -> None:
    signs = [{"direction": "s2c", "kind": "control_frame", "begin_ms": 30_000, "end_ms": 30_000}]
    assert picked(run(OPEN + "@60002 < RST\n", stalls=signs).tables["sessions"], "close_cause") == [("idle_cut",)]  # 30 s behind it
    signs = [{"direction": "s2c", "kind": "control_frame", "begin_ms": 20_000, "end_ms": 20_000}]
    assert picked(run(OPEN + "@60002 < RST\n", stalls=signs).tables["sessions"], "close_cause") == [("reset",)]


@pytest.mark.parametrize("cut", slow_behind(3, range(1, 8)))
def test_pieces_give_the_causes_of_the_whole(cut: int) -> None:
    given = made(*(text for text, _ in CAUSES))
    names = ("stream_id", "close_cause", "close_evidence")
    last = {row[0]: row for row in picked(resumed(given, [cut])["sessions"], *names)}  # provisional rows before it
    assert sorted(last.values()) == sorted(picked(whole(given)["sessions"], *names))


def test_each_cause_that_one_connection_shows_has_a_case() -> None:
    beside_others = {"tls_alert", "websocket_close", "broker_stop", "vanished"}
    assert {cause for _, cause in CAUSES} == set(words.CLOSE_CAUSES) - beside_others


AGENTS = [("stomp.py/8.1", "stomp.py"), ("@stomp/stompjs 7.0", "stompjs"), ("Mozilla/5.0 Firefox/120.0", None), ("go-stomp/3", "go-stomp")]


@pytest.mark.parametrize(("agent", "product"), AGENTS)
def test_a_client_that_names_itself_is_believed(agent: str, product: str | None) -> None:
    text = f'> CONNECT accept-version:1.2 host:/ client-id:c-7 "user-agent:{agent}"\n'
    [row] = run(text).tables["sessions"].to_pylist()
    assert (row["client_id"], row["user_agent"], row["client_product"]) == ("c-7", agent, product)


def test_what_the_first_error_said_is_kept() -> None:
    found = run(OPEN + "< ERROR message:no | at line 7\n").tables["sessions"]
    assert picked(found, "error_message", "error_detail") == [("no", "at line 7")]
