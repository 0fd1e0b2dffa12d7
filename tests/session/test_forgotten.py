"""What is known by its name for so many frames, and then no more: transactions and message-ids, whole and in pieces."""

from __future__ import annotations

import pytest

from stompcap.session import Options
from tests.session.pieces import differences, resumed, staggered, whole
from tests.session.transcript import made

FAR = "> SEND\n< EOL\n" * 5
NEVER_BEGUN = """< MESSAGE message-id:m ack:m subscription:1 destination:/b
> ABORT transaction:t
> SUBSCRIBE id:1 destination:/a ack:odd
< MESSAGE message-id:m ack:m subscription:1 destination:/a
> BEGIN transaction:u
> ACK id:m message-id:m transaction:t
> ACK id:m message-id:m transaction:t
> BEGIN transaction:t
> ABORT transaction:t
""" + "< MESSAGE message-id:n ack:n subscription:2 destination:/a\n" * 4 + """> COMMIT transaction:t
> COMMIT transaction:t
> ABORT transaction:u
> BEGIN transaction:t
< MESSAGE message-id:m ack:m subscription:1 destination:/a
"""

MINE = "< MESSAGE message-id:m subscription:1 destination:/a\n"
TWO_LISTS = "< CONNECTED session:1\n< MESSAGE message-id:m subscription:2 destination:/a\n" + MINE * 4 + """> ABORT transaction:t
> SUBSCRIBE id:1 destination:/a ack:client
> BEGIN transaction:t
> COMMIT transaction:t
< MESSAGE message-id:m subscription:2 destination:/b
> ACK message-id:m subscription:1 transaction:t
> ACK message-id:m subscription:1 transaction:t
< MESSAGE message-id:m subscription:1 destination:/b
> NACK message-id:m transaction:t
> NACK message-id:m transaction:t
> NACK message-id:m subscription:1
< MESSAGE message-id:n destination:/a
< MESSAGE message-id:n destination:/a
> ACK message-id:m subscription:2
"""

GIVEN_BACK = """> CONNECT accept-version:1.1 host:/
< CONNECTED version:1.1 server:ActiveMQ/5.17.2
> SUBSCRIBE id:1 destination:/a ack:client
< MESSAGE message-id:m subscription:1 destination:/a
< MESSAGE message-id:n subscription:1 destination:/a
> BEGIN transaction:t
> NACK message-id:m subscription:1 transaction:t
> ABORT transaction:t
> NACK message-id:n subscription:1
""" + FAR + "> NACK message-id:m subscription:1\n" + FAR


@pytest.mark.parametrize("text", [NEVER_BEGUN, TWO_LISTS, GIVEN_BACK], ids=["never begun", "two lists of a name", "given back"])
def test_it_comes_out_in_pieces_as_whole(text: str) -> None:
    sessions, options = made(text), Options(retention=8)
    last = max(sessions["segments"]["packet"].to_pylist())
    near = staggered(sessions, 9)  # cut at each of the last packets
    assert differences(whole(near, options), resumed(near, [last + 1, last + 10], options)) == []
    expected = whole(sessions, options)
    for cuts in (range(step, last + 1, step) for step in (2, 3)):
        assert differences(expected, resumed(sessions, cuts, options)) == [], cuts
