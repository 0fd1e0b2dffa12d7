"""Which broker and which client library speak: from what they write of themselves, else from marks that no other has.

A guess without good evidence is none: null. Brokers name themselves in `server` (1.1 and 1.2, "CONNECTED"); where that header is
absent, and for clients, the marks in `fingerprints` are weighed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import flat, integers, truth
from stompcap.session.products.fingerprints import AGENTS, CLIENTS, GOOD, LEAD, SERVER_NAMES, SERVERS, Mark
from stompcap.session.products.traits import Traits

SERVER_HEADER = r"^\s*(?P<name>[^/\s]+)(?:/(?P<version>[^\s]+))?"


def weigh(traits: Traits, marks: Sequence[Mark]) -> pa.Array:
    """The product that each session's traits speak for, null where none does well enough."""
    products = list(dict.fromkeys(mark.product for mark in marks))
    scores = np.zeros((len(products), len(traits[marks[0].trait])), np.int64)
    different = {trait: flat(traits[trait]).dictionary_encode() for trait in dict.fromkeys(mark.trait for mark in marks)}
    which = {trait: integers(coded.indices) for trait, coded in different.items()}  # -1 for null, of which the last entry is said
    for mark in marks:
        found = truth(pc.match_substring_regex(different[mark.trait].dictionary, mark.pattern))
        scores[products.index(mark.product)] += mark.weight * np.append(found, False)[which[mark.trait]]
    ordered = np.sort(scores, axis=0)
    sure = (ordered[-1] >= GOOD) & (ordered[-1] - ordered[-2] >= LEAD)
    return pa.array(products, pa.string()).take(pa.array(np.argmax(scores, axis=0), mask=~sure))


def servers(server: pa.Array, traits: Traits) -> tuple[pa.Array, pa.Array]:
    """Broker and its version per session, from the `server` header of CONNECTED or, where that is absent, from its traits."""
    parts = pc.extract_regex(server, SERVER_HEADER)
    name, version = pc.struct_field(parts, "name"), pc.struct_field(parts, "version")
    listed = pc.index_in(pc.utf8_lower(name), value_set=pa.array(list(SERVER_NAMES)))
    product = pc.coalesce(pc.take(pa.array(list(SERVER_NAMES.values())), listed), name)
    product = pc.if_else(server.is_null(), weigh(traits, SERVERS), product)
    return product, pc.if_else(pc.equal(version, ""), pa.scalar(None, pa.string()), version)


def clients(user_agent: pa.Array, traits: Traits) -> pa.Array:
    """Client library per session, from CONNECT's `user-agent` where that names one, else from its traits."""
    if user_agent.null_count == len(user_agent):
        return weigh(traits, CLIENTS)
    named = pa.nulls(len(user_agent), pa.string())
    for product, pattern in AGENTS.items():
        says = pc.match_substring_regex(user_agent, pattern)
        named = pc.coalesce(named, pc.if_else(says, pa.scalar(product), pa.scalar(None, pa.string())))
    return pc.coalesce(named, weigh(traits, CLIENTS))
