-- What one frame alone shows of broken rules. `one` is a frame:
--   command, upper   as it is written, and in capitals
--   server           whether the server sent it; nil where neither side has been told yet
--   version          the session's, nil where it is not known; CONNECT has it only once the capture has been read, as in Wireshark or by -2
--   opening          whether it is the first CONNECT or STOMP of its connection
--   headers          {name, value, raw_name, raw_value} in wire order, unescaped and as on the wire; without a colon no value
--   head, body       their octets; crlf, bare_cr: how lines end; headless: whether a NUL ended it before the blank line
--   torn             whether it follows a headless one, whose text it may be
--   missed           whether the octet behind content-length octets of body is no NUL
-- A rule's function answers with nil where the frame keeps it, else with a detail ("" for none), and true where the milder level is meant.

local function effective(one)
    local found, lower, old = {}, {}, one.version == "1.0" -- whose peers match names in any case, and trim values
    for _, header in ipairs(one.headers) do
        local value = header.value
        if value and old then
            value = value:match("^[ \t\r]*(.-)[ \t\r]*$")
            lower[header.name:lower()] = lower[header.name:lower()] or value
        end
        found[header.name] = found[header.name] or value
    end
    return function(name) return found[name] or lower[name] end
end

local function is(one, ...)
    for _, command in ipairs({...}) do
        if one.upper == command then
            return not one.misplaced
        end
    end
    return false
end

local function handshake(one)
    return HANDSHAKE[one.upper] and not one.misplaced
end

local function with_body(one)
    return #one.body > 0 and is(one, "SEND", "MESSAGE", "ERROR")
end

-- A rule by which frames of some commands must have headers, a value too where `filled`.
local function demands(commands, names, filled)
    return function(one, header)
        for _, name in ipairs(names) do
            local value = header(name)
            if is(one, table.unpack(commands)) and (not value or (filled and value == "")) then
                return "no " .. name
            end
        end
    end
end

-- A rule about one header line: `wrong` is asked of each.
local function lines(wrong)
    return function(one)
        for _, header in ipairs(one.headers) do
            if wrong(header, one) then
                return header.value and quoted(header.raw_name) or "a line without colon" -- which may be part of a secret
            end
        end
    end
end

local function undefined_escape(text, escapes)
    for key in (text:gsub("\\\\", "")):gmatch("\\(.?)") do
        if not escapes[key] then
            return true
        end
    end
    return false
end

local without_value = lines(function(header) return header.raw_value == "" end)
local with_colon = lines(function(header) return header.raw_value and header.raw_value:find(":", 1, true) end)
local BY_RULE = {
    ["FR-01"] = function(one) return one.headless and "a NUL before the blank line" or nil end,
    ["FR-02"] = function(one) return one.crlf and not handshake(one) and "CRLF" or nil end,
    ["FR-03"] = function(one) return one.bare_cr and "" or nil end,
    ["FR-04"] = function(one)
        if not COMMANDS[one.upper] then
            return quoted(one.command), one.server == false
        elseif one.version and one.version ~= "1.0" and one.command ~= one.upper then
            return quoted(one.command), one.server == false
        end
    end,
    ["FR-05"] = function(one) return one.upper == "NACK" and one.upper or nil end,
    ["FR-06"] = function(one) return one.misplaced and not one.torn and one.upper or nil end,
    ["FR-07"] = function(one) return one.missed and "the body has " .. #one.body .. " bytes" or nil end,
    ["FR-08"] = function(one, header)
        local value = header("content-length")
        return value and not value:match("^[ \t]*%d+[ \t\r]*$") and quoted(value) or nil
    end,
    ["FR-10"] = function(one)
        local bodiless = COMMANDS[one.upper] and not one.misplaced and not is(one, "SEND", "MESSAGE", "ERROR")
        return bodiless and #one.body > 0 and one.upper or nil
    end,
    ["FR-15"] = lines(function(header) return not header.value or header.name == "" end),
    ["FR-16"] = function(one) return without_value(one), true end,
    ["FR-17"] = function(one) return one.head:find("[\128-\255]") and "" or nil, is_utf8(one.head) end,
    ["FR-18"] = function(one) return not is_utf8(one.head) and "" or nil end,
    ["FR-19"] = lines(function(header, one)
        local escapes = ESCAPES[one.version]
        return not handshake(one) and (undefined_escape(header.raw_name, escapes) or undefined_escape(header.raw_value or "", escapes))
    end),
    ["FR-20"] = function(one) return not handshake(one) and with_colon(one) or nil, true end,
    ["FR-24"] = lines(function(header)
        local name, value = header.raw_name, header.raw_value
        local padded = name:match("^[ \t]") or name:match("[ \t]$") or (value and (value:match("^[ \t]") or value:match("[ \t]$")))
        return padded and UNPADDED[name:match("^[ \t]*(.-)[ \t]*$")]
    end),
    ["FR-25"] = function(one)
        local seen, again, conflict = {}, nil, false
        for _, header in ipairs(one.headers) do
            local name, value = header.name, header.value
            if value and seen[name] then
                again = again or quoted(header.raw_name)
                conflict = conflict or (STRUCTURAL[name] and seen[name] ~= value)
            elseif value then
                seen[name] = value
            end
        end
        return again, not conflict
    end,
    ["FR-26"] = function(one, header) return with_body(one) and not header("content-length") and "" or nil end,
    ["FR-27"] = function(one, header) return with_body(one) and not header("content-type") and "" or nil end,
    ["FR-28"] = function(one, header)
        local kind = header("content-type")
        return kind and not is_mime(kind) and quoted(kind) or nil
    end,
    ["FR-29"] = function(one, header)
        local kind = with_body(one) and header("content-type")
        if not kind then
            return nil
        end
        local named, utf8 = charset(kind)
        local plain = kind:lower():match("^%s*text/") ~= nil
        local xml = not plain and (kind:lower():match("^%s*application/xml%s*;") or kind:lower():match("^%s*application/xml%s*$")
            or kind:lower():match("^%s*[^;]+%+xml%s*;") or kind:lower():match("^%s*[^;]+%+xml%s*$"))
        local promised = utf8 or (plain and not named)
        return ((promised and not is_utf8(one.body)) or (xml and not named)) and quoted(kind) or nil
    end,
    ["FR-31"] = function(one, header)
        local kind = with_body(one) and header("content-type")
        local named, utf8 = charset(kind or "")
        return named and not utf8 and not is_utf8(one.body) and quoted(kind) or nil
    end,
    ["CN-01"] = function(one, header) return is(one, "STOMP") and not header("accept-version") and "STOMP without it" or nil end,
    ["CN-02"] = function(one, header)
        local _, _, newer = offered(header("accept-version") or "")
        return is(one, "CONNECT", "STOMP") and newer and not header("host") and "" or nil
    end,
    ["CN-03"] = function(one, header)
        local versions_offered = is(one, "CONNECT", "STOMP") and offered(header("accept-version") or "") or {}
        for number = 2, #versions_offered do
            if versions_offered[number] <= versions_offered[number - 1] then
                return quoted(header("accept-version"))
            end
        end
    end,
    ["CN-04"] = function(one, header)
        local accept = is(one, "CONNECT", "STOMP") and header("accept-version")
        local _, clean = offered(accept or "")
        return accept and not clean and quoted(accept) or nil
    end,
    ["CN-05"] = function(one) return is(one, "STOMP") and one.opening and "" or nil end,
    ["CN-08"] = function(one, header) return is(one, "CONNECT", "STOMP") and header("receipt") and "" or nil end,
    ["CN-14"] = function(one, header)
        local server = is(one, "CONNECTED") and header("server")
        local rest = server and server:match("^[^%s/]+(.*)$")
        rest = rest and (rest:match("^/%S+(.*)$") or rest)
        return server and not (rest and (rest == "" or rest:match("^ [^\r\n]+$"))) and quoted(server) or nil
    end,
    ["CN-15"] = demands({"CONNECTED"}, {"session"}, true),
    ["CN-17"] = function(one, header)
        local beat = handshake(one) and header("heart-beat")
        local _, _, newer = offered(is(one, "CONNECT", "STOMP") and header("accept-version") or "")
        local meant = one.version ~= "1.0" and (one.version or newer)
        return beat and meant and not beat:match("^%d+,%d+$") and quoted(beat) or nil
    end,
    ["CN-18"] = function(one, header)
        local beat = handshake(one) and header("heart-beat")
        local _, _, newer = offered(is(one, "CONNECT", "STOMP") and header("accept-version") or "")
        return beat and not newer and not beat:match("^%s*0%s*,%s*0%s*$") and quoted(beat) or nil
    end,
    ["CN-20"] = function(one, header)
        return is(one, "CONNECT", "STOMP") and (header("passcode") and "login and passcode" or header("login") and "login") or nil
    end,
    ["HB-09"] = function(one, header)
        local can, wants = (handshake(one) and header("heart-beat") or ""):match("^(%d+),(%d+)$")
        for _, interval in ipairs({tonumber(can), tonumber(wants)}) do
            if interval > 0 and (interval < SANE_MIN_MS or interval > SANE_MAX_MS) then
                return interval .. " ms"
            end
        end
    end,
    ["SN-01"] = demands({"SEND"}, {"destination"}, true),
    ["SN-06"] = function(one, header) return is(one, "SEND") and header("message-id") and "" or nil end,
    ["SB-01"] = demands({"SUBSCRIBE"}, {"destination"}, true),
    ["SB-02"] = demands({"SUBSCRIBE"}, {"id"}, true),
    ["SB-04"] = function(one, header)
        local mode = is(one, "SUBSCRIBE") and header("ack")
        local known = mode == "auto" or mode == "client" or (mode == "client-individual" and one.version ~= "1.0")
        return mode and not known and quoted(mode) or nil
    end,
    ["SB-06"] = demands({"UNSUBSCRIBE"}, {"id"}, true),
    ["MS-01"] = demands({"MESSAGE"}, {"destination"}, true),
    ["MS-02"] = demands({"MESSAGE"}, {"message-id"}, true),
    ["MS-09"] = function(one, header) return is(one, "MESSAGE") and (header("redelivered") or ""):lower() == "true" and "" or nil end,
    ["AK-01"] = demands({"ACK"}, {"message-id"}, true),
    ["AK-02"] = demands({"ACK", "NACK"}, {"message-id", "subscription"}, true),
    ["AK-03"] = demands({"ACK", "NACK"}, {"id"}, true),
    ["AK-08"] = function(one) return is(one, "NACK") and "" or nil end,
    ["AK-11"] = function(one, header)
        local old = (header("message-id") or "") ~= "" or (header("subscription") or "") ~= ""
        return is(one, "ACK", "NACK") and (header("id") or "") == "" and old and "" or nil
    end,
    ["TX-01"] = demands({"BEGIN"}, {"transaction"}, true),
    ["TX-02"] = demands({"COMMIT", "ABORT"}, {"transaction"}, true),
    ["TX-06"] = function(one, header)
        local may = is(one, "SEND", "ACK", "NACK", "BEGIN", "COMMIT", "ABORT")
        return COMMANDS[one.upper] == "client" and not one.misplaced and not may and header("transaction") and one.upper or nil
    end,
    ["RC-01"] = demands({"RECEIPT"}, {"receipt-id"}, false),
    ["ER-01"] = demands({"ERROR"}, {"message"}, true),
    ["ER-05"] = function(one, header)
        local sized, typed = header("content-length"), header("content-type")
        local lacking = sized and "content-type" or (typed and "content-length" or "content-length and content-type")
        return #one.body > 0 and is(one, "ERROR") and not (sized and typed) and "no " .. lacking or nil
    end,
    ["DS-02"] = demands({"DISCONNECT"}, {"receipt"}, false),
}

-- Rules about frames of some commands alone; the others are asked of every frame.
local ABOUT = {
    ["FR-26"] = "SEND MESSAGE ERROR", ["FR-27"] = "SEND MESSAGE ERROR", ["FR-29"] = "SEND MESSAGE ERROR", ["FR-31"] = "SEND MESSAGE ERROR",
    ["CN-01"] = "STOMP", ["CN-02"] = "CONNECT STOMP", ["CN-03"] = "CONNECT STOMP", ["CN-04"] = "CONNECT STOMP", ["CN-05"] = "STOMP",
    ["CN-08"] = "CONNECT STOMP", ["CN-14"] = "CONNECTED", ["CN-15"] = "CONNECTED", ["CN-17"] = "CONNECT STOMP CONNECTED",
    ["CN-18"] = "CONNECT STOMP CONNECTED", ["CN-20"] = "CONNECT STOMP", ["HB-09"] = "CONNECT STOMP CONNECTED", ["SN-01"] = "SEND",
    ["SN-06"] = "SEND", ["SB-01"] = "SUBSCRIBE", ["SB-02"] = "SUBSCRIBE", ["SB-04"] = "SUBSCRIBE", ["SB-06"] = "UNSUBSCRIBE",
    ["MS-01"] = "MESSAGE", ["MS-02"] = "MESSAGE", ["MS-09"] = "MESSAGE", ["AK-01"] = "ACK", ["AK-02"] = "ACK NACK", ["AK-03"] = "ACK NACK",
    ["AK-08"] = "NACK", ["AK-11"] = "ACK NACK", ["TX-01"] = "BEGIN", ["TX-02"] = "COMMIT ABORT", ["RC-01"] = "RECEIPT", ["ER-01"] = "ERROR",
    ["ER-05"] = "ERROR", ["DS-02"] = "DISCONNECT",
}
local asked = {}

-- The rules to ask of frames of a command, in a version.
local function rules_for(upper, version)
    local key = version .. (COMMANDS[upper] and upper or "")
    if not asked[key] then
        asked[key] = {}
        for _, rule in ipairs(RULES) do
            local about = ABOUT[rule.id]
            if rule.levels[version] and (not about or (" " .. about .. " "):find(" " .. upper .. " ", 1, true)) then
                table.insert(asked[key], rule)
            end
        end
    end
    return asked[key]
end

local SEVERITIES = {MUST = expert.severity.ERROR, SHOULD = expert.severity.WARN, INFO = expert.severity.NOTE}
local experts = {}
local registered = {}
for _, rule in ipairs(RULES) do
    for _, level in ipairs(rule.all_levels) do
        local name = ("stomp.rule.%s.%s"):format(rule.id:lower():gsub("-", "_"), level:lower())
        local made = ProtoExpert.new(name, ("%s %s: %s"):format(rule.id, level, rule.title), expert.group.PROTOCOL, SEVERITIES[level])
        experts[rule.id .. level] = made
        registered[#registered + 1] = made
    end
end
stomp.experts = registered

local function add_findings(tree, one)
    one.misplaced = one.server ~= nil and COMMANDS[one.upper] ~= nil and (COMMANDS[one.upper] == "server") ~= one.server
    local header = effective(one)
    local version = one.version or "unknown"
    for _, rule in ipairs(rules_for(one.upper, version)) do
        local detail, milder = BY_RULE[rule.id](one, header)
        if detail then
            local level = rule.levels[version][milder and 2 or 1]
            local text = ("%s %s: %s"):format(rule.id, level, rule.title)
            tree:add_proto_expert_info(experts[rule.id .. level], detail == "" and text or text .. ": " .. detail)
        end
    end
end
