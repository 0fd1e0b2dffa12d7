// WebSocket by `ws` and SockJS by sockjs-client for sessions.cjs: each message is noted before it goes out and as it comes in.
"use strict";
const WebSocket = require("ws");
const SockJS = require("sockjs-client");

const hex = (data) => Buffer.from(data).toString("hex");

function ends(session, socket) {
  session.note("open", { local: [socket.localAddress, socket.localPort], remote: [socket.remoteAddress, socket.remotePort] });
}

// `facts` are those of the connection, noted once it is closed.
function tapped(session, socket, facts) {
  const send = socket.send.bind(socket);
  socket.send = (data) => {
    facts.messages_c2s += 1;
    session.note("octets", { direction: "c2s", hex: hex(data) });
    send(data);
  };
  socket.addEventListener("message", (event) => {
    facts.messages_s2c += 1;
    session.note("octets", { direction: "s2c", hex: hex(event.data) });
  });
  socket.addEventListener("close", (event) => session.note("carried", { websocket: { ...facts, close_code_s2c: event.code } }));
  return socket;
}

function webSocket(session) {
  const { url, deflate, suites, newest, headers } = session.asked;
  const protocols = session.client.stompVersions.protocolVersions();
  const options = { perMessageDeflate: deflate || false, rejectUnauthorized: false, servername: "broker.example", ciphers: suites,
    maxVersion: newest, headers };
  const socket = new WebSocket(url, protocols, options);
  const facts = { path: new URL(url).pathname, asked: protocols, subprotocol: null, deflate: null, messages_c2s: 0, messages_s2c: 0 };
  socket.on("open", () => {
    ends(session, socket._socket);
    facts.subprotocol = socket.protocol;
    facts.deflate = "permessage-deflate" in socket._extensions;
    if (url.startsWith("wss:")) {
      const tls = socket._socket;
      session.note("carried", { tls: { version: tls.getProtocol(), suite: tls.getCipher().name, sni: "broker.example",
        resumed: tls.isSessionReused(), alpn: tls.alpnProtocol || null } });
    }
  });
  return tapped(session, socket, facts);
}

function sockJs(session) {
  const { url, fallback } = session.asked;
  const socket = new SockJS(url, null, { transports: [fallback || "websocket"] });
  const facts = { path: null, asked: [], subprotocol: null, deflate: null, messages_c2s: 0, messages_s2c: 0 };
  socket.addEventListener("open", () => {
    if (fallback) {  // over HTTP a session lies on many connections
      session.note("open", { local: ["", 0], remote: ["", 0] });
      session.note("carried", { fallback: { transport: fallback, path: new URL(socket._transport.transUrl || socket._transUrl).pathname } });
      return;
    }
    const inner = socket._transport.ws;
    facts.path = new URL(inner.url).pathname;
    ends(session, inner._stream);
  });
  return tapped(session, socket, facts);
}

exports.open = (session) => (session.asked.sockjs ? sockJs(session) : webSocket(session));
