// Plays the sessions of a plan with @stomp/stompjs, side by side, and prints what happened as JSON lines.
// Argument: the plan, a file of JSON. ../play.py tells the layout of plan and lines, and what each session does.
// A session is played over TCP, or where it has a `url` over WebSocket or SockJS, whose messages are its octets.
"use strict";
const fs = require("fs");
const { Client, Versions } = require("@stomp/stompjs");
const { TCPWrapper } = require("@stomp/tcp-wrapper");
const sockets = require("./sockets.cjs");

const plan = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const lines = [];
// Nanoseconds since the epoch, as text: a number would round them.
const zero = process.hrtime.bigint() - BigInt(Math.round(performance.now() * 1e6));
const now = () => BigInt(Math.round(performance.timeOrigin * 1e3)) * 1000n + (process.hrtime.bigint() - zero);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

class Session {
  constructor(asked) {
    this.asked = asked;
    this.messages = [];
    this.waiting = [];
    this.receipts = 0;
  }

  note(event, more, at = now()) {
    // By hand, for JSON's own writer takes no BigInt.
    lines.push(`{"session":${JSON.stringify(this.asked.session)},"at":${at},"event":"${event}","of":${JSON.stringify(more)}}`);
  }

  // A TCP socket whose every octet is noted before it goes out and as it comes in.
  socket() {
    const session = this;
    return new (class extends TCPWrapper {
      getSocket(port, host) {
        const socket = super.getSocket(port, host);
        socket.setNoDelay(true);
        socket.on("connect", () => session.note("open", {
          local: [socket.localAddress, socket.localPort], remote: [socket.remoteAddress, socket.remotePort] }));
        socket.on("data", (octets) => session.note("octets", { direction: "s2c", hex: octets.toString("hex") }));
        const write = socket.write.bind(socket);
        socket.write = (data, ...rest) => {
          session.note("octets", { direction: "c2s", hex: Buffer.from(data).toString("hex") });
          return write(data, ...rest);
        };
        return socket;
      }
    })(plan.address, plan.port);
  }

  connect() {
    return new Promise((done, failed) => {
      const { login, passcode, version } = this.asked;
      const beat = version === "1.0" ? 0 : plan.beat_ms;
      this.client = new Client({
        webSocketFactory: () => (this.asked.url ? sockets.open(this) : this.socket()),
        forceBinaryWSFrames: Boolean(this.asked.binary), splitLargeFrames: Boolean(this.asked.split), connectHeaders: { login, passcode }, reconnectDelay: 0,
        heartbeatOutgoing: beat, heartbeatIncoming: beat,
        onConnect: done, onStompError: (frame) => failed(new Error(frame.headers.message)),
      });
      // In 1.2 the library's own offer stands: all it knows.
      if (version !== "1.2") this.client.stompVersions = new Versions([version]);
      this.client.activate();
    });
  }

  receipt(use) {
    const name = `r-${++this.receipts}`;
    return new Promise((done) => {
      this.client.watchForReceipt(name, () => { this.note("receipt", { receipt: name }); done(); });
      use(name);
    });
  }

  took(message) {
    this.note("message", { message_id: message.headers["message-id"] });
    this.messages.push({ message, at: performance.now() });
    this.waiting.forEach((look) => look());
  }

  // Until `count` messages have come; false after the time.
  came(count, ms) {
    if (this.messages.length >= count) return Promise.resolve(true);
    return new Promise((done) => {
      const timer = setTimeout(() => done(false), ms);
      this.waiting.push(() => { if (this.messages.length >= count) { clearTimeout(timer); done(true); } });
    });
  }

  async settle(word, number, also, delay, transaction) {
    const { message, at } = this.messages[number];
    // Timers may fire a millisecond early.
    for (let left; (left = at + delay - performance.now()) > 0;) await sleep(Math.ceil(left));
    this.note("settle", { word, messages: [number, ...also], delay_ms: delay, transaction: transaction ?? null });
    const headers = transaction ? { transaction } : {};
    if (word === "ACK") message.ack(headers); else message.nack(headers);
  }

  end(transaction, command) {
    this.note("transaction", { command, transaction: transaction.id });
    if (command === "COMMIT") transaction.commit(); else transaction.abort();
  }

  begin() {
    this.note("transaction", { command: "BEGIN", transaction: null });
    return this.client.begin();
  }

  async play() {
    const { version, mode, queue } = this.asked;
    await this.connect();
    const subscription = this.client.subscribe(queue, (message) => this.took(message), { ack: mode });
    const headers = { "content-type": "text/plain;charset=utf-8", kind: "número" };
    if (this.asked.large) {
      const body = Array.from({ length: this.asked.large / 32 }, (_, line) => `line ${line} of a large text `.padEnd(31, "-") + "\n").join("");
      if (this.asked.simple) this.client.publish({ destination: queue, body });
      else await this.receipt((receipt) => this.client.publish({ destination: `${queue}.large`, body, headers: { receipt } }));
    }
    for (let number = 0; number < 3; number++)
      this.client.publish({ destination: queue, body: `library ${number}: ½ €`, headers });
    if (this.asked.simple) this.client.publish({ destination: queue, body: "library 3", headers });
    else await this.receipt((receipt) =>
      this.client.publish({ destination: queue, body: "library 3", headers: { ...headers, note: "a:b\\c", receipt } }));
    if (this.asked.simple) return this.rest(subscription);
    const unit = this.begin();
    this.client.publish({ destination: queue, body: "in a unit", headers: { transaction: unit.id } });
    this.end(unit, "COMMIT");
    const never = this.begin();
    this.client.publish({ destination: queue, body: "never", headers: { transaction: never.id } });
    this.end(never, "ABORT");
    if (!await this.came(5, 20000)) throw new Error(`${this.messages.length} of 5 messages came`);
    if (mode === "client") {
      await this.settle("ACK", 1, [0], 40);
      await this.settle("ACK", 4, [2, 3], 90);
    } else if (mode === "client-individual") {
      await this.settle("ACK", 2, [], 40);
      const acking = this.begin();
      await this.settle("ACK", 0, [], 70, acking.id);
      this.end(acking, "COMMIT");
      await this.settle("NACK", 3, [], 100);
      await this.settle("ACK", 1, [], 130);
      await this.settle("ACK", 4, [], 160);
      for (let number = 5; await this.came(number + 1, 400); number++) await this.settle("ACK", number, [], 30);
    }
    return this.rest(subscription);
  }

  // A session is `simple` where the broker knows no receipts but that of DISCONNECT, and no transactions.
  async rest(subscription) {
    if (this.asked.simple && !await this.came(4, 20000)) throw new Error(`${this.messages.length} of 4 messages came`);
    if (this.asked.version !== "1.0") await sleep(2.2 * plan.beat_ms);
    if (this.asked.idle) await sleep(this.asked.idle);
    subscription.unsubscribe();
    await this.client.deactivate();
    this.note("end", {});
  }
}

Promise.all(plan.sessions.map((asked) => {
  const session = new Session(asked);
  return session.play().catch((error) => { throw new Error(`${asked.session}: ${error.message}`); });
})).then(() => process.stdout.write(lines.join("\n") + "\n", () => process.exit(0)), (error) => { console.error(error.message); process.exit(1); });
