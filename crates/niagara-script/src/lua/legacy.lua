-- The interface of sysbench 0.5, which scripts that are older use: one connection per thread, functions by global names.

local N = ...
local sql = sysbench.sql
local current

local db = { DB_ERROR_NONE = 0, DB_ERROR_RESTART_TRANSACTION = 1, DB_ERROR_FAILED = 2 }
sysbench.db = db

function db.connect()
   db_driver = "mysql"
   current = current or sql.driver():connect()
end

function db.disconnect()
   if current then
      current:disconnect()
      current = nil
   end
end

local function there()
   if not current then
      db.connect()
   end
   return current
end

local function connected()
   return current or error("Uninitialized database connection", 3)
end

-- Does something; an error that is put up with begins the event again, any other has its old words.
local function try(words, f, ...)
   local ok, outcome = pcall(f, ...)
   if ok then
      return outcome
   end
   if type(outcome) == "table" and outcome.errcode == sysbench.error.RESTART_EVENT then
      error({ errcode = sysbench.error.RESTART_EVENT }, 0)
   end
   if type(outcome) == "string" and outcome:find("interrupted:", 1, true) then
      error(outcome, 0)
   end
   error(words, 3)
end

function db.query(query)
   local con = there()
   try("db_query() failed", con.query, con, query)
end

function db.bulk_insert_init(query)
   local con = there()
   try("db_bulk_insert_init() failed", con.bulk_insert_init, con, query)
end

function db.bulk_insert_next(row)
   local con = connected()
   try("db_bulk_insert_next() failed", con.bulk_insert_next, con, row)
end

function db.bulk_insert_done()
   local con = connected()
   try("db_bulk_insert_done() failed", con.bulk_insert_done, con)
end

function db.prepare(query)
   local con = there()
   return { statement = try("db_prepare() failed", con.prepare, con, query) }
end

-- Texts may be of any length: their room grows.
local function room_for(value)
   return math.max(#value, 64)
end

function db.bind_param(made, values)
   connected()
   if type(values) ~= "table" then
      error("table was expected", 2)
   elseif next(values) == nil then
      error("table is empty", 2)
   end
   local parameters = {}
   for place, value in ipairs(values) do
      if type(value) == "number" then
         parameters[place] = N.new_parameter(sql.type.BIGINT)
      elseif type(value) == "string" then
         parameters[place] = N.new_parameter(sql.type.VARCHAR, room_for(value))
      else
         error("Unsupported variable type: " .. type(value), 2)
      end
   end
   made.values, made.parameters = values, parameters
   made.statement:bind_param(unpack(parameters))
end

function db.bind_result(made, values)
   connected()
   made.results = values
end

function db.execute(made)
   connected()
   local grown = false
   for place, parameter in ipairs(made.parameters or {}) do
      local value = made.values[place]
      if type(value) == "string" and #value > parameter.max_len then
         parameter = N.new_parameter(sql.type.VARCHAR, 2 * #value)
         made.parameters[place], grown = parameter, true
      end
      parameter:set(value)
   end
   if grown then
      made.statement:bind_param(unpack(made.parameters))
   end
   return { result = try("db_execute() failed", made.statement.execute, made.statement) }
end

function db.close(made)
   connected()
   made.statement:close()
end

-- Results are kept with the answer.
function db.store_results() end

function db.free_results(rs)
   if rs and rs.result and rs.result.is_open then
      rs.result:free()
   end
end

for _, name in ipairs {
   "connect", "disconnect", "query", "bulk_insert_init", "bulk_insert_next", "bulk_insert_done", "prepare", "bind_param",
   "bind_result", "execute", "store_results", "free_results", "close",
} do
   _G["db_" .. name] = db[name]
end
DB_ERROR_NONE, DB_ERROR_RESTART_TRANSACTION, DB_ERROR_FAILED = 0, 1, 2

sb_rand = sysbench.rand.default
sb_rand_str = sysbench.rand.string
sb_rand_uniform = sysbench.rand.uniform
sb_rand_gaussian = sysbench.rand.gaussian
sb_rand_special = sysbench.rand.special

-- The lower half of 64 bits.
function sb_rnd()
   return tonumber(sysbench.rand.uniform_uint64() % 4294967296)
end

function sb_rand_uniq(least, most)
   least, most = least or 0, most or 4294967295
   while true do
      local number = sysbench.rand.unique()
      if least <= number and number <= most then
         return number
      end
   end
end

thread_id = sysbench.tid
test = sysbench.cmdline.script_path
mysql_table_engine = mysql_table_engine or "innodb"
myisam_max_rows = 1000000
