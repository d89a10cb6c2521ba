-- sysbench.cmdline: the options and commands that a script says it has.

local N = ...
local api, box = N.api, N.box
local cmdline = sysbench.cmdline

local KINDS = { "NULL", "BOOL", "INT", "SIZE", "DOUBLE", "STRING", "LIST", "FILE", "MAX" }
for number, name in ipairs(KINDS) do
   cmdline["ARG_" .. name] = number - 1
end
cmdline.PARALLEL_COMMAND = true

local KIND_OF = {
   boolean = cmdline.ARG_BOOL, string = cmdline.ARG_STRING, number = cmdline.ARG_DOUBLE, table = cmdline.ARG_LIST,
}

-- A default as text.
local function as_text(value)
   if type(value) == "table" then
      return table.concat(value, ",")
   elseif type(value) == "boolean" then
      return value and "on" or "off"
   elseif value ~= nil then
      return tostring(value)
   end
end

-- One field after the other, of what is known about the script.
local function say(...)
   for place = 1, select("#", ...) do
      local text = tostring((select(place, ...)))
      api.say(box, text, #text)
   end
end

-- Says which options there are.
function cmdline.read_cmdline_options()
   local options = cmdline.options
   if options == nil then
      return true
   end
   assert(type(options) == "table", "wrong type for sysbench.cmdline.options: " .. type(options))
   local names = {}
   for name, option in pairs(options) do
      if type(name) ~= "string" or type(option) ~= "table" then
         error("wrong table structure in sysbench.cmdline.options")
      end
      names[#names + 1] = name
   end
   table.sort(names)
   say("options", #names)
   for _, name in ipairs(names) do
      local help, default, kind = unpack(options[name], 1, 3)
      assert(help ~= nil, "nil description for option " .. name)
      if kind == nil then
         kind = default == nil and cmdline.ARG_STRING or KIND_OF[type(default)]
      end
      assert(kind ~= nil, "cannot determine type for option " .. name)
      local text = as_text(default)
      say("option", name, help, kind, text == nil and "-" or "+", text or "")
   end
   return true
end

function cmdline.command_defined(name)
   local commands = cmdline.commands
   return type(commands) == "table" and type(commands[name]) == "table" and commands[name][1] ~= nil
end

function cmdline.command_parallel(name)
   return cmdline.command_defined(name) and cmdline.commands[name][2] == cmdline.PARALLEL_COMMAND
end

function cmdline.call_command(name)
   if not cmdline.command_defined(name) then
      return false
   end
   local result = cmdline.commands[name][1]()
   return result == nil or (result and true or false)
end

function cmdline.print_test_options()
   io.write(N.options_text or "", "\n")
end

-- Says what the script brings.
function N.describe()
   for _, name in ipairs { "init", "prepare", "cleanup", "help", "event", "thread_run", "done" } do
      if type(_G[name]) == "function" then
         say("function", name)
      end
   end
   if type(cmdline.commands) == "table" then
      local names = {}
      for name in pairs(cmdline.commands) do
         if type(name) == "string" and cmdline.command_defined(name) then
            names[#names + 1] = name
         end
      end
      table.sort(names)
      for _, name in ipairs(names) do
         say("command", name, cmdline.command_parallel(name) and "+" or "-")
      end
   end
   for _, name in ipairs { "report_intermediate", "report_cumulative" } do
      if type(sysbench.hooks[name]) == "function" then
         say("hook", name)
      end
   end
end
