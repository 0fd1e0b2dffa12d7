-- # Operators ask

-- How many sessions of each broker were there, and how did they begin?
SELECT source, server_product, outcome, count(*) AS sessions, max(connect_latency_us) AS slowest_connect_us
FROM session_details GROUP BY source, server_product, outcome ORDER BY source, server_product, outcome;

-- Which destinations have the slowest acknowledgements?
SELECT source, destination, count(*) AS settled, percentile_cont(0.5) WITHIN GROUP (ORDER BY ack_latency_us) AS p50_us,
       percentile_cont(0.99) WITHIN GROUP (ORDER BY ack_latency_us) AS p99_us, max(ack_latency_us) AS max_us
FROM delivery_details WHERE measured
GROUP BY source, destination ORDER BY max_us DESC, source, destination LIMIT 5;

-- How long do acknowledgements take, by hour?
-- Cumulative ones apart: the latency of a message that a later ACK settles is an upper bound.
SELECT hour_ts, source, settled_by, sum(deliveries) AS deliveries, sum(settled) AS settled, max(max_us) AS max_us
FROM ack_latency GROUP BY hour_ts, source, settled_by ORDER BY hour_ts, source, settled_by LIMIT 6;

-- Which client keeps messages longest before it acknowledges them?
SELECT source, login, client_product, server_product, max(ack_latency_us) AS max_us
FROM delivery_details WHERE measured GROUP BY source, login, client_product, server_product
ORDER BY max_us DESC, source, login LIMIT 5;

-- Which messages that ask for an acknowledgement got none, or none that counts?
SELECT source, login, destination, count(*) AS messages, min(delivered_ts) AS first_delivered
FROM delivery_details WHERE not_settled GROUP BY source, login, destination
ORDER BY messages DESC, source, login, destination LIMIT 5;

-- Which consumers hold the most messages at once, and how many may they?
SELECT source, login, destination, ack_mode, prefetch, max_in_flight
FROM subscription_details ORDER BY max_in_flight DESC, source, login, destination LIMIT 5;

-- Which messages are delivered again and again?
SELECT source, destination, message_id, count(*) AS deliveries, count(DISTINCT stream_id) AS connections
FROM delivery_details GROUP BY source, destination, message_id HAVING count(*) > 1
ORDER BY deliveries DESC, source, destination, message_id LIMIT 5;

-- What share of deliveries does each broker mark as redelivered?
SELECT source, server_product, count(*) AS deliveries, count(*) FILTER (WHERE redelivered) AS redelivered,
       round(100.0 * count(*) FILTER (WHERE redelivered) / count(*), 1) AS percent
FROM delivery_details GROUP BY source, server_product ORDER BY source, server_product;

-- Which clients are silent for longer than agreed?
SELECT source, login, interval_ms, max(gap_ms) AS longest_ms, round(max(ratio), 1) AS intervals, count(*) AS gaps
FROM heartbeat_gap_details WHERE direction = 'c2s' AND severity <> 'late' AND excused IS NULL
GROUP BY source, login, interval_ms ORDER BY intervals DESC, source, login LIMIT 5;

-- Who cut the connection after a silence, and how many intervals long was that?
SELECT source, server_product, direction, count(*) AS connections, round(min(cut_off_after_intervals), 2) AS least,
       round(max(cut_off_after_intervals), 2) AS most
FROM heartbeat_details WHERE cut_off_after_intervals IS NOT NULL
GROUP BY source, server_product, direction ORDER BY source, server_product, direction;

-- How many sessions agreed on no heart-beats at all?
SELECT source, server_product, heartbeat_c2s_ms, heartbeat_s2c_ms, count(*) AS sessions
FROM session_details WHERE outcome = 'connected' GROUP BY source, server_product, heartbeat_c2s_ms, heartbeat_s2c_ms
ORDER BY sessions DESC, source, server_product, heartbeat_c2s_ms, heartbeat_s2c_ms LIMIT 6;

-- Who connects most often in a minute (a reconnect storm)?
SELECT source, client_ip, date_trunc('minute', opened_ts) AS minute, count(*) AS connects, count(DISTINCT login) AS logins
FROM session_details GROUP BY source, client_ip, date_trunc('minute', opened_ts)
ORDER BY connects DESC, source, client_ip, minute LIMIT 5;

-- Which connections never became a session, and why?
SELECT source, server_product, outcome, error_message, count(*) AS sessions
FROM session_details WHERE outcome IN ('refused', 'unanswered') GROUP BY source, server_product, outcome, error_message
ORDER BY sessions DESC, source, server_product, outcome, error_message LIMIT 6;

-- Who sends secrets, such as passcodes, in clear?
SELECT source, server_ip, server_port, count(*) AS sessions, count(DISTINCT login) AS logins
FROM session_details WHERE cleartext_credentials GROUP BY source, server_ip, server_port
ORDER BY sessions DESC, source, server_ip, server_port;

-- How did sessions end, and by whom?
SELECT source, server_product, end_kind, ended_by, count(*) AS sessions
FROM session_details WHERE outcome = 'connected' GROUP BY source, server_product, end_kind, ended_by
ORDER BY sessions DESC, source, server_product, end_kind, ended_by LIMIT 8;

-- Which sessions ended with a reset, and how much did the network lose or repeat?
SELECT source, login, server_product, rst_by, gap_octets, retransmitted_octets_c2s + retransmitted_octets_s2c AS retransmitted_octets,
       history
FROM session_details WHERE rst_by IS NOT NULL ORDER BY opened_ns, stream_id LIMIT 5;

-- Which receipts took longest?
SELECT source, command, server_product, count(*) AS answered, percentile_cont(0.95) WITHIN GROUP (ORDER BY latency_us) AS p95_us,
       max(latency_us) AS max_us
FROM receipt_details WHERE status = 'answered' GROUP BY source, command, server_product
ORDER BY max_us DESC, source, command, server_product LIMIT 5;

-- Which receipts were never answered?
SELECT source, server_product, command, status, count(*) AS receipts
FROM receipt_details WHERE status <> 'answered' GROUP BY source, server_product, command, status
ORDER BY receipts DESC, source, server_product, command, status;

-- Which transactions were open for longest?
SELECT source, login, transaction, t.outcome, sends, duration_us
FROM transaction_details t WHERE duration_us IS NOT NULL ORDER BY duration_us DESC, source, login, transaction LIMIT 5;

-- How many transactions were lost because the connection ended?
SELECT source, server_product, t.outcome, count(*) AS transactions, sum(sends) AS sends, sum(body_octets) AS octets
FROM transaction_details t GROUP BY source, server_product, t.outcome ORDER BY source, server_product, t.outcome;

-- What was delivered within ten minutes, by destination?
-- A filter on a `_ts` column that has statistics skips files and row groups.
SELECT source, destination, count(*) AS messages, sum(body_octets) AS octets
FROM delivery_details
WHERE delivered_ts >= TIMESTAMP '2026-11-21 08:48:00' AND delivered_ts < TIMESTAMP '2026-11-21 08:58:00'
GROUP BY source, destination ORDER BY messages DESC, source, destination LIMIT 5;

-- # Operators ask how long a message takes

-- How long are messages in the broker, by destination?
-- From the last octet of the SEND, or of its COMMIT, to the first octet of the MESSAGE.
SELECT source, server_product, destination_name, count(*) AS journeys,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY residence_us) AS p50_us,
       percentile_cont(0.99) WITHIN GROUP (ORDER BY residence_us) AS p99_us, max(residence_us) AS max_us
FROM journey_details WHERE measured GROUP BY source, server_product, destination_name
ORDER BY max_us DESC, source, server_product, destination_name LIMIT 8;

-- How is it known which SEND a MESSAGE comes from?
SELECT source, server_product, joined_by, reason, count(*) AS messages
FROM journeys WHERE message_stream_id IS NOT NULL GROUP BY source, server_product, joined_by, reason
ORDER BY source, server_product, messages DESC, joined_by, reason;

-- How does the backlog of a destination grow and shrink?
-- SENDs less the first MESSAGE of each: a lower bound where not all connections are in the capture.
SELECT source, destination_name, minute, sum(change) AS change,
       sum(sum(change)) OVER (PARTITION BY source, destination_name ORDER BY minute) AS backlog
FROM (
    SELECT p.source, s.destination_name, date_trunc('minute', s.sent_ts) AS minute, 1 AS change
    FROM sends s JOIN streams p ON p.stream_id = s.stream_id WHERE s.effective_ns IS NOT NULL
    UNION ALL
    SELECT j.source, s.destination_name, date_trunc('minute', j.ts) AS minute, -1 AS change
    FROM journeys j JOIN sends s ON s.stream_id = j.send_stream_id AND s.stream_offset = j.send_offset WHERE j.copy = 1
) moves WHERE destination_name LIKE 'queue/%' GROUP BY source, destination_name, minute
ORDER BY backlog DESC, source, destination_name, minute LIMIT 8;

-- Which messages were sent, and confirmed by a RECEIPT, and never delivered?
SELECT source, server_product, destination, reason, count(*) AS sends, count(receipt_us) AS confirmed
FROM journeys WHERE message_stream_id IS NULL AND joined_by = 'none'
GROUP BY source, server_product, destination, reason ORDER BY sends DESC, source, server_product, destination, reason LIMIT 8;

-- Which message was delivered again, and to whom?
SELECT j.source, j.destination_name, j.send_offset, j.ts, j.consumer_login, j.consumer_client_port, j.redelivery
FROM journey_details j JOIN (
    SELECT send_stream_id, send_offset FROM journeys WHERE redelivery AND send_stream_id IS NOT NULL GROUP BY send_stream_id, send_offset
) again ON again.send_stream_id = j.send_stream_id AND again.send_offset = j.send_offset
ORDER BY j.source, j.ts, j.send_offset, j.consumer_client_port LIMIT 8;

-- Which SENDs have one content?
SELECT p.source, s.destination_name, s.body_octets, count(*) AS sends, count(DISTINCT s.stream_id) AS producers,
       min(s.sent_ts) AS first_ts, max(s.sent_ts) AS last_ts
FROM sends s JOIN streams p ON p.stream_id = s.stream_id WHERE s.content_hash IS NOT NULL
GROUP BY p.source, s.destination_name, s.body_octets, s.content_hash HAVING count(*) > 1
ORDER BY sends DESC, p.source, s.destination_name, first_ts LIMIT 5;

-- Did each subscriber of a topic get each message that one of them got?
-- Who subscribed only later counts, too. The recordings have queues only.
SELECT source, destination_name, subscribers, count(*) AS sends, count(*) FILTER (WHERE copies < subscribers) AS incomplete
FROM (
    SELECT source, destination_name, send_stream_id, send_offset, max(copy) AS copies FROM journeys
    WHERE copy IS NOT NULL AND destination_name LIKE 'topic/%' GROUP BY source, destination_name, send_stream_id, send_offset
) sent JOIN (
    SELECT source, destination_name, count(DISTINCT concat(message_stream_id, ' ', subscription)) AS subscribers
    FROM journeys WHERE message_stream_id IS NOT NULL GROUP BY source, destination_name
) subscribed USING (source, destination_name)
GROUP BY source, destination_name, subscribers ORDER BY subscribers DESC, source, destination_name LIMIT 5;

-- For how long was a destination silent at most, while SENDs came?
SELECT source, destination_name, max(pause_us) AS longest_us
FROM (
    SELECT source, destination_name, (at_ns - lag(at_ns) OVER messages) / 1000 AS pause_us, is_behind_send
    FROM (
        SELECT source, destination_name, at_ns, is_message, lag(is_message) OVER either = 0 AS is_behind_send
        FROM (
            SELECT p.source, d.destination_name, d.first_ns AS at_ns, 1 AS is_message
            FROM deliveries d JOIN streams p ON p.stream_id = d.stream_id
            UNION ALL
            SELECT p.source, s.destination_name, s.effective_ns AS at_ns, 0 AS is_message
            FROM sends s JOIN streams p ON p.stream_id = s.stream_id WHERE s.effective_ns IS NOT NULL
        ) events WINDOW either AS (PARTITION BY source, destination_name ORDER BY at_ns, is_message)
    ) marked WHERE is_message = 1
    WINDOW messages AS (PARTITION BY source, destination_name ORDER BY at_ns)
) pauses WHERE is_behind_send AND pause_us IS NOT NULL
GROUP BY source, destination_name ORDER BY longest_us DESC, source, destination_name LIMIT 5;

-- # Operators ask why it ended

-- Why did connections end, and how many of each broker?
-- `sessions.close_cause` is what a connection shows by itself; the view adds what layers below STOMP said, and whether a broker stopped.
SELECT source, server_product, cause, count(*) AS connections FROM session_ends
GROUP BY source, server_product, cause ORDER BY connections DESC, source, server_product, cause LIMIT 12;

-- Which connections ended for no reason of the client, and what shows it?
SELECT source, server_product, server_port, cause, cause_evidence FROM session_ends
WHERE cause IN ('heartbeat_client', 'heartbeat_server', 'idle_cut', 'size_limit', 'slow_consumer', 'broker_stop')
ORDER BY cause, source, server_product, cause_evidence LIMIT 6;

-- Why did each ERROR come, what did it say, and how long until the connection closed?
SELECT source, server_product, message, cause_known_by, cause_command, cause_destination, to_close_us, close_cause
FROM errors ORDER BY source, server_product, message, to_close_us, stream_id LIMIT 6;

-- Who reconnects, how soon, and why was the connection before over?
SELECT source, client_ip, login, client_id, number, previous_cause, away_us FROM reconnects
WHERE away_us IS NOT NULL ORDER BY away_us, stream_id LIMIT 6;

-- How regular are heart-beats, measured in the agreed interval?
-- The times are those between all arrivals, data among them; `p99_gap_ms` is by a histogram.
SELECT source, server_product, direction, count(*) AS directions, round(avg(mean_gap_ms / interval_ms), 2) AS mean,
       round(avg(sd_gap_ms), 1) AS sd_ms, round(max(p99_gap_ms / interval_ms), 2) AS p99
FROM heartbeat_details WHERE mean_gap_ms IS NOT NULL
GROUP BY source, server_product, direction ORDER BY source, server_product, direction;

-- Which line ends are heart-beats, and which stand behind a frame?
SELECT source, direction, heartbeat, count(*) AS eols, sum(length_octets) AS octets FROM eol_details
GROUP BY source, direction, heartbeat ORDER BY source, direction, heartbeat;

-- Which deliveries were acknowledged last of all, and in which packets?
SELECT source, destination, ack_latency_us, regexp_replace(message_path, '^.*/', '') AS message_capture, message_packet,
       regexp_replace(settle_path, '^.*/', '') AS settle_capture, settle_packet
FROM delivery_packets WHERE measured ORDER BY ack_latency_us DESC, stream_id, stream_offset LIMIT 4;

-- How long do receipts take, by destination?
SELECT source, destination, command, count(*) AS asked, count(latency_us) AS answered, max(latency_us) AS longest_us FROM receipt_details
WHERE destination IS NOT NULL GROUP BY source, destination, command ORDER BY longest_us DESC, source, destination LIMIT 4;

-- How long do replies take, by destination of the request?
-- A request has correlation-id and reply-to; in these recordings none has.
SELECT p.source, count(r.stream_id) AS requests, count(r.replied_ns) AS replied, max(r.reply_us) AS longest_us
FROM streams p LEFT JOIN requests r ON r.stream_id = p.stream_id GROUP BY p.source ORDER BY p.source;

-- Which messages have a header of one's own?
SELECT source, destination, header['content-type'] AS content_type, count(*) AS messages FROM frame_details
WHERE command = 'MESSAGE' AND header['content-type'] IS NOT NULL
GROUP BY source, destination, header['content-type'] ORDER BY messages DESC, source, destination, content_type LIMIT 4;

-- Which libraries are there, as they say themselves or by their habits?
SELECT p.source, s.client_product, s.user_agent, count(*) AS connections, count(s.client_id) AS with_client_id
FROM sessions s JOIN streams p ON p.stream_id = s.stream_id
GROUP BY p.source, s.client_product, s.user_agent ORDER BY connections DESC, p.source, s.client_product;

-- Which frames are there in part only?
SELECT source, direction, command, destination, length_octets FROM partial_frames
WHERE destination IS NOT NULL ORDER BY source, destination, stream_offset LIMIT 4;

-- Which connections do two capture points have, and how far apart in time?
SELECT known_by, source, other_source, count(*) AS connections, min(later_us) AS least_us, max(later_us) AS most_us
FROM stream_pairs GROUP BY known_by, source, other_source
UNION ALL SELECT 'none', NULL, NULL, count(*), NULL, NULL FROM streams WHERE protocol = 'stomp' HAVING count(DISTINCT source) = 1;

-- # Client authors ask

-- Which rules does each client library break?
SELECT s.source, s.client_product, f.rule_id, f.level, r.title, count(*) AS findings
FROM compliance_findings f JOIN session_details s ON s.stream_id = f.stream_id JOIN rules r ON r.id = f.rule_id
WHERE f.side = 'client' AND s.client_product IS NOT NULL
GROUP BY s.source, s.client_product, f.rule_id, f.level, r.title ORDER BY findings DESC, source, client_product, rule_id LIMIT 8;

-- Where exactly is the MUST broken? The frame, its packet, the evidence.
SELECT source, rule_id, command, direction, stream_offset, first_packet, evidence
FROM finding_details WHERE level = 'M' AND side = 'client' AND client_product IS NOT NULL ORDER BY rule_id, ts_ns, stream_id, stream_offset LIMIT 5;

-- Which ACKs name a message that the server did not deliver, or that was settled before?
SELECT s.source, f.rule_id, f.level, r.title, s.client_product, count(*) AS findings
FROM compliance_findings f JOIN session_details s ON s.stream_id = f.stream_id JOIN rules r ON r.id = f.rule_id
WHERE f.rule_id LIKE 'AK-%' AND f.side = 'client' GROUP BY s.source, f.rule_id, f.level, r.title, s.client_product
ORDER BY findings DESC, source, rule_id, level, client_product LIMIT 6;

-- Does a NACK act like an ACK? How often is its message delivered again?
SELECT n.source, n.server_product, count(*) AS nacked, count(again.stream_id) AS delivered_again
FROM delivery_details n
LEFT JOIN (SELECT DISTINCT stream_id, destination, message_id, redelivered FROM deliveries WHERE redelivered) again
  ON again.stream_id = n.stream_id AND again.destination = n.destination AND again.message_id = n.message_id
WHERE n.settlement = 'nack' GROUP BY n.source, n.server_product ORDER BY n.source, n.server_product;

-- Which ERRORs do brokers answer with, most frequent first?
SELECT source, server_product, header['message'] AS message, count(*) AS errors
FROM frame_details WHERE command = 'ERROR' GROUP BY source, server_product, header['message']
ORDER BY errors DESC, source, server_product, message LIMIT 6;

-- Does the broker keep the connection after an ERROR?
SELECT s.source, s.server_product, count(*) AS errors, count(*) FILTER (WHERE later.frames > 0) AS connection_was_kept
FROM session_details s
JOIN (SELECT stream_id, min(last_ns) AS error_ns FROM frames WHERE command = 'ERROR' GROUP BY stream_id) e ON e.stream_id = s.stream_id
LEFT JOIN (
  SELECT f.stream_id, count(*) AS frames
  FROM frames f JOIN (SELECT stream_id, min(last_ns) AS error_ns FROM frames WHERE command = 'ERROR' GROUP BY stream_id) x
    ON x.stream_id = f.stream_id AND f.direction = 's2c' AND f.last_ns > x.error_ns
  GROUP BY f.stream_id
) later ON later.stream_id = s.stream_id
GROUP BY s.source, s.server_product ORDER BY s.source, s.server_product;

-- Which version was asked for, and which was agreed on?
SELECT source, accept_version, version, version_source, count(*) AS sessions
FROM session_details WHERE outcome = 'connected' GROUP BY source, accept_version, version, version_source
ORDER BY sessions DESC, source, accept_version, version, version_source LIMIT 6;

-- Which clients connect without a host header?
SELECT source, client_product, version, count(*) AS sessions
FROM session_details WHERE connect_command IS NOT NULL AND host IS NULL GROUP BY source, client_product, version
ORDER BY sessions DESC, source, client_product, version LIMIT 6;

-- Whose content-length is wrong, and by how many bytes?
SELECT source, client_product, server_product, direction, content_length - body_octets AS too_much, count(*) AS frames
FROM frame_details WHERE content_length <> body_octets
GROUP BY source, client_product, server_product, direction, content_length - body_octets
ORDER BY frames DESC, source, server_product, direction, too_much LIMIT 6;

-- In which order did the frames of a session come?
-- `frames.last_ns` is when a frame was complete.
SELECT f.direction, f.command, f.destination, f.body_octets, f.last_ns - s.opened_ns AS after_ns
FROM frames f JOIN sessions s ON s.stream_id = f.stream_id
WHERE f.stream_id = (SELECT min(stream_id) FROM sessions WHERE client_product = 'stomp.py' AND outcome = 'connected')
ORDER BY f.last_ns, f.direction, f.stream_offset LIMIT 8;

-- Who is slow: broker, consumer or network? What part of their time subscriptions spent with each, in percent.
-- `at_limit` is the part of `in_flight` in which the broker had to wait, as the prefetch limit was reached.
SELECT source, server_product, bounded_by, count(*) AS subscriptions, round(100.0 * sum(waited_us) / sum(whole_us), 1) AS network,
       round(100.0 * sum(broker_us) / sum(whole_us), 1) AS broker, round(100.0 * sum(idle_us - broker_us) / sum(whole_us), 1) AS idle,
       round(100.0 * sum(whole_us - idle_us) / sum(whole_us), 1) AS in_flight,
       round(100.0 * sum(coalesce(full_us, 0)) / sum(whole_us), 1) AS at_limit
FROM subscription_bounds WHERE mean_in_flight IS NOT NULL AND whole_us > 0 GROUP BY source, server_product, bounded_by
ORDER BY subscriptions DESC, source, server_product, bounded_by LIMIT 8;

-- Who is at the prefetch limit for how long?
SELECT source, server_product, client_product, destination, prefetch, count(*) AS subscriptions,
       round(100.0 * sum(full_us) / sum(whole_us), 1) AS percent_of_time, count(limited_since_ns) AS still
FROM subscription_bounds WHERE full_us > 0 GROUP BY source, server_product, client_product, destination, prefetch
ORDER BY percent_of_time DESC, source, server_product, client_product, destination, prefetch LIMIT 8;

-- How often do clients send heart-beats, measured in the agreed interval?
SELECT source, client_product, direction, count(*) AS directions, sum(beats) AS beats,
       round(max(1.0 * max_gap_ms / interval_ms), 2) AS longest_gap
FROM heartbeat_details WHERE client_product IS NOT NULL
GROUP BY source, client_product, direction ORDER BY source, client_product, direction;

-- # Analysts ask

-- How well does each broker comply, by level?
-- By the rules for brokers alone that have one level; what else a broker broke, by the level of each finding, is in the next answer.
SELECT s.source, s.server_product, r.level, sum(c.passed) AS passed, sum(c.failed) AS failed, sum(c.not_evaluable) AS not_evaluable,
       round(1.0 - 1.0 * sum(c.failed) / (sum(c.failed) + sum(c.passed)), 4) AS score
FROM compliance c JOIN session_details s ON s.stream_id = c.stream_id JOIN rules r ON r.id = c.rule_id
WHERE r.side = 'server' AND r.level IN ('M', 'S')
GROUP BY s.source, s.server_product, r.level ORDER BY s.source, s.server_product, r.level;

-- Which rules does each broker break most often per day?
-- `compliance_summary` counts what both sides broke; who broke a rule, and at which level, is in the findings.
SELECT CAST(found_ts AS DATE) AS day, source, server_product, rule_id, level, count(*) AS findings, count(DISTINCT stream_id) AS sessions
FROM finding_details WHERE side = 'server' GROUP BY CAST(found_ts AS DATE), source, server_product, rule_id, level
ORDER BY findings DESC, day, source, server_product, rule_id, level LIMIT 6;

-- Which verdicts does the capture not allow?
SELECT source, rule_id, title, sum(not_evaluable) AS not_evaluable
FROM compliance_summary JOIN rules ON rules.id = rule_id GROUP BY source, rule_id, title HAVING sum(not_evaluable) > 0
ORDER BY not_evaluable DESC, source, rule_id LIMIT 6;

-- How many frames of each command were sent, and how large were they?
SELECT source, command, direction, count(*) AS frames, sum(length_octets) AS octets, max(body_octets) AS largest_body
FROM frames f JOIN streams s ON s.stream_id = f.stream_id
GROUP BY source, command, direction ORDER BY frames DESC, source, command, direction LIMIT 8;

-- How much traffic was there per minute?
-- `date_trunc` of a time with a zone is slow for millions of rows: they are grouped by nanoseconds, and one time of each group is cut.
SELECT source, date_trunc('minute', min(f.first_ts)) AS minute, count(*) AS frames, sum(length_octets) AS octets,
       count(DISTINCT f.stream_id) AS connections
FROM frames f JOIN streams s ON s.stream_id = f.stream_id
GROUP BY source, f.first_ns - f.first_ns % 60000000000 ORDER BY octets DESC, source, minute LIMIT 5;

-- How many messages were in flight at most, on all connections together?
SELECT source, max(in_flight) AS most
FROM (
  SELECT source, sum(step) OVER (PARTITION BY source ORDER BY at_ns, step ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS in_flight
  FROM (
    SELECT source, delivered_ns AS at_ns, 1 AS step FROM delivery_details WHERE status = 'settled' OR not_settled
    UNION ALL SELECT source, settled_ns AS at_ns, -1 AS step FROM delivery_details WHERE status = 'settled'
    UNION ALL SELECT source, closed_ns AS at_ns, -1 AS step
    FROM delivery_details d JOIN sessions s ON s.stream_id = d.stream_id WHERE not_settled AND closed_ns IS NOT NULL
  ) steps WHERE at_ns IS NOT NULL
) counted GROUP BY source ORDER BY source;

-- How many bytes are no frame, and what are they?
SELECT s.source, r.kind, r.direction, count(*) AS units, sum(r.length_octets) AS octets
FROM raw_frames r JOIN streams s ON s.stream_id = r.stream_id
GROUP BY s.source, r.kind, r.direction ORDER BY s.source, r.kind, r.direction;

-- What did the capture lose or cut?
SELECT source, format, compression, status, count(*) AS captures, sum(packets) AS packets, sum(tcp_segments) AS tcp_segments,
       sum(size_octets) AS octets
FROM captures GROUP BY source, format, compression, status ORDER BY captures DESC, source, format, compression, status;

-- Do slow acknowledgements come with large messages?
SELECT source, CASE WHEN body_octets < 100 THEN '1: below 100' WHEN body_octets < 10000 THEN '2: below 10,000' ELSE '3: more' END AS octets,
       count(*) AS messages, percentile_cont(0.5) WITHIN GROUP (ORDER BY ack_latency_us) AS p50_us
FROM delivery_details WHERE measured
GROUP BY source, CASE WHEN body_octets < 100 THEN '1: below 100' WHEN body_octets < 10000 THEN '2: below 10,000' ELSE '3: more' END
ORDER BY source, octets;

-- Which session is the slowest of its broker?
SELECT source, server_product, login, max_us
FROM (
  SELECT source, server_product, login, max(ack_latency_us) AS max_us,
         row_number() OVER (PARTITION BY source, server_product ORDER BY max(ack_latency_us) DESC, login) AS place
  FROM delivery_details WHERE measured GROUP BY source, server_product, login
) ranked WHERE place = 1 ORDER BY source, server_product;

-- How long after a MESSAGE is its transaction committed?
SELECT source, server_product, transaction_outcome, count(*) AS deliveries, max(commit_latency_us) AS slowest_us
FROM delivery_details WHERE transaction IS NOT NULL
GROUP BY source, server_product, transaction_outcome ORDER BY source, server_product, transaction_outcome;

-- Which of the tables' expectations were checked, and were they met?
SELECT severity, success, count(*) AS expectations, count(DISTINCT table_name) AS tables FROM quality_results
GROUP BY severity, success ORDER BY severity, success;
