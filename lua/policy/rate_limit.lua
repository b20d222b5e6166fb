-- policy.rate_limit: so many requests a second, for each user or address, over all workers.
--
--   local limit = require("policy.rate_limit").new{rate = 20, burst = 100}
--   function on_request(txn) return limit(txn) end
--
-- SPDX-License-Identifier: GPL-2.0-or-later
local policy = {}

function policy.new(options)
  local slower = bt.respond{status = 429, headers = {["Retry-After"] = "1", ["Content-Type"] = "text/plain"},
    body = "Too many requests; come again in a second.\n"}
  local name = options.name or "rate "
  return function(txn)
    if not bt.limit(name .. (txn.user or txn.ip), options.rate, options.burst or options.rate) then return slower end
  end
end

return policy
