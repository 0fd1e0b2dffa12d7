"""The signals that end a command: the first raises `Interrupted` in the main thread, a second one or too long a wait ends it by force.

Work may put that off until it has committed what it began, and a command that waits for more work may expect its end.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

from stompcap.cli.stderr import to_stderr

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
BY_SIGNAL = 128  # plus the signal's number, as in shells
GRACE_S = 5.0
"""How long current work may take to end after a signal; a second one ends it at once."""


class Interrupted(BaseException):
    """A signal requests the end of this process: raised in the main thread, past everything that handles errors."""

    def __init__(self, number: int, *, expected: bool = False) -> None:
        super().__init__(f"interrupted ({signal.Signals(number).name})")
        self.expected = expected
        self.code = 0 if expected else BY_SIGNAL + number


class Signals:
    """Signals that end this process: `Interrupted` is raised for the first; a second, or too long a wait, ends it by force."""

    current: Signals | None = None
    """Those that are handled; None where the process is not a command's, as in tests."""

    def __init__(self) -> None:
        self.interrupted: Interrupted | None = None
        self.reported = False
        self._put_off = self._expected = False
        self._handled = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]  # nohup(1), a shell's `&`

    def install(self) -> None:
        """Handle signals from now on."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        Signals.current = self
        for number in self._handled:  # before the thread, which takes its time to start
            signal.signal(number, self._raise)
        Thread(target=self._watch, args=(reader,), daemon=True, name="signals").start()

    def ignore(self) -> None:
        """Ignore signals from now on: the process ends anyway."""
        for number in self._handled:
            signal.signal(number, signal.SIG_IGN)

    def _raise(self, number: int, _frame: object) -> None:
        if self.interrupted is None:
            self.interrupted = Interrupted(number, expected=self._expected)
            if not self._put_off:
                raise self.interrupted

    def _watch(self, reader: int) -> None:
        """Ends the process by force: the pipe gets a signal's number at once, while the main thread may be in a long call."""
        while (number := os.read(reader, 1)[0]) not in self._handled:
            continue
        select.select([reader], [], [], GRACE_S)
        from stompcap.spark.processes import end_children

        end_children(0)
        if not self.reported:
            to_stderr(str(Interrupted(number)))
        os._exit(BY_SIGNAL + number)

    @contextmanager
    def put_off(self) -> Iterator[None]:
        """A signal that comes meanwhile is raised when this ends."""
        self._put_off = True
        try:
            yield
        finally:
            self._put_off = False
            if self.interrupted is not None:
                raise self.interrupted

    @contextmanager
    def expected(self) -> Iterator[None]:
        """A signal that comes meanwhile ends the process with exit code 0 and without a word: nothing is interrupted."""
        self._expected = True
        try:
            yield
        finally:
            self._expected = False

    @contextmanager
    def cancelling(self) -> Iterator[None]:
        """Ctrl-C does not end the process meanwhile, but raises KeyboardInterrupt, as often as it comes."""
        kept, self._handled = self._handled, [number for number in self._handled if number != signal.SIGINT]
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
            self._handled = kept


@contextmanager
def put_off() -> Iterator[None]:
    """`Signals.put_off` of this process."""
    if Signals.current is None:
        yield
        return
    with Signals.current.put_off():
        yield


@contextmanager
def expected() -> Iterator[None]:
    """`Signals.expected` of this process."""
    if Signals.current is None:
        yield
        return
    with Signals.current.expected():
        yield


@contextmanager
def cancelling() -> Iterator[None]:
    """`Signals.cancelling` of this process."""
    if Signals.current is None:
        yield
        return
    with Signals.current.cancelling():
        yield


def raise_if_interrupted() -> None:
    """Raise `Interrupted` again where a library has turned it into an error of its own."""
    if Signals.current is not None and Signals.current.interrupted is not None:
        raise Signals.current.interrupted
