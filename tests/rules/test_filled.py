"""The words of findings, filled from a template."""

from __future__ import annotations

import pyarrow as pa

from stompcap.rules.frame_view import filled


def test_one_byte_is_not_several() -> None:
    values = {"command": pa.array(["SEND", "1 bytes", None]), "body_octets": pa.array([1, 11, 0])}
    said = filled("{command} has {body_octets} bytes of body", 3, values.__getitem__).to_pylist()
    assert said[:2] == ["SEND has 1 byte of body", "1 bytes has 11 bytes of body"]
    assert filled("no NUL behind content-length bytes", 2, values.__getitem__).to_pylist() == ["no NUL behind content-length bytes"] * 2
