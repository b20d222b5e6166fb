-- SPDX-License-Identifier: GPL-2.0-or-later
local limit = require("policy.rate_limit").new{rate = 0.001, burst = 3}
function on_request(txn) return limit(txn) end
local function ask(client) return bt.test.request{client = client} end
function test_burst()
  for _ = 1, 3 do assert(ask("10.0.0.1").verdict == nil) end
  local r = ask("10.0.0.1")
  assert(r.verdict == "answer" and r.status == 429 and r.head:find("Retry-After: 1", 1, true))
end
function test_each_for_himself() assert(ask("10.0.0.2").verdict == nil) end
