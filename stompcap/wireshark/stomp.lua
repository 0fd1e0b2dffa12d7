-- STOMP 1.0, 1.1 and 1.2 for Wireshark 3.6 or later. Made by `stompcap dissector`; put it into the folder of personal Lua plugins
-- (Help, About Wireshark, Folders), or: tshark -X lua_script:stomp.lua -r trace.pcap -Y stomp

-- GRAMMAR
local NUL, LF, CR = 0, 10, 13
local HEAD_LIMIT, BODY_LIMIT = 1048576, 1073741824

local stomp = Proto("stomp", "STOMP")
local f = {
    command = ProtoField.string("stomp.command", "Command"),
    header = ProtoField.none("stomp.header", "Header"),
    name = ProtoField.string("stomp.header.name", "Name"),
    value = ProtoField.string("stomp.header.value", "Value"),
    destination = ProtoField.string("stomp.destination", "Destination"),
    version = ProtoField.string("stomp.version", "Version of the session"),
    length = ProtoField.uint32("stomp.length", "Length of the frame"),
    body = ProtoField.bytes("stomp.body", "Body"),
    eol = ProtoField.bytes("stomp.eol", "EOLs"),
    receipt = ProtoField.string("stomp.receipt", "Receipt"),
    request = ProtoField.framenum("stomp.request_in", "Request in", base.NONE, frametype.REQUEST),
    response = ProtoField.framenum("stomp.response_in", "Response in", base.NONE, frametype.RESPONSE),
}
stomp.fields = f
local stream_of = Field.new("tcp.stream")

local versions, requests, responses, servers, openings = {}, {}, {}, {}, {}

function stomp.init()
    versions, requests, responses, servers, openings = {}, {}, {}, {}, {}
end

-- FINDINGS

-- The head of a frame that begins at a place, ended by a blank line or by the frame's NUL: the place behind it, its lines as {begin, length},
-- and the NUL where that ends it. Without an end: nil, and whether it is longer than any head. Segment by segment a head comes again with
-- more octets, so its lines are taken apart only when it is whole.
local function head_of(octets, at)
    local nul = octets:find("\0", at, true)
    local known = octets:sub(at, math.min(nul and nul - 1 or #octets, at + HEAD_LIMIT - 1))
    local lf, crlf = known:find("\n\n", 1, true), known:find("\n\r\n", 1, true)
    local body
    if lf and (not crlf or lf < crlf) then
        body = at + lf + 1
    elseif crlf then
        body = at + crlf + 2
    elseif #known == HEAD_LIMIT or not nul then
        return nil, #known == HEAD_LIMIT
    end
    if not nul and not known:find("\ncontent%-length:[ \t]*%d") then
        return nil, false
    end
    local lines, begin = {}, at
    while begin < (body or nul) do
        local ending = octets:find("\n", begin, true)
        if not ending or ending > (body or nul) then
            break
        end
        lines[#lines + 1] = {begin, ending - begin}
        begin = ending + 1
    end
    if body then
        lines[#lines] = nil -- the blank one
    end
    return body or nul, lines, not body and nul or nil
end

-- The place of the NUL that ends the frame at a place, its body and its lines. Where more octets are needed: nil, and how many if that is
-- known; false where it is no frame.
local function frame_of(octets, at)
    local body, lines, nul = head_of(octets, at)
    if not body and lines then
        return false
    elseif not body then
        return nil
    end
    if nul then
        return nul, nul, lines
    end
    for number = 2, #lines do
        local line = octets:sub(lines[number][1], lines[number][1] + lines[number][2] - 1)
        local declared = line:match("^content%-length:[ \t]*(%d+)[ \t]*\r?$")
        if declared then
            declared = #declared < 12 and tonumber(declared) or #octets
            if body + declared > #octets and declared <= BODY_LIMIT then
                return nil, body + declared - #octets
            end
            if octets:byte(body + declared) == NUL then
                return body + declared, body, lines
            end
            break
        end
    end
    nul = octets:find("\0", body, true)
    if nul then
        return nul, body, lines
    end
    return nil
end

local function is_command_line(octets, at)
    local line = octets:match("^([%a][%w%.%-_]*)[ \t]*\r?\n", at)
    return line ~= nil and #line <= COMMAND_LIMIT
end

local function may_begin(octets, at)
    local rest = octets:sub(at, at + COMMAND_LIMIT)
    return is_command_line(octets, at) or (not rest:find("\n", 1, true) and rest:match("^%a[%w%.%-_]*[ \t]*\r?$") ~= nil)
end

local function unescaped(text, table)
    return (text:gsub("\\(.)", function(key) return table[key] end))
end

-- A value as the tree shows it: secrets masked, by the name of the header, in JSON Web Tokens and in the user information of URLs.
local function shown(name, value)
    local letters = name:lower():gsub("[-_.]", ""):match("^%s*(.-)%s*$")
    if SECRET_WORDS[letters] then
        return MASK
    end
    for _, stem in ipairs(SECRET_STEMS) do
        if letters:find(stem, 1, true) then
            return MASK
        end
    end
    return (value:gsub("eyJ[%w_-]*%.[%w_.=-]*%.[%w_.=-]*", MASK):gsub("(%w:/" .. "/)[^%s/\"'<>]+@", "%1" .. MASK .. "@"))
end

local function link(stream, receipt, number, tree, range, answers)
    local key = stream .. " " .. receipt
    if answers then
        responses[key] = responses[key] or number
    else
        requests[key] = requests[key] or number
    end
    local other = answers and requests[key] or (not answers and responses[key])
    if other then
        tree:add(answers and f.request or f.response, range, other):set_generated()
    end
end

-- Which side sends, as {address and port}: known from the first CONNECT, STOMP or CONNECTED on.
local function from_server(pinfo, stream, upper)
    local sender, receiver = tostring(pinfo.src) .. " " .. pinfo.src_port, tostring(pinfo.dst) .. " " .. pinfo.dst_port
    if not servers[stream] and (upper == "CONNECT" or upper == "STOMP") then
        servers[stream] = receiver
    elseif not servers[stream] and upper == "CONNECTED" then
        servers[stream] = sender
    end
    if servers[stream] then
        return servers[stream] == sender
    end
end

-- The frame as findings.lua has it.
local function facts_of(pinfo, octets, at, nul, body, upper, stream)
    local head, place = octets:sub(at, body - 1), pinfo.number .. " " .. at
    if upper == "CONNECT" or upper == "STOMP" then
        openings[stream] = openings[stream] or place
    end
    return {
        upper = upper, server = from_server(pinfo, stream, upper), version = versions[stream], opening = openings[stream] == place,
        head = head, body = octets:sub(body, nul - 1), headless = nul == body and not head:find("\n\r?\n$"),
        crlf = head:find("\r\n", 1, true) ~= nil, bare_cr = head:find("\r[^\n]") ~= nil or head:find("\r$") ~= nil, headers = {},
    }
end

local function add_frame(tvb, pinfo, tree, octets, at, nul, body, lines, stream)
    local range = tvb(at - 1, nul - at + 1)
    local first = lines[1] or {at, nul - at}
    local command = octets:sub(first[1], first[1] + first[2] - 1):gsub("%s+$", "")
    local upper = command:upper()
    local sub = tree:add(stomp, range, "STOMP, " .. command)
    sub:add(f.command, tvb(first[1] - 1, first[2]), command)
    local version = versions[stream]
    local escapes = (not HANDSHAKE[upper]) and ESCAPES[version or "1.2"] or {}
    local one, seen = facts_of(pinfo, octets, at, nul, body, upper, stream), {}
    one.command = command
    for number = 2, #lines do
        local begin, length = lines[number][1], lines[number][2]
        local place = tvb(begin - 1, length)
        local line = octets:sub(begin, begin + length - 1)
        if version == "1.2" or version == nil or HANDSHAKE[upper] then
            line = line:gsub("\r$", "")
        end
        local colon = line:find(":", 1, true)
        local name = unescaped(colon and line:sub(1, colon - 1) or line, escapes)
        local value = colon and unescaped(line:sub(colon + 1), escapes)
        local raw = line:gsub("\r$", "")
        one.headers[number - 1] = {
            name = name, value = value, raw_name = colon and raw:sub(1, colon - 1) or raw, raw_value = colon and raw:sub(colon + 1) or nil,
        }
        local item = sub:add(f.header, place)
        item:set_text(name .. (value and ": " .. shown(name, value) or ""))
        item:add(f.name, tvb(begin - 1, colon and colon - 1 or length), name)
        if value then
            item:add(f.value, colon < length and tvb(begin - 1 + colon, length - colon) or place, value)
        end
        if value and not seen[name] then
            seen[name] = value
            if name == "destination" then
                sub:add(f.destination, place, value)
            end
        end
    end
    if upper == "CONNECTED" then
        versions[stream] = ESCAPES[seen.version or "1.0"] and (seen.version or "1.0") or nil
    end
    one.version, one.torn = versions[stream], lines.torn
    local declared = (seen["content-length"] or ""):match("^[ \t]*(%d+)[ \t]*$")
    one.missed = declared ~= nil and body ~= nul and tonumber(declared) ~= nul - body
    add_findings(sub, one)
    if versions[stream] then
        sub:add(f.version, range, versions[stream]):set_generated()
    end
    sub:add(f.length, range, nul - at + 1):set_generated()
    if nul > body then
        sub:add(f.body, tvb(body - 1, nul - body))
    end
    if seen.receipt and upper ~= "MESSAGE" and upper ~= "CONNECT" and upper ~= "STOMP" then
        link(stream, seen.receipt, pinfo.number, sub, range, false)
    elseif seen["receipt-id"] then
        link(stream, seen["receipt-id"], pinfo.number, sub, range, true)
    end
    return seen.destination and command .. " " .. seen.destination or command, one.headless
end

function stomp.dissector(tvb, pinfo, tree)
    local octets, at, said, torn = tvb:raw(), 1, {}, false
    local field = stream_of()
    local stream = tostring(field and field.value or 0)
    while at <= #octets do
        local byte = octets:byte(at)
        if byte == LF or byte == CR then
            local eols = octets:match("^[\r\n]+", at)
            tree:add(stomp, tvb(at - 1, #eols), "STOMP, EOLs"):add(f.eol, tvb(at - 1, #eols))
            at = at + #eols
        elseif not may_begin(octets, at) then
            if at == 1 then
                return 0
            end
            break
        else
            local nul, body, lines = frame_of(octets, at)
            if nul == false then
                break
            elseif not nul then -- body is the number of octets that are missing
                pinfo.desegment_offset = at - 1
                pinfo.desegment_len = body or DESEGMENT_ONE_MORE_SEGMENT
                break
            end
            lines.torn = torn
            said[#said + 1], torn = add_frame(tvb, pinfo, tree, octets, at, nul, body, lines, stream)
            at = nul + 1
        end
    end
    if at > 1 or pinfo.desegment_len ~= 0 then
        pinfo.cols.protocol = "STOMP"
        pinfo.cols.info = #said > 0 and table.concat(said, ", ") or (at > 1 and "EOLs" or "part of a frame")
        return #octets
    end
    return 0
end

-- On other ports: a connection in which a segment begins with a known command.
local function heuristic(tvb, pinfo, tree)
    local octets = tvb:raw()
    local command = octets:match("^(%u+)\r?\n")
    if not (command and COMMANDS[command]) then
        return false
    end
    pinfo.conversation = stomp
    stomp.dissector(tvb, pinfo, tree)
    return true
end

stomp:register_heuristic("tcp", heuristic)
local by_port = DissectorTable.get("tcp.port")
for _, port in ipairs(PORTS) do
    by_port:add(port, stomp)
end
