"""What texts speak for, looked up or weighed anew: many steps say what one does."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from stompcap.session.products import identify
from stompcap.session.products.fingerprints import Mark
from stompcap.session.products.identify import FEW, MOST, SHORT, Weights

MARKS = (Mark("one", "offer", "^a", 2), Mark("other", "offer", "b$", 3), Mark("one", "offer", "b", -1), Mark("other", "host", "^$", 4))


def expected(offer: str | None, host: str | None) -> list[int]:
    if offer is None:
        one, other = 0, 0
    else:
        one = 2 * offer.startswith("a") - ("b" in offer)
        other = 3 * offer.endswith("b")
    return [one, other + 4 * (host == "")]


@pytest.mark.parametrize("different", [1, FEW, FEW + 1, 3 * MOST])
def test_weights_are_those_of_each_text(different: int) -> None:
    weights, chance = Weights(MARKS), random.Random(1)
    offers = ["", "a", "b", "ab", "xb\nb", *(f"{chance.choice('ab')}{number}{chance.choice('ab')}" for number in range(different))]
    for _ in range(2 * MOST // FEW):
        some = [*offers[-min(different, FEW - 8) :], *offers[:5], None]
        step = [(chance.choice(some), chance.choice(["", "h", None])) for _ in range(FEW)]
        if different > FEW:
            step += [(offer, None) for offer in chance.sample(offers, FEW)]
        chance.shuffle(offers)
        found = weights.of({"offer": pa.array([offer for offer, _ in step], pa.string()), "host": pa.array([host for _, host in step])})
        assert found.tolist() == [expected(*one) for one in step]


def test_long_texts_and_many_are_not_kept() -> None:
    weights = Weights(MARKS)
    hosts = pa.array(["h"])
    long = "a" * SHORT + "b"
    assert weights.of({"offer": pa.array([long]), "host": hosts}).tolist() == [[1, 3]]
    for number in range(MOST):
        weights.of({"offer": pa.array([f"{number} {n}" for n in range(8)]), "host": pa.array(["h"] * 8)})
    kept = weights._known["offer"]
    assert long not in kept
    assert len(kept) <= MOST + FEW


def test_no_sessions_have_no_weights() -> None:
    none = pa.array([], pa.string())
    assert Weights(MARKS).of({"offer": none, "host": none}).shape == (0, 2)
    assert identify.weigh({"offer": none, "host": none}, Weights(MARKS)).to_pylist() == []


def test_all_null_is_no_product() -> None:
    nothing = pa.nulls(3, pa.string())
    assert np.array_equal(Weights(MARKS).of({"offer": nothing, "host": nothing}), np.zeros((3, 2)))
