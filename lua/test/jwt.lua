-- SPDX-License-Identifier: GPL-2.0-or-later
local policy = require("policy.jwt")
local check = policy.new{secret = "s3cret", audience = "proxy"}
function on_request(txn) return check(txn) end
local function token(claims, secret, alg)
  local text = bt.base64(bt.json{alg = alg or "HS256", typ = "JWT"}, true) .. "." .. bt.base64(bt.json(claims), true)
  return text .. "." .. bt.base64(bt.hmac(secret or "s3cret", text, true), true)
end
local function ask(text)
  return bt.test.request{headers = text and {["Proxy-Authorization"] = "Bearer " .. text} or {}}
end
local function refused(r, why) return r.verdict == "answer" and r.status == 407 and r.body:find(why, 1, true) end
local later = math.floor(bt.time()) + 3600
function test_good()
  local r = ask(token{sub = "alice", aud = "proxy", exp = later})
  assert(r.verdict == nil and r.txn:note("jwt_subject") == "alice")
end
function test_none() assert(refused(ask(), "there is none")) end
function test_signature()
  assert(refused(ask(token({aud = "proxy", exp = later}, "other")), "signature"))
  assert(refused(ask("a.b.c"), "signature") and refused(ask("a.b"), "no token"))
end
function test_no_signature_at_all() assert(refused(ask(token({aud = "proxy", exp = later}, "s3cret", "none")), "as we make")) end
function test_expired() assert(refused(ask(token{aud = "proxy", exp = later - 7200}), "expired")) end
function test_no_end() assert(refused(ask(token{aud = "proxy"}), "expired")) end
function test_not_yet() assert(refused(ask(token{aud = "proxy", exp = later, nbf = later - 10}), "not valid yet")) end
function test_audience() assert(refused(ask(token{aud = "other", exp = later}), "somebody else")) end
