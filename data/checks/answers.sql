-- What servers are compared by (data/checks/README.md tells what the directives mean).
-- Constants, rows and changes are drawn from a seed; every answer of one server is compared with the other's.

--@ tables tables everywhere
CREATE TABLE person (
  id INT NOT NULL PRIMARY KEY,
  code CHAR(10) CHARACTER SET latin1 COLLATE latin1_swedish_ci NOT NULL,
  name VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci,
  city VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  born DATE,
  seen DATETIME(6),
  slot TIME(3),
  salary DECIMAL(14,4),
  score DOUBLE,
  level TINYINT UNSIGNED NOT NULL,
  flags SET('red','green','blue','black'),
  state ENUM('new','open','held','closed'),
  raw VARBINARY(16),
  note VARCHAR(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci,
  doc VARCHAR(400) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  boss INT,
  UNIQUE KEY code (code), KEY name (name), KEY city (city, salary), KEY boss (boss), KEY born (born), KEY level (level, score)
);
CREATE TABLE orders (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  person INT NOT NULL,
  made DATETIME NOT NULL,
  amount DECIMAL(12,2) NOT NULL,
  quantity SMALLINT NOT NULL DEFAULT 1,
  item VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL,
  big BIGINT,
  KEY person (person, made), KEY item (item), KEY made (made)
);
CREATE TABLE word (
  id INT NOT NULL PRIMARY KEY,
  ci VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci,
  uca VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci,
  bin VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  old VARCHAR(40) CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci,
  KEY ci (ci), KEY uca (uca), KEY bin (bin)
);
CREATE TABLE sums (item VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY, total DECIMAL(20,2), pieces BIGINT, touched INT NOT NULL DEFAULT 0);
CREATE TABLE narrow (id INT NOT NULL PRIMARY KEY, tiny TINYINT, small SMALLINT UNSIGNED, price DECIMAL(5,2), word VARCHAR(5) CHARACTER SET utf8mb4, day DATE, kind ENUM('a','b'), must INT NOT NULL);

--@ fill 3000 people everywhere
INSERT INTO person VALUES ({row}, CONCAT('C', LPAD({row}, 6, '0')), {maybe 4 words 1 3}, {maybe 8 word}, {maybe 6 date}, {maybe 6 micros}, {maybe 10 time}, {maybe 5 cents -100000 99999900}, {maybe 5 eighth -8000 80000}, {int 0 255}, {maybe 10 pick ''|'red'|'red,blue'|'green'|'red,green,blue,black'|'black'}, {maybe 10 pick 'new'|'open'|'held'|'closed'}, {maybe 10 hex 12}, {maybe 10 words 0 12}, {pick '{"a": 1, "b": [1, 2, 3]}'|'{"a": "x", "c": {"d": true}}'|'[1, "two", null, 3.5]'|'{"b": [], "a": null}'|'{"name": "日本", "n": 12}'|NULL}, {maybe 20 int 1 3000});

--@ fill 8000 orders everywhere
INSERT INTO orders (person, made, amount, quantity, item, big) VALUES ({int 1 3300}, {datetime}, {cents 1 500000}, {int -2 90}, {word}, {maybe 10 int -9000000000000 9000000000000});

--@ fill 400 words everywhere
INSERT INTO word VALUES ({row}, {word}, {word}, {word}, {pick 'apple'|'Äpfel'|'straße'|'łódź'|'日本'|'ёж'|'ωμέγα'|'café'});

--@ fill 200 narrow everywhere
INSERT INTO narrow VALUES ({row}, {int -128 127}, {int 0 65535}, {cents -99999 99999}, {pick 'a'|'bb'|'ééééé'|'日本'}, {maybe 20 date}, {maybe 20 pick 'a'|'b'}, {int 0 9});

--@ queries scans and filters everywhere
SELECT COUNT(*), COUNT(name), COUNT(city), COUNT(born), COUNT(salary) FROM person;
SELECT id, code, level FROM person WHERE id = {int 1 3000};
SELECT id, code, level FROM person WHERE id BETWEEN {int 1 1500} AND {int 1500 3000} AND level < 20;
SELECT id FROM person WHERE id IN ({int 1 3000}, {int 1 3000}, {int 1 3000}, 2999999) ORDER BY id DESC;
SELECT id, salary FROM person WHERE salary > {cents 1 90000000} AND city IS NOT NULL ORDER BY salary, id LIMIT 20;
SELECT id FROM person WHERE city IS NULL AND (born IS NULL OR born < '1980-01-01') ORDER BY id;
SELECT id FROM person WHERE NOT (level > 5 OR score <= 100) ORDER BY id;
SELECT id, level FROM person WHERE level <=> NULL OR state <=> NULL ORDER BY level, id LIMIT 50;
SELECT DISTINCT state FROM person ORDER BY state;
SELECT DISTINCT level DIV 32, level MOD 4 FROM person ORDER BY 1, 2;
SELECT id, born FROM person WHERE born >= '1990-01-01' AND born < '1990-07-01' ORDER BY born DESC, id LIMIT 15, 10;
SELECT id FROM orders WHERE made BETWEEN '2000-01-01' AND '2000-12-31 23:59:59' AND quantity > 50 ORDER BY made, id;
SELECT id, big FROM orders WHERE big > {int 0 8999999999999} ORDER BY big LIMIT 25;
SELECT MIN(id), MAX(id), MIN(born), MAX(born), MIN(salary), MAX(salary), MIN(level), MAX(level) FROM person;
SELECT MIN(made), MAX(made) FROM orders WHERE person = {int 1 3000};
SELECT id FROM person WHERE (level, state) IN ((1, 'new'), (2, 'open'), (3, 'held')) ORDER BY id;
SELECT id FROM person WHERE level = {int 0 255} UNION SELECT id FROM person WHERE level = {int 0 255} ORDER BY id;
SELECT state FROM person WHERE level < 3 UNION ALL SELECT state FROM person WHERE level > 252 ORDER BY state;
SELECT COUNT(*) FROM person WHERE level IN (SELECT quantity FROM orders WHERE amount > 4000);

--@ queries aggregates everywhere
SELECT state, COUNT(*), MIN(level), MAX(level), SUM(level), BIT_OR(level), BIT_AND(level), BIT_XOR(level) FROM person GROUP BY state ORDER BY state;
SELECT state, SUM(salary), COUNT(DISTINCT city), COUNT(DISTINCT level) FROM person GROUP BY state ORDER BY state;
SELECT level DIV 16 AS l, SUM(score) FROM person GROUP BY level DIV 16 ORDER BY l;
SELECT YEAR(made) AS y, MONTH(made) AS m, COUNT(*), SUM(amount), SUM(amount * quantity) FROM orders GROUP BY YEAR(made), MONTH(made) ORDER BY y, m;
SELECT item, COUNT(*) AS n FROM orders GROUP BY item HAVING n > 40 ORDER BY n DESC, item COLLATE utf8mb4_bin;
SELECT person, SUM(amount) AS total FROM orders GROUP BY person ORDER BY total DESC, person LIMIT 30;
SELECT state, flags, COUNT(*) FROM person GROUP BY state, flags ORDER BY state, flags;
SELECT COUNT(*), SUM(n), MAX(n) FROM (SELECT person, COUNT(*) AS n FROM orders GROUP BY person) x;
SELECT SUM(amount), AVG(amount), SUM(quantity), AVG(quantity) FROM orders;
SELECT AVG(salary), AVG(level), SUM(salary * level) FROM person WHERE level > {int 0 200};
SELECT COUNT(*), SUM(level), MIN(level), AVG(level), GROUP_CONCAT(level) FROM person WHERE id > 900000;
SELECT state, GROUP_CONCAT(id ORDER BY id DESC SEPARATOR '-') FROM person WHERE id < 60 GROUP BY state ORDER BY state;
SELECT GROUP_CONCAT(DISTINCT level ORDER BY level) FROM person WHERE id < 200;
SELECT BIT_COUNT(level), COUNT(*) FROM person GROUP BY BIT_COUNT(level) ORDER BY 1;
SELECT COUNT(DISTINCT person, quantity) FROM orders;
SELECT SUM(DISTINCT level), SUM(quantity > 10), SUM(IF(quantity % 2, amount, -amount)) FROM person, orders WHERE person.id = orders.person AND person.id < 300;

--@ queries rollup everywhere
SELECT state, SUM(salary), COUNT(*) FROM person GROUP BY state WITH ROLLUP;
SELECT state, level DIV 64 AS l, COUNT(*), SUM(level) FROM person GROUP BY state, level DIV 64 WITH ROLLUP;
SELECT YEAR(made) DIV 10 AS d, QUARTER(made) AS q, SUM(amount), COUNT(*) FROM orders GROUP BY YEAR(made) DIV 10, QUARTER(made) WITH ROLLUP;
SELECT * FROM (SELECT state, COUNT(*) AS n FROM person GROUP BY state WITH ROLLUP) x ORDER BY n, state;

--@ queries statistics of floating point
SELECT ROUND(STD(score), 6), ROUND(VARIANCE(score), 4), ROUND(STDDEV_SAMP(score), 6), ROUND(VAR_SAMP(score), 4) FROM person;
SELECT state, AVG(score), SUM(score), MIN(score), MAX(score) FROM person GROUP BY state ORDER BY state;
SELECT id, score / 3, score * 1e10, score / 0.7 FROM person WHERE id < 40 ORDER BY id;
SELECT SQRT(2), EXP(1), LN(10), LOG2(9), LOG10(5), POW(2, 0.5), SIN(1), COS(1), TAN(1), ATAN2(1, 3), PI();
SELECT ROUND(score, -1), ROUND(score, 2), TRUNCATE(score, 1), FLOOR(score), CEILING(score), SIGN(score) FROM person WHERE id < 60 ORDER BY id;
SELECT 0.1 + 0.2, 0.1e0 + 0.2e0, 1/3, 1e0/3, 1e308 * 0.1, 1e-320, CAST('1e3' AS DOUBLE), '3abc' + 0e0;

--@ queries joins everywhere
SELECT p.id, p.code, o.amount FROM person p JOIN orders o ON o.person = p.id WHERE p.id BETWEEN 100 AND 130 ORDER BY p.id, o.id;
SELECT p.id, COUNT(o.id) AS n, SUM(o.amount) FROM person p LEFT JOIN orders o ON o.person = p.id GROUP BY p.id HAVING n = 0 ORDER BY p.id LIMIT 40;
SELECT COUNT(*) FROM orders o LEFT JOIN person p ON p.id = o.person WHERE p.id IS NULL;
SELECT p.id, b.id, bb.id FROM person p JOIN person b ON b.id = p.boss LEFT JOIN person bb ON bb.id = b.boss WHERE p.level = {int 0 255} ORDER BY p.id;
SELECT COUNT(*), SUM(a.level), SUM(b.level) FROM person a JOIN person b ON a.city = b.city AND a.id < b.id WHERE a.level < 8;
SELECT COUNT(*) FROM person p RIGHT JOIN orders o ON p.id = o.person AND p.level > 128;
SELECT p.state, YEAR(o.made) AS y, SUM(o.amount) FROM person p, orders o WHERE p.id = o.person AND o.made >= '2020-01-01' GROUP BY p.state, YEAR(o.made) ORDER BY p.state, y;
SELECT COUNT(*) FROM word a JOIN word b ON a.ci = b.ci;
SELECT COUNT(*) FROM word a JOIN word b ON a.bin = b.bin JOIN word c ON c.bin = b.bin;
SELECT p.id, o.id FROM person p STRAIGHT_JOIN orders o ON o.person = p.id AND o.quantity = 7 WHERE p.level < 40 ORDER BY o.id;
SELECT COUNT(*) FROM person p NATURAL JOIN (SELECT id, level FROM person WHERE level > 100) q;
SELECT COUNT(*) FROM person JOIN orders USING (id);
SELECT a.id, b.id FROM narrow a JOIN narrow b ON a.tiny = b.tiny AND a.id < b.id ORDER BY a.id, b.id;
SELECT n.id, w.id FROM narrow n JOIN word w ON n.word = w.bin ORDER BY n.id, w.id LIMIT 60;

--@ queries subqueries everywhere
SELECT id, level FROM person p WHERE level = (SELECT MAX(level) FROM person q WHERE q.state = p.state) ORDER BY id;
SELECT id FROM person p WHERE EXISTS (SELECT 1 FROM orders o WHERE o.person = p.id AND o.amount > 4900) ORDER BY id;
SELECT COUNT(*) FROM person p WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.person = p.id);
SELECT id FROM person WHERE id NOT IN (SELECT person FROM orders) AND level > 200 ORDER BY id;
SELECT COUNT(*) FROM person WHERE boss NOT IN (SELECT boss FROM person WHERE level = 17);
SELECT id, (SELECT COUNT(*) FROM orders o WHERE o.person = p.id) AS n, (SELECT SUM(amount) FROM orders o WHERE o.person = p.id) AS s FROM person p WHERE id < 50 ORDER BY id;
SELECT COUNT(*) FROM person WHERE salary > ALL (SELECT salary FROM person WHERE level = 3 AND salary IS NOT NULL);
SELECT COUNT(*) FROM person WHERE level < ANY (SELECT level FROM person WHERE id < 10);
SELECT x.s, COUNT(*) FROM (SELECT state AS s, level FROM person WHERE level BETWEEN 10 AND 90) x GROUP BY x.s ORDER BY x.s;
SELECT id FROM person WHERE (state, level) = (SELECT state, level FROM person WHERE id = {int 1 3000}) ORDER BY id;
SELECT id FROM person WHERE city IN (SELECT bin FROM word WHERE id < 30) AND id IN (SELECT person FROM orders WHERE quantity > 80) ORDER BY id;
SELECT (SELECT 1 UNION SELECT 2);
SELECT id, (SELECT level FROM person q WHERE q.id = p.boss) FROM person p WHERE p.id BETWEEN {int 1 1000} AND {int 1000 1100} ORDER BY id;

--@ queries window functions everywhere
SELECT id, level, ROW_NUMBER() OVER (ORDER BY level, id) AS n, RANK() OVER (ORDER BY level) AS r, DENSE_RANK() OVER (ORDER BY level) AS d FROM person WHERE id < 200 ORDER BY id;
SELECT id, state, level, SUM(level) OVER (PARTITION BY state ORDER BY id) AS running FROM person WHERE id < 300 ORDER BY id;
SELECT id, LAG(level) OVER (ORDER BY id), LEAD(level, 2) OVER (ORDER BY id) FROM person WHERE id < 100 ORDER BY id;
SELECT id, NTILE(7) OVER (ORDER BY id), FIRST_VALUE(level) OVER (PARTITION BY state ORDER BY id), LAST_VALUE(level) OVER (PARTITION BY state ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM person WHERE id < 120 ORDER BY id;
SELECT id, SUM(amount) OVER (PARTITION BY person ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) FROM orders WHERE person < 80 ORDER BY id;
SELECT id, COUNT(*) OVER (PARTITION BY level), MAX(salary) OVER (PARTITION BY level) FROM person WHERE level < 12 ORDER BY id;
SELECT * FROM (SELECT id, person, ROW_NUMBER() OVER (PARTITION BY person ORDER BY amount DESC, id) AS n FROM orders) x WHERE n = 1 AND person < 60 ORDER BY person;

--@ queries common table expressions everywhere
WITH big AS (SELECT person, SUM(amount) AS total FROM orders GROUP BY person) SELECT COUNT(*), SUM(total) FROM big WHERE total > 10000;
WITH a AS (SELECT id, level FROM person WHERE level < 9), b AS (SELECT a.id, o.amount FROM a JOIN orders o ON o.person = a.id) SELECT id, SUM(amount) FROM b GROUP BY id ORDER BY id;
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT COUNT(*), SUM(i), SUM(i * i) FROM n;
WITH RECURSIVE up AS (SELECT id, boss, 0 AS depth FROM person WHERE id = {int 1 3000} UNION SELECT p.id, p.boss, up.depth + 1 FROM person p JOIN up ON p.id = up.boss WHERE up.depth < 12) SELECT id, boss, depth FROM up ORDER BY depth, id;
WITH RECURSIVE d AS (SELECT DATE '2024-02-25' AS day UNION ALL SELECT day + INTERVAL 1 DAY FROM d WHERE day < '2024-03-05') SELECT d.day, COUNT(o.id) FROM d LEFT JOIN orders o ON DATE(o.made) = d.day GROUP BY d.day ORDER BY d.day;
WITH RECURSIVE f AS (SELECT 0 AS a, 1 AS b UNION ALL SELECT b, a + b FROM f WHERE b < 100000) SELECT a FROM f;

--@ queries strings everywhere
SELECT id, UPPER(name), LOWER(name), CHAR_LENGTH(name), LENGTH(name), REVERSE(name) FROM person WHERE id < 150 ORDER BY id;
SELECT id, CONCAT(code, '/', city), CONCAT_WS('+', code, city, state), LEFT(name, 3), RIGHT(name, 3), SUBSTRING(name, 2, 4), MID(name, -3, 2) FROM person WHERE id < 150 ORDER BY id;
SELECT id, HEX(raw), HEX(name), LENGTH(raw), SHA2(note, 256), CRC32(note) FROM person WHERE id < 150 ORDER BY id;
SELECT id, TRIM(note), TRIM(LEADING 'a' FROM note), RTRIM(CONCAT(city, '  ')), LPAD(city, 6, 'é'), RPAD(city, 7, '日'), REPEAT(city, 2), SPACE(2) FROM person WHERE id < 100 ORDER BY id;
SELECT id, LOCATE('a', city), INSTR(city, 'e'), LOCATE('日', city), REPLACE(note, 'a', 'AA'), SUBSTRING_INDEX(note, ' ', 2), SUBSTRING_INDEX(note, ' ', -1) FROM person WHERE id < 150 ORDER BY id;
SELECT ASCII('é'), ORD('é'), CHAR(77, 121 USING utf8mb4), HEX(CHAR(256)), QUOTE('it''s \\ "x"'), SOUNDEX('Niagara'), ELT(2, 'a', 'b'), FIELD('b', 'a', 'b'), FIND_IN_SET('c', 'a,b,c'), MAKE_SET(5, 'x', 'y', 'z'), EXPORT_SET(5, 'Y', 'N', ',', 4), INSERT('falls', 2, 2, 'XX'), FORMAT(1234567.891, 2), BIN(10), OCT(64), CONV('ff', 16, 2), UNHEX('4D79'), TO_BASE64('Niagara'), FROM_BASE64('TmlhZ2FyYQ==');
SELECT id FROM person WHERE flags = 'red,blue' OR FIND_IN_SET('black', flags) ORDER BY id LIMIT 100;
SELECT flags + 0, state + 0, COUNT(*) FROM person GROUP BY flags + 0, state + 0 ORDER BY 1, 2;
SELECT STRCMP('a', 'b'), STRCMP('b', 'a'), STRCMP('straße', 'strasse' COLLATE utf8mb4_unicode_ci), 'a' = 'A', BINARY 'a' = 'A', 'a' = 'a ', 'abc' < 'abd', '10' < '9', '10' + 0 < '9' + 0;
SELECT GREATEST('b', 'a', 'c'), LEAST(3, 1, 2), GREATEST(1, NULL), COALESCE(NULL, NULL, 'x'), NULLIF(1, 1), IFNULL(NULL, 7), IF(NULL, 1, 2), CASE WHEN NULL THEN 1 ELSE 2 END, ISNULL(NULL);
SELECT COUNT(*) FROM person WHERE CHAR_LENGTH(note) <> LENGTH(note);
SELECT id, CAST(name AS BINARY) = name, CONVERT(city USING latin1), HEX(CONVERT(city USING utf16)), HEX(CONVERT(city USING ucs2)) FROM person WHERE id < 120 ORDER BY id;

--@ queries patterns everywhere
SELECT id, city FROM person WHERE city LIKE 'a%' ORDER BY id;
SELECT COUNT(*) FROM person WHERE name LIKE '%a%' AND name NOT LIKE '%e%';
SELECT id FROM word WHERE ci LIKE '_a%' OR uca LIKE '%\_%' OR bin LIKE '%\%%' ORDER BY id;
SELECT id FROM word WHERE uca LIKE 'stra%' ORDER BY id;
SELECT id FROM word WHERE bin LIKE '日%' OR bin LIKE '%本' ORDER BY id;
SELECT id FROM word WHERE ci LIKE 'x|%' ESCAPE '|' OR ci LIKE 'APPLE' ORDER BY id;
SELECT COUNT(*) FROM person WHERE code LIKE 'C0001%' AND code > 'C00015';

--@ queries regular expressions
SELECT id, ci FROM word WHERE ci REGEXP '^[aeiou]' ORDER BY id;
SELECT id, bin FROM word WHERE bin REGEXP '[0-9]+' ORDER BY id;
SELECT id FROM word WHERE uca REGEXP 'ss$|ß' ORDER BY id;
SELECT id FROM word WHERE bin RLIKE '^.{2}$' ORDER BY id;
SELECT id, REGEXP_REPLACE(note, '[aeiou]+', '<>'), REGEXP_SUBSTR(note, '[A-Z][a-z]+'), REGEXP_INSTR(note, 'o.') FROM person WHERE id < 150 ORDER BY id;
SELECT id, REGEXP_REPLACE(name, '([A-Za-z])([A-Za-z])', '\\2\\1') FROM person WHERE id < 150 ORDER BY id;
SELECT 'abc' REGEXP '(', 1;

--@ queries collations everywhere
SELECT ci COLLATE utf8mb4_bin, COUNT(*) FROM word GROUP BY ci COLLATE utf8mb4_bin ORDER BY 1;
SELECT MIN(bin), COUNT(*) FROM word GROUP BY bin ORDER BY bin;
SELECT COUNT(DISTINCT ci), COUNT(DISTINCT uca), COUNT(DISTINCT bin), COUNT(DISTINCT old) FROM word;
SELECT id, uca FROM word ORDER BY uca, id;
SELECT id, ci FROM word ORDER BY ci DESC, id;
SELECT id, old FROM word ORDER BY old, id LIMIT 100;
SELECT a.id, b.id FROM word a JOIN word b ON a.uca = b.uca AND a.id < b.id AND a.bin <> b.bin ORDER BY a.id, b.id LIMIT 200;
SELECT id FROM word WHERE uca = 'STRASSE' OR ci = 'cafe' ORDER BY id;
SELECT id FROM word WHERE uca > 'm' AND uca < 'p' ORDER BY uca, id;
SELECT 'é' = 'e' COLLATE utf8mb4_unicode_ci, 'é' = 'e' COLLATE utf8mb4_general_ci, 'é' = 'e' COLLATE utf8mb4_bin, 'ß' = 'ss' COLLATE utf8mb4_unicode_ci, 'ß' = 'ss' COLLATE utf8mb4_general_ci, 'Ω' = 'ω' COLLATE utf8mb4_unicode_ci;
SELECT HEX(WEIGHT_STRING('Straße' COLLATE utf8mb4_general_ci)), HEX(WEIGHT_STRING('aé' COLLATE utf8mb4_unicode_ci));

--@ queries decimals and integers everywhere
SELECT 10 DIV 3, 10 % 3, -10 DIV 3, -10 % 3, 10 / 4, 7.5 DIV 2, 7.5 % 2, 1.10 * 3, 1.1 + 2.22, 10.0 - 0.001, -5 MOD 3;
SELECT 99999999999999.99 * 99999999.99, 0.000000001 * 0.000000001, 1234567890123456789012345.678 + 0.001, 1.0 / 3.0, 100000.00 / 7;
SELECT ROUND(2.5), ROUND(-2.5), ROUND(1.005, 2), ROUND(123456.789, -3), TRUNCATE(-1.999, 2), FLOOR(-1.5), CEILING(-1.5), ABS(-7), SIGN(-3), MOD(29, 9);
SELECT CAST('12.345' AS DECIMAL(5,1)), CAST(1e3 AS SIGNED), CAST('-5' AS SIGNED), CAST(3.7 AS SIGNED), CAST('abc' AS SIGNED), CAST(18446744073709551615 AS UNSIGNED), CAST(-1 AS UNSIGNED);
SELECT 5 & 3, 5 | 3, 5 ^ 3, 1 << 40, 1 >> 1, ~0, ~5 & 255, BIT_COUNT(255), 18446744073709551615 & 1;
SELECT id, salary * 1.0725, salary / 3, salary % 7, ROUND(salary, 1), TRUNCATE(salary, 0), -salary, ABS(salary), FLOOR(salary), CEILING(salary), CAST(salary AS SIGNED), CAST(salary AS DECIMAL(10,1)) FROM person WHERE id < 200 ORDER BY id;
SELECT SUM(salary * 12.5) / COUNT(*), SUM(salary) * 0.19, SUM(ROUND(salary, 2)) FROM person;
SELECT id, big * 2, big DIV 7, big % 1000, -big, ABS(big), big / 1024 FROM orders WHERE id < 200 ORDER BY id;
SELECT 9223372036854775807 + 0, -9223372036854775808, 9223372036854775807 - 1, 18446744073709551615, 1 = 1.0, '1' = 1, '1abc' = 1, NULL = NULL, NULL <=> NULL, 1 IN (1, NULL), 2 IN (1, NULL), 2 NOT IN (1, NULL), TRUE AND NULL, FALSE AND NULL, TRUE OR NULL, NOT NULL, 1 XOR 1;
SELECT 9223372036854775807 + 1;
SELECT 18446744073709551615 + 1;
SELECT 0 - CAST(1 AS UNSIGNED);
SELECT 1 / 0, 1 % 0, 1 DIV 0, 5.5 / 0;
SELECT CRC32('Niagara'), INET_ATON('10.1.2.3'), INET_NTOA(167837955);
SELECT id, tiny * small, price * price, tiny / 7, small DIV 7, price % 3 FROM narrow ORDER BY id;

--@ queries dates and times everywhere
SELECT id, YEAR(born), MONTH(born), DAY(born), DAYOFWEEK(born), DAYOFYEAR(born), WEEK(born, 3), QUARTER(born), LAST_DAY(born), TO_DAYS(born) FROM person WHERE id < 200 ORDER BY id;
SELECT id, born + INTERVAL 1 MONTH, born - INTERVAL 1 YEAR, born + INTERVAL 37 DAY, DATE_ADD(seen, INTERVAL '1:30' MINUTE_SECOND), seen + INTERVAL 90 MINUTE, DATE_SUB(seen, INTERVAL 3 WEEK) FROM person WHERE id < 200 ORDER BY id;
SELECT id, DATEDIFF(seen, born), TIMESTAMPDIFF(MONTH, born, seen), TIMESTAMPDIFF(SECOND, '2000-01-01', seen), TIMEDIFF(slot, '01:02:03.5'), ADDTIME(slot, '10:00:00.25'), SUBTIME(slot, '00:00:01') FROM person WHERE id < 200 ORDER BY id;
SELECT id, DATE_FORMAT(seen, '%Y-%m-%d %H:%i:%s.%f %W %M %j %U %p %e'), TIME_FORMAT(slot, '%H %i %s %f'), HOUR(slot), MINUTE(slot), SECOND(slot), MICROSECOND(seen), FLOOR(TIME_TO_SEC(slot)), EXTRACT(YEAR_MONTH FROM seen) FROM person WHERE id < 200 ORDER BY id;
SELECT STR_TO_DATE('03,11,2021', '%d,%m,%Y'), MAKEDATE(2024, 60), MAKETIME(12, 15, 30), FROM_DAYS(738000), SEC_TO_TIME(3661), PERIOD_ADD(202311, 5), PERIOD_DIFF(202405, 202311), DATE('2024-02-29 10:11:12'), TIME('2024-02-29 10:11:12'), DAYNAME('2024-02-29'), MONTHNAME('2024-02-29'), WEEKDAY('2024-02-29'), YEARWEEK('2024-12-31', 3);
SELECT NOW(), CURDATE(), CURTIME(), UTC_TIMESTAMP(), UNIX_TIMESTAMP(), FROM_UNIXTIME(1234567890), FROM_UNIXTIME(1234567890.25), UNIX_TIMESTAMP('2001-09-09 01:46:40');
SELECT CONVERT_TZ('2024-06-01 12:00:00', '+00:00', '+05:30'), TIMESTAMP('2024-01-01', '10:00:00'), DATE '2024-02-29' + INTERVAL 1 YEAR, DATE '2024-01-31' + INTERVAL 1 MONTH, '2024-03-31' - INTERVAL 1 MONTH;
SELECT COUNT(*) FROM person WHERE born BETWEEN '1975-05-05' AND '1985-05-05' AND TIME(seen) > '12:00:00';
SELECT CAST('2024-02-30' AS DATE), CAST('10:61' AS TIME), STR_TO_DATE('99', '%m'), LAST_DAY('2023-02-00');
SELECT MIN(slot), MAX(slot), MIN(seen), MAX(seen), SEC_TO_TIME(SUM(HOUR(slot) * 3600 + MINUTE(slot) * 60 + SECOND(slot)) DIV 1000) FROM person;

--@ queries JSON everywhere
SELECT id, JSON_VALID(doc), JSON_TYPE(doc), JSON_LENGTH(doc), JSON_DEPTH(doc) FROM person WHERE id < 120 ORDER BY id;
SELECT id, JSON_EXTRACT(doc, '$.a'), JSON_UNQUOTE(JSON_EXTRACT(doc, '$.c.d')), JSON_EXTRACT(doc, '$.b[1]'), JSON_EXTRACT(doc, '$[1]') FROM person WHERE id < 120 ORDER BY id;
SELECT id FROM person WHERE JSON_EXTRACT(doc, '$.a') = 1 ORDER BY id LIMIT 50;
SELECT JSON_QUOTE('a"b'), JSON_VALID('{'), JSON_UNQUOTE('"x\\ty"'), JSON_LENGTH('[1, [2, 3]]'), JSON_DEPTH('[[[]]]');

--@ queries strings and JSON of one series
SELECT id, MD5(raw), SHA1(name) FROM person WHERE id < 150 ORDER BY id;
SELECT id, LOCATE('a', name), INSTR(note, 'e'), LOCATE('日', note), POSITION('ss' IN name), REPLACE(note, 'a', 'AA'), SUBSTRING_INDEX(note, ' ', 2), SUBSTRING_INDEX(note, ' ', -1) FROM person WHERE id < 150 ORDER BY id;
SELECT id, JSON_CONTAINS(doc, '1', '$.b'), JSON_CONTAINS_PATH(doc, 'one', '$.c', '$.n'), JSON_KEYS(doc) FROM person WHERE id < 120 ORDER BY id;
SELECT JSON_EXTRACT('{', '$.a');

--@ queries JSON that is written
SELECT id, JSON_SET(doc, '$.a', 5), JSON_INSERT(doc, '$.z', 'x'), JSON_REPLACE(doc, '$.a', JSON_ARRAY(1, 2)), JSON_REMOVE(doc, '$.a') FROM person WHERE id < 120 ORDER BY id;
SELECT JSON_OBJECT('a', 1, 'b', NULL, 'c', 'é'), JSON_ARRAY(1, 'x', NULL, TRUE), JSON_MERGE_PRESERVE('[1]', '{"a": 2}'), JSON_MERGE_PATCH('{"a": 1, "b": 2}', '{"b": null, "c": 3}'), JSON_ARRAY_APPEND('[1, [2]]', '$[1]', 3), JSON_SEARCH('["abc", "xbz"]', 'all', '%b%');
SELECT state, JSON_LENGTH(JSON_ARRAYAGG(level)), JSON_LENGTH(JSON_OBJECTAGG(id, level)) FROM person WHERE id < 40 GROUP BY state ORDER BY state;
SELECT level, JSON_ARRAYAGG(id) FROM person WHERE id = {int 1 3000} GROUP BY level;
SELECT j.* FROM JSON_TABLE('[{"a": 1, "b": "x"}, {"a": 2}, {"b": "z"}]', '$[*]' COLUMNS (n FOR ORDINALITY, a INT PATH '$.a' DEFAULT '9' ON EMPTY, b VARCHAR(9) PATH '$.b')) j;

--@ queries MariaDB's own only=mariadb
SELECT seq, seq * seq FROM seq_1_to_20;
SELECT id FROM person WHERE level = 3 EXCEPT SELECT person FROM orders ORDER BY id;
SELECT id FROM person WHERE level < 30 INTERSECT SELECT person FROM orders WHERE quantity > 70 ORDER BY id;
SELECT id, MEDIAN(level) OVER (PARTITION BY state) FROM person WHERE id < 100 ORDER BY id;
SELECT id, PERCENTILE_CONT(0.3) WITHIN GROUP (ORDER BY level) OVER (PARTITION BY state) FROM person WHERE id < 100 ORDER BY id;
SELECT JSON_DETAILED('{"a":[1,2]}'), JSON_COMPACT('{"a": [1, 2]}'), JSON_LOOSE('{"a":1}'), JSON_QUERY('{"a": {"b": 1}}', '$.a'), JSON_VALUE('{"a": {"b": 1}}', '$.a.b'), JSON_EXISTS('{"a": 1}', '$.a');
SELECT NATURAL_SORT_KEY('a10'), SFORMAT('{} of {}', 3, 7), TO_CHAR(DATE '2024-02-29', 'YYYY-MM-DD'), OCT(8), CHR(65), ADD_MONTHS('2024-01-31', 1), LENGTHB('é'), CRC32C('x');
VALUES (1, 2), (3, 4), (5, 6);
SELECT * FROM person FOR SYSTEM_TIME ALL LIMIT 1;
BEGIN NOT ATOMIC DECLARE i INT DEFAULT 0; DECLARE s INT DEFAULT 0; WHILE i < 50 DO SET i = i + 1, s = s + i * i; END WHILE; SELECT s; END;

--@ queries MySQL's own only=mysql
SELECT id FROM person WHERE level = 3 EXCEPT SELECT person FROM orders ORDER BY id;
SELECT id FROM person p, LATERAL (SELECT MAX(amount) AS m FROM orders o WHERE o.person = p.id) x WHERE x.m > 4900 ORDER BY id;
SELECT doc ->> '$.a', COUNT(*) FROM person GROUP BY doc ->> '$.a' ORDER BY 1;
SELECT JSON_PRETTY('{"a":[1,2]}'), JSON_STORAGE_SIZE('[1]'), 3 MEMBER OF ('[1, 3]'), JSON_OVERLAPS('[1, 2]', '[2]'), UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db') = x'6CCD780CBABA102695645B8C656024DB';
SELECT STATEMENT_DIGEST('SELECT 1'), GROUPING(state), COUNT(*) FROM person GROUP BY state WITH ROLLUP;
TABLE narrow ORDER BY id LIMIT 5;
SELECT REGEXP_REPLACE('two words', '(?w)\\b', '|'), 'a' REGEXP '\\N{LATIN SMALL LETTER A}', 'é' REGEXP '[[:alpha:]]';

--@ queries prepared statements and routines
PREPARE p FROM 'SELECT id, level FROM person WHERE level = ? AND id > ? ORDER BY id';
SET @l = {int 0 255}, @i = {int 0 1000};
EXECUTE p USING @l, @i;
DEALLOCATE PREPARE p;
EXECUTE p;
SET @a = 0;
SELECT @a := @a + level FROM person WHERE id < 20 ORDER BY id;
CREATE FUNCTION tax(x DECIMAL(14,4)) RETURNS DECIMAL(14,4) DETERMINISTIC NO SQL RETURN ROUND(x * 0.19, 2);
SELECT id, tax(salary) FROM person WHERE id < 100 ORDER BY id;
DROP FUNCTION tax;
CREATE PROCEDURE totals(IN lim INT, OUT n INT) BEGIN SELECT COUNT(*) INTO n FROM orders WHERE quantity > lim; SELECT lim, n; END;
CALL totals({int 0 80}, @n);
SELECT @n;
DROP PROCEDURE totals;
CREATE OR REPLACE VIEW rich AS SELECT id, code, salary FROM person WHERE salary > 500000 WITH CHECK OPTION;
SELECT COUNT(*), SUM(salary) FROM rich;
UPDATE rich SET salary = 3 WHERE id = (SELECT * FROM (SELECT MIN(id) FROM rich) x);
DROP VIEW rich;
CREATE TEMPORARY TABLE tmp AS SELECT level, COUNT(*) AS n FROM person GROUP BY level;
SELECT COUNT(*), SUM(n), MAX(n) FROM tmp;
DROP TEMPORARY TABLE tmp;

--@ queries what is refused everywhere
SELECT nothing FROM person;
SELECT * FROM nowhere;
SELEC 1;
SELECT id, COUNT(* FROM person;
INSERT INTO person (id) VALUES (1, 2);
SELECT (SELECT id FROM person WHERE id < 3);
SELECT id FROM person GROUP BY nothing;
SELECT NOSUCHFUNCTION(1);
CREATE TABLE person (id INT);
DROP TABLE nowhere;
INSERT INTO nowhere VALUES (1);
SELECT 1 UNION SELECT 1, 2;
ALTER TABLE narrow ADD COLUMN id INT;
CREATE INDEX city ON person (city);
SELECT a.id FROM person a JOIN person b ON a.id = b.id WHERE id = 1;
UPDATE person SET nothing = 1;
SELECT CONVERT('x' USING nocharset);
SELECT MAX(MAX(id)) FROM person;

--@ changes 700 changes everywhere
UPDATE person SET salary = salary * 1.03, level = (level + 7) % 256 WHERE id = {int 1 3000};
UPDATE person SET name = {words 1 3}, note = {maybe 10 words 1 9} WHERE id BETWEEN {int 1 2900} AND {int 1 2900} + 20 ORDER BY id LIMIT 5;
UPDATE person SET city = {word}, seen = {micros} WHERE level = {int 0 255};
UPDATE orders SET amount = amount + {cents -500 500}, quantity = quantity + 1 WHERE person = {int 1 3300};
UPDATE orders SET item = {word} WHERE id IN ({int 1 8000}, {int 1 8000}, {int 1 8000});
UPDATE person p JOIN orders o ON o.person = p.id SET p.score = 8 + p.level, o.big = p.id WHERE p.id = {int 1 3000};
DELETE FROM orders WHERE id = {int 1 8000};
DELETE FROM orders WHERE person = {int 1 3300} AND quantity > 60;
DELETE FROM orders WHERE made < '1960-01-01' ORDER BY made, id LIMIT 3;
DELETE o FROM orders o JOIN person p ON p.id = o.person WHERE p.id = {int 1 3000} AND o.amount < 1000;
DELETE FROM person WHERE id = {int 1 3000};
INSERT INTO orders (person, made, amount, quantity, item, big) VALUES ({int 1 3300}, {datetime}, {cents 1 500000}, {int -2 90}, {word}, {maybe 10 int -900 900}), ({int 1 3300}, {datetime}, {cents 1 500000}, {int -2 90}, {word}, NULL);
INSERT INTO person (id, code, name, level) VALUES ({int 2900 3600}, {pick 'N1'|'N2'|'N3'|'N4'|'N5'|'C000017'|'C002900'}, {word}, {int 0 255});
INSERT IGNORE INTO person (id, code, name, level) VALUES ({int 2900 3600}, {pick 'X1'|'X2'|'X3'|'C000018'}, {word}, {int 0 300});
REPLACE INTO person (id, code, name, level, state) VALUES ({int 1 3600}, {pick 'R1'|'R2'|'R3'|'R4'|'R5'|'R6'}, {word}, {int 0 255}, {pick 'new'|'open'});
INSERT INTO sums (item, total, pieces) VALUES ({word}, {cents 1 5000}, 1) ON DUPLICATE KEY UPDATE touched = touched + 1, total = total + 1.25;
INSERT IGNORE INTO sums (item, total, pieces) SELECT item COLLATE utf8mb4_bin, SUM(amount), SUM(quantity) FROM orders WHERE person = {int 1 3300} GROUP BY item COLLATE utf8mb4_bin ORDER BY 1;
INSERT INTO narrow VALUES ({int 150 260}, {int -200 200}, {int -10 70000}, {cents -200000 200000}, {pick 'abc'|'toolong'|'日本'}, {pick '2024-02-29'|'2023-02-29'|'2024-13-01'|NULL}, {pick 'a'|'c'|''|NULL}, {pick 1|2|NULL});
INSERT IGNORE INTO narrow VALUES ({int 150 260}, {int -200 200}, {int -10 70000}, {cents -200000 200000}, {pick 'abc'|'toolong'|'日本'}, {pick '2024-02-29'|'2023-02-29'|NULL}, {pick 'a'|'c'|''|NULL}, {pick 1|2|NULL});
UPDATE narrow SET tiny = tiny + {int -60 60} WHERE id = {int 1 260};
UPDATE narrow SET must = {int 1 9} / {int 0 2} WHERE id = {int 1 260};
UPDATE narrow SET price = price * {int 1 3}, must = must + 1 WHERE id = {int 1 260};
UPDATE narrow SET id = id + 1 WHERE id = {int 1 260};
UPDATE narrow SET word = {word} WHERE id = {int 1 260};
UPDATE narrow SET must = NULL WHERE id = {int 1 260};
DELETE FROM narrow WHERE id = {int 1 260};
UPDATE person SET code = {pick 'C000020'|'C000021'|'U1'|'U2'} WHERE id = {int 1 3000};
UPDATE person SET doc = {pick '{"a": 2}'|'{"b": [4, 5, 6]}'|'[]'|NULL}, flags = {pick 'red'|'blue,green'|''|'pink'} WHERE id = {int 1 3000};
INSERT INTO person (id, code, level) SELECT id + 10000, CONCAT('K', id), level FROM person WHERE id BETWEEN {int 1 2900} AND {int 1 2900} + 3 ORDER BY id LIMIT 3;

--@ changes 60 transactions engine=InnoDB
START TRANSACTION;
COMMIT;
ROLLBACK;
SAVEPOINT s;
ROLLBACK TO SAVEPOINT s;
UPDATE person SET level = {int 0 255} WHERE id = {int 1 3000};
INSERT INTO orders (person, made, amount, item) VALUES ({int 1 3000}, {datetime}, {cents 1 900}, {word});
DELETE FROM orders WHERE id = {int 1 8000};
UPDATE person SET code = 'C000030' WHERE id = {int 1 3000};
SELECT id, level FROM person WHERE id = {int 1 3000} FOR UPDATE;

--@ queries after the transactions engine=InnoDB
COMMIT;
SELECT COUNT(*), SUM(level) FROM person;

--@ queries structure of tables
ALTER TABLE narrow ADD COLUMN extra INT NOT NULL DEFAULT 5, ADD KEY (extra, must);
UPDATE narrow SET extra = id % 7;
SELECT extra, COUNT(*), SUM(must) FROM narrow GROUP BY extra ORDER BY extra;
ALTER TABLE narrow DROP COLUMN day, MODIFY tiny INT;
SELECT * FROM narrow ORDER BY id;
ALTER TABLE orders DROP KEY item;
SELECT COUNT(*) FROM orders WHERE item = 'apple';
ALTER TABLE orders ADD KEY item (item, quantity);
SELECT COUNT(*), SUM(quantity) FROM orders WHERE item = 'apple';
ALTER TABLE word CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
SELECT uca, COUNT(*) FROM word GROUP BY uca ORDER BY uca;
ANALYZE TABLE person;
OPTIMIZE TABLE orders;
SELECT COUNT(*) FROM orders;
TRUNCATE TABLE sums;
INSERT INTO sums SELECT item COLLATE utf8mb4_bin, SUM(amount), SUM(quantity), 0 FROM orders GROUP BY item COLLATE utf8mb4_bin;
SELECT * FROM sums ORDER BY item;
