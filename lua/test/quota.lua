-- SPDX-License-Identifier: GPL-2.0-or-later
local quota = require("policy.quota").new{bytes = 1000}
function on_request(txn) return quota.request(txn) end
local function ask(user) return bt.test.request{user = user} end
local function spend(user, bytes) -- as on_finish does it
  quota.finish(setmetatable({rep_bytes = bytes, req_bytes = 0, user = user}, {__index = {ip = "127.0.0.1"}}))
end
function test_spent()
  assert(ask("alice").verdict == nil)
  spend("alice", 600)
  assert(ask("alice").verdict == nil)
  spend("alice", 600)
  assert(ask("alice").verdict == "deny")
end
function test_each_for_himself()
  spend("bob", 5000)
  assert(ask("bob").verdict == "deny" and ask("carol").verdict == nil and ask().verdict == nil)
end
