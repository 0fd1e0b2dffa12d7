"""Settlement as it would be done by hand: every ACK looks through all deliveries. Slow and plain, to hold the machine against."""

from __future__ import annotations

from dataclasses import dataclass, field

PENDING, SETTLED, ENCLOSED, VOIDED, AUTO, REPLACED = "pending", "settled", "enclosed", "voided", "auto", "replaced"


@dataclass
class Subscription:
    """`name` is its id, or its destination where it has none."""

    name: str | None
    destination: str | None
    mode: str
    anonymous: bool
    active: bool = True


@dataclass
class Delivery:
    """A MESSAGE; `by` is the number of the frame that settled it."""

    message_id: str | None
    ack: str | None
    named: str | None
    subscription: Subscription | None
    state: str
    by: int = -1
    how: str | None = None
    transaction: str | None = None

    @property
    def mode(self) -> str | None:
        return self.subscription.mode if self.subscription else None

    @property
    def name(self) -> str | None:
        return self.named or (self.subscription.name if self.subscription else None)


@dataclass
class Plain:
    """One session.

    `ack_scope_connection`: a cumulative ACK reaches over the connection; `single`: a NACK is never cumulative;
    `by_message_id`: a 1.1 ACK goes by message-id alone. `earlier`: of the frames that settled something, those with a delivery
    open before it that a
    cumulative one would settle along.
    """

    version: str
    ack_scope_connection: bool = False
    single: bool = False
    by_message_id: bool = False
    subscriptions: list[Subscription] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    earlier: list[int] = field(default_factory=list)

    def frame(self, number: int, command: str, header: dict[str, str]) -> None:
        """The next frame of the wire."""
        if command == "SUBSCRIBE":
            name, destination = header.get("id", header.get("destination")), header.get("destination")
            self.subscriptions.append(Subscription(name, destination, header.get("ack", "auto"), "id" not in header))
        elif command == "UNSUBSCRIBE":
            self._unsubscribe(header)
        elif command == "MESSAGE":
            self._message(header)
        elif command in ("ACK", "NACK"):
            self._settle(number, command, header)
        elif command in ("COMMIT", "ABORT"):
            for one in self.deliveries:
                if one.state == ENCLOSED and one.transaction == header["transaction"]:
                    one.state = SETTLED if command == "COMMIT" else VOIDED
        elif command == "BEGIN":
            for one in self.deliveries:  # what the transaction of that id held before belongs to none that can end
                if one.state == ENCLOSED and one.transaction == header["transaction"]:
                    one.transaction = None

    def _unsubscribe(self, header: dict[str, str]) -> None:
        name = header.get("id", header.get("destination"))
        mine = [s for s in self.subscriptions if s.name == name]
        if not mine and "id" not in header:
            there = [s for s in self.subscriptions if s.active and s.destination == name]
            mine = there if len(there) == 1 else []
        for one in mine:
            one.active = False

    def _subscription(self, header: dict[str, str]) -> Subscription | None:
        name, destination = header.get("subscription"), header.get("destination")
        there = [s for s in self.subscriptions if s.active and s.destination == destination]
        if name is None:
            return there[0] if len(there) == 1 else None
        mine = [s for s in self.subscriptions if s.name == name]
        if not mine:
            nameless = [s for s in there if s.anonymous]
            return nameless[0] if len(nameless) == 1 else None
        if mine[-1].destination != destination and len(mine) > 1 and mine[-2].destination == destination:
            return mine[-2]
        return mine[-1]

    def _message(self, header: dict[str, str]) -> None:
        of = self._subscription(header)
        copies = [d for d in self.deliveries if d.message_id == header["message-id"]]
        if copies and copies[-1].state == VOIDED and of is not None and copies[-1].subscription is of:
            copies[-1].state = REPLACED
        state = AUTO if of and of.mode == "auto" else PENDING
        self.deliveries.append(Delivery(header["message-id"], header.get("ack"), header.get("subscription"), of, state))

    def _named(self, header: dict[str, str]) -> list[Delivery]:
        """The deliveries that an ACK may mean."""
        if self.version == "1.2":
            return [d for d in self.deliveries if "id" in header and (d.ack or d.message_id) == header["id"]]
        wanted, subscription = header.get("message-id"), header.get("subscription")
        if wanted is None or (self.version == "1.1" and subscription is None and not self.by_message_id):
            return []
        alike = [d for d in self.deliveries if d.message_id == wanted]
        if self.by_message_id or subscription is None:
            return alike
        exact = [d for d in alike if d.name == subscription]
        if exact:
            return exact
        chosen = self._choose(alike) or (alike[-1] if alike else None)
        return [] if chosen is None or chosen.name is not None else [chosen]

    @staticmethod
    def _choose(among: list[Delivery]) -> Delivery | None:
        waiting = [d for d in among if d.state == PENDING]
        live = [d for d in waiting if d.subscription is None or d.subscription.active]
        return next(iter([*live, *waiting, *(d for d in among if d.state == VOIDED)]), None)

    def _settle(self, number: int, command: str, header: dict[str, str]) -> None:
        chosen = self._choose(self._named(header))
        if chosen is None:
            return
        swept, earlier = [chosen], self.deliveries[: self._place(chosen)]
        asking = [d for d in earlier if d.state in (PENDING, VOIDED) and d.mode in ("client", "client-individual")]
        over_all = self.ack_scope_connection and chosen.mode in ("client", "client-individual")
        if any(over_all or d.subscription is chosen.subscription for d in asking):
            self.earlier.append(number)
        if chosen.mode == "client" and not (command == "NACK" and self.single):
            swept += [d for d in asking if self.ack_scope_connection or d.subscription is chosen.subscription]
        transaction = header.get("transaction")
        for one in swept:
            one.by, one.how, one.transaction = number, "direct" if one is chosen else "cumulative", transaction
            one.state = SETTLED if transaction is None else ENCLOSED

    def _place(self, of: Delivery) -> int:
        return next(i for i, one in enumerate(self.deliveries) if one is of)
