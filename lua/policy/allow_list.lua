-- policy.allow_list: who may go where, and a line for each that wanted more.
--
--   local allow = require("policy.allow_list").new{hosts = "/etc/bobtail/allowed.txt"}
--   function on_request(txn) return allow(txn) end
--
-- hosts: a list file of domains. audit_only: tell what would be refused, and let it pass. The counters
-- are script.egress_allowed and script.egress_refused; %{egress}lua is "allowed" or "refused" in logs.
-- SPDX-License-Identifier: GPL-2.0-or-later
local policy = {}

function policy.new(options)
  local hosts = bt.map(options.hosts, "domain")
  local allowed = bt.counter("egress_allowed", "Requests for hosts of the allow list.")
  local refused = bt.counter("egress_refused", "Requests for hosts that are not in it.")
  return function(txn)
    if hosts:match(txn.host) then
      allowed:add()
      txn:log("egress", "allowed")
      return
    end
    refused:add()
    txn:log("egress", "refused")
    bt.log("warn", "egress: " .. (txn.user or txn.ip) .. " asked for " .. txn.url)
    if not options.audit_only then
      return bt.deny{reason = txn.host .. " is not in the list of allowed hosts"}
    end
  end
end

return policy
