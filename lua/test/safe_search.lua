-- SPDX-License-Identifier: GPL-2.0-or-later
local safe = require("policy.safe_search").new{}
function on_request(txn) return safe(txn) end
local function url(method, from) return bt.test.request{method = method, url = from}.txn.url end
function test_parameter()
  assert(url("GET", "http://www.google.com/search?q=x&safe=off") == "http://www.google.com/search?safe=active&q=x")
  assert(url("GET", "http://www.bing.com/") == "http://www.bing.com/?adlt=strict")
end
function test_tunnel() assert(url("CONNECT", "www.google.com:443") == "forcesafesearch.google.com:443") end
function test_header()
  assert(bt.test.request{url = "http://www.youtube.com/"}.txn.req.headers["YouTube-Restrict"] == "Strict")
end
function test_others() assert(url("GET", "http://www.example.com/?safe=off") == "http://www.example.com/?safe=off") end
