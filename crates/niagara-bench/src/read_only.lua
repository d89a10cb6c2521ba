-- The transaction of oltp_read_only as a script that needs nothing but sysbench's interface, so that Niagara and sysbench
-- run the very same text: BEGIN, ten rows by their keys, four ranges, COMMIT.

sysbench.cmdline.options = {
   table_size = { "Rows of the table", 100000 },
   range_size = { "Rows of a range", 100 },
   prepared = { "Prepared statements, rather than texts", true },
}

local POINT = "SELECT c FROM sbtest1 WHERE id=%s"
local RANGES = {
   "SELECT c FROM sbtest1 WHERE id BETWEEN %s AND %s",
   "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN %s AND %s",
   "SELECT c FROM sbtest1 WHERE id BETWEEN %s AND %s ORDER BY c",
   "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN %s AND %s ORDER BY c",
}
local POINTS = 10

local function row()
   return sysbench.rand.default(1, sysbench.opt.table_size)
end

local begin, commit, point, id, ranges

local function prepare_statements()
   local int = sysbench.sql.type.INT
   begin, commit = con:prepare("BEGIN"), con:prepare("COMMIT")
   point = con:prepare(POINT:format("?"))
   id = point:bind_create(int)
   point:bind_param(id)
   ranges = {}
   for place, text in ipairs(RANGES) do
      local statement = con:prepare(text:format("?", "?"))
      local first, last = statement:bind_create(int), statement:bind_create(int)
      statement:bind_param(first, last)
      ranges[place] = { statement = statement, first = first, last = last }
   end
end

function thread_init()
   con = sysbench.sql.driver():connect()
   if sysbench.opt.prepared then
      prepare_statements()
   end
end

local function prepared_event()
   begin:execute()
   for _ = 1, POINTS do
      id:set(row())
      point:execute()
   end
   for _, range in ipairs(ranges) do
      local from = row()
      range.first:set(from)
      range.last:set(from + sysbench.opt.range_size - 1)
      range.statement:execute()
   end
   commit:execute()
end

local function text_event()
   con:query("BEGIN")
   for _ = 1, POINTS do
      con:query(POINT:format(row()))
   end
   for _, text in ipairs(RANGES) do
      local from = row()
      con:query(text:format(from, from + sysbench.opt.range_size - 1))
   end
   con:query("COMMIT")
end

function event()
   if sysbench.opt.prepared then
      prepared_event()
   else
      text_event()
   end
end

function thread_done()
   con:disconnect()
end
