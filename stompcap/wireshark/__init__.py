"""A dissector of STOMP for Wireshark and tshark, made from the grammar and the catalogue: `stompcap dissector > stomp.lua`."""

from __future__ import annotations

from importlib.resources import files

from stompcap.options import STOMP_PORTS
from stompcap.rules.catalogue import BY_ID
from stompcap.rules.record import ALL_VERSIONS, Rule
from stompcap.settings import Thresholds
from stompcap.stomp.grammar import COMMAND_LIMIT, COMMANDS, ESCAPES, HANDSHAKE, MASK, NAMES, STRUCTURAL, UNPADDED
from stompcap.stomp.secret_names import STEMS, WORDS
from stompcap.tables.levels import SPELLED
from stompcap.tables.words import VERSIONS

OF_ONE_FRAME = (
    "FR-01", "FR-02", "FR-03", "FR-04", "FR-05", "FR-06", "FR-07", "FR-08", "FR-10", "FR-15", "FR-16", "FR-17", "FR-18", "FR-19", "FR-20",
    "FR-24", "FR-25", "FR-26", "FR-27", "FR-28", "FR-29", "FR-31", "CN-01", "CN-02", "CN-03", "CN-04", "CN-05", "CN-08", "CN-14", "CN-15",
    "CN-17", "CN-18", "CN-20", "HB-09", "SN-01", "SN-06", "SB-01", "SB-02", "SB-04", "SB-06", "MS-01", "MS-02", "MS-09", "AK-01", "AK-02",
    "AK-03", "AK-08", "AK-11", "TX-01", "TX-02", "TX-06", "RC-01", "ER-01", "ER-05", "DS-02",
)  # fmt: skip
"""Rules that the dissector has expert items of: those that a frame alone shows broken, with its session's version and sides."""


def dissector() -> str:
    """The dissector's text."""
    tables = {
        "COMMANDS": "{" + ", ".join(f'{one.name} = "{one.sender}"' for one in COMMANDS) + "}",
        "HANDSHAKE": "{" + ", ".join(f"{NAMES[code]} = true" for code in HANDSHAKE) + "}",
        "ESCAPES": "{" + ", ".join(f'["{version}"] = {_escapes(ESCAPES[number])}' for number, version in enumerate(VERSIONS)) + "}",
        "PORTS": "{" + ", ".join(map(str, sorted(STOMP_PORTS))) + "}",
        "COMMAND_LIMIT": str(COMMAND_LIMIT),
        "SECRET_STEMS": "{" + ", ".join(f'"{stem}"' for stem in STEMS) + "}",
        "SECRET_WORDS": "{" + ", ".join(f"{word} = true" for word in WORDS) + "}",
        "MASK": f'"{MASK}"',
        "STRUCTURAL": _set(STRUCTURAL),
        "UNPADDED": _set(UNPADDED),
        "SANE_MIN_MS": f"{Thresholds().heartbeat_sane_min_ms:g}",
        "SANE_MAX_MS": f"{Thresholds().heartbeat_sane_max_ms:g}",
        "RULES": "{\n" + "".join(f"    {_rule(BY_ID[one])},\n" for one in OF_ONE_FRAME) + "}",
    }
    made = "".join(f"local {name} = {value}\n" for name, value in tables.items())
    text, values, findings = ((files(__name__) / f"{name}.lua").read_text("utf-8") for name in ("stomp", "values", "findings"))
    return text.replace("-- GRAMMAR\n", made).replace("-- FINDINGS\n", f"{values}\n{findings}")


def _rule(rule: Rule) -> str:
    """A Lua table of a rule: its levels, the first and the milder one, by the versions in which a frame can break it."""
    of_all = not rule.negotiated or set(rule.versions) == set(ALL_VERSIONS.split())
    levels = {name: rule.levels(name) for name in (VERSIONS if of_all else rule.versions)}
    if of_all:
        levels["unknown"] = rule.levels(None)
    said = {name: [SPELLED[one] for one in both] for name, both in levels.items()}
    every = sorted({one for both in said.values() for one in both})
    by_version = ", ".join(f'["{name}"] = {{"{both[0]}", "{both[1]}"}}' for name, both in said.items())
    all_levels = ", ".join(f'"{one}"' for one in every)
    return f'{{id = "{rule.id}", title = "{_quoted(rule.title)}", all_levels = {{{all_levels}}}, levels = {{{by_version}}}}}'


def _set(names: tuple[str, ...]) -> str:
    return "{" + ", ".join(f'["{name}"] = true' for name in names) + "}"


def _escapes(table: dict[str, str]) -> str:
    """A Lua table of octets by what follows their backslash."""
    return "{" + ", ".join(f'["{_quoted(key)}"] = "\\{ord(plain)}"' for key, plain in table.items()) + "}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
