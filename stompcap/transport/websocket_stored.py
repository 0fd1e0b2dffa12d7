"""What a WebSocket connection keeps from run to run, as it may be stored: without what tells a secret."""

from __future__ import annotations

from stompcap.stomp.delimiter_io import FRAME_LIMIT
from stompcap.transport import websocket_frames as frames
from stompcap.transport import websocket_state as numbers
from stompcap.transport.deflate import Inflater, as_array, tells_secrets, windows_without
from stompcap.transport.direction import OFFSET, UNSURE
from stompcap.transport.state import Arrays
from stompcap.transport.websocket_state import FRAMES, HTTP, LOST, PHASE


def masked(kept: Arrays, secrets: frozenset[bytes]) -> Arrays:
    """What a connection keeps, as it may be stored.

    Octets that are not decided are not stored, nor what there is of a ping. A window has others for those of secrets, and what refers to
    them is not known. A compressed message under way is stored as it came if what there is of it tells no secret; else it is a gap.
    """
    found = {name: values.copy() for name, values in kept.items()}
    nothing = as_array(b"")
    for side in (0, 1):
        n, s = found["numbers"][side], found["frames"][side]
        raw, held = found[f"raw {side}"].size, kept[f"held {side}"].tobytes()
        if raw or (held and n[PHASE] == HTTP):
            n[[OFFSET, UNSURE, PHASE, numbers.NEAR, numbers.SINCE]] = n[OFFSET] + raw, 1, LOST, 0, -1
            s[frames.MESSAGE] = frames.UNKNOWN
            found[f"raw {side}"] = found[f"held {side}"] = nothing
        control = found[f"control {side}"].size
        keeps_code = s[frames.FIRST] & 15 == frames.CLOSE
        found[f"control {side}"] = as_array(kept[f"control {side}"].tobytes()[: 2 if keeps_code else 0].ljust(control, b"*"))
        if held and n[PHASE] == FRAMES and not _harmless(kept, side, held, secrets):
            n[[OFFSET, UNSURE, numbers.WINDOW]] = n[OFFSET] + len(held), 1, 2
            n[numbers.LOST_UNITS] += 1
            s[[frames.MESSAGE, frames.KIND]] = frames.SKIPPED, frames.SKIPPED if s[frames.KIND] == frames.PACKED else s[frames.KIND]
            inflater = Inflater(True, FRAME_LIMIT)
            inflater.forget()
            found[f"held {side}"] = nothing
            found[f"window {side}"], found[f"other {side}"] = as_array(inflater.window), as_array(inflater.other or b"")
            continue
        window, other = kept[f"window {side}"].tobytes(), kept[f"other {side}"].tobytes()
        one, two = windows_without(window, other if n[numbers.WINDOW] == 2 else None, secrets)
        n[numbers.WINDOW] = n[numbers.WINDOW] if two is None else 2
        found[f"window {side}"], found[f"other {side}"] = as_array(one), as_array(two or b"")
    return found


def _harmless(kept: Arrays, side: int, held: bytes, secrets: frozenset[bytes]) -> bool:
    """Whether what there is of a compressed message tells no secret."""
    window, other = kept[f"window {side}"].tobytes(), kept[f"other {side}"].tobytes()
    unknown = kept["numbers"][side][numbers.WINDOW] == 2
    first = Inflater(True, FRAME_LIMIT, 15, window, other if unknown else None).beginning(held)
    return first is not None and not tells_secrets(first, secrets)
