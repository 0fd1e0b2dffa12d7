"""The requests and answers of HTTP by which a connection becomes a WebSocket (RFC 6455, 4).

A request for an upgrade ends the client's part of HTTP until its answer is there; several may come before one is accepted (401, and again).
"""

from __future__ import annotations

from typing import Any

from stompcap.codes import NOBODY
from stompcap.transport import http
from stompcap.transport import websocket_frames as frames
from stompcap.transport import websocket_state as numbers
from stompcap.transport.events import HANDSHAKE
from stompcap.transport.websocket_side import Side
from stompcap.transport.websocket_state import FRAMES, HTTP, PHASE, WAITING

UNDECIDED, UPGRADED, REFUSED = range(3)
MOST_ASKED = 64
"""Requests without an answer that are remembered."""


class Upgrade:
    """Reads the heads of both sides of a connection; `said` gets what they say.

    answer_row  the row of the packet that ended the answer, where it accepted the upgrade
    patient     an answer waits for a request that the other side may still have
    """

    def __init__(self, sides: tuple[Side, Side], said: dict[str, Any]) -> None:
        self.answer_row: int | None = None
        self.patient = False
        self._sides = sides
        self._said = said

    def agree(self, side: Side) -> None:
        """Have a side read compressed messages by what was agreed on for them."""
        if agreed := self._said.get("deflate"):
            sender = 0 if side.side == self._said["client"] else 1
            side.takeover, side.bits = bool(agreed[sender]), int(agreed[2 + sender])

    def head(self, side: Side) -> None:
        """A head, or what is left of a body before it."""
        octets = side.given.buffer[side.at : min(side.end, side.at + 2 * http.LONGEST)].tobytes()
        body = self._body(side)
        if not body.over:
            side.at += body.skip(octets)
            self._keep_body(side, body)
            return
        blank = len(octets) - len(octets.lstrip(b"\r\n"))
        head = http.head_of(octets[blank:])
        if head is None:
            return
        if not head.length:
            side.lose_sync()
            side.numbers[numbers.NEAR] = 1
            return
        if head.status and self.asked_there(side):
            return
        offset, size = side.below(side.at), blank + head.length
        side.at += size
        side.numbers[numbers.HEADS] += 1
        piece = max(side.given.piece_at(side.at - 1), side.given.floor)
        if head.status:
            self._answer(side, head, int(side.given.below.row[piece]))
        else:
            self._request(side, head)
        detail = f"{head.status}" if head.status else f"{head.method[:10]} {http.path_of(head.target)}"
        if head.upgrades or head.status == 101 or (head.status >= 300 and self._said["upgraded"] == REFUSED):
            side.tell(HANDSHAKE, piece, offset, size, detail)

    def asked_there(self, side: Side) -> bool:
        """Whether the request that an answer of this side is for may be among octets of the other that are not read yet."""
        other = self._sides[1 - side.side]
        return self.patient and not self._said["asked"] and other.numbers[PHASE] == HTTP and bool(other.at < other.end or other.runs)

    def _request(self, side: Side, head: http.Head) -> None:
        self._said["client"] = side.side
        asked = self._said["asked"]
        asked.append([head.method, head.upgrades, head.fields.get("sec-websocket-key", "")[:64]])
        del asked[MOST_ASKED:]
        self._keep_body(side, http.body_of(head))
        if head.upgrades:
            self._describe(head)
            side.numbers[PHASE] = WAITING
            other = self._sides[1 - side.side]
            if self._said["upgraded"] == UPGRADED or other.numbers[PHASE] == FRAMES:
                self._frames_begin(side)

    def _describe(self, head: http.Head) -> None:
        """What tables say of a request for an upgrade."""
        self._said["upgraded"] = UNDECIDED
        self._said["columns"] = {
            "http_path": http.path_of(head.target), "http_host": http.value_of(head, "host"),
            "user_agent": http.value_of(head, "user-agent"),
            "subprotocols_asked": http.subprotocols(head.fields.get("sec-websocket-protocol")),
        }  # fmt: skip
        if origin := http.origin_of(head):
            self._said["origin"] = [origin[0].hex(), origin[1], origin[2]]

    def _answer(self, side: Side, head: http.Head, row: int) -> None:
        if self._said["client"] == NOBODY:
            self._said["client"] = 1 - side.side
        if 100 <= head.status < 200 and head.status != 101:
            return
        asked = self._said["asked"]
        method, upgrade, key = asked.pop(0) if asked else ("GET", head.upgrades, "")
        if head.upgrades:
            self.answer_row = row
            self._upgraded(side, head, key)
            return
        self._keep_body(side, http.body_of(head, method))
        if upgrade:
            self._said["upgraded"] = REFUSED
            self._said["columns"]["http_status"] = head.status
            client = self._sides[1 - side.side]
            if client.numbers[PHASE] == WAITING:
                client.numbers[PHASE] = HTTP

    def _upgraded(self, side: Side, head: http.Head, key: str) -> None:
        """WebSocket begins behind this answer, and behind the request."""
        self._said["upgraded"] = UPGRADED
        accepted = head.fields.get("sec-websocket-extensions")
        self._said["columns"] |= {
            "http_status": head.status, "subprotocol": http.subprotocols(head.fields.get("sec-websocket-protocol")),
            "extensions": http.extensions_of(accepted),
        }  # fmt: skip
        accepted_key = http.accepts(key, head.fields.get("sec-websocket-accept", "")) if key else None
        self._said["answer"] = [None, accepted_key]
        if accepted_key is False:
            self._said["wrong"] = "Sec-WebSocket-Accept does not answer the key"
        if deflate := http.deflate_of(accepted):
            self._said["deflate"] = [deflate.client_takeover, deflate.server_takeover, deflate.client_bits, deflate.server_bits]
        self._frames_begin(side)
        client = self._sides[1 - side.side]
        if client.numbers[PHASE] == WAITING:
            self._frames_begin(client)
        else:
            self._know(client)

    def _know(self, side: Side) -> None:
        """The handshake tells what the frames of a side are."""
        side.state[frames.MASKED] = side.side == self._said["client"]
        side.state[frames.DEFLATE] = frames.AGREED if self._said.get("deflate") else frames.NOT_AGREED
        self.agree(side)

    def _frames_begin(self, side: Side) -> None:
        self._know(side)
        side.numbers[[PHASE, numbers.TRUE_BEGINNING]] = FRAMES, 1

    def _body(self, side: Side) -> http.Body:
        n = side.numbers
        return http.Body(int(n[numbers.LEFT]), bool(n[numbers.CHUNKED]), side.held, bool(n[numbers.TRAILER]))

    def _keep_body(self, side: Side, body: http.Body) -> None:
        side.numbers[[numbers.LEFT, numbers.CHUNKED, numbers.TRAILER]] = body.left, body.chunked, body.trailer
        side.held = body.line
