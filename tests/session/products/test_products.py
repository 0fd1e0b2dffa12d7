"""Brokers and clients by what they write."""

from __future__ import annotations

import pytest

from tests.session.transcript import picked, run

UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"
SERVERS = [
    ("version:1.2 server:RabbitMQ/3.10.8", "", ("RabbitMQ", "3.10.8")),
    ("version:1.2 server:ActiveMQ/5.17.2", "", ("ActiveMQ", "5.17.2")),
    ('version:1.2 server:"ActiveMQ-Artemis/2.42.0 ActiveMQ Artemis Messaging Engine"', "", ("Artemis", "2.42.0")),
    ("version:1.2 server:apache-apollo/1.7.1", "", ("Apollo", "1.7.1")),
    ("version:1.2 server:RabbitMQ", "", ("RabbitMQ", None)),
    ("version:1.2 server:Something/1", "", ("Something", "1")),
    ("version:1.2", "", (None, None)),
    ("version:1.2 session:session-8yXk0Zq2N1nq8wC4a_-x0g", "", ("RabbitMQ", None)),
    ("session:session-1", "", (None, None)),
    ("version:1.2", "message-id:T_1@@session-8yXk0Zq2N1nq8wC4a_-x0g@@1", ("RabbitMQ", None)),
    ("version:1.2 session:ID\\chost-45637-1700000000000-3\\c1", "", ("ActiveMQ", None)),
    ("version:1.2", "message-id:ID\\chost-45637-1700000000000-3\\c2\\c-1\\c1\\c1", ("ActiveMQ", None)),
    ("version:1.2 session:0f8fad5b-d9cb-469f-a165-70867728950e content-length:0", "", ("CoilMQ", None)),
    ("version:1.2 session:0f8fad5b-d9cb-469f-a165-70867728950e", "", (None, None)),
    # HornetQ 2.4 says so from 1.1 on only; an int has a sign
    ("session:-201775644", "message-id:8 destination:q expires:0 redelivered:false priority:4 timestamp:1", ("HornetQ", None)),
    ("session:201775644", "message-id:8 destination:q expires:0 redelivered:false priority:4 timestamp:1", ("HornetQ", None)),
    ("session:-201775644", "", (None, None)),
    ("version:1.2 heart-beat:0,0", "destination:/topic/a subscription:sub-0 message-id:qcwfctgi-8 content-length:0", ("Spring", None)),
    ("version:1.2 heart-beat:0,0", f"destination:/topic/a subscription:sub-0 message-id:{UUID}-8 content-length:0", ("Spring", None)),
    ("version:1.2 heart-beat:0,0 user-name:ann", "", ("Spring", None)),
    ("version:1.2 heart-beat:0,0", "", (None, None)),
    ("session:1234567", "message-id:4,8 destination:q expires:0 redelivered:false priority:4 persistent:no timestamp:1", ("Artemis", None)),
]


@pytest.mark.parametrize(("connected", "message", "expected"), SERVERS)
def test_servers(connected: str, message: str, expected: tuple[object, ...]) -> None:
    text = f"> CONNECT accept-version:1.2 host:/\n< CONNECTED {connected}\n" + (f"< MESSAGE {message}\n" if message else "")
    assert picked(run(text).tables["sessions"], "server_product", "server_version") == [expected]


CLIENTS = [
    ("STOMP accept-version:1.2 heart-beat:1,1 host:h login:a passcode:b", f"DISCONNECT receipt:{UUID}", "stomp.py"),
    ("STOMP accept-version:1.1 host:h login:a passcode:b", "", None),
    ("CONNECT accept-version:1.1 host:h login:a passcode:b", "", None),
    # vert.x writes this as well
    ("CONNECT accept-version:1.1 host:h login:a passcode:b", f"DISCONNECT receipt:{UUID}", None),
    ("STOMP host:h accept-version:1.2 login:a passcode:b", f"DISCONNECT receipt:{UUID}", None),
    ("STOMP accept-version:1.2 host:h", "", None),
    ("CONNECT login:a accept-version:1.2,1.1,1.0 heart-beat:10000,10000", "DISCONNECT receipt:close-3", "stompjs"),
    ("CONNECT login:a accept-version:1.2,1.1,1.0 heart-beat:10000,10000", "DISCONNECT", None),
    ("CONNECT accept-version:1.0,1.1,1.2", "DISCONNECT receipt:close-3", None),
]


# as their code has it: no recording of them is at hand
BY_CODE = [
    ("> CONNECT login:a passcode:b content-length:0 \"content-type:text/plain; charset=UTF-8\"", "stomp gem"),
    ("> CONNECT login:a passcode:b accept-version:1.0,1.1 host:/ heart-beat:0,0\n> SUBSCRIBE destination:/q ack:auto id:1", "stomp-php"),
    ("> CONNECT login:a passcode:b accept-version:1.0,1.1,1.2 host:/ heart-beat:0,0", None),
    ("> CONNECT accept-version:1.1,1.2 login:a passcode:b heart-beat:10000,10000 host:/", "Spring"),
    ("> CONNECT login:a accept-version:1.1,1.2\n> SEND destination:/q content-type:text/plain content-length:2 | hi", "Spring"),
    ("> CONNECT login:a accept-version:1.1,1.2\n> SEND destination:/q | hi", None),
    # Spring 6.2's client: what the application names, then these two
    ("> CONNECT login:a passcode:b heart-beat:10000,10000 accept-version:1.1,1.2", "Spring"),
    ("> CONNECT login:a passcode:b host:h heart-beat:10000,10000 accept-version:1.1,1.2", "Spring"),
    ("> CONNECT heart-beat:10000,10000 accept-version:1.1,1.2", "Spring"),
    # go-stomp writes this too where it is asked for these versions
    ("> CONNECT host:h heart-beat:10000,10000 accept-version:1.1,1.2", None),
    ("> CONNECT host:h heart-beat:10000,10000 accept-version:1.1,1.2\n> SEND destination:/q content-type:text/plain content-length:2 | hi",
     "Spring"),
    ("> CONNECT host:h heart-beat:10000,10000 accept-version:1.1,1.2\n> SUBSCRIBE destination:/q ack:auto id:3", None),
    ("> CONNECT host:h heart-beat:60000,60000 accept-version:1.0,1.1,1.2", "go-stomp"),
    ("> CONNECT heart-beat:60000,60000 accept-version:1.0,1.1,1.2", None),
    ("> CONNECT login:a passcode:b host:h accept-version:1.1,1.2 heart-beat:1,1", None),
    # stompman 3.16; stomp.py writes all this too where it is told to connect by CONNECT, but calls no subscription so by itself
    (f"> CONNECT accept-version:1.2 heart-beat:1000,1000 host:h login:a passcode:b\n> SUBSCRIBE ack:client destination:/q id:{UUID}",
     "stompman"),
    (f"> CONNECT accept-version:1.2 heart-beat:1000,1000 host:h login:a passcode:b\n> SUBSCRIBE ack:client destination:/q id:{UUID}\n"
     f"> SEND content-length:2 destination:/q | hi\n> DISCONNECT receipt:{UUID}", "stompman"),
    ("> CONNECT accept-version:1.2 heart-beat:1000,1000 host:h login:a passcode:b\n> SEND content-length:2 destination:/q | hi\n"
     f"> DISCONNECT receipt:{UUID}", None),
    (f"> STOMP accept-version:1.2 heart-beat:1000,1000 host:h login:a passcode:b\n> SUBSCRIBE ack:client destination:/q id:{UUID}",
     "stomp.py"),
    # stompest 2.3 names a host even where it knows none; vert.x and others write the same lines with one
    ('> CONNECT accept-version:1.0,1.1,1.2 "host:" login:a passcode:b', "stompest"),
    ('> CONNECT accept-version:1.0,1.1 heart-beat:1,1 "host:" login:a passcode:b', "stompest"),
    ("> CONNECT accept-version:1.0,1.1,1.2 host:h login:a passcode:b", None),
    ('> CONNECT accept-version:1.0,1.1,1.2 "host:"', None),
    ('> CONNECT "host:" accept-version:1.0,1.1,1.2 login:a passcode:b', None),
    ("> CONNECT accept-version:1.0,1.1,1.2 host:h login:a passcode:b\n> SUBSCRIBE ack:client destination:/q id:1 receipt:r", "stompest"),
    ("> CONNECT accept-version:1.0,1.1,1.2 host:h login:a passcode:b\n> SUBSCRIBE ack:client destination:/q id:1", None),
    ("> CONNECT login:a passcode:b\n> SUBSCRIBE ack:client destination:/q id:1\n> SEND content-type:a destination:/q k:1 | hi", None),
]


@pytest.mark.parametrize(("text", "expected"), BY_CODE)
def test_clients_known_by_their_code(text: str, expected: str | None) -> None:
    assert picked(run(text + "\n< CONNECTED version:1.1\n").tables["sessions"], "client_product") == [(expected,)]


HIDDEN = [
    ("< MESSAGE subscription:1 message-id:4,8 destination:/q expires:0 redelivered:false priority:4 persistent:no timestamp:1", "Artemis"),
    ("< MESSAGE subscription:1 message-id:41,86 destination:/q", None),
    ("< ERROR \"message:AMQ339001 Destination does not exist\"", "Artemis"),
    # its successor may write this as well
    ("< MESSAGE subscription:1 message-id:41 destination:/q expires:0 redelivered:false priority:4 timestamp:1", None),
    ("< ERROR \"message:HQ339001: Destination doesnt exist: {0}\"", "HornetQ"),
    ("< ERROR message:no | java.lang.X at org.apache.activemq.transport.stomp.ProtocolConverter.onSend(x)", "ActiveMQ"),
    ("< MESSAGE expires:0 destination:/q subscription:1 priority:4 message-id:client-7 timestamp:1", None),
    ("< CONNECTED version:1.1 session:0f8fad5b-d9cb-469f-a165-70867728950e heart-beat:100,100", None),
    ("< MESSAGE subscription:1 destination:/q message-id:/temp@@session-8yXk0Zq2N1nq8wC4a_-x0g@@9 redelivered:true", "RabbitMQ"),
]


@pytest.mark.parametrize(("text", "expected"), HIDDEN)
def test_servers_caught_in_the_middle(text: str, expected: str | None) -> None:
    assert picked(run(text + "\n", syn=False, synack=False).tables["sessions"], "server_product") == [(expected,)]


@pytest.mark.parametrize(("connect", "disconnect", "expected"), CLIENTS)
def test_clients(connect: str, disconnect: str, expected: str | None) -> None:
    text = f"> {connect}\n< CONNECTED version:1.1\n" + (f"> {disconnect}\n" if disconnect else "")
    assert picked(run(text).tables["sessions"], "client_product") == [(expected,)]


def test_many_sessions_keep_their_own() -> None:
    texts = [f"> {connect}\n< CONNECTED version:1.1\n" + (f"> {left}\n" if left else "") for connect, left, _ in CLIENTS]
    assert picked(run(*texts, "> SEND destination:a\n").tables["sessions"], "client_product") == [
        *((c[2],) for c in CLIENTS), (None,)
    ]
