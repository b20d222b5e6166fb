-- SPDX-License-Identifier: GPL-2.0-or-later
local block = require("policy.block_list").new{hosts = "@HOSTS@", except = "@EXCEPT@"}
function on_request(txn) return block(txn) end
local function ask(host) return bt.test.request{url = "http://" .. host .. "/"}.verdict end
function test_blocked() assert(ask("listed.test") == "deny" and ask("deep.below.listed.test") == "deny") end
function test_others() assert(ask("unlisted.test") == nil and ask("test") == nil) end
function test_exceptions() assert(ask("good.listed.test") == nil) end
