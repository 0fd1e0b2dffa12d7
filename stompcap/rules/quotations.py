r"""The sentence of STOMP 1.2 that a rule is about, in the specification's own words without its markup, where one sentence says it.

From https://stomp.github.io/stomp-specification-1.2.html, which is under the Creative Commons Attribution v3.0 license.
"""

from __future__ import annotations

QUOTATIONS: dict[str, str] = {
    "FR-01": "The body is then followed by the NULL octet.",
    "FR-03": "Each header entry is terminated by an EOL.",
    "FR-04": "All commands and header names referenced in this document are case sensitive.",
    "FR-07": "This header is an octet count for the length of the message body. If a content-length header is included, this number of "
             "octets MUST be read, regardless of whether or not there are NULL octets in the body.",
    "FR-08": "This header is an octet count for the length of the message body.",
    "FR-09": "If the frame body contains NULL octets, the frame MUST include a content-length header.",
    "FR-10": "Only the SEND, MESSAGE, and ERROR frames MAY have a body. All other frames MUST NOT have a body.",
    "FR-11": "The NULL octet can be optionally followed by multiple EOLs.",
    "FR-14": "A STOMP client initiates the stream or TCP connection to the server by sending the CONNECT frame",
    "FR-15": "Following the command are zero or more header entries in <key>:<value> format.",
    "FR-18": "The commands and headers are encoded in UTF-8.",
    "FR-19": r"Undefined escape sequences such as \t (octet 92 and 116) MUST be treated as a fatal protocol error.",
    "FR-19b": r"Undefined escape sequences such as \t (octet 92 and 116) MUST be treated as a fatal protocol error.",
    "FR-20": "All frames except the CONNECT and CONNECTED frames will also escape any carriage return, line feed or colon found in the "
             "resulting UTF-8 encoded headers.",
    "FR-21": "All frames except the CONNECT and CONNECTED frames will also escape any carriage return, line feed or colon found in the "
             "resulting UTF-8 encoded headers.",
    "FR-22": "The CONNECT and CONNECTED frames do not escape the carriage return, line feed or colon octets in order to remain backward "
             "compatible with STOMP 1.0.",
    "FR-24": "In STOMP 1.2, clients and servers MUST never trim or pad headers with spaces.",
    "FR-25": "If a client or a server receives repeated frame header entries, only the first header entry SHOULD be used as the value of "
             "header entry.",
    "FR-26": "If a frame body is present, the SEND, MESSAGE and ERROR frames SHOULD include a content-length header to ease frame parsing.",
    "FR-27": "If a frame body is present, the SEND, MESSAGE and ERROR frames SHOULD include a content-type header to help the receiver of "
             "the frame interpret its body.",
    "FR-28": "If the content-type header is set, its value MUST be a MIME type which describes the format of the body.",
    "FR-30": "If these limits are exceeded the server SHOULD send the client an ERROR frame and then close the connection.",
    "CN-01": "From STOMP 1.1 and onwards, the CONNECT frame MUST include the accept-version header.",
    "CN-02": "host : The name of a virtual host that the client wishes to connect to.",
    "CN-03": "It SHOULD be set to a comma separated list of incrementing STOMP protocol versions that the client supports.",
    "CN-04": "It SHOULD be set to a comma separated list of incrementing STOMP protocol versions that the client supports.",
    "CN-05": "STOMP 1.2 clients SHOULD continue to use the CONNECT command to remain backward compatible with STOMP 1.0 servers.",
    "CN-08": "Any client frame other than CONNECT MAY specify a receipt header with an arbitrary value.",
    "CN-09": "version : The version of the STOMP protocol the session will be using.",
    "CN-10": "The protocol that will be used for the rest of the session will be the highest protocol version that both the client and "
             "server have in common.",
    "CN-11": "If the client and server do not share any common protocol versions, then the server MUST respond with an ERROR frame similar "
             "to the following and then close the connection",
    "CN-12": "The server SHOULD respond back with an ERROR frame explaining why the connection was rejected and then close the connection.",
    "CN-13": "STOMP servers MUST handle a STOMP frame in the same manner as a CONNECT frame.",
    "CN-14": "The field MUST contain a server-name field and MAY be followed by optional comment fields delimited by a space octet.",
    "CN-17": "When used, the heart-beat header MUST contain two positive integers separated by a comma.",
    "HB-01": "the sender MUST send new data over the network connection at least every <n> milliseconds",
    "HB-02": "the sender MUST send new data over the network connection at least every <n> milliseconds",
    "HB-03": "A missing heart-beat header MUST be treated the same way as a \"heart-beat:0,0\" header, that is: the party cannot send and "
             "does not want to receive heart-beats.",
    "HB-05": "because of timing inaccuracies, the receiver SHOULD be tolerant and take into account an error margin",
    "SN-01": "It has one REQUIRED header, destination, which indicates where to send the message.",
    "SN-03": "The user defined headers MUST be passed through in the MESSAGE frame.",
    "SN-05": "If the server cannot successfully process the SEND frame for any reason, the server MUST send the client an ERROR frame and "
             "then close the connection.",
    "SB-01": "Like the SEND frame, the SUBSCRIBE frame requires a destination header indicating the destination to which the client wants "
             "to subscribe.",
    "SB-02": "Since a single connection can have multiple open subscriptions with a server, an id header MUST be included in the frame to "
             "uniquely identify the subscription.",
    "SB-03": "Within the same connection, different subscriptions MUST use different subscription identifiers.",
    "SB-04": "The valid values for the ack header are auto, client, or client-individual.",
    "SB-05": "If the server cannot successfully create the subscription, the server MUST send the client an ERROR frame and then close the "
             "connection.",
    "SB-06": "Since a single connection can have multiple open subscriptions with a server, an id header MUST be included in the frame to "
             "uniquely identify the subscription to remove.",
    "SB-07": "This header MUST match the subscription identifier of an existing subscription.",
    "MS-01": "The MESSAGE frame MUST include a destination header indicating the destination the message was sent to.",
    "MS-02": "The MESSAGE frame MUST also contain a message-id header with a unique identifier for that message and a subscription header "
             "matching the identifier of the subscription that is receiving the message.",
    "MS-04": "The MESSAGE frame MUST also contain a message-id header with a unique identifier for that message and a subscription header "
             "matching the identifier of the subscription that is receiving the message.",
    "MS-05": "If the message is received from a subscription that requires explicit acknowledgment (either client or client-individual "
             "mode) then the MESSAGE frame MUST also contain an ack header with an arbitrary value.",
    "AK-03": "The ACK frame MUST include an id header matching the ack header of the MESSAGE being acknowledged.",
    "AK-04": "The ACK frame MUST include an id header matching the ack header of the MESSAGE being acknowledged.",
    "AK-09": "When the ack mode is client, then the client MUST send the server ACK frames for the messages it processes.",
    "AK-11": "The ACK frame MUST include an id header matching the ack header of the MESSAGE being acknowledged.",
    "TX-01": "The transaction header is REQUIRED, and the transaction identifier will be used for SEND, COMMIT, ABORT, ACK, and NACK "
             "frames to bind them to the named transaction.",
    "TX-02": "The transaction header is REQUIRED and MUST specify the identifier of the transaction to commit.",
    "TX-03": "Within the same connection, different transactions MUST use different transaction identifiers.",
    "TX-04": "The transaction header is REQUIRED and MUST specify the identifier of the transaction to commit.",
    "RC-01": "A RECEIPT frame MUST include the header receipt-id, where the value is the value of the receipt header in the frame which "
             "this is a receipt for.",
    "RC-02": "A RECEIPT frame MUST include the header receipt-id, where the value is the value of the receipt header in the frame which "
             "this is a receipt for.",
    "RC-03": "This will cause the server to acknowledge the processing of the client frame with a RECEIPT frame",
    "ER-01": "The ERROR frame SHOULD contain a message header with a short description of the error",
    "ER-02": "In this case, it MUST then close the connection just after sending the ERROR frame.",
    "ER-03": "In this case, it MUST then close the connection just after sending the ERROR frame.",
    "ER-04": "the ERROR frame SHOULD set the receipt-id header to match the value of the receipt header of the frame which the error is "
             "related to.",
    "ER-05": "ERROR frames SHOULD include a content-length header and a content-type header if a body is present.",
    "DS-01": "Clients MUST NOT send any more frames after the DISCONNECT frame is sent.",
}
"""By rule id."""
