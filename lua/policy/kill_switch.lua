-- policy.kill_switch: a word to one worker stops the traffic of all, until another word.
--
--   local switch = require("policy.kill_switch").new{url = "http://kill.switch/", key = "..."}
--   function on_request(txn) return switch(txn) end
--
--   curl -x proxy:3128 -H 'X-Key: ...' http://kill.switch/off     stop
--   curl -x proxy:3128 -H 'X-Key: ...' http://kill.switch/on      go on
--   curl -x proxy:3128 -H 'X-Key: ...' http://kill.switch/        which is it?
--
-- Nobody answers at that URL but this script. A reload does not change what was said; a restart does.
-- SPDX-License-Identifier: GPL-2.0-or-later
local policy = {}

function policy.new(options)
  local state = bt.shared("kill_switch", 65536)
  local url, key = options.url or "http://kill.switch/", assert(options.key, "a key is needed")
  local stopped = bt.respond{status = 503, headers = {["Content-Type"] = "text/plain", ["Retry-After"] = "60"},
    body = options.text or "The proxy was stopped by its operators.\n"}
  local function say(text)
    return bt.respond{status = 200, headers = {["Content-Type"] = "text/plain", ["Cache-Control"] = "no-store"},
      body = text .. "\n"}
  end
  return function(txn)
    local word = txn.url:sub(1, #url) == url and txn.url:sub(#url + 1)
    if word then
      if not bt.same(txn:field("req.header", "X-Key") or "", key) then return bt.deny{reason = "that is not the key"} end
      if word == "off" then state:set("off", true) elseif word == "on" then state:set("off", nil) end
      return say(state:get("off") and "off" or "on")
    end
    if state:get("off") then return stopped end
  end
end

return policy
