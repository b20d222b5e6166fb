-- SPDX-License-Identifier: GPL-2.0-or-later
local strict = require("policy.allow_list").new{hosts = "@HOSTS@"}
local audit = require("policy.allow_list").new{hosts = "@HOSTS@", audit_only = true}
local mode = strict
function on_request(txn) return mode(txn) end
function test_allowed()
  assert(bt.test.request{url = "http://a.listed.test/"}.verdict == nil)
end
function test_refused()
  local r = bt.test.request{url = "http://elsewhere.test/"}
  assert(r.verdict == "deny" and r.reason:find("elsewhere.test", 1, true))
end
function test_audit_only()
  mode = audit
  local r = bt.test.request{url = "http://elsewhere.test/"}
  mode = strict
  assert(r.verdict == nil)
end
