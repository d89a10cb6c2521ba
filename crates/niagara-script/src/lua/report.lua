-- sysbench.hooks, and the reports that scripts may put there.

sysbench.hooks = {}

-- What is printed of a report: each rate is of the interval.
local function rates(stat)
   local time = stat.time_interval
   local queries = stat.reads + stat.writes + stat.other
   return stat.events / time, queries / time, stat.reads / time, stat.writes / time, stat.other / time,
      stat.latency_pct * 1000, stat.errors / time, stat.reconnects / time
end

function sysbench.report_default(stat)
   local tps, qps, reads, writes, other, latency, errors, reconnects = rates(stat)
   print(("[ %.0fs ] thds: %u tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) lat (ms,%u%%): %4.2f err/s %4.2f reconn/s: %4.2f")
      :format(stat.time_total, stat.threads_running, tps, qps, reads, writes, other, sysbench.opt.percentile,
         latency, errors, reconnects))
end

function sysbench.report_csv(stat)
   print(("%.0f,%u,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f")
      :format(stat.time_total, stat.threads_running, rates(stat)))
end

-- The list is closed when the interpreter is.
local list

function sysbench.report_json(stat)
   if list then
      io.write(",\n")
   else
      io.write("[\n")
      list = newproxy(true)
      getmetatable(list).__gc = function() io.write("\n]\n") end
   end
   local tps, qps, reads, writes, other, latency, errors, reconnects = rates(stat)
   local function line(indent, name, value, last)
      return ('%s"%s": %s%s\n'):format((" "):rep(indent), name, value, last and "" or ",")
   end
   local function number(value)
      return ("%4.2f"):format(value)
   end
   io.write("  {\n",
      line(4, "time", ("%4.0f"):format(stat.time_total)),
      line(4, "threads", ("%u"):format(stat.threads_running)),
      line(4, "tps", number(tps)),
      '    "qps": {\n',
      line(6, "total", number(qps)),
      line(6, "reads", number(reads)),
      line(6, "writes", number(writes)),
      line(6, "other", number(other), true),
      "    },\n",
      line(4, "latency", number(latency)),
      line(4, "errors", number(errors)),
      line(4, "reconnects", number(reconnects), true),
      "  }")
end
