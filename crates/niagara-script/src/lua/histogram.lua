-- sysbench.histogram: how often values fall between bounds, on a logarithmic scale.

local N = ...
local api, box, ffi = N.api, N.box, N.ffi

sysbench.histogram = {}

local methods = {}

function methods:update(value)
   -- As sysbench does: see `more_events`.
   api.rand_bits(box)
   api.histogram_update(self.counts, value)
end

function methods:print()
   api.histogram_print(box, self.counts)
end

local metatable = {
   __index = methods,
   __tostring = function() return "<sb_histogram>" end,
}

function sysbench.histogram.new(size, least, most)
   local counts = api.histogram_new(size, least, most)
   if counts == nil then
      error("a histogram has two buckets or more, between two bounds above zero", 2)
   end
   return setmetatable({ counts = ffi.gc(counts, api.histogram_delete) }, metatable)
end
