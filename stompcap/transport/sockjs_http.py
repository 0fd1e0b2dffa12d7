"""SockJS over HTTP: what it falls back to where WebSocket is not to be had. It is found, named and counted, and not read.

sockjs-protocol 0.3.3: requests to `/{prefix}/{server}/{session}/{transport}`. One session lies on many connections, one of which brings
what the server says, and others what the client says; its path joins them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import numpy as np

from stompcap.codes import HIGH, LOW, NOBODY, PROTOCOL_HTTP, TRANSPORT_SOCKJS
from stompcap.columns import I64, Bools, Octets
from stompcap.stomp.delimiter_io import Runs
from stompcap.transport.carried import Carried
from stompcap.transport.http import path_of
from stompcap.transport.state import Arrays
from stompcap.transport.stretches import NO_STRETCHES
from stompcap.transport.summary import Summary

REQUEST = re.compile(
    rb"(?:GET|POST) (\S{0,200}/[^/\s]{1,40}/[^/\s]{1,64}/(xhr_streaming|xhr_send|xhr|eventsource|htmlfile|jsonp_send|jsonp))[?\s]"
)


class SockJsHttp:
    """The layer (stompcap.transport.layers.Layer); it gives nothing."""

    kind = "sockjs_http"
    protocol = PROTOCOL_HTTP
    keeps = ("said",)

    def begins(self, octets: Octets, runs: Runs) -> Bools:
        """Per direction, whether there are such requests among its first ones."""
        found = np.zeros(runs.synced.size, np.bool_)
        first = np.flatnonzero((runs.offset == 0) & (runs.length > 0))
        first = first[np.isin(octets[runs.position[first]], np.frombuffer(b"GOP", np.uint8))]  # OPTIONS comes before a POST elsewhere
        for run in first.tolist():
            begin = int(runs.position[run])
            found[runs.direction[run]] = REQUEST.search(octets[begin : begin + int(runs.length[run])].tobytes()) is not None
        return found

    def transport(self, below: int) -> int:
        """SockJS."""
        return TRANSPORT_SOCKJS

    def read(self, below: Carried, streams: I64, before: Sequence[Arrays | None]) -> tuple[Carried, Sequence[Arrays]]:
        """Nothing; requests are counted by their transports."""
        kept: list[Arrays] = []
        for stream, one in zip(streams.tolist(), before, strict=True):
            said = json.loads(one["said"].tobytes()) if one else {"client": NOBODY, "path": None, "names": {}}
            for side in (LOW, HIGH) if said["client"] == NOBODY else (said["client"],):
                begin, end = below.bounds[2 * stream + side :][:2].tolist()
                for path, name in REQUEST.findall(below.read(below.stretches.take(slice(begin, end))).tobytes()):
                    said["client"] = side
                    said["path"] = said["path"] or path_of(path.decode("latin-1"))
                    said["names"][name.decode()] = said["names"].get(name.decode(), 0) + 1
            kept.append({"said": np.frombuffer(json.dumps(said).encode(), np.uint8)})
        nothing = np.zeros((len(streams), 2), np.int64)
        return below.giving(streams, NO_STRETCHES, nothing, nothing.astype(np.bool_)), kept

    def summaries(self, kept: Arrays) -> Sequence[Summary]:
        """The HTTP, and what in it is not read."""
        said = json.loads(kept["said"].tobytes())
        count = sum(said["names"].values())
        units = (count, 0) if said["client"] == LOW else (0, count)
        reason = f"SockJS over HTTP ({', '.join(sorted(said['names']))}) is not read: a session lies on several connections"
        return [
            Summary("http", "read", None, {"http_path": said["path"]}, units, (0, 0), (0, 0)),
            Summary("sockjs", "unreadable", reason, {}, (0, 0), (0, 0), units),
        ]

    def masked(self, kept: Arrays, secrets: frozenset[bytes]) -> Arrays:
        """The same: nothing of it is a secret."""
        return kept
