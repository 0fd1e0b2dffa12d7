"""Options as table batches keeps them: JSON that later versions read, and versions before this one too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from stompcap.options import Options
from stompcap.settings import RuleSetting, Secrets, Settings, Thresholds


def as_json(options: Options) -> str:
    """Options as JSON, but for the key of hashes, which is the lake's."""
    values = {one.name: getattr(options, one.name) for one in fields(options) if one.repr}
    rules = [[name, asdict(setting)] for name, setting in options.settings.rules]
    settings = {"rules": rules, "thresholds": asdict(options.settings.thresholds), "secrets": asdict(options.settings.secrets)}
    return json.dumps(values | {"ports": sorted(options.ports), "settings": settings})


def from_json(text: str) -> Options:
    """The options that `as_json` wrote; what another version does not know is left out, what it lacks is as by default."""
    values = json.loads(text)
    settings = values.pop("settings")
    rules = tuple((name, RuleSetting(**_known(RuleSetting, setting))) for name, setting in settings["rules"])
    thresholds = Thresholds(**_known(Thresholds, settings["thresholds"]))
    secrets = Secrets(**{name: tuple(names) for name, names in _known(Secrets, settings.get("secrets", {})).items()})
    settings = Settings(rules, thresholds, secrets=secrets)
    others = {"ports": frozenset(values["ports"]), "settings": settings, "keylog": tuple(values.get("keylog", ()))}
    return Options(**_known(Options, values) | others)


def _known(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that a record has fields for, which may be recorded."""
    return {one.name: values[one.name] for one in fields(kind) if one.name in values and one.repr}
