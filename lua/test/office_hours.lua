-- SPDX-License-Identifier: GPL-2.0-or-later
local policy = require("policy.office_hours")
local now = math.floor(bt.time())
local today = tostring((now // 86400 + 3) % 7 + 1)
local hours
function on_request(txn) return hours(txn) end
local function ask(user) return bt.test.request{user = user}.verdict end
local all = "1234567"
function test_open()
  hours = policy.new{days = all, from = "0:00", to = "24:00"}
  assert(ask() == nil)
end
function test_other_day()
  hours = policy.new{days = all:gsub(today, ""), from = "0:00", to = "24:00"}
  assert(ask() == "deny")
  hours = policy.new{days = today, from = "0:00", to = "24:00"}
  assert(ask() == nil)
end
function test_other_time()
  local noon = 43200 - now % 86400 -- then it is 12:00
  hours = policy.new{days = all, from = "08:00", to = "11:30", offset = noon}
  assert(ask() == "deny")
  hours = policy.new{days = all, from = "11:30", to = "12:30", offset = noon}
  assert(ask() == nil)
end
function test_favourites()
  hours = policy.new{days = "", always = {alice = true}}
  assert(ask("alice") == nil and ask("bob") == "deny" and ask() == "deny")
end
function test_bad_time()
  assert(not pcall(policy.new, {from = "eight"}))
end
