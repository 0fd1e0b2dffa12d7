"""Habits that distinguish brokers and client libraries, with the weight of each as evidence: data, no code.

Each mark is a product, a trait of the session (`products.traits`), a pattern that the trait's text has, and a weight. A product
is believed from GOOD on, if the next one is LEAD behind; AGAINST outweighs all that may speak for it. Sources: the projects' own code
and recordings of RabbitMQ 3.10, ActiveMQ 5.17, Artemis 2.42, HornetQ 2.4, CoilMQ 1.1, stomp.py 9, stompjs 7.1, go-stomp 3.1,
vert.x 4.5, stompest 2.3 and Spring 6.2 (most are in `data/`); stompman, stomp-php and the Ruby gem by their code alone.
"""

from __future__ import annotations

from typing import NamedTuple

GOOD, LEAD, AGAINST = 5, 2, -9

UUID = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
NUMBER = r"^[0-9]+$"
COLON = r"(:|\\c)"  # in CONNECTED colons may stand escaped


class Mark(NamedTuple):
    """One habit; the pattern is a regular expression of RE2."""

    product: str
    trait: str
    pattern: str
    weight: int


SERVER_NAMES = {  # name in the server header, lower case: the name in the tables
    "rabbitmq": "RabbitMQ",
    "activemq": "ActiveMQ",
    "activemq-artemis": "Artemis",
    "apache-apollo": "Apollo",
    "hornetq": "HornetQ",
    "coilmq": "CoilMQ",
}

AGENTS = {  # the name in the tables: how a user-agent begins, or a part of it that names a library; browsers name none
    "stomp.py": r"(?i)\bstomp\.py\b",
    "stompman": r"(?i)\bstompman\b",
    "stompest": r"(?i)\bstompest\b",
    "stompjs": r"(?i)\bstomp-?js\b|\bstomp\.js\b",
    "go-stomp": r"(?i)\bgo-stomp\b",
    "vert.x": r"(?i)\bvert\.?x\b",
    "stomp gem": r"(?i)\bstomp[ -]?gem\b",
    "stomp-php": r"(?i)\bstomp-?php\b",
    "Spring": r"(?i)\bspring\b",
}

SERVERS = (
    Mark("RabbitMQ", "session", r"^session-[A-Za-z0-9_-]{22}$", 5),
    Mark("RabbitMQ", "message-id", r"@@session-[A-Za-z0-9_-]{22}@@[0-9]+$", 5),
    Mark("RabbitMQ", "message", r"subscription,destination,message-id,redelivered", 3),
    Mark("ActiveMQ", "session", rf"^ID{COLON}.+-[0-9]+-[0-9]+-[0-9]+{COLON}[0-9]+$", 5),
    Mark("ActiveMQ", "message-id", r"^ID:.+-[0-9]+-[0-9]+(-[0-9]+)?:[0-9]+:", 5),
    Mark("ActiveMQ", "ack-id", r"^ID:.+-[0-9]+-[0-9]+(-[0-9]+)?:[0-9]+$", 4),
    Mark("ActiveMQ", "message", r"expires,.*destination,.*subscription,priority,message-id", 3),
    Mark("ActiveMQ", "connected", r"response-id", 2),
    Mark("ActiveMQ", "error", r"org\.apache\.activemq\.transport\.stomp", 5),
    Mark("Artemis", "session", r"^[0-9a-f]{8}$", 2),
    Mark("Artemis", "connected", r"^(version,)?session$", 1),
    Mark("Artemis", "message-id", r"^[0-9]+,[0-9]+$", 4),
    Mark("Artemis", "message", r"message-id,destination,expires,redelivered,priority,persistent,timestamp", 5),
    Mark("Artemis", "error", r"\bAMQ[0-9]{6}\b", 5),
    Mark("HornetQ", "session", r"^-[0-9]{5,10}$", 3),
    Mark("HornetQ", "session", r"^[0-9]{5,10}$", 2),
    Mark("HornetQ", "message", r"message-id,destination,expires,redelivered,priority,timestamp", 3),
    Mark("HornetQ", "message-id", NUMBER, 1),
    Mark("HornetQ", "error", r"\bHQ[0-9]{6}\b", 5),
    Mark("CoilMQ", "session", UUID, 2),
    Mark("CoilMQ", "connected", r"content-length", 3),
    Mark("CoilMQ", "heart-beat", r"^100,100$", 2),
    # its simple broker; behind a relay CONNECTED names the broker
    Mark("Spring", "connected", r"^(mixed )?version,heart-beat(,user-name)?$", 2),
    Mark("Spring", "connected", r"\buser-name$", 3),
    Mark("Spring", "message", r"\bsubscription,message-id(,content-length)?$", 2),
    Mark("Spring", "message-id", rf"^([0-9a-z]{{8}}|{UUID[1:-1]})-[0-9]+$", 2),
    Mark("Spring", "error", r"\borg\.springframework\.", 5),
)

CLIENTS = (
    # writes the headers of every frame in the order of the alphabet, offers one version, and connects by STOMP from 1.1 on
    Mark("stomp.py", "connect", r"^sorted ", 2),
    Mark("stomp.py", "connect", r"^mixed ", AGAINST),
    Mark("stomp.py", "offer", r"^STOMP 1\.[12]$", 2),
    Mark("stomp.py", "offer", r"^CONNECT 1\.0$", 1),
    Mark("stomp.py", "offer", r"^CONNECT 1\.[12]$", -2),
    Mark("stomp.py", "offer", r",|^CONNECT $", AGAINST),
    Mark("stomp.py", "subscribe", r"^sorted ", 1),
    Mark("stomp.py", "subscribe", r"^mixed ", AGAINST),
    Mark("stomp.py", "send", r"^sized sorted ", 2),
    Mark("stomp.py", "send", r"mixed ", AGAINST),
    Mark("stomp.py", "disconnect", UUID, 2),
    # sorts as well, connects by CONNECT and offers 1.2 alone, calls each subscription by a UUID
    Mark("stompman", "connect", r"^sorted accept-version,heart-beat,host,login,passcode$", 2),
    Mark("stompman", "connect", r"^mixed ", AGAINST),
    Mark("stompman", "offer", r"^CONNECT 1\.2$", 1),
    Mark("stompman", "offer", r"^STOMP |,|1\.[01]$|^CONNECT $", AGAINST),
    Mark("stompman", "subscribe", r"^sorted ", 1),
    Mark("stompman", "subscribe", r"^mixed ", AGAINST),
    Mark("stompman", "subscription", UUID, 3),
    Mark("stompman", "send", r"^sized sorted ", 1),
    Mark("stompman", "send", r"mixed ", AGAINST),
    Mark("stompman", "disconnect", UUID, 1),
    # sorts as well, offers all versions up to its own, has a host even where none is given; a content-length only where it is asked for
    Mark("stompest", "connect", r"^sorted ", 2),
    Mark("stompest", "connect", r"^mixed ", AGAINST),
    Mark("stompest", "offer", r"^CONNECT 1\.0,1\.1(,1\.2)?$", 1),
    Mark("stompest", "host", r"^$", 2),
    Mark("stompest", "offer", r"^STOMP ", -2),
    Mark("stompest", "offer", r"^CONNECT 1\.0$", AGAINST),
    Mark("stompest", "subscribe", r"^sorted ", 1),
    Mark("stompest", "subscribe", r"^sorted .*\bid,receipt$", 1),  # vert.x has them the other way round
    Mark("stompest", "subscribe", r"^mixed ", AGAINST),
    Mark("stompest", "send", r"^unsized (sorted )?[^ ]+$", 2),
    Mark("stompest", "send", r"^sized |mixed ", AGAINST),
    # ends with a receipt that no other asks for so; its relatives share the rest
    Mark("stompjs", "connect", r"\baccept-version,heart-beat$", 1),
    Mark("stompjs", "offer", r"^CONNECT (1\.2,1\.1,1\.0|1\.2,1\.1|1\.1,1\.0)$", 1),
    Mark("stompjs", "offer", r" 1\.[01],1\.[12]", AGAINST),
    Mark("stompjs", "subscription", r"^sub-[0-9]+$", 1),
    Mark("stompjs", "disconnect", r"^close-[0-9]+$", 4),
    Mark("go-stomp", "connect", r"^mixed (host,)?heart-beat,(login,passcode,)?accept-version", 4),
    Mark("go-stomp", "connect", r"^heart-beat,accept-version$", 3),  # Spring writes this as well
    Mark("go-stomp", "connect", r"accept-version,(.*,)?heart-beat", AGAINST),
    Mark("go-stomp", "offer", r"^CONNECT 1\.0,1\.1,1\.2$", 1),
    Mark("go-stomp", "subscribe", r"^mixed destination,ack,id", 1),
    Mark("go-stomp", "subscription", NUMBER, 1),
    Mark("go-stomp", "send", r"^sized (mixed )?content-length,destination\b", 2),
    Mark("go-stomp", "disconnect", NUMBER, 1),
    # a subscription is called after its destination, receipts are asked for throughout
    Mark("vert.x", "connect", r"^(sorted )?accept-version,heart-beat,host(,login,passcode)?$", 1),
    Mark("vert.x", "connect", r"^mixed ", AGAINST),
    Mark("vert.x", "offer", r"^STOMP ", -2),
    Mark("vert.x", "subscribe", r"^mixed (ack,)?destination,receipt,id$", 3),
    Mark("vert.x", "subscription", r"^[^0-9].*[/.]", 1),
    Mark("vert.x", "send", r"^sized (mixed )?destination,content-length\b", 2),
    Mark("vert.x", "begin", UUID, 2),
    Mark("vert.x", "disconnect", UUID, 1),
    # both lines on every frame, CONNECT among them
    Mark("stomp gem", "connect", r"content-length,content-type$", 3),
    Mark("stomp gem", "connect-type", r"^text/plain; charset=UTF-8$", 3),
    Mark("stomp-php", "connect", r"^mixed (login,passcode,)?(client-id,)?accept-version,host,heart-beat$", 3),
    Mark("stomp-php", "offer", r"^CONNECT 1\.0,1\.1(,1\.2)?$", 1),
    Mark("stomp-php", "subscribe", r"^mixed destination,ack,id", 1),
    Mark("stomp-php", "send", r"^sized ", -1),
    # its relay's own order; its client sets heart-beat and version last; and a pair of versions that it alone offers unasked
    Mark("Spring", "offer", r"^(CONNECT|STOMP) 1\.1,1\.2$", 3),
    Mark("Spring", "connect", r"^mixed accept-version,login,passcode,heart-beat(,host)?$", 3),
    Mark("Spring", "connect", r"accept-version$", 1),
    Mark("Spring", "connect", r"\bheart-beat,accept-version$", 1),
    Mark("Spring", "send", r"^sized .*content-length$", 1),
    Mark("Spring", "send", r"^unsized ", AGAINST),
)
