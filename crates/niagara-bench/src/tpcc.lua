-- TPC-C for sysbench, written from the specification's clauses 2.4 to 2.8 and 4.3.3: every statement as text, every row
-- of an order and every district of a delivery by statements of its own, which is how loads of this kind are written for
-- sysbench. Tables are those that Niagara makes, so that both can load the same server.

sysbench.cmdline.options = { warehouses = { "Warehouses", 5 } }

local DISTRICTS, CUSTOMERS, ITEMS, DELIVERED = 10, 3000, 100000, 2100
local SYLLABLES = { "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING" }
local BEFORE = "2009-04-22 08:00:00"
local LETTERS = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@"
local random = sysbench.rand.uniform

local function nurand(a, c, x, y)
  return (bit.bor(random(0, a), random(x, y)) + c) % (y - x + 1) + x
end

local function last_name(number)
  return SYLLABLES[math.floor(number / 100) + 1] .. SYLLABLES[math.floor(number / 10) % 10 + 1] .. SYLLABLES[number % 10 + 1]
end

local function letters(count)
  local text = ""
  while #text < count do
    text = text .. sysbench.rand.string(LETTERS:sub(1, math.min(#LETTERS, count - #text)))
  end
  return text
end

local function between(fewest, most) return letters(random(fewest, most)) end

local function address()
  return string.format("'%s','%s','%s','%s','%s'", between(10, 20), between(10, 20), between(10, 20), letters(2),
    sysbench.rand.string("####11111"))
end

local function data()
  local text = between(26, 50)
  if random(1, 10) == 1 then text = "ORIGINAL" .. text:sub(9) end
  return text
end

function thread_init()
  con = sysbench.sql.driver():connect()
  load_c, run_c = 100, 173
end

function thread_done() con:disconnect() end

-- Loading: items by the first thread, each warehouse by one thread.

local function insert(head, count, row)
  con:bulk_insert_init(head)
  for number = 1, count do con:bulk_insert_next(row(number)) end
  con:bulk_insert_done()
end

local function load_warehouse(w)
  con:query(string.format("INSERT INTO warehouse VALUES (%d,'%s',%s,%.4f,300000.00)", w, between(6, 10), address(),
    random(0, 2000) / 10000))
  insert("INSERT INTO stock VALUES", ITEMS, function(i)
    local info = {}
    for d = 1, DISTRICTS do info[d] = letters(24) end
    return string.format("(%d,%d,%d,'%s',0,0,0,'%s')", i, w, random(10, 100), table.concat(info, "','"), data())
  end)
  for d = 1, DISTRICTS do
    con:query(string.format("INSERT INTO district VALUES (%d,%d,'%s',%s,%.4f,30000.00,3001)", d, w, between(6, 10),
      address(), random(0, 2000) / 10000))
    insert("INSERT INTO customer VALUES", CUSTOMERS, function(c)
      local name = c <= 1000 and c - 1 or nurand(255, load_c, 0, 999)
      return string.format("(%d,%d,%d,'%s','OE','%s',%s,'%s','%s','%s',50000.00,%.4f,-10.00,10.00,1,0,'%s')", c, d, w,
        between(8, 16), last_name(name), address(), sysbench.rand.string("################"), BEFORE,
        random(1, 10) == 1 and "BC" or "GC", random(0, 5000) / 10000, between(300, 500))
    end)
    insert("INSERT INTO history VALUES", CUSTOMERS, function(c)
      return string.format("(%d,%d,%d,%d,%d,'%s',10.00,'%s')", c, d, w, d, w, BEFORE, between(12, 24))
    end)
    local of, counts = {}, {}
    for c = 1, CUSTOMERS do of[c] = c end
    for c = CUSTOMERS, 2, -1 do
      local other = random(1, c)
      of[c], of[other] = of[other], of[c]
    end
    insert("INSERT INTO orders VALUES", CUSTOMERS, function(o)
      counts[o] = random(5, 15)
      local carrier = o <= DELIVERED and tostring(random(1, 10)) or "NULL"
      return string.format("(%d,%d,%d,%d,'%s',%s,%d,1)", o, d, w, of[o], BEFORE, carrier, counts[o])
    end)
    insert("INSERT INTO new_order VALUES", CUSTOMERS - DELIVERED, function(n)
      return string.format("(%d,%d,%d)", n + DELIVERED, d, w)
    end)
    con:bulk_insert_init("INSERT INTO order_line VALUES")
    for o = 1, CUSTOMERS do
      for line = 1, counts[o] do
        local delivered = o <= DELIVERED and "'" .. BEFORE .. "',5,0.00" or
            string.format("NULL,5,%.2f", random(1, 999999) / 100)
        con:bulk_insert_next(string.format("(%d,%d,%d,%d,%d,%d,%s,'%s')", o, d, w, line, random(1, ITEMS), w, delivered,
          letters(24)))
      end
    end
    con:bulk_insert_done()
  end
end

local function load()
  thread_init()
  con:query("SET unique_checks = 0")
  con:query("SET foreign_key_checks = 0")
  if sysbench.tid == 0 then
    insert("INSERT INTO item VALUES", ITEMS, function(i)
      return string.format("(%d,%d,'%s',%.2f,'%s')", i, random(1, 10000), between(14, 24), random(100, 10000) / 100, data())
    end)
  end
  for w = sysbench.tid + 1, sysbench.opt.warehouses, sysbench.opt.threads do load_warehouse(w) end
end

sysbench.cmdline.commands = { prepare = { load, sysbench.cmdline.PARALLEL_COMMAND } }

-- Running.

local function query(...) return con:query(string.format(...)) end

local function row(...)
  local result = query(...)
  if result.nrows == 0 then return nil end
  return unpack(result:fetch_row(), 1, result.nfields)
end

local function customer_of(w, d)
  if random(1, 100) > 60 then return nurand(1023, 259, 1, CUSTOMERS) end
  local result = query("SELECT c_id FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_last = '%s' ORDER BY c_first",
    w, d, last_name(nurand(255, run_c, 0, 999)))
  local found
  for _ = 1, math.ceil(result.nrows / 2) do found = result:fetch_row()[1] end
  return tonumber(found)
end

local function new_order(w)
  local d, c, count = random(1, DISTRICTS), nurand(1023, 259, 1, CUSTOMERS), random(5, 15)
  local unused, lines, all_local = random(1, 100) == 1, {}, 1
  for line = 1, count do
    local from = w
    if random(1, 100) == 1 and sysbench.opt.warehouses > 1 then
      from = random(1, sysbench.opt.warehouses - 1)
      if from >= w then from = from + 1 end
      all_local = 0
    end
    lines[line] = { nurand(8191, 7911, 1, ITEMS), from, random(1, 10) }
  end
  if unused then lines[count][1] = ITEMS + 1 end
  con:query("BEGIN")
  row("SELECT w_tax, c_discount, c_last, c_credit FROM warehouse, customer WHERE w_id = %d AND c_w_id = w_id AND c_d_id = %d AND c_id = %d", w, d, c)
  local o = tonumber((row("SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = %d AND d_id = %d FOR UPDATE", w, d)))
  query("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = %d AND d_id = %d", w, d)
  query("INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (%d, %d, %d, %d, NOW(), %d, %d)", o, d, w, c, count, all_local)
  query("INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (%d, %d, %d)", o, d, w)
  for line = 1, count do
    local item, from, quantity = unpack(lines[line])
    local price = row("SELECT i_price, i_name, i_data FROM item WHERE i_id = %d", item)
    if not price then
      con:query("ROLLBACK")
      return
    end
    local left, info = row("SELECT s_quantity, s_dist_%02d, s_data FROM stock WHERE s_w_id = %d AND s_i_id = %d FOR UPDATE", d, from, item)
    left = tonumber(left) - quantity
    if left < 10 then left = left + 91 end
    query("UPDATE stock SET s_quantity = %d, s_ytd = s_ytd + %d, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + %d WHERE s_w_id = %d AND s_i_id = %d",
      left, quantity, from == w and 0 or 1, from, item)
    query("INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES (%d, %d, %d, %d, %d, %d, %d, %.2f, '%s')",
      o, d, w, line, item, from, quantity, tonumber(price) * quantity, info)
  end
  con:query("COMMIT")
end

local function payment(w)
  local d, amount = random(1, DISTRICTS), random(100, 500000) / 100
  local cw, cd = w, d
  if random(1, 100) <= 15 and sysbench.opt.warehouses > 1 then
    cw, cd = random(1, sysbench.opt.warehouses - 1), random(1, DISTRICTS)
    if cw >= w then cw = cw + 1 end
  end
  con:query("BEGIN")
  query("UPDATE warehouse SET w_ytd = w_ytd + %.2f WHERE w_id = %d", amount, w)
  local one = row("SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = %d", w)
  query("UPDATE district SET d_ytd = d_ytd + %.2f WHERE d_w_id = %d AND d_id = %d", amount, w, d)
  local other = row("SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = %d AND d_id = %d", w, d)
  local c = customer_of(cw, cd)
  local key = string.format("c_w_id = %d AND c_d_id = %d AND c_id = %d", cw, cd, c)
  local credit = row("SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit_lim, c_discount, c_balance FROM customer WHERE %s FOR UPDATE", key)
  local note = ""
  if credit == "BC" then
    row("SELECT c_data FROM customer WHERE %s", key)
    note = string.format(", c_data = LEFT(CONCAT('%d %d %d %d %d %.2f|', c_data), 500)", c, cd, cw, d, w, amount)
  end
  query("UPDATE customer SET c_balance = c_balance - %.2f, c_ytd_payment = c_ytd_payment + %.2f, c_payment_cnt = c_payment_cnt + 1%s WHERE %s", amount, amount, note, key)
  query("INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (%d, %d, %d, %d, %d, NOW(), %.2f, '%s    %s')", c, cd, cw, d, w, amount, one, other)
  con:query("COMMIT")
end

local function order_status(w)
  local d = random(1, DISTRICTS)
  con:query("BEGIN")
  local c = customer_of(w, d)
  row("SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", w, d, c)
  local o = tonumber((row("SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_c_id = %d ORDER BY o_id DESC LIMIT 1", w, d, c)))
  local lines = query("SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d", w, d, o)
  for _ = 1, lines.nrows do lines:fetch_row() end
  con:query("COMMIT")
end

local function delivery(w)
  local carrier = random(1, 10)
  con:query("BEGIN")
  for d = 1, DISTRICTS do
    local o = row("SELECT no_o_id FROM new_order WHERE no_w_id = %d AND no_d_id = %d ORDER BY no_o_id LIMIT 1 FOR UPDATE", w, d)
    if o then
      o = tonumber(o)
      query("DELETE FROM new_order WHERE no_w_id = %d AND no_d_id = %d AND no_o_id = %d", w, d, o)
      local c = tonumber((row("SELECT o_c_id FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d", w, d, o)))
      query("UPDATE orders SET o_carrier_id = %d WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d", carrier, w, d, o)
      query("UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d", w, d, o)
      local sum = row("SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d", w, d, o)
      query("UPDATE customer SET c_balance = c_balance + %s, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", sum, w, d, c)
    end
  end
  con:query("COMMIT")
end

local function stock_level(w)
  local d, threshold = random(1, DISTRICTS), random(10, 20)
  con:query("BEGIN")
  local o = tonumber((row("SELECT d_next_o_id FROM district WHERE d_w_id = %d AND d_id = %d", w, d)))
  row("SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id < %d AND ol_o_id >= %d AND s_w_id = ol_w_id AND s_i_id = ol_i_id AND s_quantity < %d", w, d, o, o - 20, threshold)
  con:query("COMMIT")
end

function event()
  local w, card = sysbench.tid % sysbench.opt.warehouses + 1, random(1, 100)
  if card <= 45 then
    new_order(w)
  elseif card <= 88 then
    payment(w)
  elseif card <= 92 then
    order_status(w)
  elseif card <= 96 then
    delivery(w)
  else
    stock_level(w)
  end
end

-- A transaction that met a deadlock, or waited too long for a lock, begins again from nothing.
function sysbench.hooks.before_restart_event() con:query("ROLLBACK") end
