-- What every interpreter runs first: the way to the load generator, and what scripts find before they begin.
-- Arguments: the mailbox and the table of functions, as pointers, and the functions that send statements.

local mailbox, functions, query, execute = ...

local raw_ffi = require("ffi")
local error, type, pcall, xpcall, tostring, select, unpack =
   error, type, pcall, xpcall, tostring, select, unpack
local raw_yield, raw_resume, raw_create, yieldable =
   coroutine.yield, coroutine.resume, coroutine.create, coroutine.isyieldable

raw_ffi.cdef[[
typedef struct {
   uint32_t len;
   const char *ptr;
} niagara_value;

typedef struct {
   int type;
   void *buffer;
   unsigned long *data_len;
   unsigned long max_len;
   char *is_null;
} niagara_bind;

typedef struct {
   int32_t status;
   uint32_t link;
   uint32_t number;
   uint32_t parameters;
   uint32_t nfields;
   uint32_t nrows;
   int32_t ignorable;
   uint32_t message_len;
   const char *message;
   const niagara_value *values;
   char state[8];
} niagara_box;

typedef struct niagara_histogram niagara_histogram;

/* Of a statement without rows, scripts get a pointer to none of these. */
typedef struct {
   char unused;
} niagara_no_result;

/* Scripts that reach for sysbench's own functions of C name this type. */
typedef enum {
   SB_CNT_OTHER, SB_CNT_READ, SB_CNT_WRITE, SB_CNT_TRX, SB_CNT_ERROR, SB_CNT_RECONNECT, SB_CNT_MAX
} sb_counter_type;

typedef struct {
   void (*connect)(niagara_box *);
   void (*prepare)(niagara_box *, uint32_t, const char *, size_t);
   bool (*execute_text)(niagara_box *, uint32_t, const char *, size_t, const niagara_bind *, uint32_t);
   void (*sleep)(niagara_box *, double);
   void (*event)(niagara_box *, bool);
   void (*ask)(niagara_box *);
   bool (*fetch)(niagara_box *, uint32_t);
   void (*close_link)(niagara_box *, uint32_t);
   void (*close_statement)(niagara_box *, uint32_t, uint32_t);
   void (*count)(niagara_box *, int, int);
   void (*log)(niagara_box *, int, const char *, size_t);
   void (*say)(niagara_box *, const char *, size_t);
   void (*task)(niagara_box *);
   void (*fail)(niagara_box *, const char *, size_t);
   bool (*read_file)(niagara_box *, const char *, size_t);
   uint64_t (*rand_bits)(niagara_box *);
   double (*rand_fraction)(niagara_box *);
   uint32_t (*rand_default)(niagara_box *, uint32_t, uint32_t);
   uint32_t (*rand_uniform)(niagara_box *, uint32_t, uint32_t);
   uint32_t (*rand_gaussian)(niagara_box *, uint32_t, uint32_t);
   uint32_t (*rand_special)(niagara_box *, uint32_t, uint32_t);
   uint32_t (*rand_pareto)(niagara_box *, uint32_t, uint32_t);
   uint32_t (*rand_unique)(niagara_box *);
   void (*rand_fill)(niagara_box *, char *, size_t);
   niagara_histogram *(*histogram_new)(size_t, double, double);
   void (*histogram_update)(niagara_histogram *, double);
   void (*histogram_print)(niagara_box *, niagara_histogram *);
   void (*histogram_delete)(niagara_histogram *);
   void (*driver)(niagara_box *);
} niagara_functions;
]]

local box = raw_ffi.cast("niagara_box *", mailbox)
local api = raw_ffi.cast("niagara_functions *", functions)

-- Within a coroutine of the script, this is what goes through to the load generator.
local THROUGH = mailbox

-- Waits until what was asked for is there; returns how it went, and the rows and columns of a statement.
local function wait()
   if yieldable() then
      return raw_yield(THROUGH)
   else
      -- Within a call of C, such as the function that string.gsub or table.sort calls: the thread waits where it stands.
      api.ask(box)
      return box.status, box.nrows, box.nfields
   end
end

-- A coroutine of the script that waits has all wait that it is within.
local carry_on
carry_on = function(co, ok, first, ...)
   if ok and first == THROUGH then
      return carry_on(co, raw_resume(co, wait()))
   end
   return ok, first, ...
end

function coroutine.resume(co, ...)
   return carry_on(co, raw_resume(co, ...))
end

local function or_raise(ok, first, ...)
   if not ok then
      error(first, 0)
   end
   return first, ...
end

function coroutine.wrap(f)
   local co = raw_create(f)
   return function(...)
      return or_raise(carry_on(co, raw_resume(co, ...)))
   end
end

local function log(level, text)
   api.log(box, level, text, #text)
end

local FATAL, ALERT, DEBUG = 0, 1, 5

-- Rests, and lets the others run meanwhile.
local function sleep(seconds)
   api.sleep(box, seconds)
   wait()
end

local STATUS = { done = 0, rows = 1, prepared = 2, failed = 3, lost = 4, linked = 5, refused = 6, go_on = 7, stop = 8 }

-- The table that the parts share.
local N = {
   box = box, api = api, query = query, execute = execute, wait = wait, sleep = sleep, log = log, ffi = raw_ffi, STATUS = STATUS,
   FATAL = FATAL, ALERT = ALERT, DEBUG = DEBUG,
}

-- What scripts reach of C. Names that sysbench exports to them are functions here.
local real = raw_ffi.C
local exported = {
   SB_CNT_OTHER = 0, SB_CNT_READ = 1, SB_CNT_WRITE = 2, SB_CNT_TRX = 3, SB_CNT_ERROR = 4, SB_CNT_RECONNECT = 5,
   sb_counter_inc = function(_, counter)
      api.count(box, tonumber(counter), 0)
   end,
   sb_event_start = function() end,
   sb_event_stop = function()
      N.completed = true
   end,
   sb_more_events = function()
      return N.more_events()
   end,
   sb_rand_uniform_uint64 = function() return api.rand_bits(box) end,
   sb_rand_uniform_double = function() return api.rand_fraction(box) end,
   sb_rand_default = function(a, b) return api.rand_default(box, a, b) end,
   sb_rand_uniform = function(a, b) return api.rand_uniform(box, a, b) end,
   sb_rand_gaussian = function(a, b) return api.rand_gaussian(box, a, b) end,
   sb_rand_special = function(a, b) return api.rand_special(box, a, b) end,
   sb_rand_pareto = function(a, b) return api.rand_pareto(box, a, b) end,
   sb_rand_unique = function() return api.rand_unique(box) end,
   sb_rand_str = function(format, buffer)
      local text = type(format) == "string" and format or raw_ffi.string(format)
      raw_ffi.copy(buffer, text, #text)
      api.rand_fill(box, buffer, #text)
   end,
   usleep = function(microseconds)
      sleep(tonumber(microseconds) / 1e6)
      return 0
   end,
   sleep = function(seconds)
      sleep(tonumber(seconds))
      return 0
   end,
}
raw_ffi.C = setmetatable({}, {
   __index = function(_, name)
      local own = exported[name]
      if own ~= nil then
         return own
      end
      return real[name]
   end,
   __newindex = function(_, name, value)
      real[name] = value
   end,
})
ffi = raw_ffi

-- Scripts like to rest by the shell's command: that needs no shell.
local execute = os.execute
function os.execute(command)
   local seconds = type(command) == "string" and command:match("^%s*sleep%s+(%d+%.?%d*)%s*$")
   if seconds then
      sleep(tonumber(seconds))
      return 0
   end
   return execute(command)
end

local api_event, rand_bits, GO_ON = api.event, api.rand_bits, STATUS.go_on

-- More events, or no more?
function N.more_events()
   -- Where the script has a loop of its own, this was asked for it before.
   local asked = N.asked
   if asked ~= nil then
      N.asked = nil
      return asked
   end
   local completed = N.completed or false
   N.completed = false
   -- sysbench draws the place of a latency in its histogram from the numbers of the thread: so that the next ones are the same.
   if completed and sysbench.opt.percentile > 0 then
      rand_bits(box)
   end
   api_event(box, completed)
   return wait() == GO_ON
end

return N
