-- policy.safe_search: search engines leave out what is not for children.
--
--   local safe = require("policy.safe_search").new{}
--   function on_request(txn) return safe(txn) end
--
-- Requests that are not looked into (CONNECT) go to the engines' own hosts for that; others get the
-- parameter or the header that they know.
-- SPDX-License-Identifier: GPL-2.0-or-later
local policy = {}

local hosts = {
  ["www.google.com"] = "forcesafesearch.google.com",
  ["www.bing.com"] = "strict.bing.com",
  ["duckduckgo.com"] = "safe.duckduckgo.com",
  ["www.youtube.com"] = "restrict.youtube.com",
}
local parameters = {
  ["www.google.com"] = "safe=active",
  ["www.bing.com"] = "adlt=strict",
  ["duckduckgo.com"] = "kp=1",
}

function policy.new(options)
  local youtube = options.youtube or "Strict"
  return function(txn)
    local host = txn.host
    if not hosts[host] then return end
    if txn.method == "CONNECT" then
      txn:set_url(hosts[host] .. ":" .. txn.port)
    elseif parameters[host] then
      local name = parameters[host]:match("^[^=]+")
      local url, query = txn.url:match("^([^?]*)%??(.*)$")
      local kept = {parameters[host]}
      for part in query:gmatch("[^&]+") do
        if part:match("^[^=]*") ~= name then kept[#kept + 1] = part end
      end
      txn:set_url(url .. "?" .. table.concat(kept, "&"))
    else
      txn.req.headers["YouTube-Restrict"] = youtube
    end
  end
end

return policy
