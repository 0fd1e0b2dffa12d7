"""A scenario: a name, the versions it is played in, the capture it belongs to, and a function that plays it."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from data.recorder.brokers import PORT, Broker
from data.recorder.client import Client
from data.recorder.truth import SessionLog
from data.recorder.users import User, user_for


@dataclass
class Stage:
    """Hands out sessions to a scenario: `client()` opens a scripted one, `log()` a bare log for a library's."""

    broker: Broker
    scenario: str
    version: str
    run: str
    logs: list[SessionLog] = field(default_factory=list)

    @property
    def product(self) -> str:
        """The broker's name, for behaviour of only one of them."""
        return self.broker.name

    def session(self, part: str = "") -> str:
        """Name of a session: broker, scenario, part, version without its dot."""
        return session_name(self.broker.name, self.scenario, part, self.version)

    def log(self, part: str = "", client: str = "scripted") -> SessionLog:
        """A new session's log."""
        name = self.session(part)
        made = SessionLog(session=name, broker=self.broker.name, client=client, user=user_for(name))
        self.logs.append(made)
        return made

    def client(self, part: str = "") -> Client:
        """A scripted client with a connection just opened."""
        return Client(self.log(part), (self.broker.address, PORT))

    def queue(self, part: str = "q") -> str:
        """A queue name used by no other session or recording."""
        return f"/queue/{self.scenario}.{part}.{self.version.replace('.', '')}.{self.run}"


def session_name(broker: str, scenario: str, part: str, version: str) -> str:
    """Session names are unique within a broker's recordings."""
    return "-".join(word for word in (broker, scenario, part, version.replace(".", "")) if word)


@dataclass(frozen=True)
class Scenario:
    """One entry of a capture's programme; `parts` are the sessions in addition to or instead of the nameless one."""

    name: str
    capture: str
    play: Callable[[Stage], Any]
    versions: tuple[str, ...] = ("1.0", "1.1", "1.2")
    parts: tuple[str, ...] = ("",)
    brokers: tuple[str, ...] = ("rabbitmq", "activemq", "artemis")
    registered: bool = True

    def users(self, broker: str) -> list[User]:
        """The users that this scenario's sessions log in as; unregistered ones are known with another passcode."""
        out = [user_for(session_name(broker, self.name, part, version))
               for version in self.versions for part in self.parts]
        return out if self.registered else [User(user.login, f"right-{user.passcode[::-1]}") for user in out]
