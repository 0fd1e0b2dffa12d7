"""What a MESSAGE or ACK tells by itself, where what came before it is not known: whether it asks for an ACK, which MESSAGE it names."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import MODE_AUTO, MODE_CLIENT, MODE_CLIENT_INDIVIDUAL, MODE_UNKNOWN
from stompcap.columns import I64, Bools
from stompcap.session.deliveries.records import RENEWED
from stompcap.session.dialogue import Dialogue
from stompcap.session.layout import Records
from stompcap.session.products.quirks import Quirks


def sure(d: Dialogue, frames: I64) -> Bools:
    """Frames of sessions whose version is known from CONNECTED."""
    found: Bools = np.asarray(pc.is_in(d.some("version_source", frames), value_set=pa.array(["connected", "assumed_1_0"])))
    return found


def in_any_version(d: Dialogue, rows: Records, settled: I64, by: I64) -> Bools:
    """Of deliveries that the frames `by` settled: each names its delivery in any version that has such frames and MESSAGEs.

    By `id` where that had an ack header, by message-id alone where it had none.
    """
    by_id, pair = (np.asarray(d.some(name, by).is_valid()) for name in ("id", "subscription"))
    has_ack = np.asarray(rows.text["ack_id"].take(pa.array(settled)).is_valid())
    found: Bools = (rows["direct"][settled] == 1) & np.where(by_id, has_ack, ~has_ack & ~pair)
    return found


def _replies(d: Dialogue, sent: I64, quirks: Quirks) -> Bools:
    """MESSAGEs from a queue that the broker subscribed to by itself, for a SEND with reply-to."""
    found = quirks.replies_unasked[d.session[sent]]
    if found.any():
        found &= np.asarray(pc.starts_with(d.some("subscription", sent), "/temp-queue/").fill_null(False))
    return found


def asking(d: Dialogue, sent: I64, mode: I64, possible: I64, quirks: Quirks) -> tuple[I64, I64, I64]:
    """Per MESSAGE: its mode, whether it asks for no ACK though the mode is not known, whether it needs none though it has an ack header.

    `mode` is that of its subscription, MODE_UNKNOWN where there is none. In 1.2 a MESSAGE that asks for an ACK has an `ack` header, and
    others have none as a rule. Where the subscription may have been renewed, `mode` counts only if the header confirms that an ACK is asked
    for; whether that ACK is cumulative is not known.
    """
    renewed, has_ack = possible == RENEWED, np.asarray(d.some("ack", sent).is_valid())
    tells = (d.version[sent] == 2) & sure(d, sent)
    asks = tells & has_ack & np.isin(mode, (MODE_CLIENT, MODE_CLIENT_INDIVIDUAL))
    found = np.where(renewed, np.where(asks, MODE_CLIENT_INDIVIDUAL, MODE_UNKNOWN), mode)
    unasked = (tells & ~has_ack | _replies(d, sent, quirks)) & (found == MODE_UNKNOWN)
    needless = tells & has_ack & (found == MODE_AUTO)
    return found, unasked.astype(np.int64), needless.astype(np.int64)
