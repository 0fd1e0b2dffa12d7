-- # Operators of WebSocket, TLS and balancers ask

-- What carries STOMP here, and what does that add?
SELECT source, transport, count(*) AS connections, sum(octets_c2s + octets_s2c) AS octets,
       sum(outer_octets_c2s + outer_octets_s2c) AS outer_octets,
       round(1.0 * sum(outer_octets_c2s + outer_octets_s2c) / sum(octets_c2s + octets_s2c), 2) AS ratio
FROM streams WHERE protocol = 'stomp' GROUP BY source, transport ORDER BY source, transport;

-- What could not be read, and why?
SELECT s.source, s.server_ip, s.server_port, t.kind, t.status, t.reason, count(*) AS connections
FROM transports t JOIN streams s ON s.stream_id = t.stream_id WHERE t.status <> 'read'
GROUP BY s.source, s.server_ip, s.server_port, t.kind, t.status, t.reason
ORDER BY connections DESC, s.server_ip, s.server_port, t.kind, t.reason;

-- Which versions and suites of TLS are in use, and how many connections resume a session?
SELECT s.source, s.server_port, t.tls_version, t.cipher_suite, count(*) AS connections,
       count(*) FILTER (WHERE t.resumed) AS resumed
FROM transports t JOIN streams s ON s.stream_id = t.stream_id WHERE t.kind = 'tls'
GROUP BY s.source, s.server_port, t.tls_version, t.cipher_suite
ORDER BY connections DESC, s.server_port, t.tls_version, t.cipher_suite LIMIT 8;

-- Who asks for which sub-protocols, and what do brokers answer?
SELECT s.source, d.server_product, t.subprotocols_asked, t.subprotocol, count(*) AS connections,
       count(*) FILTER (WHERE t.extensions LIKE 'permessage-deflate%') AS compressed
FROM transports t JOIN streams s ON s.stream_id = t.stream_id JOIN sessions d ON d.stream_id = t.stream_id WHERE t.kind = 'http'
GROUP BY s.source, d.server_product, t.subprotocols_asked, t.subprotocol
ORDER BY connections DESC, d.server_product, t.subprotocols_asked LIMIT 8;

-- Which browsers are there, and do they send heart-beats as often as they agreed to?
-- A tab in the background may beat once a minute only, whatever was agreed on.
SELECT s.source, u.browser, s.transport, h.interval_ms, count(*) AS connections, max(h.max_gap_ms) AS longest_ms
FROM (SELECT stream_id, CASE WHEN user_agent LIKE '%Firefox/%' THEN 'Firefox' WHEN user_agent LIKE '%Chrome/%' THEN 'Chrome'
             WHEN user_agent LIKE '%Safari/%' THEN 'Safari' ELSE 'other' END AS browser
      FROM transports WHERE user_agent IS NOT NULL) u
JOIN streams s ON s.stream_id = u.stream_id JOIN heartbeats h ON h.stream_id = u.stream_id AND h.direction = 'c2s'
GROUP BY s.source, u.browser, s.transport, h.interval_ms ORDER BY u.browser, s.transport, h.interval_ms;

-- Which WebSockets did not end with 1000, and how large was the largest frame in them?
-- 1009: a message was too large. 1002: something is no WebSocket. 1007: text that is none, or (RabbitMQ) STOMP that is none.
SELECT s.source, s.server_ip, s.server_port, t.close_code, t.closed_by, count(DISTINCT t.stream_id) AS connections,
       max(r.length_octets) AS largest_frame
FROM transports t JOIN streams s ON s.stream_id = t.stream_id LEFT JOIN raw_frames r ON r.stream_id = t.stream_id AND r.kind <> 'gap'
WHERE t.close_code <> 1000 GROUP BY s.source, s.server_ip, s.server_port, t.close_code, t.closed_by
ORDER BY t.close_code, s.server_ip, s.server_port, t.closed_by;

-- How long was the silence before a connection ended, and had heart-beats been agreed on?
-- Many at 30, 50, 60, 90, 350 or 600 seconds are the time-outs of proxies. Heart-beats help, if both sides want them.
SELECT s.source, s.transport, d.heartbeat_c2s_ms + d.heartbeat_s2c_ms > 0 AS beats, round((s.last_ns - r.last_ns) / 1000000000.0) AS silence_s,
       count(*) AS connections
FROM streams s JOIN sessions d ON d.stream_id = s.stream_id
JOIN (SELECT stream_id, max(last_ns) AS last_ns FROM raw_frames GROUP BY stream_id) r ON r.stream_id = s.stream_id
WHERE s.close_kind <> 'open'
GROUP BY s.source, s.transport, d.heartbeat_c2s_ms + d.heartbeat_s2c_ms > 0, round((s.last_ns - r.last_ns) / 1000000000.0)
ORDER BY silence_s DESC, connections DESC, s.transport LIMIT 6;

-- Which connections are pinged, and did they agree on heart-beats too?
-- A broker may take a ping for life (RabbitMQ does): heart-beats that are missing then are no fault.
SELECT s.source, s.server_ip, s.transport, d.heartbeat_c2s_ms, d.heartbeat_s2c_ms, count(DISTINCT e.stream_id) AS connections,
       count(*) AS pings
FROM transport_events e JOIN streams s ON s.stream_id = e.stream_id JOIN sessions d ON d.stream_id = e.stream_id
WHERE e.kind = 'ping' GROUP BY s.source, s.server_ip, s.transport, d.heartbeat_c2s_ms, d.heartbeat_s2c_ms
ORDER BY pings DESC, s.server_ip, s.transport LIMIT 5;

-- How long is the way to the peer of a WebSocket and back, inside TLS too?
-- A pong repeats the payload of its ping, of which `detail` is a digest.
SELECT s.source, s.server_port, s.transport, count(*) AS pings, round(min(p.ts_ns - e.ts_ns) / 1000.0) AS least_us,
       round(max(p.ts_ns - e.ts_ns) / 1000.0) AS most_us
FROM transport_events e JOIN transport_events p ON p.stream_id = e.stream_id AND p.detail = e.detail AND p.direction <> e.direction
JOIN streams s ON s.stream_id = e.stream_id WHERE e.kind = 'ping' AND p.kind = 'pong' AND p.ts_ns >= e.ts_ns
GROUP BY s.source, s.server_port, s.transport ORDER BY s.source, s.server_port, s.transport;

-- For whom does a balancer open connections, and which are its own probes?
SELECT source, client_ip, origin_ip, origin_source, transport, protocol, count(*) AS connections
FROM streams WHERE origin_source IS NOT NULL GROUP BY source, client_ip, origin_ip, origin_source, transport, protocol
ORDER BY connections DESC, origin_ip, origin_source, transport, protocol;

-- How often do TLS connections change their keys, and who begins?
SELECT s.source, s.server_port, e.direction, count(DISTINCT e.stream_id) AS connections, count(*) AS updates
FROM transport_events e JOIN streams s ON s.stream_id = e.stream_id WHERE e.kind = 'key_update'
GROUP BY s.source, s.server_port, e.direction ORDER BY s.server_port, e.direction;

-- Which peers did not say that TLS ends, so that what they sent may have been cut off?
SELECT s.source, s.server_ip, s.server_port, count(*) AS connections
FROM transports t JOIN streams s ON s.stream_id = t.stream_id
WHERE t.kind = 'tls' AND t.status = 'read' AND s.close_kind <> 'open' AND t.stream_id NOT IN
      (SELECT stream_id FROM transport_events WHERE kind = 'alert' AND detail = 'close_notify' AND direction = 's2c' AND stream_id IS NOT NULL)
GROUP BY s.source, s.server_ip, s.server_port ORDER BY connections DESC, s.server_ip, s.server_port;

-- Where do clients fall back to SockJS over HTTP, and how many connections does a session take there?
-- Such sessions are found and not read. What was in the way is not on the wire: mostly a proxy that lets no WebSocket through.
SELECT s.source, s.server_ip, s.server_port, count(DISTINCT regexp_extract(h.http_path, '/([^/]+)/[^/]+$', 1)) AS sessions,
       count(*) AS connections, sum(s.outer_octets_c2s + s.outer_octets_s2c) AS octets
FROM transports t JOIN transports h ON h.stream_id = t.stream_id JOIN streams s ON s.stream_id = t.stream_id
WHERE t.kind = 'sockjs' AND t.status = 'unreadable' AND h.kind = 'http'
GROUP BY s.source, s.server_ip, s.server_port ORDER BY connections DESC, s.server_ip, s.server_port;
