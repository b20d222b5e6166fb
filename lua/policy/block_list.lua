-- policy.block_list: hosts that nobody gets to; the list may have millions of lines.
--
--   local block = require("policy.block_list").new{hosts = "/etc/bobtail/blocked.txt"}
--   function on_request(txn) return block(txn) end
--
-- The file is compiled once for all workers, and read again when it changes (acl_list_watch) or by
-- `bobtailctl reload-lists`. except: another list, of hosts that pass all the same.
-- SPDX-License-Identifier: GPL-2.0-or-later
local policy = {}

function policy.new(options)
  local hosts = bt.map(options.hosts, "domain")
  local except = options.except and bt.map(options.except, "domain")
  local blocked = bt.deny{page = options.page, reason = "the host is on a list of blocked ones"}
  return function(txn)
    if hosts:match(txn.host) and not (except and except:match(txn.host)) then return blocked end
  end
end

return policy
