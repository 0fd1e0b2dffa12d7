"""Which sessions each capture has: scenarios by routes, and programs of client libraries."""
from __future__ import annotations

from dataclasses import dataclass, field, replace

from data.recorder.brokers import PORT, Artemis, Broker
from data.recorder.scenario import Scenario
from data.recorder.scenarios import PROGRAMME
from data.recorder.transports.brokers import (
    CLASSIC_WS_PORT,
    SPRING_PORT,
    TLS_PORT,
    WS_PORT,
    WSS_PORT,
    ArtemisBehindProxy,
    ArtemisEverywhere,
    ClassicEverywhere,
    RabbitMQBehindProxy,
    RabbitMQBinary,
    RabbitMQEverywhere,
    Spring,
)
from data.recorder.transports.library import Asked
from data.recorder.transports.scenarios import (
    BOTH_WAYS,
    BROKEN,
    CRLF,
    LARGE,
    NEW_KEYS,
    PINGS,
    RESUMED,
    SIMPLE,
    TOO_LARGE,
    UNENDED,
    VANISHES,
    over,
)
from data.recorder.transports.stage import Act, Route
from data.recorder.transports.tls import Tls
from data.recorder.transports.websocket import WebSocket

KNOWN = {scenario.name: scenario for scenario in PROGRAMME}


@dataclass(frozen=True)
class Recording:
    """One capture: its broker, who plays, its format, whether HAProxy stands before the broker, whether its keys lie within."""

    name: str
    broker: type[Broker]
    acts: list[Act]
    suffix: str = ".pcap"
    precision: str = "micro"
    proxied: bool = False
    keys_within: bool = False
    stompjs: list[Asked] = field(default_factory=list)
    vertx: bool = False
    browser: list[Asked] = field(default_factory=list)


def by(route: Route, *chosen: str | Scenario) -> list[Act]:
    """Scenarios by a route: by name, with the digits of the only versions to play: `tx:11,12`."""
    acts = []
    for one in chosen:
        if isinstance(one, str):
            name, _, digits = one.partition(":")
            known = KNOWN[name]
            one = replace(known, versions=tuple(f"{word[0]}.{word[1]}" for word in digits.split(",")) if digits else known.versions)
        acts.append(Act(one, route))
    return acts


WS = Route("ws", websocket=WebSocket())
SPLIT = Route("split", websocket=WebSocket(split=24))
DEFLATE = Route("deflate", websocket=WebSocket(deflate=True))
FRESH = Route("fresh", websocket=WebSocket(deflate=True, kept=False))
BINARY = Route("binary", websocket=WebSocket(text=False))
PACKED = Route("packed", websocket=WebSocket(deflate=True, text=False, split=4096))
GCM12 = Route("tls12", tls=Tls("1.2", "ECDHE-RSA-AES128-GCM-SHA256"))
CHACHA12 = Route("chacha12", tls=Tls("1.2", "ECDHE-RSA-CHACHA20-POLY1305"))
CBC12 = Route("cbc12", tls=Tls("1.2", "ECDHE-RSA-AES256-SHA384"))
GCM13 = Route("tls13", tls=Tls("1.3"))
CHACHA13 = Route("chacha13", tls=Tls("1.3", "TLS_CHACHA20_POLY1305_SHA256", "s_client"))
GCM13_128 = Route("keys13", tls=Tls("1.3", "TLS_AES_128_GCM_SHA256", "s_client"))
WSS12 = Route("wss12", tls=Tls("1.2"), websocket=WebSocket())
WSS13 = Route("wss13", tls=Tls("1.3"), websocket=WebSocket(deflate=True))
PROXY1, PROXY2 = Route("proxy1", proxy=1), Route("proxy2", proxy=2)
PROXY_TLS = Route("proxytls", tls=Tls("1.3"), proxy=2)
PROXY_WS = Route("proxyws", websocket=WebSocket(), proxy=1)
PROXY_WSS = Route("proxywss", tls=Tls("1.2"), websocket=WebSocket(deflate=True), proxy=2)

ARTEMIS_WS = Route("ws", websocket=WebSocket(text=False, path="/stomp"), at=PORT)
ARTEMIS_TEXT = Route("wstext", websocket=WebSocket(path="/stomp", subprotocols=("stomp", "v10.stomp")), at=PORT)
ARTEMIS_WSS12 = Route("wss12", tls=Tls("1.2"), websocket=WebSocket(text=False, path="/stomp"), at=TLS_PORT)
ARTEMIS_WSS13 = Route("wss13", tls=Tls("1.3"), websocket=WebSocket(path="/stomp"), at=TLS_PORT)
ARTEMIS_PROXY_WS = Route("proxyws", websocket=WebSocket(path="/stomp"), proxy=1, at=PORT)
ARTEMIS_PROXY_WSS = Route("proxywss", tls=Tls("1.3"), websocket=WebSocket(text=False, path="/stomp"), proxy=2, at=TLS_PORT)
CLASSIC_WS = Route("ws", websocket=WebSocket(path="/"), at=CLASSIC_WS_PORT)
CLASSIC_DEFLATE = Route("deflate", websocket=WebSocket(path="/", deflate=True, subprotocols=("stomp",)), at=CLASSIC_WS_PORT)
SPRING_WS = Route("ws", websocket=WebSocket(path="/stomp", split=1500), at=SPRING_PORT)
SPRING_DEFLATE = Route("deflate", websocket=WebSocket(path="/sockjs/websocket", deflate=True, subprotocols=("v12.stomp",)), at=SPRING_PORT)
SPRING_OVER = replace(TOO_LARGE, name="over", play=over)
NODE_SPRING = [
    *(Asked(f"sockjs-{name}", version, "auto", "sockjs", SPRING_PORT, "/sockjs", {"simple": True, **options})
      for name, version, options in (
          ("auto", "1.1", {}), ("auto", "1.2", {}), ("large", "1.2", {"large": 1 << 12}),
          ("idle", "1.0", {"idle": 4000}), ("split", "1.2", {"large": 1 << 14, "split": True}))),
    Asked("stomp", "1.2", "auto", "websocket", SPRING_PORT, "/stomp", {"simple": True}),
    Asked("deflate", "1.2", "auto", "websocket", SPRING_PORT, "/stomp", {"simple": True, "deflate": True, "large": 1 << 12}),
]
FALLBACKS = [Asked(name, "1.2", "auto", "sockjs", SPRING_PORT, "/sockjs", {"simple": True, "fallback": name})
             for name in ("xhr-streaming", "xhr-polling")]
MODES = ("auto", "client", "client-individual")
FRESH_WINDOWS = {"clientNoContextTakeover": True, "serverNoContextTakeover": True}
NODE_WS = [
    *(Asked(f"plain-{mode.rpartition('-')[2]}", version, mode, "websocket", WS_PORT)
      for mode, version in (("auto", "1.0"), ("auto", "1.1"), *((mode, "1.2") for mode in MODES))),
    *(Asked(f"deflate-{mode.rpartition('-')[2]}", version, mode, "websocket", WS_PORT, options={"deflate": True})
      for mode, version in (("client", "1.0"), ("client", "1.1"), *((mode, "1.2") for mode in MODES))),
    *(Asked(f"fresh-{mode.rpartition('-')[2]}", "1.2", mode, "websocket", WS_PORT, options={"deflate": FRESH_WINDOWS, "large": 1 << 13})
      for mode in MODES[:2]),
    Asked("secrets", "1.2", "client", "websocket", WS_PORT, options={"secrets": True}),
    Asked("binary", "1.2", "client", "websocket", WS_PORT, options={"binary": True}),
    Asked("split", "1.2", "auto", "websocket", WS_PORT, options={"split": True, "large": 3 << 14}),
    Asked("splitdeflate", "1.2", "auto", "websocket", WS_PORT, options={"split": True, "large": 1 << 18, "deflate": True}),
]
NODE_WSS = [
    Asked(f"{name}-{mode.rpartition('-')[2]}", "1.2", mode, "wss", WSS_PORT, options=options)
    for name, mode, options in (
        ("wss", "client-individual", {"deflate": True}), ("wss", "auto", {}),
        ("chacha13", "client", {"suites": "TLS_CHACHA20_POLY1305_SHA256", "deflate": True}),
        ("gcm13", "auto", {"suites": "TLS_AES_128_GCM_SHA256"}),
        ("chacha12", "client", {"suites": "ECDHE-RSA-CHACHA20-POLY1305", "newest": "TLSv1.2", "large": 1 << 13}),
    )
]

BROWSER = [
    *(Asked(f"browser-{mode.rpartition('-')[2]}", version, mode, "websocket", WS_PORT)
      for mode, version in (("auto", "1.0"), ("client", "1.1"), *((mode, "1.2") for mode in MODES))),
    Asked("browser-large", "1.2", "auto", "websocket", WS_PORT, options={"large": 1 << 18}),
    *(Asked(f"browserwss-{mode.rpartition('-')[2]}", "1.2", mode, "wss", WSS_PORT) for mode in MODES),
]

RECORDINGS = [
    Recording("rabbitmq_websocket", RabbitMQEverywhere, [
        *by(WS, "auto", "cumulative:10,12", "individual", "nack:12", "pair:12", "tx", "txfin:12", "txrst:12", "wrong:12", "rst:12",
            "kept", "busy:12", "pauses:11", "dies:12", "serveronly", "none", PINGS, UNENDED, LARGE),
        *by(SPLIT, "auto:12", "tx:11"),
    ]),
    Recording("rabbitmq_deflate", RabbitMQEverywhere, [
        *by(DEFLATE, "auto", "cumulative:10", "individual", "nack:12", "pair:12", "tx", "kept", "dies:12", PINGS, UNENDED, LARGE),
        *by(FRESH, "auto:12", "individual:11", "tx:12", "kept:12"),
    ], ".pcapng", "nano"),
    Recording("rabbitmq_binary", RabbitMQBinary, [
        *by(BINARY, "auto:12", "bodies:11,12", BOTH_WAYS), *by(PACKED, "auto:12", "bodies:10,12", "tx:12", BOTH_WAYS)]),
    Recording("rabbitmq_closes", RabbitMQEverywhere, [*by(WS, TOO_LARGE, VANISHES, *BROKEN), *by(DEFLATE, VANISHES, TOO_LARGE)]),
    Recording("rabbitmq_tls", RabbitMQEverywhere, [
        *by(GCM13, "auto", "individual", "nack:12", "pair:12", "tx", "txfin:12", "txrst:12", "kept", "dies:12", "rst:12", "bodies:12",
            RESUMED),
        *by(GCM12, "auto:12", "individual:11", "tx:10,12", "kept:12", "bodies:12", "rst:11", RESUMED),
        *by(CHACHA12, "auto:12", "tx:11", "kept:12"), *by(CBC12, "auto:12", "tx:11", "kept:12"),
        *by(CHACHA13, "auto:11"), *by(GCM13_128, NEW_KEYS),
    ]),
    Recording("rabbitmq_wss", RabbitMQEverywhere, [
        *by(WSS13, "auto", "individual:11,12", "pair:12", "tx:12", "kept:12", "dies:12", PINGS, UNENDED, LARGE),
        *by(WSS12, "auto:12", "cumulative:10", "tx:11", "kept:12", "rst:12"),
    ], ".pcapng", "nano", keys_within=True),
    Recording("rabbitmq_webstompjs", RabbitMQEverywhere, [], stompjs=NODE_WS),
    Recording("rabbitmq_wssstompjs", RabbitMQEverywhere, [], stompjs=NODE_WSS),
    Recording("artemis_websocket", Artemis, [
        *by(ARTEMIS_WS, "auto", "individual:11,12", "nack:12", "pair:12", "tx", "kept", "dies:12", "bodies:11,12", "rst:12", UNENDED,
            TOO_LARGE),
        *by(ARTEMIS_TEXT, "auto:12", "tx:10"),
    ], ".pcapng", "nano"),
    Recording("artemis_tls", ArtemisEverywhere, [
        *by(GCM13, "auto", "nack:12", "pair:12", "tx", "kept:12", "dies:12", "rst:12", "bodies:12", RESUMED),
        *by(GCM12, "auto:12", "individual:11", "tx:10", "kept:12", "bodies:12", RESUMED),
        *by(CBC12, "auto:12", "tx:11"), *by(CHACHA12, "auto:12"), *by(CHACHA13, "auto:11"), *by(GCM13_128, NEW_KEYS),
        *by(ARTEMIS_WSS12, "auto:12", "kept:12", "bodies:12", UNENDED), *by(ARTEMIS_WSS13, "auto:11", "tx:12", "rst:12"),
    ]),
    Recording("artemis_proxy", ArtemisBehindProxy, [
        *by(PROXY1, "auto:12", "tx:11", "kept:12", "pair:12", "rst:12"), *by(PROXY2, "auto:11", "individual:12", "kept:11", "fin:12"),
        *by(PROXY_TLS, "auto:12", "tx:12"), *by(ARTEMIS_PROXY_WS, "auto:12", "kept:12"), *by(ARTEMIS_PROXY_WSS, "auto:12", "kept:12"),
    ], proxied=True),
    Recording("activemq_websocket", ClassicEverywhere, [
        *by(CLASSIC_WS, "auto", "individual", "nack:12", "pair:12", "tx", "kept:11", "serveronly", "dies:12", "rst:12", CRLF,
            UNENDED, TOO_LARGE),
        *by(CLASSIC_DEFLATE, "auto:12", "tx:11", "kept:11"),
    ], ".pcap", "nano"),
    Recording("spring_websocket", Spring, [*by(SPRING_WS, SIMPLE, SPRING_OVER), *by(SPRING_DEFLATE, SIMPLE)], stompjs=NODE_SPRING),
    Recording("spring_fallback", Spring, [], stompjs=FALLBACKS),
    Recording("rabbitmq_vertxtls", RabbitMQEverywhere, [], vertx=True),
    Recording("rabbitmq_browser", RabbitMQEverywhere, [], browser=BROWSER),
    Recording("rabbitmq_proxy", RabbitMQBehindProxy, [
        *by(PROXY1, "auto:12", "tx:11", "kept:12", "pair:12", "rst:12"),
        *by(PROXY2, "auto:11", "individual:12", "tx:10", "kept:11", "fin:12"),
        *by(PROXY_TLS, "auto:12", "tx:12"), *by(PROXY_WS, "auto:12", "kept:12"), *by(PROXY_WSS, "auto:12", "individual:12", "kept:12"),
    ], proxied=True),
]
