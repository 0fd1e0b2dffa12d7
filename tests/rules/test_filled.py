"""The words of findings, filled from a template."""

from __future__ import annotations

import pyarrow as pa

from stompcap.rules.frames import filled


def test_one_octet_is_not_several() -> None:
    values = {"command": pa.array(["SEND", "1 octets", None]), "body_octets": pa.array([1, 11, 0])}
    said = filled("{command} has {body_octets} octets of body", 3, values.__getitem__).to_pylist()
    assert said[:2] == ["SEND has 1 octet of body", "1 octets has 11 octets of body"]
    assert filled("no NUL behind content-length octets", 2, values.__getitem__).to_pylist() == ["no NUL behind content-length octets"] * 2
