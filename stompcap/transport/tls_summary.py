"""What TLS comes to on a connection: its row of table transports, from what is kept of it."""

from __future__ import annotations

from stompcap.codes import NOBODY
from stompcap.transport.checks import Check
from stompcap.transport.keys import NO_KEYS
from stompcap.transport.state import Arrays
from stompcap.transport.summary import Summary
from stompcap.transport.tls_connection import Connection
from stompcap.transport.tls_hello import TLS_1_2, TLS_1_3, VERSIONS
from stompcap.transport.tls_messages import ALERTS
from stompcap.transport.tls_search import MOST_FAILED
from stompcap.transport.tls_side import Side
from stompcap.transport.tls_suites import name_of

CLOSE_NOTIFY = "close_notify"
READ, PARTLY, NOT_DECRYPTED, REFUSED, UNREADABLE = "read", "partly", "not_decrypted", "refused", "unreadable"


def summary(kept: Arrays) -> Summary:
    """The row of a connection."""
    connection = Connection.of(kept, NO_KEYS)
    sides = [Side.of(kept, connection, side, synced=True) for side in (0, 1)]
    status, reason = _status(connection, sides)
    suite, fatal = connection.suite, next((side for side in sides if side.fatal), None)
    columns = {
        "tls_version": VERSIONS.get(connection.version), "cipher_suite": None if suite is None else name_of(suite),
        "server_name": connection.server_name, "alpn": connection.alpn,
        "resumed": connection.goes_on if connection.hellos and not connection.guessed else None,
        "close_reason": None if fatal is None else ALERTS.get(fatal.fatal - 1, f"alert {fatal.fatal - 1}"),
    }  # fmt: skip
    checks = tuple(_close_notify(side, fatal is not None) for side in sides if side.opened or side.closed)
    closed = [side for side in sides if side.closed_order]
    first = min(closed, key=lambda side: side.closed_order) if closed else None
    closer, order = (first.side, first.closed_order - 1) if first else (NOBODY, -1)
    if connection.unwalked:
        return Summary("tls", status, reason, columns, closed_by=closer, closed_order=order)
    units, octets, lost = zip(*((side.opened + side.cleared, side.offset + side.hidden, side.unopened) for side in sides), strict=True)
    return Summary("tls", status, reason, columns, units, octets, lost, closer, checks=checks, closed_order=order)


def _close_notify(side: Side, fatal: bool) -> Check:
    """Whether a side announces the end of what it sends (RFC 8446, 6.1; RFC 5246, 7.2.1); `broken` says that it has not so far."""
    known = not side.unopened and not side.lost and not side.midway
    return Check(CLOSE_NOTIFY, side.side, "kept" if side.closed or fatal else "broken" if known else "unknown")


def _status(connection: Connection, sides: list[Side]) -> tuple[str, str | None]:
    """How much was read, and why not all."""
    if connection.hellos and connection.version not in (TLS_1_2, TLS_1_3):
        return UNREADABLE, f"{VERSIONS.get(connection.version, f'version 0x{connection.version:04X}')} is not read"
    if not connection.readable:
        return UNREADABLE, f"the cipher suite {name_of(connection.suite or 0)} is not read"
    unopened, opened = sum(side.unopened for side in sides), sum(side.opened for side in sides)
    fatal = next((side for side in sides if side.fatal), None)
    if fatal is not None and not unopened and not any(side.offset for side in sides):  # in TLS 1.3 its alert may be encrypted
        return REFUSED, f"an alert ended the handshake: {ALERTS.get(fatal.fatal - 1, fatal.fatal - 1)}"
    if opened:
        if not unopened:
            return READ, None
        return PARTLY, "records are missing from the capture" if any(side.lost for side in sides) else "no key opens some of its records"
    log, known, unread = (bool(connection.logged & bit) for bit in (1, 2, 4))
    named = bool(connection.digests) and not connection.ech
    if not known and unread and (named or unopened or connection.unwalked):
        return NOT_DECRYPTED, "a key log cannot be read on the host of the task"
    if not log:
        return (NOT_DECRYPTED, "there is no key log") if named or unopened or connection.unwalked else (READ, None)
    if not known and (named or connection.unwalked):
        return NOT_DECRYPTED, "the key log does not have its secrets"
    if unopened and all(side.failed >= MOST_FAILED for side in sides if side.unopened):
        return (UNREADABLE if known else NOT_DECRYPTED), "no secret of the key log opens its records"
    if unopened and not connection.hellos and not any(side.tried or side.failed for side in sides):
        return UNREADABLE, "the server's hello was not captured"  # of TLS 1.2 the keys are made from both randoms
    return (PARTLY, "no record was opened yet") if unopened else (READ, None)
