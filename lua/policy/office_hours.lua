-- policy.office_hours: who may use the proxy when.
--
--   local hours = require("policy.office_hours").new{
--     always = {alice = true}, days = "12345", from = "08:00", to = "18:00", offset = 3600}
--   function on_request(txn) return hours(txn) end
--
-- days: 1 is Monday, 7 is Sunday. offset: seconds that the clock on your wall is ahead of universal time.
-- always: users for whom there are no hours. Who is not logged in is nobody's favourite.
-- SPDX-License-Identifier: GPL-2.0-or-later
local policy = {}

local function minutes(text)
  local hour, minute = text:match("^(%d%d?):(%d%d)$")
  return assert(tonumber(hour), "not HH:MM: " .. text) * 60 + tonumber(minute)
end

function policy.new(options)
  local from, to = minutes(options.from or "08:00"), minutes(options.to or "18:00")
  local days, offset, always = options.days or "12345", options.offset or 0, options.always or {}
  local closed = bt.deny{reason = "outside of office hours"}
  return function(txn)
    local user = txn.user
    if user and always[user] then return end
    local now = math.floor(bt.time()) + offset
    local day = (now // 86400 + 3) % 7 + 1 -- 1970 began with a Thursday
    local minute = now % 86400 // 60
    if not days:find(tostring(day), 1, true) or minute < from or minute >= to then return closed end
  end
end

return policy
