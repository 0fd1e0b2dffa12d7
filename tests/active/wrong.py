"""Brokers and clients that do something wrong, and the cases that must find it; every case has one."""

from __future__ import annotations

import time
from collections.abc import Sequence

from stompcap.active.broker import Message, Session, Subscription
from stompcap.active.echo import Echo
from stompcap.active.frames import Frame


class Mute(Session):
    """Says nothing at all."""

    def frame(self, frame: Frame) -> None:
        pass

    def refuse(self, why: str, frame: Frame | None = None) -> None:
        pass


class Deaf(Session):
    """Answers CONNECT and SUBSCRIBE, and nothing else."""

    def process(self, frame: Frame) -> None:
        if frame.command == "CONNECT":
            super().process(frame)
        elif frame.command == "SUBSCRIBE":
            self.send("RECEIPT", [("receipt-id", frame.get("receipt") or "")])

    def refuse(self, why: str, frame: Frame | None = None) -> None:
        pass


class Unsettled(Session):
    """Takes no ACK for one."""

    def settle(self, frame: Frame) -> None:
        pass


class AutoAgain(Session):
    """Delivers again what mode auto has settled."""

    def message(self, to: Subscription, message: Message) -> None:
        super().message(to, message)
        to.waiting[str(message.number)] = message


class Forgets(Session):
    """Loses what was not acknowledged."""

    def end(self) -> None:
        for one in self.subscriptions.values():
            one.waiting.clear()
        super().end()


class NoNack(Session):
    """Knows no NACK."""

    def settle(self, frame: Frame) -> None:
        if frame.command == "NACK":
            self.refuse("what?")


class Eager(Session):
    """Does not wait for COMMIT."""

    def process(self, frame: Frame) -> None:
        super().process(frame._replace(headers=[one for one in frame.headers if frame.command != "SEND" or one[0] != "transaction"]))


class Clings(Session):
    """Delivers behind UNSUBSCRIBE."""

    def unsubscribe(self, id_: str) -> None:
        pass


class Stays(Session):
    """Goes on behind ERROR."""

    def refuse(self, why: str, frame: Frame | None = None) -> None:
        super().refuse(why, frame)
        self.over = False


class Invents(Session):
    """Answers what was never asked."""

    def apply(self, frame: Frame) -> None:
        super().apply(frame)
        self.send("RECEIPT", [("receipt-id", "inner")])

    def connect(self, frame: Frame) -> None:
        super().connect(frame)
        self.send("RECEIPT", [("receipt-id", "inner")])


class Chatty(Session):
    """Beats though nobody asked."""

    def connect(self, frame: Frame) -> None:
        super().connect(frame)
        self.beat_s = 0.5


class Silent(Session):
    """Promises beats and sends none, and expects none."""

    def connect(self, frame: Frame) -> None:
        super().connect(frame)
        self.beat_s = self.silence_s = 0


class Impatient(Session):
    """Gives clients up before their beats are due."""

    def connect(self, frame: Frame) -> None:
        super().connect(frame)
        self.silence_s = 0.5


BROKERS: dict[type[Session], Sequence[str]] = {
    Mute: (
        "connect-1.2", "connect-1.1", "connect-1.0", "highest-version", "versions-in-any-order", "version-of-the-future",
        "no-common-version", "stomp-frame", "unknown-connect-header", "wrong-passcode", "send-before-connect", "byte-by-byte",
        "crlf-lines",
    ),
    Deaf: (
        "frames-in-one-segment", "frame-behind-half-a-frame", "eols-between-frames", "escapes", "escaped-cr", "escaped-name",
        "undefined-escape", "cr-escape-in-1.1", "utf-8-headers", "spaces-are-kept", "empty-value", "repeated-header", "unknown-command",
        "no-colon", "nul-in-body", "all-bytes", "empty-body", "no-content-length", "content-length-too-short",
        "content-length-negative", "content-length-no-number", "content-length-repeated", "large-body", "large-header", "many-headers",
        "users-headers", "content-type", "same-destination", "bad-send", "error-names-the-receipt", "error-has-a-message",
        "unknown-transaction", "receipts-of-all-frames", "escaped-receipt", "close-behind-disconnect", "message-headers", "ack-header",
        "no-ack-header-in-auto", "subscription-id-with-escapes", "subscribe-without-id", "subscribe-without-destination",
        "unknown-ack-mode", "two-subscriptions", "unknown-ack", "commit-unknown", "begin-twice",
    ),
    Unsettled: ("individual-ack", "cumulative-ack", "acknowledged-stays-settled"),
    AutoAgain: ("ack-in-mode-auto-is-implied",),
    Forgets: ("unacknowledged-comes-again", "ack-aborted"),
    NoNack: ("nack",),
    Eager: ("commit", "abort", "gone-without-commit"),
    Clings: ("nothing-behind-unsubscribe",),
    Stays: ("nothing-behind-error", "no-common-version", "bad-send"),
    Invents: ("content-length-too-long", "frames-in-a-body"),
    Chatty: ("no-beats-agreed",),
    Silent: ("server-beats", "missing-beats"),
    Impatient: ("beats-keep-it-open", "late-beat"),
}  # fmt: skip


class Old(Echo):
    """Says STOMP without a header, and no more."""

    def run(self) -> None:
        self.wire.send(b"STOMP\n\n\0")
        while not self.wire.ended:
            self.wire.receive(0.2)
        self.wire.close()


class Half(Echo):
    """Echoes the first message, and ignores all else, for ever."""

    def serve(self) -> bool:
        while not self.wire.ended:
            while self.wire.frames:
                frame = self.wire.frames.pop(0)
                if frame.get("message-id") == "m0":
                    self.echo(frame)
            self.wire.receive(0.05)
        return False


class Lost(Echo):
    """Echoes nothing, and expects no beats."""

    def serve(self) -> bool:
        while not self.wire.ended:
            self.wire.receive(0.2)
        return False


class TooNew(Echo):
    """Speaks 1.2 whatever was agreed on."""

    def echo(self, message: Frame) -> None:
        self.version = "1.2"
        super().echo(message)


class Hasty(Echo):
    """Gives a server up before its beats are due."""

    def serve(self) -> bool:
        self.silence_s = 0.3
        return super().serve()


class Talks(Echo):
    """Cannot stop."""

    def serve(self) -> bool:
        while (frame := self.next()) is not None:
            if frame.command == "MESSAGE":
                self.echo(frame)
                if frame.body == b"end":
                    break
        self.send("DISCONNECT", [("receipt", "bye")])
        self.send("SEND", [("destination", "/queue/echo")], b"and")
        time.sleep(0.2)
        return True


CLIENTS: dict[type[Echo], Sequence[str]] = {
    Old: (
        "accept-version", "host", "connect-not-stomp", "unknown-connected-headers", "version-not-offered", "connected-without-version",
    ),
    Half: (
        "byte-by-byte", "frames-in-one-segment", "eols-between-frames", "crlf-lines", "escapes", "escaped-cr", "undefined-escape",
        "repeated-header", "unknown-headers", "utf-8-headers", "utf-8-in-pieces", "spaces-are-kept", "nul-in-body", "frames-in-a-body",
        "no-content-length", "empty-body", "content-length-zero", "content-length-repeated", "large-body", "ack-by-ack-header",
        "escaped-ack", "redelivery", "every-message-is-acknowledged", "missing-beats", "disconnect-asks-for-a-receipt",
    ),
    Lost: ("client-beats", "beats-between-frames", "no-beats-agreed"),
    TooNew: ("down-to-1.1",),
    Hasty: ("late-beat",),
    Talks: ("nothing-behind-disconnect", "error-is-the-end"),
}  # fmt: skip
