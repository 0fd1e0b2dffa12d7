"""Settings: severities of rules, disabled rules, and the thresholds of session machine, rules and quality.

The defaults are here and nowhere else. A TOML file overrides them:

    [rules."FR-20"]
    enabled = false

    [rules."CN-05"]
    level = "I"

    [thresholds]
    heartbeat_late = 1.2

    [quality]
    newest_packet_s = 86400

    [secrets]
    add = ["x-pin", "*signature*"]
    remove = ["x-csrf-token"]
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from stompcap.errors import UsageError

SEVERITIES = ("error", "warning")

LEVEL = re.compile(r"M|S|I|M/S|M/I|S/I")
HEADER = re.compile(r"[-_.]*[A-Za-z0-9][A-Za-z0-9_.-]*|\*[-_.]*[A-Za-z0-9][A-Za-z0-9_.-]*\*")
MOST_HEADERS = 256
SECOND_NS = 1_000_000_000
EXAMPLE = """`[rules."FR-20"]`and, on the next line, `enabled = false`"""


def _threshold(default: float | None, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True)
class Thresholds:
    """Numbers that verdicts depend on; names ending in `_s` are seconds, in `_ms` milliseconds, others counts or ratios."""

    heartbeat_late: float = _threshold(1.1, "a gap above this many intervals is late")
    heartbeat_violation: float = _threshold(1.5, "a gap above this many intervals is a violation (HB-01, HB-02)")
    heartbeat_dead: float = _threshold(3.0, "after a gap above this many intervals the sender counts as dead (HB-06)")
    heartbeat_sane_min_ms: float = _threshold(1_000, "an announced interval below this is not sane (HB-09)")
    heartbeat_sane_max_ms: float = _threshold(60_000, "a longer one is not sane: load balancers cut off idle connections (HB-09)")
    idle_close_s: float = _threshold(10, "a server's close after this much silence is an idle cut-off (HB-08)")
    connect_answer_s: float = _threshold(10, "CONNECT is answered within this time (CN-19)")
    refusal_close_s: float = _threshold(15, "a refused connection is closed within this time (CN-11, CN-12)")
    error_close_s: float = _threshold(1, "after an ERROR the server closes within this time (ER-02, SN-05, SB-05)")
    error_cause_s: float = _threshold(1, "an ERROR this soon after a client's frame may be about that frame (ER-04, ER-06)")
    fatal_escape_s: float = _threshold(1, "the receiver of an undefined escape falls silent within this time (FR-19b)")
    unsubscribe_grace_s: float = _threshold(2, "a MESSAGE may still come this long after UNSUBSCRIBE, plus the round trip (SB-08)")
    receipt_wait_s: float = _threshold(10, "a requested receipt comes within this time (RC-03)")
    transaction_open_s: float = _threshold(60, "a transaction open for longer is an outlier (TX-08)")
    transaction_actions: float = _threshold(1024, "a transaction of more actions is an outlier; RabbitMQ's limit (TX-08)")
    transactions_open: float = _threshold(16, "more transactions open at once are outliers; RabbitMQ's limit (TX-08)")

    def ns(self, name: str) -> int:
        """A threshold in seconds as nanoseconds."""
        seconds: float = getattr(self, name)
        return round(seconds * SECOND_NS)

    def text(self, name: str) -> str:
        """A threshold as texts have it: `10 s`, or the number."""
        value: float = getattr(self, name)
        unit = {"s": 1, "ms": 1000}.get(name.rpartition("_")[2])
        return f"{value / unit:g} s" if unit else f"{value:g}"

    @property
    def heartbeat_severities(self) -> tuple[tuple[float, str], ...]:
        """The severities of a gap between heart-beats, the mildest first, each with the number of intervals that it lies above."""
        return (self.heartbeat_late, "late"), (self.heartbeat_violation, "violation"), (self.heartbeat_dead, "dead")


def filled_in(text: str) -> str:
    """A text of ours with the default of each threshold that it names in braces."""
    return re.sub(r"\{(\w+)\}", lambda found: Thresholds().text(found[1]) if hasattr(Thresholds, found[1]) else found[0], text)


@dataclass(frozen=True)
class Weight:
    """A user's setting of one expectation; a severity of None keeps ours."""

    enabled: bool = True
    severity: str | None = None


@dataclass(frozen=True)
class Quality:
    """Thresholds of the lake's quality, which trip the gate of `--fail-on quality`; None is no threshold."""

    newest_packet_s: float | None = _threshold(None, "the newest packet of each source is no older when the lake is validated")
    lost_ratio: float | None = _threshold(None, "of the bytes of STOMP streams no more than this part is missing from the captures")
    expectations: tuple[tuple[str, Weight], ...] = ()
    suites: tuple[tuple[str, str], ...] = ()
    """Tables with the files of the suites that are the user's own (stompcap.quality.user_suites)."""


@dataclass(frozen=True)
class RuleSetting:
    """A user's setting of one rule; a level of None keeps the catalogue's."""

    enabled: bool = True
    level: str | None = None


@dataclass(frozen=True)
class Secrets:
    """Headers that are secret besides those that are by default, and headers that are not; an entry `*word*` is all that contain it."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


@dataclass(frozen=True)
class Settings:
    """Overrides: rules by id, in the file's order, and all thresholds."""

    rules: tuple[tuple[str, RuleSetting], ...] = ()
    thresholds: Thresholds = field(default_factory=Thresholds)
    quality: Quality = field(default_factory=Quality, compare=False)  # no row that a run makes differs by it
    secrets: Secrets = field(default_factory=Secrets)

    def of(self, rule_id: str) -> RuleSetting:
        """The setting of a rule."""
        return dict(self.rules).get(rule_id, RuleSetting())


class _Invalid(Exception):
    """An invalid setting: its key, as its parts from the outermost table on, and the remedy."""

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
        raise UsageError(f"{path}, line {line}: not TOML: a byte is not valid UTF-8; save the file as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        problem, _, where = str(error).removesuffix(")").rpartition(" (at ")
        named = where.partition(",")[0] if where.startswith("line") else f"line {len(text.splitlines())}"
        raise UsageError(f"{path}, {named}: not TOML: {problem}; {EXAMPLE}") from error
    try:
        names = tuple(f.name for f in fields(Settings))
        _only((), document, names)
        rules, thresholds, quality, secrets = (_table((name,), document.get(name, {})) for name in names)
        by_rule = tuple((name, _rule(name, rules[name], known)) for name in rules)
        return Settings(by_rule, _thresholds(thresholds), _quality(quality, os.path.dirname(path)), _secrets(secrets))
    except _Invalid as error:
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
        raise _Invalid(key, f"must be a table; {EXAMPLE}")
    return value


def _only(outer: Sequence[str], found: Mapping[str, object], allowed: Collection[str]) -> None:
    for key in found:
        if key not in allowed:
            raise _Invalid([*outer, key], f"no such setting; use one of {', '.join(allowed)}")


def _rule(name: str, value: object, known: Collection[str]) -> RuleSetting:
    key = ("rules", name)
    if name not in known:
        raise _Invalid(key, "no such rule; `stompcap rules list` shows them all")
    table = _table(key, value)
    _only(key, table, ("enabled", "level"))
    enabled, level = table.get("enabled", True), table.get("level")
    if not isinstance(enabled, bool):
        raise _Invalid([*key, "enabled"], "must be true or false")
    if level is not None and not (isinstance(level, str) and LEVEL.fullmatch(level)):
        raise _Invalid([*key, "level"], 'must be "M", "S", "I", or two of them as in "M/I", the second for milder circumstances')
    return RuleSetting(enabled, level)


def _numbers(outer: str, table: Mapping[str, object], kind: type) -> dict[str, float]:
    """The numbers of a table that has the fields of a class."""
    _only((outer,), table, [f.name for f in fields(kind)])
    values: dict[str, float] = {}
    for name, value in table.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not 0 < value <= 1e9:  # type: ignore[arg-type, operator]
            raise _Invalid((outer, name), "must be a number above 0 and up to 1e9")
        values[name] = value  # type: ignore[assignment]
    return values


def _quality(table: Mapping[str, object], folder: str) -> Quality:
    numbers = {name: value for name, value in table.items() if name not in ("expectations", "suites")}
    weights, suites = _expectations(table.get("expectations", {})), _suites(table.get("suites", {}), folder)
    found = Quality(**_numbers("quality", numbers, Quality), expectations=weights, suites=suites)
    if found.lost_ratio is not None and found.lost_ratio > 1:
        raise _Invalid(("quality", "lost_ratio"), "must be 1 or less, as in 0.01 for one byte of a hundred")
    return found


def _expectations(value: object) -> tuple[tuple[str, Weight], ...]:
    """The weights of expectations by name; whether there are such is for who knows them."""
    outer, found = ("quality", "expectations"), []
    for name, given in _table(outer, value).items():
        table = _table((*outer, name), given)
        _only((*outer, name), table, ("enabled", "severity"))
        enabled, severity = table.get("enabled", True), table.get("severity")
        if not isinstance(enabled, bool):
            raise _Invalid((*outer, name, "enabled"), "must be true or false")
        if severity not in (None, *SEVERITIES):
            raise _Invalid((*outer, name, "severity"), f"must be {' or '.join(SEVERITIES)}")
        found.append((name, Weight(enabled, None if severity is None else str(severity))))
    return tuple(found)


def _suites(value: object, folder: str) -> tuple[tuple[str, str], ...]:
    """Tables and the files of their suites, which lie beside the settings unless their paths are absolute."""
    outer, found = ("quality", "suites"), []
    for table, path in _table(outer, value).items():
        if not isinstance(path, str) or not path:
            raise _Invalid((*outer, table), 'must be a file, as in deliveries = "deliveries.json"')
        found.append((table, os.path.join(folder, path)))
    return tuple(found)


def _thresholds(table: Mapping[str, object]) -> Thresholds:
    values = _numbers("thresholds", table, Thresholds)
    found = Thresholds(**values)
    for low, high in (
        ("heartbeat_late", "heartbeat_violation"), ("heartbeat_violation", "heartbeat_dead"),
        ("heartbeat_sane_min_ms", "heartbeat_sane_max_ms"),
    ):
        least, most = getattr(found, low), getattr(found, high)
        if least > most and low in values:
            raise _Invalid(("thresholds", low), f"must not exceed {high}, which is {most:g}")
        if least > most:
            raise _Invalid(("thresholds", high), f"must not be less than {low}, which is {least:g}")
    if found.heartbeat_late < 1:
        raise _Invalid(("thresholds", "heartbeat_late"), "must be 1 or more, as a kept interval is not late")
    return found


def _secrets(table: Mapping[str, object]) -> Secrets:
    names = tuple(f.name for f in fields(Secrets))
    _only(("secrets",), table, names)
    return Secrets(*(_headers(("secrets", name), table.get(name, [])) for name in names))


def _headers(key: Sequence[str], value: object) -> tuple[str, ...]:
    """A list of names of headers; sorted, as their order means nothing."""
    if not isinstance(value, list) or len(value) > MOST_HEADERS:
        raise _Invalid(key, f'must be a list of at most {MOST_HEADERS} names, as in ["x-pin", "*signature*"]')
    found = set()
    for one in value:
        if not isinstance(one, str) or len(one) > MOST_HEADERS or not HEADER.fullmatch(one):
            raise _Invalid(key, 'must have names of letters, digits, "-", "_" and "."; "*word*" is every name that contains the word')
        found.add(one.lower())
    return tuple(sorted(found))
