"""A connection that is taken in and judged before workers are forked: what is loaded or made at its first use, all of them share then.

That is three quarters of what a small capture takes in a worker, and time in which this process waits for the JVM anyway.
"""

from __future__ import annotations

from stompcap import kernel_cache

CLIENT = (
    b"CONNECT\naccept-version:1.2\nhost:/\nlogin:client\npasscode:passcode\nheart-beat:1000,1000\n\n\0",
    b"SUBSCRIBE\nid:1\ndestination:/queue/rehearsal\nack:client\n\n\0",
    b"BEGIN\ntransaction:1\n\n\0SEND\ndestination:/queue/rehearsal\ncontent-type:text/plain\ntransaction:1\n\nbody\0"
    b"COMMIT\ntransaction:1\nreceipt:1\n\n\0",
    b"ACK\nid:1\n\n\0\n",
    b"DISCONNECT\nreceipt:2\n\n\0",
)
SERVER = (
    b"CONNECTED\nversion:1.2\nsession:1\nheart-beat:1000,1000\n\n\0",
    b"\n",
    b"RECEIPT\nreceipt-id:1\n\n\0MESSAGE\nsubscription:1\nmessage-id:1\nack:1\ndestination:/queue/rehearsal\ncontent-length:4\n\nbody\0",
    b"ERROR\nmessage:rehearsed\n\n\0",
)


def rehearse() -> None:
    """Judge a connection; nothing where kernels are not compiled, for a worker that compiles some shall be seen to be at work."""
    if not kernel_cache.prepared():
        return
    from stompcap.checking import Dialogue

    dialogue = Dialogue()
    for turn, said in enumerate(CLIENT):
        dialogue.client(said)
        if turn < len(SERVER):
            dialogue.server(SERVER[turn])
    dialogue.close().verdict(allow_empty=True)
