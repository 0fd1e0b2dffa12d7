import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.vertx.core.AsyncResult;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetSocket;
import io.vertx.core.net.SocketAddress;
import io.vertx.core.net.impl.NetSocketInternal;
import io.vertx.ext.stomp.Command;
import io.vertx.ext.stomp.Frame;
import io.vertx.ext.stomp.StompClient;
import io.vertx.ext.stomp.StompClientConnection;
import io.vertx.ext.stomp.StompClientOptions;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Plays the sessions of a plan with vertx-stomp, side by side, and prints what happened as JSON lines.
 * Argument: the plan, a file of JSON. ../play.py tells the layout of plan and lines, and what each session does.
 */
public class Sessions {
    static final List<JsonObject> LINES = new ArrayList<>();
    static final Vertx VERTX = Vertx.vertx();

    static long now() {
        Instant at = Instant.now();
        return at.getEpochSecond() * 1_000_000_000L + at.getNano();
    }

    /** What came, with the time it was handed out. */
    record Came(Frame frame, long at) { }

    /** One session; its own thread waits, the library's event loop calls the handlers. */
    static class Session {
        final JsonObject plan;
        final JsonObject asked;
        final String version;
        final BlockingQueue<Came> arriving = new LinkedBlockingQueue<>();
        final List<Came> messages = new ArrayList<>();
        StompClientConnection connection;

        Session(JsonObject plan, JsonObject asked) {
            this.plan = plan;
            this.asked = asked;
            this.version = asked.getString("version");
        }

        void note(String event, JsonObject of) {
            JsonObject line = new JsonObject().put("session", asked.getString("session")).put("at", now()).put("event", event).put("of", of);
            synchronized (LINES) {
                LINES.add(line);
            }
        }

        /** Notes every octet before it goes out and as it comes in. */
        NetSocket tap(NetSocket socket) {
            note("open", new JsonObject().put("local", ends(socket.localAddress())).put("remote", ends(socket.remoteAddress())));
            ChannelDuplexHandler noting = new ChannelDuplexHandler() {
                @Override
                public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
                    octets("s2c", message);
                    super.channelRead(context, message);
                }

                @Override
                public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) throws Exception {
                    octets("c2s", message);
                    super.write(context, message, promise);
                }
            };
            ChannelPipeline pipeline = ((NetSocketInternal) socket).channelHandlerContext().pipeline();
            if (pipeline.get("ssl") == null) {
                pipeline.addFirst(noting);
            } else {
                pipeline.addAfter("ssl", "noting", noting);
            }
            return socket;
        }

        void octets(String direction, Object message) {
            if (message instanceof ByteBuf octets && octets.isReadable()) {
                note("octets", new JsonObject().put("direction", direction).put("hex", ByteBufUtil.hexDump(octets)));
            }
        }

        static JsonArray ends(SocketAddress address) {
            return new JsonArray().add(address.hostAddress()).add(address.port());
        }

        /** A NetClient whose sockets are tapped before the library gets them. */
        @SuppressWarnings("unchecked")
        NetClient tapped(NetClient inner) {
            return (NetClient) Proxy.newProxyInstance(NetClient.class.getClassLoader(), new Class<?>[] {NetClient.class}, (self, method, given) -> {
                boolean connects = method.getName().equals("connect");
                if (connects && given[given.length - 1] instanceof Handler<?> handler) {
                    given[given.length - 1] = (Handler<AsyncResult<NetSocket>>) result ->
                        ((Handler<AsyncResult<NetSocket>>) handler).handle(result.map(this::tap));
                }
                try {
                    Object made = method.invoke(inner, given);
                    return connects && made instanceof Future<?> future ? ((Future<NetSocket>) future).map(this::tap) : made;
                } catch (InvocationTargetException error) {
                    throw error.getCause();
                }
            });
        }

        static <T> T await(Future<T> future) throws Exception {
            return future.toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
        }

        void connect() throws Exception {
            int beat = version.equals("1.0") ? 0 : plan.getInteger("beat_ms");
            StompClientOptions options = new StompClientOptions().setHost(plan.getString("address")).setPort(plan.getInteger("port"))
                .setVirtualHost("/").setLogin(asked.getString("login")).setPasscode(asked.getString("passcode"))
                .setHeartbeat(new JsonObject().put("x", beat).put("y", beat));
            if (asked.containsKey("tls")) {
                options.setSsl(true).setTrustAll(true).setEnabledSecureTransportProtocols(Set.of(asked.getString("tls")));
                options.setHostnameVerificationAlgorithm("");
            }
            if (!version.equals("1.2")) {  // In 1.2 the library's own offer stands: all it knows.
                options.setAcceptedVersions(List.of(version));
            }
            connection = await(StompClient.create(VERTX, options).connect(tapped(VERTX.createNetClient(options))));
        }

        void send(String text, Map<String, String> more, boolean receipt) throws Exception {
            Map<String, String> headers = new HashMap<>(more);
            headers.put("destination", asked.getString("queue"));
            headers.put("content-type", "text/plain;charset=utf-8");
            if (receipt) {
                String name = await(connection.send(headers, Buffer.buffer(text))).getReceipt();
                note("receipt", new JsonObject().put("receipt", name));
            } else {
                connection.send(headers, Buffer.buffer(text), null);
            }
        }

        boolean came(int count, long patienceMs) throws InterruptedException {
            long until = now() + patienceMs * 1_000_000;
            while (messages.size() < count) {
                Came one = arriving.poll(until - now(), TimeUnit.NANOSECONDS);
                if (one == null) {
                    return false;
                }
                messages.add(one);
            }
            return true;
        }

        void settle(String word, int number, List<Integer> also, int delayMs, String transaction) throws Exception {
            Came came = messages.get(number);
            TimeUnit.NANOSECONDS.sleep(came.at + delayMs * 1_000_000L - now());
            JsonArray settled = new JsonArray().add(number);
            also.forEach(settled::add);
            note("settle", new JsonObject().put("word", word).put("messages", settled).put("delay_ms", delayMs).put("transaction", transaction));
            if (!version.equals("1.2")) {  // The library's own ack() speaks 1.2 only.
                Map<String, String> headers = new HashMap<>(Map.of("message-id", came.frame.getHeader("message-id")));
                if (version.equals("1.1")) {
                    headers.put("subscription", came.frame.getHeader("subscription"));
                }
                if (transaction != null) {
                    headers.put("transaction", transaction);
                }
                connection.send(new Frame(Command.valueOf(word), headers, null), null);
            } else if (transaction != null) {
                connection.ack(came.frame.getAck(), transaction, null);
            } else if (word.equals("NACK")) {
                connection.nack(came.frame.getAck(), (Handler<AsyncResult<Frame>>) null);
            } else {
                connection.ack(came.frame.getAck(), (Handler<AsyncResult<Frame>>) null);
            }
        }

        void unit(String name, String command) throws Exception {
            note("transaction", new JsonObject().put("command", command).put("transaction", name));
            switch (command) {
                case "BEGIN" -> await(connection.beginTX(name));
                case "COMMIT" -> await(connection.commit(name));
                default -> await(connection.abort(name));
            }
        }

        void play() throws Exception {
            connect();
            String mode = asked.getString("mode");
            await(connection.subscribe(asked.getString("queue"), new HashMap<>(Map.of("ack", mode)), frame -> {
                note("message", new JsonObject().put("message_id", frame.getHeader("message-id")));
                arriving.add(new Came(frame, now()));
            }));
            for (int number = 0; number < 3; number++) {
                send("library " + number + ": ½ €", Map.of("kind", "número"), false);
            }
            send("library 3", Map.of("note", "a:b\\c"), true);
            unit("tx-1", "BEGIN");
            send("in a unit", Map.of("transaction", "tx-1"), false);
            unit("tx-1", "COMMIT");
            unit("tx-2", "BEGIN");
            send("never", Map.of("transaction", "tx-2"), false);
            unit("tx-2", "ABORT");
            if (!came(5, 20_000)) {
                throw new IllegalStateException(messages.size() + " of 5 messages came");
            }
            if (mode.equals("client")) {
                settle("ACK", 1, List.of(0), 40, null);
                settle("ACK", 4, List.of(2, 3), 90, null);
            } else if (mode.equals("client-individual")) {
                settle("ACK", 2, List.of(), 40, null);
                unit("tx-3", "BEGIN");
                settle("ACK", 0, List.of(), 70, "tx-3");
                unit("tx-3", "COMMIT");
                settle("NACK", 3, List.of(), 100, null);
                settle("ACK", 1, List.of(), 130, null);
                settle("ACK", 4, List.of(), 160, null);
                for (int number = 5; came(number + 1, 400); number++) {
                    settle("ACK", number, List.of(), 30, null);
                }
            }
            if (!version.equals("1.0")) {
                Thread.sleep(22L * plan.getInteger("beat_ms") / 10);
            }
            await(connection.unsubscribe(asked.getString("queue")));
            await(connection.disconnect());
            note("end", new JsonObject());
        }
    }

    public static void main(String[] given) throws Exception {
        JsonObject plan = new JsonObject(Files.readString(Path.of(given[0])));
        List<Thread> playing = new ArrayList<>();
        for (Object one : plan.getJsonArray("sessions")) {
            JsonObject asked = (JsonObject) one;
            Thread thread = new Thread(() -> {
                try {
                    new Session(plan, asked).play();
                } catch (Throwable error) {
                    System.err.println(asked.getString("session") + ": " + error);
                    Runtime.getRuntime().halt(1);
                }
            });
            thread.start();
            playing.add(thread);
        }
        for (Thread thread : playing) {
            thread.join();
        }
        LINES.forEach(line -> System.out.println(line.encode()));
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
