"""Evidence fit to be shown: short, printable and free of secrets, whatever a rule quotes."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

EVIDENCE_CHARACTERS = 200
SECRET = r"""(?i)((?:pass[-_.]?code|pass[-_.]?word|passwd|secret|token|api[-_.]?key|cookie|credential|jwt)[\w.-]*["']?\s*[:=]).*"""


def presentable(evidence: pa.Array) -> pa.Array:
    """Strings of at most EVIDENCE_CHARACTERS, control characters escaped, secrets masked; of those alike one is looked at."""
    coded = evidence.dictionary_encode()
    return _presentable(coded.dictionary).take(coded.indices)


def _presentable(evidence: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(evidence, SECRET)).as_py():
        evidence = pc.replace_substring_regex(evidence, f"(?s){SECRET}", r"\1***")
    hidden = pc.match_substring_regex(evidence, r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]")
    if pc.any(hidden).as_py():
        escaped = [_escape(text) for text in evidence.filter(hidden).to_pylist()]
        evidence = pc.replace_with_mask(evidence, hidden, pa.array(escaped, pa.string()))
    return pc.utf8_slice_codeunits(evidence, 0, EVIDENCE_CHARACTERS)


def _escape(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
