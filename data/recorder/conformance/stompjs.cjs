// The client under test, with @stomp/stompjs over TCP: echoes and acknowledges each message, until a body is `end` (docs/active.md).
"use strict";
const { Client } = require("@stomp/stompjs");
const { TCPWrapper } = require("@stomp/tcp-wrapper");

const { STOMPCAP_SERVE_HOST: host, STOMPCAP_SERVE_PORT: port } = process.env;
const client = new Client({
  webSocketFactory: () => new TCPWrapper(host, Number(port)), forceBinaryWSFrames: true,
  connectHeaders: { login: "guest", passcode: "made-up" }, reconnectDelay: 0, heartbeatOutgoing: 500, heartbeatIncoming: 500,
  onConnect: () => client.subscribe("/queue/test", (message) => {
    const headers = "note" in message.headers ? { note: message.headers.note } : {};
    client.publish({ destination: "/queue/echo", binaryBody: message.binaryBody, headers });
    message.ack();
    if (message.body === "end") client.deactivate().then(() => process.exit(0));
  }, { ack: "client-individual" }),
  onWebSocketClose: () => setTimeout(() => process.exit(0), 100),
});
client.activate();
setTimeout(() => process.exit(1), 12000);
