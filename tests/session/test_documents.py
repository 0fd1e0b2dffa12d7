"""What each document that people implement STOMP from means by a dialogue in its manner."""

from __future__ import annotations

import pytest

from stompcap.session import Analysis
from tests.rules.transcript import analysed
from tests.session.documents import DOCUMENTS, Document


@pytest.fixture(scope="module", params=DOCUMENTS, ids=lambda name: name.replace(" ", "-"))
def told(request: pytest.FixtureRequest) -> tuple[Document, Analysis]:
    document = DOCUMENTS[request.param]
    return document, analysed(document.text)


def test_frames(told: tuple[Document, Analysis]) -> None:
    document, analysis = told
    d = analysis.dialogue
    columns = [d.column(name).to_pylist() for name in ("command", "header", "body_preview")]
    assert [(c, dict(h), b) for c, h, b in zip(*columns, strict=True)] == document.frames


def test_tables(told: tuple[Document, Analysis]) -> None:
    document, analysis = told
    for name, expected in document.tables.items():
        rows = analysis.tables[name].to_pylist()
        assert [{k: row[k] for k in e} for row, e in zip(rows, expected, strict=True)] == expected, name


def test_decoding_finds_nothing_broken(told: tuple[Document, Analysis]) -> None:
    document, analysis = told
    errors = analysis.dialogue.column("decode_errors").to_pylist()
    assert {n: errors[n] for n in document.errors} == document.errors


def test_every_octet_is_of_a_frame_or_an_eol(told: tuple[Document, Analysis]) -> None:
    assert set(told[1].dialogue.rows.kind.tolist()) <= {0, 1}
