-- What values of headers and bodies are, for findings.lua.

local function quoted(text)
    return '"' .. text:sub(1, 40):gsub("[^\32-\126]", ".") .. '"'
end

local function is_utf8(text)
    local at = 1
    while true do
        at = text:find("[\128-\255]", at)
        if not at then
            return true
        end
        local a, b, c, d = text:byte(at, at + 3)
        b, c, d = b or 0, c or 0, d or 0
        local low = a == 0xE0 and 0xA0 or (a == 0xF0 and 0x90 or 0x80)
        local high = a == 0xED and 0x9F or (a == 0xF4 and 0x8F or 0xBF)
        local length = (a >= 0xC2 and a <= 0xDF and 2) or (a >= 0xE0 and a <= 0xEF and 3) or (a >= 0xF0 and a <= 0xF4 and 4) or 0
        if length == 0 or b < low or b > high or (length > 2 and (c < 0x80 or c > 0xBF)) or (length > 3 and (d < 0x80 or d > 0xBF)) then
            return false
        end
        at = at + length
    end
end

local function is_mime(text)
    local word = "[%w!#$%%&'*+.^_`|~-]+"
    local rest = text:match("^" .. word .. "/" .. word .. "(.*)$")
    while rest do
        if rest:match("^%s*;?%s*$") then
            return true
        end
        rest = rest:match("^%s*;%s*" .. word .. "=" .. word .. "(.*)$") or rest:match("^%s*;%s*" .. word .. '="[^"]*"(.*)$')
    end
    return false
end

local function charset(text)
    local value = text:lower():match(";%s*charset=(.*)$")
    return value, value and (value:match('^"?utf%-?8"?%s*$') or value:match('^"?utf%-?8"?%s*;')) ~= nil
end

-- The versions of an accept-version header that are versions, in order; whether it has nothing else; whether one is above 1.0.
local function offered(text)
    local found, clean, newer = {}, true, false
    for part in (text .. ","):gmatch("([^,]*),") do
        local major, minor = part:match("^%s*(%d+)%.(%d+)%s*$")
        clean = clean and part:match("^%d+%.%d+$") ~= nil
        if major then
            found[#found + 1] = tonumber(major) * 1e6 + tonumber(minor)
            newer = newer or found[#found] > 1e6
        end
    end
    return found, clean, newer
end
