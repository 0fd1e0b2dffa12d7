"""The options that each stage of a run was given, as `runs.options` keeps them, and what they say of captures named again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from operator import itemgetter
from typing import Any

from stompcap.lake import tables as lakes
from stompcap.options import STOMP_PORTS, Options
from stompcap.settings import Secrets, Settings, Thresholds

BY_STAGE = {
    "extract": ("ports", "all_ports", "overlap", "idle_timeout", "vlan", "tunnels", "keep_credentials", "settings"),
    "decode": ("body_preview", "keep_credentials", "settings"),
    "correlate": ("ack_scope",),
    "metrics": ("ack_scope", "settings"),
}
"""Which options change the tables that a stage writes. Those of the capture point are part of a row's key and not among them."""


def given_options(options: Options, stages: Iterable[str]) -> dict[str, str]:
    """The options that change what these stages write, as the command line has them; those that are not as by default."""
    wanted = dict.fromkeys(name for stage in stages for name in BY_STAGE.get(stage, ()))
    standard = Options()
    return {name: _words(name, getattr(options, name)) for name in wanted if getattr(options, name) != getattr(standard, name)}


def _words(name: str, value: Any) -> str:
    """An option as it is given on the command line, but for a settings file, of which the contents are given."""
    flag = f"--{name.replace('_', '-')}"
    if name == "ports":
        return f"{flag} {','.join(str(port) for port in sorted(value - STOMP_PORTS))}"
    if name == "idle_timeout":
        return f"{flag} {value}s"
    if name == "tunnels":
        return "--no-tunnels"
    if isinstance(value, Settings):
        return f"{flag} with {_settings(value)}"
    return flag if value is True else f"{flag} {value}"


def _settings(settings: Settings) -> str:
    """The settings that are not as by default."""
    changed = []
    for rule_id, setting in sorted(settings.rules):
        changed += [f"{rule_id}.enabled=false"] if not setting.enabled else []
        changed += [f"{rule_id}.level={setting.level}"] if setting.level else []
    for one in fields(Thresholds):
        value = getattr(settings.thresholds, one.name)
        if value != one.default:
            changed.append(f"{one.name}={value:g}")
    for one in fields(Secrets):
        changed += [f"secrets.{one.name}={','.join(getattr(settings.secrets, one.name))}"] if getattr(settings.secrets, one.name) else []
    return ", ".join(changed) or "nothing that differs from the defaults"


def recorded(lake: str) -> dict[str, dict[str, str]]:
    """The options that were given for each capture and each batch, by its id; those whose options were not recorded are left out."""
    rows = lakes.small(lake, "runs", ["stage", "inputs", "options", "status", "ended_ts"]).to_pylist()
    found: dict[str, dict[str, str]] = {}
    for row in sorted(rows, key=itemgetter("ended_ts")):
        if row["options"] is not None and row["status"] == "done":
            for name in row["inputs"]:
                found[name] = dict(row["options"]) if row["stage"] == "reprocess" else found.get(name, {}) | dict(row["options"])
    return found


def differing(asked: Mapping[str, str], stages: Sequence[str], known: Iterable[Mapping[str, Any]], lake: str) -> list[str]:
    """One line for each set of options that captures of the lake, named again, were taken in with, if it is another one than asked for.

    `known` are rows of table captures with their `path`, `capture_id` and `batch_id`.
    """
    before = recorded(lake)
    relevant = {name for stage in stages for name in BY_STAGE.get(stage, ())}
    alike: dict[tuple[str, str], list[str]] = defaultdict(list)
    now = ", ".join(asked.values()) or "the defaults"
    for row in known:
        if row["capture_id"] not in before:
            if asked:
                alike["options that were not recorded", now].append(row["path"])
            continue
        then = before[row["capture_id"]] | before.get(row["batch_id"], {})
        then = {name: words for name, words in then.items() if name in relevant}
        if then != asked:
            alike[", ".join(then.values()) or "the defaults", now].append(row["path"])
    return [_line(paths, then, now) for (then, now), paths in sorted(alike.items())]


def _line(paths: Sequence[str], then: str, now: str) -> str:
    which = f"{paths[0]} is" if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more are"
    rows = "its rows" if len(paths) == 1 else "their rows"
    return f"{which} in the lake already, taken in with {then}: {rows} stay as they are; to have {now}, add --reprocess to stompcap run"
