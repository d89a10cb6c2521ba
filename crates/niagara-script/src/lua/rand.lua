-- sysbench.rand: numbers and texts that are drawn.

local N = ...
local api, box, ffi = N.api, N.box, N.ffi

-- Looked up once: it is a search by name each time.
local rand_bits, rand_fraction, rand_default, rand_uniform, rand_gaussian, rand_special, rand_pareto, rand_unique, rand_fill =
   api.rand_bits, api.rand_fraction, api.rand_default, api.rand_uniform, api.rand_gaussian, api.rand_special, api.rand_pareto,
   api.rand_unique, api.rand_fill

sysbench.rand = {}

function sysbench.rand.uniform_uint64()
   return rand_bits(box)
end

function sysbench.rand.uniform_double()
   return rand_fraction(box)
end

function sysbench.rand.default(a, b)
   return rand_default(box, a, b)
end

function sysbench.rand.uniform(a, b)
   return rand_uniform(box, a, b)
end

function sysbench.rand.gaussian(a, b)
   return rand_gaussian(box, a, b)
end

function sysbench.rand.special(a, b)
   return rand_special(box, a, b)
end

function sysbench.rand.pareto(a, b)
   return rand_pareto(box, a, b)
end

function sysbench.rand.unique()
   return rand_unique(box)
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
   rand_fill(box, buffer, length)
   return ffi.string(buffer, length)
end
