-- policy.country: tell where clients are, and send those of a country by a parent of their own.
--
--   local country = require("policy.country").new{peers = {DE = "frankfurt"}, other = "DIRECT"}
--   function on_request(txn) return country(txn) end
--
-- The country is in the tag (ACL type tag, %et), in %{country}lua and in the header X-Country for origins
-- where `header` is given. It needs geoip_database. deny: countries that nobody may come from.
-- SPDX-License-Identifier: GPL-2.0-or-later
local policy = {}

function policy.new(options)
  local peers, denied = options.peers or {}, options.deny or {}
  local look = options.look or function(address) return bt.geo(address).country end
  return function(txn)
    local code = look(txn.ip) or "unknown"
    txn:tag(code)
    txn:log("country", code)
    if options.header then txn.req.headers[options.header] = code end
    if denied[code] then return bt.deny{reason = "nobody may come from " .. code} end
    local peer = peers[code] or options.other
    if peer then txn:set_peer(peer) end
  end
end

return policy
