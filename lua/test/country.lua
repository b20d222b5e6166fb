-- SPDX-License-Identifier: GPL-2.0-or-later
local countries = {["10.0.0.1"] = "DE", ["10.0.0.2"] = "XX"}
local country = require("policy.country").new{peers = {DE = "frankfurt"}, other = "DIRECT", deny = {XX = true},
  header = "X-Country", look = function(address) return countries[address] end}
function on_request(txn) return country(txn) end
local function ask(client) return bt.test.request{client = client} end
function test_known()
  local r = ask("10.0.0.1")
  assert(r.verdict == nil and r.txn.req.headers["X-Country"] == "DE" and r.txn.external_tag == "DE")
end
function test_unknown() assert(ask("10.0.0.9").txn.req.headers["X-Country"] == "unknown") end
function test_denied() assert(ask("10.0.0.2").verdict == "deny") end
