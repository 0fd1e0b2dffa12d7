"""Subscriptions that ended: known for so many frames by their id, then forgotten; the same whole and in pieces, and no growing state."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stompcap.assembly import pieces
from stompcap.session import Options
from stompcap.session.facts import ACTIVE, ENDED, UNKNOWN
from tests.session.pieces import cut, differences, resumed, rows_of, whole
from tests.session.test_resume import CUTS
from tests.session.transcript import made, picked, run

OPEN = "> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2\n"
OLD = "> CONNECT login:a\n< CONNECTED session:1\n"
SUBSCRIBE = "> SUBSCRIBE id:1 destination:/a ack:client\n"
UNSUBSCRIBE = "> UNSUBSCRIBE id:1\n"
LATE = "< MESSAGE subscription:1 message-id:late ack:late destination:/a\n"


@pytest.mark.parametrize(("said", "within", "beyond"), [
    (LATE, (ENDED, 0), (UNKNOWN, -1)),
    (UNSUBSCRIBE, (ENDED, 0), (UNKNOWN, -1)),
    (SUBSCRIBE, (ENDED, 1), (UNKNOWN, 1)),
], ids=["MESSAGE", "UNSUBSCRIBE", "SUBSCRIBE"])
def test_known_by_its_id_for_as_many_frames_as_memory_has(said: str, within: tuple[int, int], beyond: tuple[int, int]) -> None:
    for frames, expected in ((3, within), (4, beyond)):
        notes = run(OPEN + SUBSCRIBE + UNSUBSCRIBE + "> SEND\n" * (frames - 1) + said, options=Options(retention=3)).notes
        assert (notes.subscription_state[-1], notes.subscription_row[-1]) == expected, frames
        assert notes.unsubscribed_by[-1] == (3 if expected[0] == ENDED else -1)


def test_what_is_active_is_known_for_ever() -> None:
    """By the id that a newer one took as well, though that one ended long ago."""
    again = "> SUBSCRIBE id:1 destination:/b\n> UNSUBSCRIBE destination:/b\n"
    for middle, row in (("", 0), (again, 0), (2 * again, 0)):
        notes = run(OPEN + SUBSCRIBE + middle + "> SEND\n" * 9 + LATE, options=Options(retention=3)).notes
        assert (notes.subscription_state[-1], notes.subscription_row[-1]) == (ACTIVE, row)


def test_a_message_under_way_is_told_by_its_destination_for_as_long() -> None:
    taken_anew = SUBSCRIBE + UNSUBSCRIBE + "> SUBSCRIBE id:1 destination:/b\n"
    for frames, row in ((3, 0), (4, 1)):
        notes = run(OPEN + taken_anew + "> SEND\n" * (frames - 2) + LATE, options=Options(retention=3)).notes
        assert notes.subscription_row[-1] == row


FAR = "> SEND\n< EOL\n" * 6
FIRST = "> SUBSCRIBE id:0 destination:/0\n< MESSAGE subscription:0 message-id:0 destination:/0\n> UNSUBSCRIBE id:0\n"
START = OPEN + FIRST  # what comes first is kept for ever
OTHER = "> SUBSCRIBE id:3 destination:/c\n> UNSUBSCRIBE id:3\n"
NAMELESS = FAR + SUBSCRIBE + UNSUBSCRIBE + FAR + "< MESSAGE message-id:1 destination:/a\n" + FAR
CASES = {
    "a late MESSAGE within memory": START + SUBSCRIBE + UNSUBSCRIBE + LATE + FAR,
    "a late MESSAGE beyond it": START + SUBSCRIBE + UNSUBSCRIBE + FAR + LATE + FAR,
    "an UNSUBSCRIBE beyond it": START + SUBSCRIBE + UNSUBSCRIBE + FAR + UNSUBSCRIBE + FAR,
    "unsubscribed again and again": START + SUBSCRIBE + (UNSUBSCRIBE + "> SEND\n") * 6 + LATE + FAR + LATE,
    "its id used again": START + (SUBSCRIBE + LATE + "> ACK id:late\n" + UNSUBSCRIBE + FAR) * 3,
    "its id used again at once": START + (SUBSCRIBE + LATE + UNSUBSCRIBE) * 5 + FAR + LATE + SUBSCRIBE + LATE,
    "replaced, then unsubscribed": START + (SUBSCRIBE * 3 + LATE + UNSUBSCRIBE + FAR) * 2 + LATE,
    "acknowledged long after": START + SUBSCRIBE + LATE + UNSUBSCRIBE + FAR + LATE + "> ACK id:late\n" + FAR,
    "acknowledged in a transaction": START + SUBSCRIBE + LATE + "> BEGIN transaction:1\n> ACK id:late transaction:1\n" + UNSUBSCRIBE + FAR
    + "> ABORT transaction:1\n" + FAR + "> ACK id:late\n" + FAR,
    "never acknowledged": START + SUBSCRIBE + LATE + UNSUBSCRIBE + FAR + "> DISCONNECT\n",
    "a 1.1 ACK names it": START.replace("1.2", "1.1") + SUBSCRIBE + LATE + UNSUBSCRIBE + FAR + "> ACK subscription:1 message-id:late\n",
    "by destination": OLD + FIRST
    + ("> SUBSCRIBE destination:/a\n< MESSAGE message-id:1 destination:/a\n> UNSUBSCRIBE destination:/a\n" + FAR) * 3
    + "< MESSAGE message-id:1 destination:/a\n",
    "by the destination of one with an id": START + (SUBSCRIBE + "> UNSUBSCRIBE destination:/a\n") * 2 + LATE + FAR + LATE,
    "an active one below": START + SUBSCRIBE + "> SUBSCRIBE id:1 destination:/b\n> UNSUBSCRIBE destination:/b\n" + FAR + LATE
    + "< MESSAGE subscription:1 message-id:2 destination:/b\n" + UNSUBSCRIBE + FAR + LATE,
    "one below that ended later": START + SUBSCRIBE + "> SUBSCRIBE id:1 destination:/b\n> UNSUBSCRIBE destination:/b\n" + "> SEND\n" * 2
    + UNSUBSCRIBE + "> SEND\n" * 2 + "> SUBSCRIBE id:1 destination:/c\n" + LATE + FAR,
    "one of two of a destination": START + SUBSCRIBE + "> SUBSCRIBE id:2 destination:/a\n< MESSAGE message-id:1 ack:1 destination:/a\n"
    + "> UNSUBSCRIBE destination:/a\n> UNSUBSCRIBE id:2\n" + FAR
    + "> ACK id:1\n< MESSAGE message-id:2 ack:2 destination:/a\n> ACK id:2\n" + FAR,
    "two of a destination, in doubt": START + "> SUBSCRIBE id:2 destination:/a ack:client\n" + SUBSCRIBE
    + "< MESSAGE message-id:1 ack:1 destination:/a\n" + UNSUBSCRIBE + OTHER + FAR + "> UNSUBSCRIBE destination:/a\n" + FAR,
    "an UNSUBSCRIBE of two of a destination": OPEN + SUBSCRIBE + "> SUBSCRIBE id:2 destination:/a\n> UNSUBSCRIBE destination:/a\n"
    + "> UNSUBSCRIBE id:2\n" + OTHER + FAR + LATE + FAR,
    "the server alone goes on": START + SUBSCRIBE + UNSUBSCRIBE + SUBSCRIBE + "< RECEIPT receipt-id:9\n" * 9 + "> SEND\n",
    "the server alone goes on, one below": START + SUBSCRIBE + "> SUBSCRIBE id:1 destination:/b\n> UNSUBSCRIBE destination:/b\n"
    + "> SEND\n" * 2 + UNSUBSCRIBE + "> SEND\n" * 2 + SUBSCRIBE + "< RECEIPT receipt-id:9\n" * 9 + "> SEND\n",
    "the client alone goes on": START + SUBSCRIBE + UNSUBSCRIBE + LATE + "> SEND\n" * 12 + "< EOL\n",
    "one without id long ago": START + "> SUBSCRIBE destination:/b\n> UNSUBSCRIBE destination:/b\n" + NAMELESS,
    "one with an empty id long ago": START + "> SUBSCRIBE id: destination:/b\n> UNSUBSCRIBE destination:/b\n" + NAMELESS,
}  # fmt: skip


@pytest.mark.parametrize(("memory", "step"), [(3, 2), *(pytest.param(*one, marks=pytest.mark.slow) for one in ((4, 1), (1, 5)))])
def test_it_comes_out_in_pieces_as_whole(memory: int, step: int) -> None:
    sessions, options = made(*CASES.values()), Options(retention=memory)
    last = max(sessions["segments"]["packet"].to_pylist())
    assert differences(whole(sessions, options), resumed(sessions, range(min(step, last), last + 1, step), options)) == []


def test_its_row_comes_out_when_nothing_can_change_it() -> None:
    """Not before it is forgotten, nor before what it delivered is settled and the server was heard since."""
    settled = "> SUBSCRIBE id:2 destination:/b\n> UNSUBSCRIBE id:2\n"
    text = OPEN + SUBSCRIBE + LATE + UNSUBSCRIBE + settled + "> SEND\n" * 8 + "> ACK id:late\n< EOL\n" + "> SEND\n" * 8
    sessions, options, state, found = made(text), Options(retention=4), pieces.nothing(), {}
    for number, piece in enumerate(cut(sessions, range(4, 27))):
        tables, state = pieces.resume(piece, state, {"cap": 0}, options)
        found |= {row["subscription"]: (number + 3, row["acked"], row["status"]) for row in tables["subscriptions"].to_pylist()}
    # packets: 4 MESSAGE, 5 and 7 UNSUBSCRIBE, 16 ACK, 17 EOL; the last frame waits for the next
    assert found == {"2": (12, 0, "unsubscribed"), "1": (22, 1, "unsubscribed")}


def test_thousands_beside_one_that_stays() -> None:
    main = "> SUBSCRIBE id:main destination:/queue/a\n"
    each = "> SUBSCRIBE id:{0} destination:/t/{0}\n< MESSAGE subscription:{0} message-id:{0} destination:/t/{0}\n> UNSUBSCRIBE id:{0}\n"
    news = "< MESSAGE subscription:main message-id:m{0} destination:/queue/a\n"
    sessions = made(OPEN + main + "".join((each + news * (n % 100 == 0)).format(n) for n in range(2000)))
    sizes: list[Counter[str]] = []
    options = Options(retention=16)
    tables, found = whole(sessions, options), resumed(sessions, range(300, 6000, 300), options, sizes)
    for name in ("subscriptions", "deliveries", "compliance", "compliance_findings"):
        assert rows_of(tables, name) == rows_of(found, name), name
    assert max(size.total() for size in sizes[:-1]) < 200
    assert ("main", 20, "open") in picked(tables["subscriptions"], "subscription", "delivered", "status")


SAID = st.builds(
    str.format,
    st.sampled_from([
        "> SUBSCRIBE id:{0} destination:/{1} ack:{2}", "> SUBSCRIBE id:{0} destination:/{1}", "> SUBSCRIBE destination:/{1}",
        "> UNSUBSCRIBE id:{0}", "> UNSUBSCRIBE destination:/{1}", "> SUBSCRIBE id:{0}", "> UNSUBSCRIBE",
        "< MESSAGE message-id:{3} ack:{3} subscription:{0} destination:/{1}", "< MESSAGE message-id:{3} ack:{3} destination:/{1}",
        "> ACK id:{3} message-id:{3} subscription:{0}", "> SEND", "< EOL", "< RECEIPT receipt-id:9", "< GAP 9", "> GAP 9",
    ]),
    st.sampled_from("112"), st.sampled_from("aab"), st.sampled_from(["client", "client-individual", "auto"]), st.integers(1, 10**6),
)  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.lists(SAID, max_size=30).map("\n".join), min_size=1, max_size=12), st.sampled_from([OPEN, OLD, ""]), CUTS, st.integers(1, 8)
)
def test_any_subscriptions_cut_anywhere(texts: list[str], opening: str, cuts: list[int], memory: int) -> None:
    sessions, options = made(*(opening + text for text in texts)), Options(retention=memory)
    assert differences(whole(sessions, options), resumed(sessions, cuts, options)) == []
