"""One conversation seen from any place between its ends: the two directions interleave in another way, and mean the same."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stompcap.rules import judge
from tests.examples import one_in
from tests.session.transcript import run

APART = 40  # milliseconds from one end to the other
PLACES = (0, 7, 20, 33, APART)
OF_PLACE = {"CN-07", "SB-08", "HB-01", "HB-02", "HB-05", "HB-06", "TX-08"}  # rules that judge by what passed first, or by times
TIMED = ("max_in_flight", "mean_in_flight", "close_evidence")


@dataclass
class Talk:
    """Frames with the time each was sent, client's and server's; the server answers what has reached it, the client what has reached it."""

    sent: list[tuple[float, str, str]] = field(default_factory=list)
    message: int = 0

    def client(self, at: float, frame: str) -> None:
        self.sent.append((at, ">", frame))
        if "receipt:" in frame:
            self.server(at + APART + 1, f"RECEIPT receipt-id:{frame.split('receipt:')[1].split()[0]}")

    def server(self, at: float, frame: str) -> None:
        self.sent.append((at, "<", frame))

    def deliver(self, at: float, subscription: int, answer: str) -> None:
        self.message += 1
        name = f"m{self.message}"
        self.server(at, f"MESSAGE message-id:{name} ack:a-{name} subscription:{subscription} destination:/q/{subscription}")
        if answer:
            command, _, rest = answer.partition(" ")
            self.client(at + APART + 5, f"{command} id:a-{name} {rest}")

    def seen_at(self, place: int) -> str:
        """The transcript of a capture so far from the client; what a side sends stays in its order."""
        opening = "> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2\n"
        passed, latest = [], {">": 0.0, "<": 0.0}
        for order, (at, side, frame) in enumerate(sorted(self.sent, key=lambda sent: sent[0])):
            latest[side] = max(latest[side] + 0.001, at)
            passed.append((latest[side] + (place if side == ">" else APART - place), order, side, frame))
        return opening + "".join(f"@{at + 200:.3f} {side} {frame}\n" for at, _, side, frame in sorted(passed))


MODES = st.sampled_from(["auto", "client", "client-individual"])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["deliver", "deliver", "deliver", "send", "unsubscribe", "begin", "commit", "abort"]),
        st.integers(0, 1), st.sampled_from(["", "ACK", "NACK", "ACK transaction:t0", "ACK transaction:t1"]), st.integers(1, 90),
    ),
    min_size=1, max_size=14,
)


def talked(modes: tuple[str, str], steps: list[tuple[str, int, str, int]]) -> Talk:
    talk, now = Talk(), 100.0
    for n, mode in enumerate(modes):
        talk.client(n, f"SUBSCRIBE id:{n} destination:/q/{n} ack:{mode} receipt:s{n}")
    for number, (what, which, answer, wait) in enumerate(steps):
        now += wait
        if what == "deliver":
            talk.deliver(now, which, answer)
        elif what == "send":
            talk.client(now, f"SEND destination:/q/{which} receipt:r{number} | x")
        elif what == "unsubscribe":
            talk.client(now, f"UNSUBSCRIBE id:{which}")
        else:
            talk.client(now, f"{what.upper()} transaction:t{which}")
    talk.client(now + 3 * APART, "DISCONNECT receipt:bye")
    return talk


def told(texts: list[str]) -> list[dict[str, list[dict[str, object]]]]:
    """All that is said of each conversation, its times apart."""
    analysis = run(*(text + "> FIN\n< FIN\n" for text in texts))
    tables: dict[str, pa.Table] = {
        name: analysis.tables[name] for name in ("sessions", "subscriptions", "deliveries", "transactions", "receipts")
    } | judge(analysis)
    found: list[dict[str, list[dict[str, object]]]] = [{name: [] for name in tables} for _ in texts]
    for name, table in tables.items():
        for row in table.to_pylist():
            if row.get("rule_id") not in OF_PLACE:
                kept = {key: value for key, value in row.items() if not key.endswith(("_ns", "_ts", "_us")) and key not in TIMED}
                found[int(kept.pop("stream_id"))][name].append(kept)
    return found


@one_in(4)
@given(st.tuples(MODES, MODES), STEPS)
def test_the_place_of_the_capture_changes_times_alone(modes: tuple[str, str], steps: list[tuple[str, int, str, int]]) -> None:
    talk = talked(modes, steps)
    first, *others = told([talk.seen_at(place) for place in PLACES])
    assert first["subscriptions"]
    for place, other in zip(PLACES[1:], others, strict=True):
        assert other == first, place
