-- sysbench.sql: connections, statements, results.

local N = ...
local api, box, wait, ffi, STATUS = N.api, N.box, N.wait, N.ffi, N.STATUS
local send_query, send_execute, ROWS, DONE = N.query, N.execute, STATUS.rows, STATUS.done
local rand_fill = api.rand_fill

local sql = {}
sysbench.sql = sql

sql.error = { NONE = 0, IGNORABLE = 1, FATAL = 2 }
sql.type = {}
for number, name in ipairs {
   "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "TIME", "DATE", "DATETIME", "TIMESTAMP", "CHAR", "VARCHAR",
} do
   sql.type[name] = number
end
sql.type.NONE = 0

local NONE, IGNORABLE, FATAL = 0, 1, 2
-- What was asked of the API rather than of the server went wrong: there is no error of the server to be told.
local API_ERROR = 3

-- The client library's numbers for a connection that is gone.
local GONE = { [2006] = true, [2011] = true, [2013] = true, [2055] = true }
local LOST = 2013
local CANNOT_BE_PREPARED = 1295

-- Bytes of one INSERT of many rows.
local BULK_BYTES = 512 * 1024

local COUNTED_ERROR, COUNTED_RECONNECT = 4, 5

local function named(name)
   return function() return "<" .. name .. ">" end
end

-- Drivers -----------------------------------------------------------------------------------------------------------

local driver = {}
driver.__index = driver
driver.__tostring = named("sql_driver")

function sql.driver(name)
   name = name or N.driver
   if name ~= "mysql" then
      N.log(N.FATAL, ("invalid database driver name: '%s'"):format(name))
      error("failed to initialize the DB driver", 2)
   end
   api.driver(box)
   return setmetatable({}, driver)
end

function driver:name()
   return "mysql"
end

-- Connections -------------------------------------------------------------------------------------------------------

local connection = {}
connection.__index = connection
connection.__tostring = named("sql_connection")

local function message()
   return ffi.string(box.message, box.message_len)
end

-- A link to the server, which is given up when nobody has it any more. `nil`: there is none, for these reasons.
local function link()
   api.connect(box)
   wait()
   if box.status ~= STATUS.linked then
      return nil, box.number, message()
   end
   -- Numbers are given again: what is left of a link that is gone must not be taken for the next one of its number. Finalisers may
   -- know of `life`, but not of the link itself, or it would never be collected.
   local number, life = box.link, { gone = false }
   local guard = ffi.gc(ffi.new("char[1]"), function()
      life.gone = true
      api.close_link(box, number)
   end)
   return { number = number, guard = guard, life = life }
end

local function unlink(self)
   local wire = self.wire
   if wire then
      ffi.gc(wire.guard, nil)
      wire.life.gone = true
      api.close_link(box, wire.number)
      self.wire = nil
      self.result.is_open = false
   end
end

local function say_unreachable(code, text)
   N.log(N.FATAL, ("unable to connect to MySQL server on %s, aborting..."):format(N.place))
   N.log(N.FATAL, ("error %d: %s"):format(code, text))
end

function driver:connect()
   local wire, code, text = link()
   if not wire then
      say_unreachable(code, text)
      error("connection creation failed", 2)
   end
   local con = setmetatable({ wire = wire, driver = self, error = NONE, sql_errno = 0 }, connection)
   con.result = N.new_result(con)
   return con
end

function connection:disconnect()
   if not self.wire then
      N.log(N.ALERT, "attempt to close an already closed connection")
      return true
   end
   unlink(self)
   return true
end

function connection:reconnect()
   unlink(self)
   local wire, code, text = link()
   if not wire then
      say_unreachable(code, text)
      error("connection creation failed", 2)
   end
   self.wire = wire
   api.count(box, COUNTED_RECONNECT, 0)
   return true
end

-- Reconnects a connection that is gone, for as long as it takes.
local function come_back(self)
   unlink(self)
   local wire
   repeat
      wire = link()
      if not wire then
         N.sleep(0.001)
      end
   until wire
   self.wire = wire
   api.count(box, COUNTED_RECONNECT, 0)
end

-- Whether a connection that is gone is put up with: where any of the numbers is among the ignored errors, as with the workloads
-- that are built in. Which of them the client library would have said depends on the moment.
local function ignores_loss()
   for code in pairs(GONE) do
      if N.ignores(code) then
         return true
      end
   end
   return false
end

-- Keeps what the server says against a statement, and whether it is put up with.
local function keep_error(self, what, query)
   if box.status == STATUS.lost then
      self.sql_errno = LOST
      self.sql_state = "HY000"
      self.sql_errmsg = "Lost connection to server during query"
      self.error = ignores_loss() and IGNORABLE or FATAL
   else
      self.sql_errno = box.number
      self.sql_state = ffi.string(box.state)
      self.sql_errmsg = message()
      self.error = (box.ignorable ~= 0 or N.ignores(self.sql_errno)) and IGNORABLE or FATAL
   end
   if self.error == FATAL then
      N.log(N.FATAL, ("%s returned error %d (%s)%s"):format(what, self.sql_errno, self.sql_errmsg,
         query and (" for query '" .. query .. "'") or ""))
      api.count(box, COUNTED_ERROR, self.sql_errno)
   elseif GONE[self.sql_errno] then
      come_back(self)
   else
      api.count(box, COUNTED_ERROR, self.sql_errno)
   end
end

-- Raises the error of a statement that has no result. It names the place that has called `query` or `execute`, which call
-- this last of all, so that they are no places themselves any more.
function connection:check_error(result, query)
   if result ~= nil or self.error == NONE then
      return result
   end
   if self.error == API_ERROR then
      error("SQL API error", 3)
   end
   local description = {
      connection = self, query = query,
      sql_errno = self.sql_errno, sql_state = self.sql_state, sql_errmsg = self.sql_errmsg,
   }
   local hook = sysbench.hooks.sql_error_ignorable
   if self.error == IGNORABLE or (type(hook) == "function" and hook(description)) then
      description.errcode = sysbench.error.RESTART_EVENT
      error(description, 3)
   end
   error(("SQL error, errno = %d, state = '%s': %s"):format(self.sql_errno, self.sql_state, self.sql_errmsg), 2)
end

-- Results -----------------------------------------------------------------------------------------------------------

local result = {}
result.__index = result
result.__tostring = named("sql_result")

function N.new_result(con)
   return setmetatable({ connection = con, nrows = 0, nfields = 0, is_open = false }, result)
end

-- The result of the statement that was answered last. A connection has one result, as in sysbench, which is that of each statement in
-- turn.
local function renew_result(self, statement, nrows, nfields, is_open)
   local one = self.result
   one.nrows, one.nfields, one.statement, one.is_open = nrows, nfields, statement, is_open
   return one
end

function result:fetch_row()
   if not self.is_open or self.nfields == 0 or not self.connection.wire then
      return nil
   end
   if not api.fetch(box, self.connection.wire.number) then
      return nil
   end
   local row, values = {}, box.values
   for place = 0, self.nfields - 1 do
      local value = values[place]
      if value.ptr ~= nil then
         row[place + 1] = ffi.string(value.ptr, value.len)
      end
   end
   return row
end

function result:free()
   if getmetatable(self) ~= result or not self.is_open then
      N.log(N.ALERT, "attempt to free an invalid result set")
      error("db_free_results() failed", 0)
   end
   self.is_open = false
   return true
end

-- What scripts get of a statement that has no rows. In sysbench that is a NULL pointer: it equals nil, and `if rs then` holds.
local NO_RESULT = ffi.cast("niagara_no_result *", nil)
local no_result = { nrows = 0, nfields = 0, is_open = false }

function no_result.fetch_row()
   return nil
end

function no_result.free()
   N.log(N.ALERT, "attempt to free an invalid result set")
   error("db_free_results() failed", 0)
end

ffi.metatype("niagara_no_result", {
   __index = function(_, name) return no_result[name] end,
   __tostring = result.__tostring,
})

-- Statements in text ------------------------------------------------------------------------------------------------

local function usable(self)
   if self.wire then
      return true
   end
   N.log(N.ALERT, "attempt to use an already closed connection")
   self.error = API_ERROR
   return false
end

-- The result, NO_RESULT where the statement has none, or nil and an error that is kept.
local function answer(self, status, nrows, nfields, what, query, statement)
   if status == ROWS then
      self.error = NONE
      return renew_result(self, statement, nrows, nfields, true)
   elseif status == DONE then
      self.error = NONE
      -- Nothing is left to be fetched or freed of the statement before either.
      renew_result(self, statement, nrows, 0, false)
      return NO_RESULT
   end
   keep_error(self, what, query)
end

local function run_query(self, query)
   if not usable(self) then
      return nil
   end
   -- What has no length is no statement: that is an error here.
   local status, nrows, nfields = send_query(self.wire.number, query, #query)
   return answer(self, status, nrows, nfields, "mysql_drv_query()", query)
end

function connection:query(query)
   return self:check_error(run_query(self, query), query)
end

function connection:query_row(query)
   local rs = run_query(self, query)
   if not rs then
      local outcome = self:check_error(nil, query)
      return outcome
   end
   if rs == nil or rs.nrows == 0 or rs.nfields == 0 then
      return nil
   end
   return unpack(rs:fetch_row(), 1, rs.nfields)
end

-- Many rows at once -------------------------------------------------------------------------------------------------

local function flush(bulk, self)
   if bulk.count == 0 then
      return true
   end
   local query = bulk.head .. table.concat(bulk.rows, ",", 1, bulk.count)
   bulk.count, bulk.bytes = 0, #bulk.head
   run_query(self, query)
   return self.error == NONE
end

function connection:bulk_insert_init(query)
   self.bulk = { head = query, rows = {}, count = 0, bytes = #query }
   return true
end

function connection:bulk_insert_next(row)
   local bulk = self.bulk
   if not bulk then
      N.log(N.ALERT, "attempt to call bulk_insert_next() before bulk_insert_init()")
      error("db_bulk_insert_next() failed", 2)
   end
   if bulk.count > 0 and bulk.bytes + #row + 1 > BULK_BYTES and not flush(bulk, self) then
      error("db_bulk_insert_next() failed", 2)
   end
   local count = bulk.count + 1
   bulk.rows[count], bulk.count, bulk.bytes = row, count, bulk.bytes + #row + 1
   return true
end

function connection:bulk_insert_done()
   local bulk = self.bulk
   self.bulk = nil
   if bulk and not flush(bulk, self) then
      error("db_bulk_insert_done() failed", 2)
   end
   return true
end

-- Prepared statements -----------------------------------------------------------------------------------------------

local WHOLE, REAL, TEXT = sql.type.BIGINT, sql.type.DOUBLE, sql.type.VARCHAR
local BOUND_AS = {
   [sql.type.TINYINT] = WHOLE, [sql.type.SMALLINT] = WHOLE, [sql.type.INT] = WHOLE, [sql.type.BIGINT] = WHOLE,
   [sql.type.FLOAT] = REAL, [sql.type.DOUBLE] = REAL, [sql.type.CHAR] = TEXT, [sql.type.VARCHAR] = TEXT,
}

local parameter = {}
parameter.__index = parameter
parameter.__tostring = named("sql_param")

function parameter:set(value)
   if value == nil then
      self.is_null[0], self.null = 1, true
      return
   end
   if self.null then
      self.is_null[0], self.null = 0, false
   end
   if self.type == TEXT then
      local text = tostring(value)
      local length = math.min(#text, self.max_len)
      ffi.copy(self.buffer, text, length)
      self.data_len[0] = length
   else
      self.buffer[0] = value
   end
end

function parameter:set_rand_str(format)
   if self.type ~= TEXT then
      error("Unsupported argument type: " .. self.type, 2)
   end
   local length = math.min(#format, self.max_len)
   ffi.copy(self.buffer, format, length)
   rand_fill(box, self.buffer, length)
   self.is_null[0], self.null = 0, false
   self.data_len[0] = length
end

local statement = {}
statement.__index = statement
statement.__tostring = named("sql_statement")

function connection:prepare(query)
   if not usable(self) then
      self:check_error(nil, query)
   end
   local made = setmetatable({ connection = self, query = query, wire = self.wire, count = 0 }, statement)
   if N.as_text then
      return made
   end
   api.prepare(box, self.wire.number, query, #query)
   wait()
   if box.status == STATUS.prepared then
      made.id, made.parameters = box.number, box.parameters
      local number, life, id = self.wire.number, self.wire.life, made.id
      made.guard = ffi.gc(ffi.new("char[1]"), function()
         if not life.gone then
            api.close_statement(box, number, id)
         end
      end)
      return made
   end
   if box.status == STATUS.failed and box.number == CANNOT_BE_PREPARED then
      return made
   end
   if box.status == STATUS.lost then
      keep_error(self, "mysql_stmt_prepare()", query)
      self:check_error(nil, query)
   end
   N.log(N.FATAL, "mysql_stmt_prepare() failed")
   N.log(N.FATAL, ('MySQL error: %d "%s"'):format(box.number, message()))
   self.error = API_ERROR
   local outcome = self:check_error(nil, query)
   return outcome
end

function statement:bind_create(kind, length)
   local bound = BOUND_AS[kind]
   if not bound then
      error("Unsupported argument type: " .. tostring(kind), 2)
   end
   local one = { type = bound, max_len = 8, data_len = ffi.new("unsigned long[1]"), is_null = ffi.new("char[1]") }
   if bound == WHOLE then
      one.buffer = ffi.new("int64_t[1]")
   elseif bound == REAL then
      one.buffer = ffi.new("double[1]")
   else
      one.buffer, one.max_len = ffi.new("char[?]", math.max(length or 0, 1)), length or 0
   end
   return setmetatable(one, parameter)
end

local function as_binds(parameters, count)
   local binds = ffi.new("niagara_bind[?]", count)
   for place = 1, count do
      local from, to = parameters[place], binds[place - 1]
      to.type, to.buffer, to.data_len, to.max_len, to.is_null =
         from.type, from.buffer, from.data_len, from.max_len, from.is_null
   end
   return binds
end

function statement:bind_param(...)
   local count = select("#", ...)
   if count < 1 then
      return nil
   end
   -- The binds point into the parameters, which stay as long as the statement has them.
   self.bound = { ... }
   self.binds, self.count = as_binds(self.bound, count), count
   self.types_sent = false
   return 0
end

function statement:bind_result(...)
   self.results = { ... }
   return 0
end

function statement:execute()
   local con = self.connection
   if not usable(con) then
      return con:check_error(nil, "<prepared statement>")
   end
   local number = con.wire.number
   local status, nrows, nfields
   if self.id and self.wire == con.wire then
      if self.count ~= self.parameters then
         N.log(N.ALERT, ("a statement with %d parameters is executed with %d bound ones"):format(self.parameters, self.count))
         con.error = API_ERROR
         con:check_error(nil, "<prepared statement>")
      end
      local sends_types = not self.types_sent
      self.types_sent = true
      status, nrows, nfields = send_execute(number, self.id, self.binds, self.count, sends_types)
   elseif self.id then
      -- Of a connection that is gone: the server knows it no more.
      con.error, con.sql_errno, con.sql_state, con.sql_errmsg = FATAL, 1243, "HY000", "Unknown prepared statement handler"
      return con:check_error(nil, "<prepared statement>")
   else
      if not api.execute_text(box, number, self.query, #self.query, self.binds, self.count) then
         N.log(N.ALERT, "a statement is executed with too few bound parameters")
         con.error = API_ERROR
         con:check_error(nil, "<prepared statement>")
      end
      status, nrows, nfields = wait()
   end
   local rs = answer(con, status, nrows, nfields, self.id and "mysql_stmt_execute()" or "mysql_drv_query()", self.query, self)
   return con:check_error(rs, "<prepared statement>")
end

function statement:close()
   if self.guard then
      ffi.gc(self.guard, nil)
      self.guard = nil
      if self.wire == self.connection.wire then
         api.close_statement(box, self.wire.number, self.id)
      end
   end
   return 0
end

-- For the older interface.
N.new_parameter = function(kind, length)
   return statement.bind_create(nil, kind, length)
end
