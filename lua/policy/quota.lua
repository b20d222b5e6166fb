-- policy.quota: so many bytes a day for each user, or each address of those who are not logged in.
--
--   local quota = require("policy.quota").new{bytes = 1024 * 1024 * 1024}
--   function on_request(txn) return quota.request(txn) end
--   function on_finish(txn) return quota.finish(txn) end
--
-- All workers count together, and a reload does not forget. What a request takes is counted when it is
-- over, so the last one may take more than is left.
-- SPDX-License-Identifier: GPL-2.0-or-later
local policy = {}

function policy.new(options)
  local used = bt.shared("quota", options.memory or 4 * 1024 * 1024)
  local spent = bt.deny{status = 403, reason = "the quota of this day is used up"}
  local function key(txn)
    return os.date("!%Y%m%d ", math.floor(bt.time())) .. (txn.user or txn.ip)
  end
  return {
    request = function(txn)
      if (used:get(key(txn)) or 0) >= options.bytes then return spent end
    end,
    finish = function(txn)
      local bytes = (txn.rep_bytes or 0) + (txn.req_bytes or 0)
      return {quota = used:incr(key(txn), bytes, 2 * 86400)}
    end,
  }
end

return policy
