"""Pitfalls of the rules on SEND, SUBSCRIBE, MESSAGE (SN, SB, MS), acknowledgements and transactions (AK, TX)."""

SEND = "C: SEND⏎destination:/queue/a⏎"
BEGIN, COMMIT = "C: BEGIN⏎transaction:t⏎⏎␀", "C: COMMIT⏎transaction:t⏎⏎␀"
ABORT = "C: ABORT⏎transaction:t⏎⏎␀\n"


def subscribe(name: int = 0, mode: str = "client") -> str:
    return f"C: SUBSCRIBE⏎id:{name}⏎destination:/queue/{name}⏎ack:{mode}⏎⏎␀\n"


def message(ident: str, ack: str, name: int = 0, more: str = "") -> str:
    return f"S: MESSAGE⏎subscription:{name}⏎destination:/queue/{name}⏎message-id:{ident}⏎ack:{ack}⏎{more}⏎hello␀\n"


def on(server: str) -> str:
    return f"C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀\nS: CONNECTED⏎version:1.2⏎server:{server}⏎⏎␀\n"


UNSUBSCRIBE = "C: UNSUBSCRIBE⏎id:0⏎⏎␀\n"
TWO = subscribe(0) + subscribe(1) + message("m1", "a1", 0) + message("m2", "a2", 1) + "C: ACK⏎id:a2⏎⏎␀\nC: ACK⏎id:a1⏎⏎␀"
PLAIN = "in 1.2\n" + subscribe()
OLD = "in 1.1\nC: SUBSCRIBE⏎id:0⏎destination:/queue/0⏎ack:client⏎⏎␀\nS: MESSAGE⏎subscription:0⏎destination:/queue/0⏎message-id:7⏎⏎␀\n"
SECOND = OLD.splitlines()[-1].replace("7", "8") + "\n"
NACK = "C: NACK⏎subscription:0⏎message-id:{}⏎{}⏎␀\n"

CASES = (
    ("SN-01", "an empty value names nothing", "M", "in 1.2\nC: SEND⏎destination:⏎⏎␀"),
    ("SN-02", "a capture that begins mid-stream", "unsure", f"midstream\n{SEND}transaction:t⏎⏎␀"),
    ("SN-02", "the BEGIN may be lost", "unsure", f"in 1.2\nC loses 30\n{SEND}transaction:t⏎⏎␀"),
    ("SN-03", "nothing ties SEND and MESSAGE together", "unsure", f"{PLAIN}{SEND}colour:red⏎⏎hello␀\n{message('1', '1')}"),
    ("SN-04", "RabbitMQ names destinations anew", "unsure",
     "in 1.2\nC: SUBSCRIBE⏎id:0⏎destination:/exchange/amq.topic/k⏎⏎␀\nC: SEND⏎destination:/exchange/amq.topic/k⏎⏎␀\n"
     "S: MESSAGE⏎subscription:0⏎destination:/topic/k⏎message-id:1⏎⏎␀"),
    ("SN-05", "the client closes first", "unsure", "in 1.1\nC: SEND⏎receipt:1⏎⏎␀\nS: ERROR⏎receipt-id:1⏎message:no⏎⏎␀\nC closes"),
    ("SN-05", "1.0 has no such rule", "none", "in 1.0\nC: SEND⏎receipt:1⏎⏎␀\nS: ERROR⏎receipt-id:1⏎message:no⏎⏎␀\nwait 5s\nS: ⏎"),
    ("SN-06", "RabbitMQ refuses it, the texts are silent", "I", f"in 1.2\n{SEND}message-id:1⏎⏎␀"),
    ("SB-02", "optional in 1.0", "none", "in 1.0\nC: SUBSCRIBE⏎destination:/queue/a⏎⏎␀"),
    ("SB-03", "reuse after UNSUBSCRIBE", "I", f"in 1.2\n{subscribe()}{UNSUBSCRIBE}{subscribe()}"),
    ("SB-03", "a duplicate while the first is active", "M", f"in 1.2\n{subscribe()}{subscribe()}"),
    ("SB-03", "the UNSUBSCRIBE may be lost", "unsure", f"in 1.2\n{subscribe()}C loses 40\n{subscribe()}"),
    ("SB-03", "1.1 does not say so", "none", f"in 1.1\n{subscribe()}{subscribe()}"),
    ("SB-04", "no header means auto", "none", "in 1.0\nC: SUBSCRIBE⏎destination:/queue/a⏎⏎␀"),
    ("SB-04", "stompest's client-individual in 1.0", "M", "in 1.0\nC: SUBSCRIBE⏎destination:/queue/a⏎ack:client-individual⏎⏎␀"),
    ("SB-04", "a mode that ActiveMQ takes for auto", "M", f"in 1.2\n{subscribe(mode='manual')}"),
    ("SB-05", "Artemis says nothing", "none", "in 1.1\nC: SUBSCRIBE⏎destination:/a⏎⏎␀\nwait 5s\nS: ⏎"),
    ("SB-06", "a destination does in 1.0", "none", "in 1.0\nC: UNSUBSCRIBE⏎destination:/queue/a⏎⏎␀"),
    ("SB-07", "a capture that begins mid-stream", "unsure", f"midstream\n{subscribe()}C: ACK⏎id:1⏎⏎␀\nC: UNSUBSCRIBE⏎id:9⏎⏎␀"),
    ("SB-07", "a durable subscription is removed", "none", "in 1.2\nC: UNSUBSCRIBE⏎id:0⏎durable-subscription-name:mine⏎⏎␀"),
    ("SB-08", "a MESSAGE under way, before the RECEIPT", "kept",
     f"{PLAIN}C: UNSUBSCRIBE⏎id:0⏎receipt:1⏎⏎␀\nwait 1s\n{message('1', '1')}S: RECEIPT⏎receipt-id:1⏎⏎␀\nS closes"),
    ("SB-08", "a MESSAGE long after, and the RECEIPT later still", "unsure",
     f"{PLAIN}C: UNSUBSCRIBE⏎id:0⏎receipt:1⏎⏎␀\nwait 5s\n{message('1', '1')}S: RECEIPT⏎receipt-id:1⏎⏎␀\nS closes"),
    ("SB-08", "the RECEIPT asked for was not captured", "unsure",
     f"{PLAIN}C: UNSUBSCRIBE⏎id:0⏎receipt:1⏎⏎␀\nwait 5s\n{message('1', '1')}"),
    ("SB-08", "a MESSAGE under way, no RECEIPT asked for", "kept", f"{PLAIN}{UNSUBSCRIBE}wait 1s\n{message('1', '1')}S closes"),
    ("SB-09", "explains double delivery, breaks nothing", "I", f"in 1.2\n{subscribe()}{subscribe().replace('id:0', 'id:9')}"),
    ("SB-09", "the first has ended", "kept", f"in 1.2\n{subscribe()}{UNSUBSCRIBE}{subscribe().replace('id:0', 'id:9')}"),
    ("MS-03", "a redelivery", "kept", f"{PLAIN}{message('1', 'a')}{message('1', 'b', more='redelivered:true⏎')}"),
    ("MS-03", "one message to two subscriptions", "kept", f"{PLAIN}{subscribe(1)}{message('1', 'a')}{message('1', 'b', 1)}"),
    ("MS-03", "the same again, and nothing says why", "kept", f"{PLAIN}{message('1', 'a')}{message('1', 'b')}"),
    ("MS-03", "another body", "I", f"{PLAIN}{message('1', 'a')}{message('1', 'b').replace('hello', 'jello')}"),
    ("MS-04", "a reply queue of RabbitMQ", "kept", "in 1.2\nS: MESSAGE⏎subscription:/temp-queue/x⏎destination:/queue/x⏎message-id:1⏎⏎␀"),
    ("MS-04", "CoilMQ omits it", "M", "in 1.1\nC: SUBSCRIBE⏎id:0⏎destination:/a⏎⏎␀\nS: MESSAGE⏎destination:/a⏎message-id:1⏎⏎␀"),
    ("MS-04", "advice in 1.0", "none", "in 1.0\nC: SUBSCRIBE⏎id:0⏎destination:/a⏎⏎␀\nS: MESSAGE⏎destination:/a⏎message-id:1⏎⏎␀"),
    ("MS-04", "the SUBSCRIBE may be lost", "unsure", f"in 1.2\nC loses 60\n{message('1', 'a')}{BEGIN}"),
    ("MS-04", "a capture that begins mid-stream", "unsure", f"midstream\nC: ACK⏎id:x⏎⏎␀\n{message('1', 'a')}"),
    ("MS-04", "nothing was lost by then", "M", f"in 1.1\n{message('1', 'a')}{BEGIN}\nC loses 60\n{COMMIT}"),
    ("MS-05", "Spring's simple broker omits it", "M", f"{PLAIN}S: MESSAGE⏎subscription:0⏎destination:/queue/0⏎message-id:1⏎⏎␀"),
    ("MS-05", "nothing to acknowledge", "none",
     f"in 1.2\n{subscribe(mode='auto')}S: MESSAGE⏎subscription:0⏎destination:/queue/0⏎message-id:1⏎⏎␀"),
    ("MS-06", "a reply queue of RabbitMQ", "kept",
     f"in 1.2\n{SEND}reply-to:/temp-queue/x⏎⏎␀\nS: MESSAGE⏎subscription:/temp-queue/x⏎destination:/reply-queue/amq.gen⏎message-id:1⏎⏎␀"),
    ("MS-07", "harmless", "I", f"in 1.2\n{subscribe(mode='auto')}{message('1', 'a')}"),
    ("MS-09", "an extension of brokers", "I", f"{PLAIN}{message('1', 'a', more='redelivered:true⏎')}"),
    ("AK-02", "RabbitMQ needs the message-id alone", "M", OLD + "C: ACK⏎message-id:7⏎⏎␀"),
    ("AK-03", "more headers than needed", "kept", f"{PLAIN}{message('1', 'a')}C: ACK⏎id:a⏎subscription:0⏎message-id:1⏎⏎␀"),
    ("AK-03", "1.1 has no such header", "none", "in 1.1\nC: ACK⏎message-id:1⏎subscription:0⏎⏎␀"),
    ("AK-04", "the wrong key is the right one where both are equal", "kept", f"{PLAIN}{message('1', '1')}C: ACK⏎id:1⏎⏎␀"),
    ("AK-04", "the MESSAGE may be lost", "unsure", f"{PLAIN}S loses 80\nC: ACK⏎id:a⏎⏎␀"),
    ("AK-05", "Artemis answers with an ERROR", "M", OLD + "C: ACK⏎message-id:7⏎subscription:1⏎⏎␀"),
    ("AK-06", "RabbitMQ answers with an ERROR, others ignore it", "I",
     f"in 1.2\n{subscribe(mode='auto')}{message('1', 'a')}C: ACK⏎id:a⏎⏎␀"),
    ("AK-07", "a cumulative ACK spans subscriptions on RabbitMQ", "I", on("RabbitMQ/3.10.8") + TWO),
    ("AK-07", "and not on ActiveMQ", "kept", on("ActiveMQ/5.17.2") + TWO),
    ("AK-08", "RabbitMQ accepts it", "M", "in 1.0\nC: NACK⏎message-id:1⏎⏎␀"),
    ("AK-09", "what was processed is not on the wire", "unsure", f"{PLAIN}{message('1', 'a')}C closes"),
    ("AK-10", "RabbitMQ accepts it", "I", f"{PLAIN}{message('1', 'a')}{UNSUBSCRIBE}C: ACK⏎id:a⏎⏎␀"),
    ("AK-11", "more headers than needed", "kept", f"{PLAIN}{message('1', 'a')}C: ACK⏎id:a⏎subscription:0⏎message-id:1⏎⏎␀"),
    ("AK-12", "shows by no redelivery only", "unsure",
     f"in 1.2\n{subscribe(mode='client-individual')}{message('1', 'a')}{message('2', 'b')}C: ACK⏎id:b⏎⏎␀"),
    ("AK-13", "RabbitMQ's message-ids name deliveries", "unsure",
     f"{PLAIN}{message('1', 'a')}C: ACK⏎id:a⏎⏎␀\n{message('2', 'b', more='redelivered:true⏎')}"),
    ("AK-14", "brokers differ", "I", OLD + SECOND + NACK.format(8, "")),
    ("AK-14", "one in a transaction may be named", "kept", f"{OLD}{SECOND}{BEGIN}\n{NACK.format(7, 'transaction:t⏎')}{NACK.format(8, '')}"),
    ("AK-14", "but not be left aborted", "I",
     f"{OLD}{SECOND}{BEGIN}\n{NACK.format(7, 'transaction:t⏎')}{ABORT}{NACK.format(8, '')}{NACK.format(7, '')}"),
    ("TX-03", "reuse after the end", "I", f"in 1.2\n{BEGIN}\n{COMMIT}\n{BEGIN}\n{COMMIT}"),
    ("TX-03", "a duplicate while the first is open", "M", f"in 1.2\n{BEGIN}\n{BEGIN}"),
    ("TX-03", "1.1 does not say so", "none", f"in 1.1\n{BEGIN}\n{BEGIN}"),
    ("TX-04", "a transaction stays open over an ERROR", "kept", f"in 1.2\n{BEGIN}\nC: SEND⏎⏎␀\nS: ERROR⏎message:no⏎⏎␀\n{COMMIT}"),
    ("TX-04", "the BEGIN may be lost", "unsure", f"in 1.2\nC loses 30\n{COMMIT}"),
    ("TX-05", "Artemis acknowledges at once", "M", f"{PLAIN}{message('1', 'a')}C: ACK⏎id:a⏎transaction:t⏎⏎␀"),
    ("TX-07", "an implicit abort is legal", "I", f"in 1.2\n{BEGIN}\nC: DISCONNECT⏎⏎␀\nC closes"),
    ("TX-08", "an outlier, no breach", "I", f"in 1.2\n{BEGIN}\n{COMMIT}"),
)
