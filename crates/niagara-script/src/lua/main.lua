-- What an interpreter does, task after task: the load generator says which.

local N, S = ...
local api, box, ffi, STATUS = N.api, N.box, N.ffi, N.STATUS

N.driver, N.place, N.as_text = S.driver, S.place, S.as_text

function N.ignores(code)
   return S.ignored == true or S.ignored[code] or false
end

-- Standard output is C's; lines leave it when they are complete, among what the program itself prints.
if S.mute then
   local nowhere = assert(io.open("/dev/null", "w"))
   function print() end
   function N.log() end
   io.output(nowhere)
   io.stdout, io.stderr = nowhere, nowhere
elseif S.quiet then
   function print(...)
      local texts = {}
      for place = 1, select("#", ...) do
         texts[place] = tostring((select(place, ...)))
      end
      io.stderr:write(table.concat(texts, "\t"), "\n")
   end
   io.output(io.stderr)
else
   io.stdout:setvbuf("line")
end

-- Modules -----------------------------------------------------------------------------------------------------------

package.path, package.cpath = S.path, S.cpath

-- Texts of files that were read, until the script is known.
local read = {}

-- The text of a file: one that came with the script, or one that is here. It is remembered what was read.
local function text_of(path)
   if not api.read_file(box, path, #path) then
      return nil
   end
   local text = ffi.string(box.message, box.message_len)
   if read then
      read[#read + 1] = text
   end
   return text
end

-- A first line for the shell is none of Lua's.
local function load_text(text, name)
   return loadstring((text:gsub("^#[^\n]*", "")), name)
end

-- The text and the file of a module on a path, or nil and where it was looked for.
local function find_on(path, name)
   local tried = {}
   for pattern in path:gmatch("[^;]+") do
      local file = pattern:gsub("%?", (name:gsub("%.", "/")))
      local text = text_of(file)
      if text then
         return text, file
      end
      tried[#tried + 1] = ("\n\tno file '%s'"):format(file)
   end
   return nil, table.concat(tried)
end

-- The text of a module and what it is called, or nil and where it was looked for. What sysbench ships, and a workload requires, is
-- Niagara's own as far as there is any: on every machine the same.
local function find_module(name)
   local text, where = find_on(package.path, name)
   if text then
      return text, where, "@" .. where
   end
   local own = text_of("niagara:" .. name)
   if own then
      return own, name .. ".lua", "=" .. name .. ".lua"
   end
   local shipped, file = find_on(S.shipped, name)
   if shipped then
      return shipped, file, "@" .. file
   end
   return nil, where
end

-- As in the standard library, from what came with the script where it did.
table.insert(package.loaders, 2, function(name)
   local text, where, called = find_module(name)
   if not text then
      return where
   end
   local chunk, problem = load_text(text, called)
   return chunk or error(("error loading module '%s' from file '%s':\n\t%s"):format(name, where, problem), 0)
end)
table.remove(package.loaders, 3)

local raw_loadfile = loadfile
function loadfile(path)
   local text = path and text_of(path)
   if not text then
      return raw_loadfile(path)
   end
   return load_text(text, "@" .. path)
end

function dofile(path)
   local chunk, problem = loadfile(path)
   if not chunk then
      error(problem, 0)
   end
   return chunk()
end

-- Files that are only read when a function of the script is called: their texts, too, are known by then.
local function read_ahead()
   local seen = {}
   local function find_once(find, name)
      if not seen[name] then
         seen[name] = true
         find(name)
      end
   end
   if S.text then
      read[#read + 1] = S.text
   end
   local place = 1
   while read[place] do
      local text = read[place]
      for _, name in text:gmatch("require%s*%(?%s*([\"'])([%w_./-]+)%1") do
         find_once(find_module, name)
      end
      for _, reader in ipairs { "dofile", "loadfile" } do
         for _, path in text:gmatch(reader .. "%s*%(?%s*([\"'])([^\"'\n]+)%1") do
            find_once(text_of, path)
         end
      end
      place = place + 1
   end
   read = nil
end

-- What the user tells LuaJIT's compiler.
if S.luajit ~= "" then
   local control = jit[S.luajit]
   if type(control) ~= "function" then
      error(("--luajit-cmd=%s: LuaJIT's compiler knows on, off and flush"):format(S.luajit), 0)
   end
   control()
end

-- Tasks -------------------------------------------------------------------------------------------------------------

local tasks = {}

-- Raises an error as it is, for the one who failed.
local function load_script()
   local chunk, problem
   if S.text then
      chunk, problem = load_text(S.text, S.chunk_name)
      if not chunk then
         error(problem, 0)
      end
      chunk()
   else
      require(S.script_path)
   end
end

function tasks.load()
   load_script()
end

tasks["sysbench.cmdline.read_cmdline_options"] = function()
   assert(sysbench.cmdline.read_cmdline_options())
   N.describe()
   read_ahead()
end

-- Options reach the script's table, and variables where it names none of its own.
function tasks.options(values)
   read = nil
   sysbench.opt = values.options
   N.options_text = values.text
   if values.global then
      for name, value in pairs(values.options) do
         if type(_G[name]) ~= "function" then
            _G[name] = value
         end
      end
   end
end

local function call(name, ...)
   local f = _G[name]
   if f ~= nil then
      return f(...)
   end
end

function tasks.init() call("init") end
function tasks.done() call("done") end
function tasks.prepare() call("prepare") end
function tasks.cleanup() call("cleanup") end
function tasks.help() call("help") end
function tasks.thread_init() call("thread_init", sysbench.tid) end
function tasks.thread_done() call("thread_done", sysbench.tid) end

-- One event after the other; one that an error has broken off that is put up with begins again.
function thread_run(id)
   while N.more_events() do
      local ok, outcome
      repeat
         ok, outcome = pcall(event, id)
         if not ok then
            if type(outcome) == "table" and outcome.errcode == sysbench.error.RESTART_EVENT then
               local hook = sysbench.hooks.before_restart_event
               if hook then
                  hook(outcome)
               end
            else
               error(outcome, 0)
            end
         end
      until ok
      if outcome then
         break
      end
      N.completed = true
   end
end

local usual_run = thread_run

function tasks.thread_run()
   -- One of the script's own begins when all threads are there, whatever it does before its first event, or without any.
   if thread_run ~= usual_run then
      N.asked = N.more_events()
   end
   thread_run(sysbench.tid)
end

tasks["sysbench.cmdline.call_command"] = function(name)
   if not sysbench.cmdline.call_command(name) then
      error("the command has failed", 0)
   end
end

-- A report that fails does not end the load.
function tasks.hook(report)
   local hook = sysbench.hooks[report.name]
   if type(hook) == "function" then
      local ok, problem = pcall(hook, report.stat)
      if not ok then
         local words = type(problem) == "string" and problem or "(not a string)"
         api.fail(box, words, #words)
      end
   end
end

-- What fails here ends the interpreter, which tells where it stood.
while true do
   coroutine.yield()
   local text = ffi.string(box.message, box.message_len)
   local task, argument = assert(loadstring("return " .. text, "=task"))()
   tasks[task](argument)
   api.task(box)
end
