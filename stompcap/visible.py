r"""Text from the wire in a form that is safe to show on a terminal or a page.

Whoever sends a header chooses its octets: escape sequences that repaint a terminal, overrides that reverse the reading
direction, invisible characters that make two names look alike. Characters that `str.isprintable` refuses (controls, formats,
surrogates, line and paragraph separators, spaces other than the ordinary one, unassigned ones) are shown as
backslash escapes, as the tables show octets that are not UTF-8.
"""

from __future__ import annotations

from functools import lru_cache

CUT = "…"
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\0": r"\0"}


@lru_cache(maxsize=4096)
def _escape(character: str) -> str:
    """The backslash escape of one character."""
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str, limit: int | None = None) -> str:
    """The text with every character that does not print as itself escaped.

    Beyond `limit` characters it is cut, with an ellipsis; escapes count, so the result never has more than `limit`.
    Printable text is unchanged, backslashes too.
    """
    if limit is not None:
        text = text[: limit + 1]  # escapes never shorten text, so the rest is never shown
    if not text.isprintable():
        text = "".join(c if c.isprintable() else _escape(c) for c in text)
    if limit is not None and len(text) > limit:
        text = text[: max(limit - 1, 0)] + CUT
    return text


def visible_octets(octets: bytes, limit: int | None = None) -> str:
    """Octets as text: UTF-8 where valid, backslash escapes elsewhere."""
    if limit is not None:
        octets = octets[: 4 * (limit + 1)]  # a UTF-8 character has at most four
    return visible(octets.decode("utf-8", "backslashreplace"), limit)
