-- What the OLTP scripts have in common, for scripts that require "oltp_common": tables sbtest1 and on, the options and the
-- functions that go with them, as sysbench documents them.

function init()
   assert(event ~= nil, "oltp_common is for other scripts to require: it has no event of its own")
end

if sysbench.cmdline.command == nil then
   error("Command is required. Supported commands: prepare, prewarm, run, cleanup, help")
end

local opt = setmetatable({}, { __index = function(_, name) return sysbench.opt[name] end })

sysbench.cmdline.options = {
   tables = { "Number of tables", 1 },
   table_size = { "Number of rows of each table", 10000 },
   range_size = { "Number of rows that a range covers", 100 },
   point_selects = { "Selections of one row, in a transaction", 10 },
   simple_ranges = { "Selections of a range, in a transaction", 1 },
   sum_ranges = { "Sums over a range, in a transaction", 1 },
   order_ranges = { "Sorted selections of a range, in a transaction", 1 },
   distinct_ranges = { "Distinct, sorted selections of a range, in a transaction", 1 },
   index_updates = { "Updates of the indexed column, in a transaction", 1 },
   non_index_updates = { "Updates of a column without an index, in a transaction", 1 },
   delete_inserts = { "Deletions of a row that is inserted again, in a transaction", 1 },
   range_selects = { "Do selections of ranges at all", true },
   auto_inc = { "Let the server number the rows", true },
   skip_trx = { "No BEGIN and COMMIT: every statement is a transaction", false },
   secondary = { "A secondary index in place of the primary key", false },
   create_secondary = { "An index on k beside the primary key", true },
   reconnect = { "Reconnect after this many events, 0 for never", 0 },
   mysql_storage_engine = { "Storage engine of the tables", "innodb" },
   pgsql_variant = { "Without effect here" },
}

-- Tables ------------------------------------------------------------------------------------------------------------

local C = ("###########-"):rep(9) .. "###########"
local PAD = ("###########-"):rep(4) .. "###########"

function get_c_value()
   return sysbench.rand.string(C)
end

function get_pad_value()
   return sysbench.rand.string(PAD)
end

local function connect()
   local driver = sysbench.sql.driver()
   return driver, driver:connect()
end

-- Calls `f` for those of the tables that are this thread's part of the work.
local function for_own_tables(f)
   for number = sysbench.tid % opt.threads + 1, opt.tables, opt.threads do
      f(number)
   end
end

function create_table(_, con, number)
   print(("Creating table 'sbtest%d'..."):format(number))
   con:query(([[
CREATE TABLE sbtest%d(
  id INTEGER NOT NULL%s,
  k INTEGER DEFAULT '0' NOT NULL,
  c CHAR(120) DEFAULT '' NOT NULL,
  pad CHAR(60) DEFAULT '' NOT NULL,
  %s (id)
) /*! ENGINE = %s */ %s]]):format(number, opt.auto_inc and " AUTO_INCREMENT" or "",
      opt.secondary and "KEY xid" or "PRIMARY KEY", opt.mysql_storage_engine, mysql_table_options or ""))
   if opt.table_size > 0 then
      print(("Inserting %d records into 'sbtest%d'"):format(opt.table_size, number))
   end
   con:bulk_insert_init(("INSERT INTO sbtest%d(%sk, c, pad) VALUES"):format(number, opt.auto_inc and "" or "id, "))
   for id = 1, opt.table_size do
      local c, pad = get_c_value(), get_pad_value()
      local k = sysbench.rand.default(1, opt.table_size)
      con:bulk_insert_next(("(%s%d, '%s', '%s')"):format(opt.auto_inc and "" or (id .. ", "), k, c, pad))
   end
   con:bulk_insert_done()
   if opt.create_secondary then
      print(("Creating a secondary index on 'sbtest%d'..."):format(number))
      con:query(("CREATE INDEX k_%d ON sbtest%d(k)"):format(number, number))
   end
end

function cmd_prepare()
   local driver, con = connect()
   for_own_tables(function(number) create_table(driver, con, number) end)
end

-- Reads every table and its index once, so that the server has them in memory.
function cmd_prewarm()
   local _, con = connect()
   for _, variable in ipairs { "tmp_table_size", "max_heap_table_size" } do
      con:query("SET " .. variable .. "=2*1024*1024*1024")
   end
   for_own_tables(function(number)
      local name = "sbtest" .. number
      print("Prewarming table " .. name)
      con:query("ANALYZE TABLE " .. name)
      con:query(("SELECT AVG(id) FROM (SELECT * FROM %s FORCE KEY (PRIMARY) LIMIT %u) t"):format(name, opt.table_size))
      con:query(("SELECT COUNT(*) FROM (SELECT * FROM %s WHERE k LIKE '%%0%%' LIMIT %u) t"):format(name, opt.table_size))
   end)
end

sysbench.cmdline.commands = {
   prepare = { cmd_prepare, sysbench.cmdline.PARALLEL_COMMAND },
   prewarm = { cmd_prewarm, sysbench.cmdline.PARALLEL_COMMAND },
}

function cleanup()
   local _, con = connect()
   for number = 1, opt.tables do
      print(("Dropping table 'sbtest%d'..."):format(number))
      con:query("DROP TABLE IF EXISTS sbtest" .. number)
   end
end

-- Statements --------------------------------------------------------------------------------------------------------

local INT, CHAR = sysbench.sql.type.INT, sysbench.sql.type.CHAR

-- By name: the text for a table, then the parameters' types, those of texts with their lengths.
local STATEMENTS = {
   point_selects = { "SELECT c FROM sbtest%u WHERE id=?", { INT } },
   simple_ranges = { "SELECT c FROM sbtest%u WHERE id BETWEEN ? AND ?", { INT }, { INT } },
   sum_ranges = { "SELECT SUM(k) FROM sbtest%u WHERE id BETWEEN ? AND ?", { INT }, { INT } },
   order_ranges = { "SELECT c FROM sbtest%u WHERE id BETWEEN ? AND ? ORDER BY c", { INT }, { INT } },
   distinct_ranges = { "SELECT DISTINCT c FROM sbtest%u WHERE id BETWEEN ? AND ? ORDER BY c", { INT }, { INT } },
   index_updates = { "UPDATE sbtest%u SET k=k+1 WHERE id=?", { INT } },
   non_index_updates = { "UPDATE sbtest%u SET c=? WHERE id=?", { CHAR, 120 }, { INT } },
   deletes = { "DELETE FROM sbtest%u WHERE id=?", { INT } },
   inserts = {
      "INSERT INTO sbtest%u (id, k, c, pad) VALUES (?, ?, ?, ?)", { INT }, { INT }, { CHAR, 120 }, { CHAR, 60 },
   },
}

function prepare_begin()
   stmt.begin = con:prepare("BEGIN")
end

function prepare_commit()
   stmt.commit = con:prepare("COMMIT")
end

function prepare_for_each_table(name)
   local definition = STATEMENTS[name]
   for number = 1, opt.tables do
      local made, bound = con:prepare(definition[1]:format(number)), {}
      for place = 2, #definition do
         bound[place - 1] = made:bind_create(unpack(definition[place]))
      end
      made:bind_param(unpack(bound))
      stmt[number][name], param[number][name] = made, bound
   end
end

for name in pairs(STATEMENTS) do
   if name ~= "deletes" and name ~= "inserts" then
      _G["prepare_" .. name] = function() prepare_for_each_table(name) end
   end
end

function prepare_delete_inserts()
   prepare_for_each_table("deletes")
   prepare_for_each_table("inserts")
end

local function new_statements()
   stmt, param = {}, {}
   for number = 1, opt.tables do
      stmt[number], param[number] = {}, {}
   end
   prepare_statements()
end

function thread_init()
   drv, con = connect()
   new_statements()
end

function close_statements()
   for number = 1, opt.tables do
      for _, one in pairs(stmt[number]) do
         one:close()
      end
   end
   for _, name in ipairs { "begin", "commit" } do
      if stmt[name] then
         stmt[name]:close()
      end
   end
end

function thread_done()
   close_statements()
   con:disconnect()
end

local served = 0

-- For scripts that say --reconnect: to be called at the end of an event.
function check_reconnect()
   if opt.reconnect > 0 then
      served = served + 1
      if served % opt.reconnect == 0 then
         close_statements()
         con:reconnect()
         new_statements()
      end
   end
end

-- A connection that came back knows no statements.
function sysbench.hooks.before_restart_event(problem)
   local code = problem.sql_errno
   if code == 2006 or code == 2011 or code == 2013 or code == 2055 then
      close_statements()
      new_statements()
   end
end

-- Events ------------------------------------------------------------------------------------------------------------

local function any_table()
   return sysbench.rand.uniform(1, opt.tables)
end

local function any_row()
   return sysbench.rand.default(1, opt.table_size)
end

function begin()
   stmt.begin:execute()
end

function commit()
   stmt.commit:execute()
end

for _, name in ipairs { "point_selects", "index_updates" } do
   _G["execute_" .. name] = function()
      local number = any_table()
      local made, id = stmt[number][name], param[number][name][1]
      for _ = 1, opt[name] do
         id:set(any_row())
         made:execute()
      end
   end
end

for _, name in ipairs { "simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges" } do
   _G["execute_" .. name] = function()
      local number = any_table()
      local made, bound = stmt[number][name], param[number][name]
      for _ = 1, opt[name] do
         local first = any_row()
         bound[1]:set(first)
         bound[2]:set(first + opt.range_size - 1)
         made:execute()
      end
   end
end

function execute_non_index_updates()
   local number = any_table()
   local made, bound = stmt[number].non_index_updates, param[number].non_index_updates
   for _ = 1, opt.non_index_updates do
      bound[1]:set_rand_str(C)
      bound[2]:set(any_row())
      made:execute()
   end
end

function execute_delete_inserts()
   local number = any_table()
   local gone, new = param[number].deletes, param[number].inserts
   for _ = 1, opt.delete_inserts do
      local id, k = any_row(), any_row()
      gone[1]:set(id)
      new[1]:set(id)
      new[2]:set(k)
      new[3]:set_rand_str(C)
      new[4]:set_rand_str(PAD)
      stmt[number].deletes:execute()
      stmt[number].inserts:execute()
   end
end
