"""A dissector of STOMP for Wireshark and tshark, made from the grammar: `stompcap dissector > stomp.lua`."""

from __future__ import annotations

from importlib.resources import files

from stompcap.options import STOMP_PORTS
from stompcap.stomp.grammar import COMMAND_LIMIT, ESCAPES, HANDSHAKE, MASK, NAMES
from stompcap.stomp.secret_names import STEMS, WORDS
from stompcap.tables.words import VERSIONS


def dissector() -> str:
    """The dissector's text."""
    tables = {
        "COMMANDS": "{" + ", ".join(f"{name} = true" for name in NAMES) + "}",
        "HANDSHAKE": "{" + ", ".join(f"{NAMES[code]} = true" for code in HANDSHAKE) + "}",
        "ESCAPES": "{" + ", ".join(f'["{version}"] = {_escapes(ESCAPES[number])}' for number, version in enumerate(VERSIONS)) + "}",
        "PORTS": "{" + ", ".join(map(str, sorted(STOMP_PORTS))) + "}",
        "COMMAND_LIMIT": str(COMMAND_LIMIT),
        "SECRET_STEMS": "{" + ", ".join(f'"{stem}"' for stem in STEMS) + "}",
        "SECRET_WORDS": "{" + ", ".join(f"{word} = true" for word in WORDS) + "}",
        "MASK": f'"{MASK}"',
    }
    made = "".join(f"local {name} = {value}\n" for name, value in tables.items())
    return (files(__name__) / "stomp.lua").read_text("utf-8").replace("-- GRAMMAR\n", made)


def _escapes(table: dict[str, str]) -> str:
    """A Lua table of octets by what follows their backslash."""
    return "{" + ", ".join(f'["{_quoted(key)}"] = "\\{ord(plain)}"' for key, plain in table.items()) + "}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\")
