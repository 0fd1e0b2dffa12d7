"""Subscriptions that may have been renewed in another mode behind what the capture lacks: what is still told of their deliveries."""

from __future__ import annotations

import pytest

from stompcap.session import Options
from tests.examples import every
from tests.session.delivered import A1, A2, BEGIN, COMMIT, RABBITMQ, dialogue, message, subscribe
from tests.session.pieces import differences, resumed, staggered, whole
from tests.session.transcript import encode, made, picked

RENEWING = len(encode("UNSUBSCRIBE id:1")) + len(encode("SUBSCRIBE id:1 destination:/"))
HIDES, HIDES_NOT = f"> GAP {RENEWING}\n> EOL\n", f"> GAP {RENEWING - 1}\n> EOL\n"
ANEW, TOO_SHORT = (f"> GAP {len(encode('SUBSCRIBE id:1 destination:/')) - less}\n> EOL\n" for less in (0, 1))
GONE = "> UNSUBSCRIBE id:1\n"
AUTO, EACH, ONE = (subscribe(mode=mode) for mode in ("auto", "client-individual", "client"))
BARE, SECOND_BARE = message("m1"), message("m2")
FIRST, SECOND = message("m1", ack="a1"), message("m2", ack="a2")
OLD1, OLD2 = (f"> ACK message-id:m{n} subscription:1\n" for n in (1, 2))
NOT_KNOWN, SETTLED = (None, "unknown", None), (None, "settled", "direct")
TORN = '> RAW "UNSUBSCRI"\n> GAP 27\n> RAW "stination:/queue/a\\n\\n\\x00"\n> EOL\n'

CASES = {
    # version, frames; of each MESSAGE: ack_mode, status, settled_by
    "auto, and nothing is missing": ("1.1", AUTO + BARE, [("auto", "auto", None)]),
    "auto, renewed perhaps": ("1.1", AUTO + HIDES + BARE, [NOT_KNOWN]),
    "and so the server's": ("1.1", AUTO + "< GAP 90\n< EOL\n" + BARE, [("auto", "auto", None)]),
    "in 1.0": ("1.0", AUTO + HIDES + BARE, [NOT_KNOWN]),
    "too little is missing": ("1.1", AUTO + HIDES_NOT + BARE, [("auto", "auto", None)]),
    "heart-beats are missing": ("1.1", AUTO + "> GAP 1\n> EOL\n" * 90 + BARE, [("auto", "auto", None)]),
    "missing behind the MESSAGE": ("1.1", AUTO + BARE + "> EOL\n" + HIDES, [("auto", "auto", None)]),
    "missing before the SUBSCRIBE": ("1.1", HIDES + AUTO + BARE, [("auto", "auto", None)]),
    "each in a gap of its own": ("1.1", AUTO + "> GAP 20\n> EOL\n> GAP 31\n> EOL\n" + BARE, [NOT_KNOWN]),
    "frames that the gap tore": ("1.1", AUTO + TORN + BARE, [NOT_KNOWN]),
    "the ACK tells": ("1.1", AUTO + HIDES + BARE + OLD1, [SETTLED]),
    "no ack header tells": ("1.2", AUTO + HIDES + BARE, [("auto", "auto", None)]),
    "nor was there one before": ("1.2", ONE + HIDES + BARE, [("auto", "auto", None)]),
    "an ack header, where there should be none": ("1.2", AUTO + HIDES + FIRST, [NOT_KNOWN]),
    "and its ACK": ("1.2", AUTO + HIDES + FIRST + A1, [SETTLED]),
    "an ack header, no ACK": ("1.2", ONE + HIDES + FIRST, [(None, "unsettled", None)]),
    "of a server that always has one": ("1.2", subscribe(2, "auto") + message("m0", 2, ack="a0") + ONE + HIDES + FIRST,
                                       [("auto", "auto", None), NOT_KNOWN]),
    "client, renewed perhaps": ("1.1", ONE + HIDES + BARE, [NOT_KNOWN]),
    "what a later ACK settles along": ("1.1", ONE + HIDES + BARE + SECOND_BARE + OLD2, [NOT_KNOWN, SETTLED]),
    "with ack headers": ("1.2", ONE + HIDES + FIRST + SECOND + A2, [NOT_KNOWN, SETTLED]),
    "individual, and perhaps no more": ("1.2", EACH + HIDES + FIRST + SECOND + A2, [NOT_KNOWN, SETTLED]),
    "an earlier ACK tells nothing of a later MESSAGE": ("1.2", ONE + HIDES + FIRST + A1 + SECOND, [SETTLED, (None, "unsettled", None)]),
    "inside a transaction": ("1.1", AUTO + HIDES + BARE + BEGIN + OLD1.replace("\n", " transaction:t\n") + COMMIT, [SETTLED]),
    "one delivered before": ("1.1", EACH + BARE + "> EOL\n" + HIDES + SECOND_BARE, [("client-individual", "unknown", None), NOT_KNOWN]),
    "ended, and perhaps begun anew": ("1.1", AUTO + GONE + ANEW + BARE, [NOT_KNOWN]),
    "ended, too little missing": ("1.1", AUTO + GONE + TOO_SHORT + BARE, [("auto", "auto", None)]),
    "renewed, and that was captured": ("1.1", ONE + HIDES + GONE + AUTO + BARE, [("auto", "auto", None)]),
    "of a subscription that is lost": ("1.2", HIDES + BARE, [("auto", "auto", None)]),
    "so, with an ack header": ("1.2", HIDES + FIRST, [NOT_KNOWN]),
    "so, acknowledged by its message-id": ("1.2", HIDES + BARE + "> ACK id:m1\n", [SETTLED]),
    "so, in 1.1": ("1.1", HIDES + BARE, [NOT_KNOWN]),
    "one that names none": ("1.2", ONE + HIDES + "< MESSAGE message-id:m1 destination:/queue/a\n", [("auto", "auto", None)]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_told_of_a_delivery(name: str) -> None:
    version, text, expected = CASES[name]
    assert picked(whole(made(dialogue(version, "", text)))["deliveries"], "ack_mode", "status", "settled_by") == expected


def test_its_ack_may_settle_others_of_the_connection_along() -> None:
    text = ONE + HIDES + subscribe(2, "client-individual", "/queue/b") + message("m2", 2, "/queue/b", "a2") + FIRST + A1
    for server, status in ((RABBITMQ, "unknown"), ("", "unsettled")):
        assert picked(whole(made(dialogue("1.2", server, text)))["deliveries"], "status") == [(status,), ("settled",)]


@pytest.mark.slow
@pytest.mark.parametrize("retention", every(2, [1, 3, 65_536]))
def test_in_pieces_as_whole(retention: int) -> None:
    sessions = staggered(made(*(dialogue(version, "", text) for version, text, _ in CASES.values())), 12)
    options = Options(retention=retention)
    assert differences(whole(sessions, options), resumed(sessions, range(3, 130, 4), options)) == []
