"""Dialogues in which what is known by its name for so many frames is named again within them, and behind."""

from __future__ import annotations

from tests.session.delivered import ABORT, BEGIN, GONE, INSIDE, ONE, SECOND, THIRD, message, subscribe
from tests.session.delivered import FIRST as DELIVERED
from tests.session.delivered import OLD as OLD_MESSAGES

OPEN = "> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2\n"
OLD = "> CONNECT login:a\n< CONNECTED session:1\n"
SUBSCRIBE = "> SUBSCRIBE id:1 destination:/a ack:client\n"
UNSUBSCRIBE = "> UNSUBSCRIBE id:1\n"
LATE = "< MESSAGE subscription:1 message-id:late ack:late destination:/a\n"

FAR = "> SEND\n< EOL\n" * 6
FIRST = "> SUBSCRIBE id:0 destination:/0\n< MESSAGE subscription:0 message-id:0 destination:/0\n> UNSUBSCRIBE id:0\n"
START = OPEN + FIRST  # what comes first is kept for ever
OTHER = "> SUBSCRIBE id:3 destination:/c\n> UNSUBSCRIBE id:3\n"
NAMELESS = FAR + SUBSCRIBE + UNSUBSCRIBE + FAR + "< MESSAGE message-id:1 destination:/a\n" + FAR
ENDED = {
    "a late MESSAGE within memory": START + SUBSCRIBE + UNSUBSCRIBE + LATE + FAR,
    "a late MESSAGE beyond it": START + SUBSCRIBE + UNSUBSCRIBE + FAR + LATE + FAR,
    "an UNSUBSCRIBE beyond it": START + SUBSCRIBE + UNSUBSCRIBE + FAR + UNSUBSCRIBE + FAR,
    "unsubscribed again and again": START + SUBSCRIBE + (UNSUBSCRIBE + "> SEND\n") * 6 + LATE + FAR + LATE,
    "its id used again": START + (SUBSCRIBE + LATE + "> ACK id:late\n" + UNSUBSCRIBE + FAR) * 3,
    "its id used again at once": START + (SUBSCRIBE + LATE + UNSUBSCRIBE) * 5 + FAR + LATE + SUBSCRIBE + LATE,
    "replaced, then unsubscribed": START + (SUBSCRIBE * 3 + LATE + UNSUBSCRIBE + FAR) * 2 + LATE,
    "acknowledged long after": START + SUBSCRIBE + LATE + UNSUBSCRIBE + FAR + LATE + "> ACK id:late\n" + FAR,
    "acknowledged in a transaction": START + SUBSCRIBE + LATE + "> BEGIN transaction:1\n> ACK id:late transaction:1\n" + UNSUBSCRIBE + FAR
    + "> ABORT transaction:1\n" + FAR + "> ACK id:late\n" + FAR,
    "never acknowledged": START + SUBSCRIBE + LATE + UNSUBSCRIBE + FAR + "> DISCONNECT\n",
    "a 1.1 ACK names it": START.replace("1.2", "1.1") + SUBSCRIBE + LATE + UNSUBSCRIBE + FAR + "> ACK subscription:1 message-id:late\n",
    "by destination": OLD + FIRST
    + ("> SUBSCRIBE destination:/a\n< MESSAGE message-id:1 destination:/a\n> UNSUBSCRIBE destination:/a\n" + FAR) * 3
    + "< MESSAGE message-id:1 destination:/a\n",
    "by the destination of one with an id": START + (SUBSCRIBE + "> UNSUBSCRIBE destination:/a\n") * 2 + LATE + FAR + LATE,
    "an active one below": START + SUBSCRIBE + "> SUBSCRIBE id:1 destination:/b\n> UNSUBSCRIBE destination:/b\n" + FAR + LATE
    + "< MESSAGE subscription:1 message-id:2 destination:/b\n" + UNSUBSCRIBE + FAR + LATE,
    "one below that ended later": START + SUBSCRIBE + "> SUBSCRIBE id:1 destination:/b\n> UNSUBSCRIBE destination:/b\n" + "> SEND\n" * 2
    + UNSUBSCRIBE + "> SEND\n" * 2 + "> SUBSCRIBE id:1 destination:/c\n" + LATE + FAR,
    "one of two of a destination": START + SUBSCRIBE + "> SUBSCRIBE id:2 destination:/a\n< MESSAGE message-id:1 ack:1 destination:/a\n"
    + "> UNSUBSCRIBE destination:/a\n> UNSUBSCRIBE id:2\n" + FAR
    + "> ACK id:1\n< MESSAGE message-id:2 ack:2 destination:/a\n> ACK id:2\n" + FAR,
    "two of a destination, in doubt": START + "> SUBSCRIBE id:2 destination:/a ack:client\n" + SUBSCRIBE
    + "< MESSAGE message-id:1 ack:1 destination:/a\n" + UNSUBSCRIBE + OTHER + FAR + "> UNSUBSCRIBE destination:/a\n" + FAR,
    "an UNSUBSCRIBE of two of a destination": OPEN + SUBSCRIBE + "> SUBSCRIBE id:2 destination:/a\n> UNSUBSCRIBE destination:/a\n"
    + "> UNSUBSCRIBE id:2\n" + OTHER + FAR + LATE + FAR,
    "the server alone goes on": START + SUBSCRIBE + UNSUBSCRIBE + SUBSCRIBE + "< RECEIPT receipt-id:9\n" * 9 + "> SEND\n",
    "the server alone goes on, one below": START + SUBSCRIBE + "> SUBSCRIBE id:1 destination:/b\n> UNSUBSCRIBE destination:/b\n"
    + "> SEND\n" * 2 + UNSUBSCRIBE + "> SEND\n" * 2 + SUBSCRIBE + "< RECEIPT receipt-id:9\n" * 9 + "> SEND\n",
    "the client alone goes on": START + SUBSCRIBE + UNSUBSCRIBE + LATE + "> SEND\n" * 12 + "< EOL\n",
    "one without id long ago": START + "> SUBSCRIBE destination:/b\n> UNSUBSCRIBE destination:/b\n" + NAMELESS,
    "one with an empty id long ago": START + "> SUBSCRIBE id: destination:/b\n> UNSUBSCRIBE destination:/b\n" + NAMELESS,
}  # fmt: skip

NEAR = "> SEND\n< EOL\n" * 5
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
""" + NEAR + "> NACK message-id:m subscription:1\n" + NEAR

AGAIN = "< MESSAGE message-id:m ack:m subscription:2 destination:/b\n"
NAMED_AGAIN = {
    # of what makes a name known, the latest is dropped before what came first
    "acknowledged again and again, the first in a transaction that nothing ends":
        AGAIN * 3 + "> NACK id:m transaction:t\n@3000 > ACK id:m\n@6000 > ACK id:m\n@13500 > ACK id:n\n"
         "@19500 < MESSAGE message-id:m destination:/a\n@27000 < EOL\n> ABORT transaction:t\n",
    "delivered by one subscription and another, of neither of which the mode is known":
        "> SUBSCRIBE destination:/a\n@6000 " + message("n", 1, "/b") + GONE + "> UNSUBSCRIBE destination:/b\n"
         + message("n", 1, "/a") + AGAIN * 5 + message("n", 1, "/a", "n") + subscribe(1, "client", "/b") + message("n", 1, "/a", "n")
         + "@31500 > UNSUBSCRIBE destination:/a\n",
    "a transaction begun again, and again when the second BEGIN is dropped": "> BEGIN transaction:u\n" * 2 + OLD_MESSAGES
         + "> COMMIT transaction:t\n" * 4 + "> NACK id:m transaction:t\n< EOL\n@7500 > BEGIN transaction:u\n",
    "acknowledged anew behind an ABORT, and refused along meanwhile if the first ACK is dropped": ONE + DELIVERED + BEGIN + INSIDE
         + "> BEGIN transaction:u\n" + SECOND + "> NACK id:a2\n" + ABORT + "> ACK id:a1 transaction:u\n"
         + "> BEGIN transaction:v\n" * 9,
    "copies, those between settled and dropped": ONE + DELIVERED * 3 + "> ACK id:a1 transaction:t\n@9000 " + THIRD + "> ACK id:a1\n"
         "@10500 > ACK id:a1 transaction:t\n@15000 > NACK id:n\n< MESSAGE message-id:m1 destination:/a ack:a1\n",
}

FORGOTTEN = {**ENDED, **NAMED_AGAIN, "never begun": NEVER_BEGUN, "two lists of a name": TWO_LISTS, "given back": GIVEN_BACK}
