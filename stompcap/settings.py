"""Settings: how severe rules are, which are switched off, and the thresholds that session machine and rules go by.

The defaults stand here and nowhere else. A TOML file overrides them:

    [rules."FR-20"]
    enabled = false

    [rules."CN-05"]
    level = "I"

    [thresholds]
    heartbeat_late = 1.2
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from stompcap.errors import UsageError

LEVEL = re.compile(r"M|S|I|M/S|M/I|S/I")
SECOND_NS = 1_000_000_000
EXAMPLE = """`[rules."FR-20"]`, say, and on the next line `enabled = false`"""


def _threshold(default: float, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True)
class Thresholds:
    """Numbers that verdicts depend on; names ending in `_s` are seconds, in `_ms` milliseconds, the rest counts or ratios."""

    heartbeat_late: float = _threshold(1.1, "a gap above this many intervals is late")
    heartbeat_violation: float = _threshold(1.5, "above this many a violation (HB-01, HB-02)")
    heartbeat_dead: float = _threshold(3.0, "above this many the sender counts as dead (HB-06)")
    heartbeat_sane_min_ms: float = _threshold(1_000, "a shorter interval announced is not sane (HB-09)")
    heartbeat_sane_max_ms: float = _threshold(60_000, "nor is a longer one: load balancers cut off idle connections (HB-09)")
    idle_close_s: float = _threshold(10, "a server's close after so long a silence is an idle cut-off (HB-08)")
    connect_answer_s: float = _threshold(10, "CONNECT is answered within this time (CN-19)")
    refusal_close_s: float = _threshold(15, "a connection refused is closed within this time (CN-11, CN-12)")
    error_close_s: float = _threshold(1, "after an ERROR the server closes within this time (ER-02, SN-05, SB-05)")
    error_cause_s: float = _threshold(1, "an ERROR this soon after a client's frame may speak of that frame (ER-04, ER-06)")
    fatal_escape_s: float = _threshold(1, "the receiver of an undefined escape falls silent within this time (FR-19b)")
    unsubscribe_grace_s: float = _threshold(2, "a MESSAGE may still come so long after UNSUBSCRIBE, beside the round trip (SB-08)")
    receipt_wait_s: float = _threshold(10, "a receipt asked for is answered within this time (RC-03)")
    transaction_open_s: float = _threshold(60, "a transaction open for longer is an outlier (TX-08)")
    transaction_actions: float = _threshold(1024, "so is one of more actions, RabbitMQ's limit (TX-08)")
    transactions_open: float = _threshold(16, "and so are more of them open together, RabbitMQ's limit too (TX-08)")

    def ns(self, name: str) -> int:
        """A threshold in seconds as nanoseconds."""
        seconds: float = getattr(self, name)
        return round(seconds * SECOND_NS)


@dataclass(frozen=True)
class RuleSetting:
    """What a user says of one rule; a level of None leaves the catalogue's."""

    enabled: bool = True
    level: str | None = None


@dataclass(frozen=True)
class Settings:
    """Overrides: rules by id, in the file's order, and all thresholds."""

    rules: tuple[tuple[str, RuleSetting], ...] = ()
    thresholds: Thresholds = field(default_factory=Thresholds)

    def of(self, rule_id: str) -> RuleSetting:
        """What is set for a rule."""
        return dict(self.rules).get(rule_id, RuleSetting())


class _Wrong(Exception):
    """What makes no sense: the key, as its parts from the outermost table on, and what to say instead."""

    def __init__(self, key: Sequence[str], remedy: str) -> None:
        super().__init__(remedy)
        self.key = key


def load(path: str, known: Collection[str]) -> Settings:
    """The settings of a file; `known` are the ids of all rules. UsageError names file, line, key and remedy."""
    try:
        with open(path, "rb") as file:
            octets = file.read()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; name a TOML file that can be read") from error
    try:
        text = octets.decode()
        document = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = octets.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}, line {line}: not TOML: an octet that is no UTF-8; save the file as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        said, _, place = str(error).removesuffix(")").rpartition(" (at ")
        line_of = place.partition(",")[0] if place.startswith("line") else f"line {len(text.splitlines())}"
        raise UsageError(f"{path}, {line_of}: not TOML: {said}; {EXAMPLE}") from error
    try:
        _only((), document, ("rules", "thresholds"))
        rules, thresholds = (_table((name,), document.get(name, {})) for name in ("rules", "thresholds"))
        return Settings(tuple((name, _rule(name, rules[name], known)) for name in rules), _thresholds(thresholds))
    except _Wrong as error:
        key = ".".join(part if re.fullmatch(r"\w+", part) else f'"{part}"' for part in error.key)
        raise UsageError(f"{path}, line {_line(text, error.key)}: {key}: {error}") from error


def _line(text: str, key: Sequence[str]) -> int:
    """The line on which a key is complete, counted from 1: the shortest beginning of the text that is TOML and has it."""
    lines = text.splitlines(keepends=True)
    for number in range(1, len(lines)):
        try:
            found: object = tomllib.loads("".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            continue
        for part in key:
            found = found.get(part) if isinstance(found, dict) else None
        if found is not None:
            return number
    return len(lines)


def _table(key: Sequence[str], value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise _Wrong(key, f"a table is wanted; {EXAMPLE}")
    return value


def _only(outer: Sequence[str], found: Mapping[str, object], allowed: Collection[str]) -> None:
    for key in found:
        if key not in allowed:
            raise _Wrong([*outer, key], f"no such setting; there are {', '.join(allowed)}")


def _rule(name: str, value: object, known: Collection[str]) -> RuleSetting:
    key = ("rules", name)
    if name not in known:
        raise _Wrong(key, "there is no such rule; `stompcap rules list` shows them all")
    table = _table(key, value)
    _only(key, table, ("enabled", "level"))
    enabled, level = table.get("enabled", True), table.get("level")
    if not isinstance(enabled, bool):
        raise _Wrong([*key, "enabled"], "say true or false")
    if level is not None and not (isinstance(level, str) and LEVEL.fullmatch(level)):
        raise _Wrong([*key, "level"], 'say "M", "S", "I", or two of them as "M/I", the second for milder circumstances')
    return RuleSetting(enabled, level)


def _thresholds(table: Mapping[str, object]) -> Thresholds:
    _only(("thresholds",), table, [f.name for f in fields(Thresholds)])
    values: dict[str, float] = {}
    for name, value in table.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not 0 < value <= 1e9:  # type: ignore[arg-type, operator]
            raise _Wrong(("thresholds", name), "a number above 0 and up to 1e9 is wanted")
        values[name] = value  # type: ignore[assignment]
    found = Thresholds(**values)
    for low, high in (
        ("heartbeat_late", "heartbeat_violation"), ("heartbeat_violation", "heartbeat_dead"),
        ("heartbeat_sane_min_ms", "heartbeat_sane_max_ms"),
    ):
        least, most = getattr(found, low), getattr(found, high)
        if least > most and low in values:
            raise _Wrong(("thresholds", low), f"must not exceed {high}, which is {most:g}")
        if least > most:
            raise _Wrong(("thresholds", high), f"must not be less than {low}, which is {least:g}")
    if found.heartbeat_late < 1:
        raise _Wrong(("thresholds", "heartbeat_late"), "an interval kept to is not late; say 1 or more")
    return found
