-- SPDX-License-Identifier: GPL-2.0-or-later
local switch = require("policy.kill_switch").new{key = "open sesame"}
function on_request(txn) return switch(txn) end
local function say(word, key)
  return bt.test.request{url = "http://kill.switch/" .. word, headers = {["X-Key"] = key or "open sesame"}}
end
function test_switch()
  assert(say("").body == "on\n" and bt.test.request{}.verdict == nil)
  assert(say("off").body == "off\n")
  assert(bt.test.request{}.status == 503)
  assert(say("on").body == "on\n" and bt.test.request{}.verdict == nil)
end
function test_key() assert(say("off", "guess").verdict == "deny" and bt.test.request{}.verdict == nil) end
function test_needs_a_key() assert(not pcall(require("policy.kill_switch").new, {})) end
