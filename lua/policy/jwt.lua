-- policy.jwt: only with a bearer token (JWT, HS256) that we have signed and that has not expired.
--
--   local check = require("policy.jwt").new{secret = "...", audience = "proxy"}
--   function on_request(txn) return check(txn) end
--
-- The token stands in Proxy-Authorization, or in the header that is named. What its "sub" says is in the
-- note "jwt_subject" and in %{subject}lua.
-- SPDX-License-Identifier: GPL-2.0-or-later
local policy = {}

-- The claims of a good token; or nil and what is wrong.
function policy.read(token, secret, now)
  local head, body, signature = token:match("^([%w_-]+)%.([%w_-]+)%.([%w_-]+)$")
  if not head then return nil, "it is no token" end
  if not bt.same(bt.hmac(secret, head .. "." .. body, true), bt.unbase64(signature) or "") then
    return nil, "its signature is wrong"
  end
  local kind, claims = bt.unjson(bt.unbase64(head) or ""), bt.unjson(bt.unbase64(body) or "")
  if type(kind) ~= "table" or kind.alg ~= "HS256" or type(claims) ~= "table" then
    return nil, "it is not as we make them"
  end
  if type(claims.exp) ~= "number" or claims.exp <= now then return nil, "it has expired" end
  if claims.nbf and not (type(claims.nbf) == "number" and claims.nbf <= now) then return nil, "it is not valid yet" end
  return claims
end

function policy.new(options)
  local header = options.header or "Proxy-Authorization"
  local function refuse(why)
    return bt.respond{status = 407, headers = {["Proxy-Authenticate"] = 'Bearer realm="proxy"',
      ["Content-Type"] = "text/plain"}, body = "A token is wanted: " .. why .. ".\n"}
  end
  return function(txn)
    local token = (txn:field("req.header", header) or ""):match("^[Bb]earer +(%S+)$")
    if not token then return refuse("there is none") end
    local claims, why = policy.read(token, options.secret, bt.time())
    if not claims then return refuse(why) end
    if options.audience and claims.aud ~= options.audience then return refuse("it is for somebody else") end
    if type(claims.sub) == "string" and not claims.sub:find("%c") then
      txn:note("jwt_subject", claims.sub)
      txn:log("subject", claims.sub)
    end
  end
end

return policy
