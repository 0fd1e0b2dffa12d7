"""Which segments table `segments` has, and where: a packet may have several rows among segments, and bring octets in several stretches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stompcap.columns import I64
from stompcap.transport.stretches import Stretches
from stompcap.wire_order import END


@dataclass(frozen=True)
class Listing:
    """Per row of segments, the first row of its packet, the number in wire order of the first octets that this brought, and its number."""

    packet: I64
    order: I64
    number: I64

    @staticmethod
    def of(number: I64, stretches: Stretches, before: I64 | None = None) -> Listing:
        """Those of rows by the number of their packet in its flow, ascending; `before` are the orders that were found earlier, else END."""
        rows = np.arange(len(number))
        packet = np.maximum.accumulate(np.where(np.diff(number, prepend=-1) != 0, rows, 0))
        order = np.full(len(number), END)
        if before is not None:
            np.minimum.at(order, packet, before)
        np.minimum.at(order, packet[stretches.row], stretches.order)
        return Listing(packet, order[packet], number)
