"""WebSocket (RFC 6455): the request that asks for it, the answer, and behind them frames, whose messages are the octets that it carries.

Text and binary messages are the same to STOMP, and where one ends says nothing. The handshake is found on any port; without it, frames that
chain and carry STOMP or SockJS are enough.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import numpy as np

from stompcap.codes import NOBODY, PROTOCOL_HTTP, TRANSPORT_TLS, TRANSPORT_WEBSOCKET, TRANSPORT_WSS
from stompcap.columns import I64, Bools, Octets
from stompcap.stomp.delimiter_io import Runs
from stompcap.transport import http, websocket_checks
from stompcap.transport import websocket_frames as frames
from stompcap.transport import websocket_state as numbers
from stompcap.transport.ahead import Ahead
from stompcap.transport.carried import Carried
from stompcap.transport.direction import OFFSET
from stompcap.transport.given import put_together
from stompcap.transport.state import Arrays
from stompcap.transport.summary import Origin, Summary
from stompcap.transport.websocket_connection import KEEPS, Connection
from stompcap.transport.websocket_found import begins_midstream
from stompcap.transport.websocket_stored import masked
from stompcap.transport.websocket_upgrade import REFUSED

MOST_LETTERS = 10  # of the first word of http.FIRST_WORDS, behind which there is a blank
ASKS = re.compile(rb"(?i)\nupgrade[ \t]*:[^\r\n]*websocket")


class WebSocket:
    """The layer (stompcap.transport.layers.Layer), with the HTTP that it begins with."""

    kind = "websocket"
    protocol = PROTOCOL_HTTP
    keeps = KEEPS

    def begins(self, octets: Octets, runs: Runs) -> Bools:
        """Per direction, whether it asks for WebSocket or answers so, or its octets are frames."""
        found = np.zeros(runs.synced.size, np.bool_)
        ruled_out = _without_words(octets, runs)
        rows = np.flatnonzero(~ruled_out[runs.direction])
        columns = (one[rows].tolist() for one in (runs.direction, runs.position, runs.length, runs.offset))
        for direction, begin, length, offset in zip(*columns, strict=True):
            if found[direction] or ruled_out[direction] or not length:
                continue
            first = octets[begin : begin + length]
            if not offset and http.FIRST_WORDS.match(first[:12].tobytes()):
                found[direction] = ASKS.search(first.tobytes()) is not None
            elif offset or not runs.synced[direction]:
                found[direction] = begins_midstream(first)
            else:
                ruled_out[direction] = True
        return found

    def transport(self, below: int) -> int:
        """WebSocket, or wss inside TLS."""
        return TRANSPORT_WSS if below == TRANSPORT_TLS else TRANSPORT_WEBSOCKET

    def read(self, below: Carried, streams: I64, before: Sequence[Arrays | None]) -> tuple[Carried, Sequence[Arrays]]:
        """The payload of messages."""
        connections = [Connection(stream, one) for stream, one in zip(streams.tolist(), before, strict=True)]
        ahead = Ahead(below, streams)
        for one in connections:
            one.read(below, ahead)
        synced = np.array([[bool(side.numbers[numbers.TRUE_BEGINNING]) for side in one.sides] for one in connections], np.bool_)
        given = [[side.given for side in one.sides] for one in connections]
        found = put_together(below, streams, given, synced.reshape(-1, 2))
        events = [event for one in connections for event in one.events()]
        return found.telling(events), [one.kept() for one in connections]

    def summaries(self, kept: Arrays) -> Sequence[Summary]:
        """HTTP where its heads were seen, then the frames."""
        said, n, s = json.loads(kept["said"].tobytes()), kept["numbers"], kept["frames"]
        found = []
        heads = _pair(n[:, numbers.HEADS])
        if any(heads):
            origin = None
            if claimed := said.get("origin"):
                origin = Origin(bytes.fromhex(claimed[0]), claimed[1], claimed[2])
            refused = said["upgraded"] == REFUSED
            reason = f"the server answered {said['columns'].get('http_status')}" if refused else said.get("wrong")
            status = "refused" if refused else "partly" if reason else "read"
            checks = tuple(websocket_checks.of_handshake(said))
            found.append(Summary("http", status, reason, said["columns"], heads, (0, 0), (0, 0), NOBODY, origin, checks))
            if refused:
                return found
        lost = _pair(n[:, numbers.LOST_UNITS])
        lost_sync = bool((n[:, numbers.PHASE] == numbers.LOST).any())
        uncertain = any(lost) and bool((n[:, numbers.WINDOW] == 2).any())
        status, reason = "read", None
        if any(lost) or lost_sync:
            reasons = {"websocket_unsynchronised": lost_sync, "the octets that compressed messages refer to are not known": uncertain}
            status, reason = "partly", "; ".join(one for one, there in reasons.items() if there) or "octets are missing or unreadable"
        closer, code, order = numbers.first_close(said)
        units, octets = _pair(s[:, frames.FRAMES]), _pair(n[:, OFFSET])
        checks = tuple(websocket_checks.of_frames(said, s, lost)) if "blind" in said else ()
        columns, client = {"close_code": code}, said["client"]
        found.append(Summary("websocket", status, reason, columns, units, octets, lost, closer, None, checks, order, client))
        return found

    def masked(self, kept: Arrays, secrets: frozenset[bytes]) -> Arrays:
        """What it keeps, without secrets."""
        return masked(kept, secrets)


def _without_words(octets: Octets, runs: Runs) -> Bools:
    """Per direction, whether its true beginning has no blank where http.FIRST_WORDS has one, as nearly all of STOMP."""
    first = np.flatnonzero(runs.synced[runs.direction] & (runs.offset == 0) & (runs.length > 0))
    into = np.arange(np.int64(MOST_LETTERS + 1))
    blank = octets[np.minimum(runs.position[first][:, None] + into, octets.size - 1)] == ord(" ")
    found = np.zeros(runs.synced.size, np.bool_)
    found[runs.direction[first]] = ~(blank & (into < runs.length[first][:, None])).any(axis=1)
    return found


def _pair(values: I64) -> tuple[int, int]:
    return int(values[0]), int(values[1])
