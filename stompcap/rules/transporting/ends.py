"""How a side ended its stream, for what it should have said before."""

from __future__ import annotations

import numpy as np

from stompcap.columns import Bools, coded, flat, integers
from stompcap.rules.context import RuleContext
from stompcap.rules.transporting.checked import Checked
from stompcap.tables import words


def left_without(ctx: RuleContext, found: Checked) -> tuple[Bools, Bools]:
    """Which sides certainly ended their streams without what is broken so far, and of which that is not known.

    All that a side sent was captured, up to its FIN; it came behind the time of the check, and no RST of the other side before it.
    """
    session, side = found.units.session, found.units.side
    streams = ctx.dialogue.streams
    fin = np.stack([integers(streams.column(f"fin_ns_{way}")) for way in words.DIRECTIONS], axis=1)[session, side]
    rst, by = integers(streams.column("rst_ns"))[session], coded(flat(streams.column("rst_by")), words.SIDES)[session]
    cut = (by == 1 - side) & (rst >= 0) & (rst <= fin)
    ended = (fin >= 0) & ~cut & (fin > found.units.ts_ns) & ctx.ends.whole[session, side]
    return found.broken & ended, found.unknown | (found.broken & ~ended)
