-- sysbench.rand: numbers and texts that are drawn.

local N = ...
local api, box, ffi = N.api, N.box, N.ffi

sysbench.rand = {}

function sysbench.rand.uniform_uint64()
   return api.rand_bits(box)
end

function sysbench.rand.uniform_double()
   return api.rand_fraction(box)
end

function sysbench.rand.default(a, b)
   return api.rand_default(box, a, b)
end

function sysbench.rand.uniform(a, b)
   return api.rand_uniform(box, a, b)
end

function sysbench.rand.gaussian(a, b)
   return api.rand_gaussian(box, a, b)
end

function sysbench.rand.special(a, b)
   return api.rand_special(box, a, b)
end

function sysbench.rand.pareto(a, b)
   return api.rand_pareto(box, a, b)
end

function sysbench.rand.unique()
   return api.rand_unique(box)
end

-- Texts are made in one place, which grows.
local room, buffer = 256, ffi.new("char[256]")

function sysbench.rand.string(format)
   local length = #format
   if length > room then
      room = length
      buffer = ffi.new("char[?]", room)
   end
   ffi.copy(buffer, format, length)
   api.rand_fill(box, buffer, length)
   return ffi.string(buffer, length)
end
