"""What a layer of a connection comes to: its row of table transports, by the sides of the connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stompcap.codes import NOBODY
from stompcap.transport.checks import Check

NOT_COUNTED = None, None


@dataclass(frozen=True)
class Origin:
    """Who opened a connection: an address of 4 or 16 octets, empty where none is named; a port, None where there is none.

    `source` is one of stompcap.tables.words.ORIGIN_SOURCES.
    """

    address: bytes
    port: int | None
    source: str

    @property
    def proven(self) -> bool:
        """Whether a balancer says so, not a header that any client can write."""
        return self.source.startswith("proxy")


@dataclass(frozen=True)
class Summary:
    """A layer of a connection. Pairs are of both sides, None where it was not counted.

    kind        one of stompcap.tables.words.TRANSPORT_LAYERS
    status      one of LAYER_STATUSES there
    reason      why not all of it was read
    columns     other columns of its row, by name
    units       units that were read
    octets      octets that it gave
    lost_units  units that could not be read, or in part
    closed_by   the side that closed it, or NOBODY
    origin      who opened the connection, if it says so
    checks      how its sides keep to its specification
    client      the side that it shows to be the client, or NOBODY
    closed_order  where its Close of WebSocket or close_notify of TLS stands in wire order; -1 for none, or where that is not known
    """

    kind: str
    status: str = "read"
    reason: str | None = None
    columns: Mapping[str, str | int | bool | None] = field(default_factory=dict)
    units: tuple[int | None, int | None] = NOT_COUNTED
    octets: tuple[int | None, int | None] = NOT_COUNTED
    lost_units: tuple[int | None, int | None] = NOT_COUNTED
    closed_by: int = NOBODY
    origin: Origin | None = None
    checks: tuple[Check, ...] = ()
    closed_order: int = -1
    client: int = NOBODY


def origin_of(summaries: Sequence[Summary]) -> Origin | None:
    """Who opened a connection with these layers, the outermost first: what a balancer says comes before what a header claims.

    Of several that name an address the innermost counts: the one of the balancer next to the client.
    """
    found = [one.origin for one in summaries if one.origin is not None]
    for proven in (True, False):
        mine = [one for one in found if one.proven == proven]
        named = [one for one in mine if one.address]
        if mine:
            return named[-1] if named else mine[-1]
    return None
