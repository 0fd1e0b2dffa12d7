"""Which broker and which client library speak: from what they write of themselves, else from marks that no other has.

A guess without good evidence is none: null. Brokers name themselves in `server` (1.1 and 1.2, "CONNECTED"); where that header is
absent, and for clients, the marks in `fingerprints` are weighed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import I64, flat, integers, truth
from stompcap.session.products.fingerprints import AGENTS, CLIENTS, GOOD, LEAD, SERVER_NAMES, SERVERS, Mark
from stompcap.session.products.traits import Traits

FEW, SHORT, MOST = 64, 1 << 14, 256
"""A step's different texts of a trait are looked up where they are no more than FEW, and no more than SHORT octets; some MOST are kept."""

SERVER_HEADER = r"^\s*(?P<name>[^/\s]+)(?:/(?P<version>[^\s]+))?"


class Weights:
    """What texts speak for: the weights of some marks, of which few-valued traits are looked up as long as the process lives.

    Arrow compiles a pattern for each call, and there are more patterns than such a trait has different texts in all traffic.
    """

    def __init__(self, marks: Sequence[Mark]) -> None:
        self.products = list(dict.fromkeys(mark.product for mark in marks))
        self._marks = {trait: [mark for mark in marks if mark.trait == trait] for trait in dict.fromkeys(mark.trait for mark in marks)}
        self._known: dict[str, dict[str, I64]] = {trait: {} for trait in self._marks}

    def of(self, traits: Traits) -> I64:
        """The sum of weights, shape (sessions, products)."""
        sums = np.zeros((len(traits[next(iter(self._marks))]), len(self.products)), np.int64)
        for trait in self._marks:
            different = flat(traits[trait]).dictionary_encode()
            weights = np.vstack([self._looked_up(trait, different.dictionary), np.zeros(len(self.products), np.int64)])
            sums += weights[integers(different.indices)]  # -1 for null, of which the last entry is said
        return sums

    def _looked_up(self, trait: str, texts: pa.StringArray) -> I64:
        if len(texts) > FEW or texts.nbytes > SHORT:
            return self._weighed(trait, texts)
        if len(self._known[trait]) > MOST:
            self._known[trait] = {}
        known, said = self._known[trait], texts.to_pylist()
        new = [text for text in said if text not in known]
        if new:
            known |= zip(new, self._weighed(trait, pa.array(new, pa.string())), strict=True)
        return np.array([known[text] for text in said], np.int64).reshape(len(said), len(self.products))

    def _weighed(self, trait: str, texts: pa.StringArray) -> I64:
        weights = np.zeros((len(texts), len(self.products)), np.int64)
        for mark in self._marks[trait]:
            weights[truth(pc.match_substring_regex(texts, mark.pattern)), self.products.index(mark.product)] += mark.weight
        return weights


OF_SERVERS, OF_CLIENTS = Weights(SERVERS), Weights(CLIENTS)


def weigh(traits: Traits, weights: Weights) -> pa.Array:
    """The product that each session's traits speak for, null where none does well enough."""
    scores = weights.of(traits)
    ordered = np.sort(scores, axis=1)
    sure = (ordered[:, -1] >= GOOD) & (ordered[:, -1] - ordered[:, -2] >= LEAD)
    return pa.array(weights.products, pa.string()).take(pa.array(np.argmax(scores, axis=1), mask=~sure))


def servers(server: pa.Array, traits: Traits) -> tuple[pa.Array, pa.Array]:
    """Broker and its version per session, from the `server` header of CONNECTED or, where that is absent, from its traits."""
    parts = pc.extract_regex(server, SERVER_HEADER)
    name, version = pc.struct_field(parts, "name"), pc.struct_field(parts, "version")
    listed = pc.index_in(pc.utf8_lower(name), value_set=pa.array(list(SERVER_NAMES)))
    product = pc.coalesce(pc.take(pa.array(list(SERVER_NAMES.values())), listed), name)
    product = pc.if_else(server.is_null(), weigh(traits, OF_SERVERS), product)
    return product, pc.if_else(pc.equal(version, ""), pa.scalar(None, pa.string()), version)


def clients(user_agent: pa.Array, traits: Traits) -> pa.Array:
    """Client library per session, from CONNECT's `user-agent` where that names one, else from its traits."""
    if user_agent.null_count == len(user_agent):
        return weigh(traits, OF_CLIENTS)
    named = pa.nulls(len(user_agent), pa.string())
    for product, pattern in AGENTS.items():
        says = pc.match_substring_regex(user_agent, pattern)
        named = pc.coalesce(named, pc.if_else(says, pa.scalar(product), pa.scalar(None, pa.string())))
    return pc.coalesce(named, weigh(traits, OF_CLIENTS))
