//! Scripts for sysbench, on a real server: what they find, what they do as a workload, and how they fail.

mod common;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::existing::Existing;
use common::{run, signal};
use nix::sys::signal::Signal;
use serde_json::Value;

/// A server with an empty database, and a folder for scripts.
struct Stage {
    existing: Existing,
}

impl Stage {
    fn new() -> Stage {
        let existing = Existing::start("mariadb-10.11", &[("innodb_buffer_pool_size", "64M")]);
        existing
            .server
            .query("CREATE DATABASE IF NOT EXISTS sbtest")
            .expect("a database");
        Stage { existing }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.existing.place.folder.path().join(name);
        std::fs::write(&path, text).expect("a script");
        path
    }

    fn sysbench(&self, program: &str, script: &PathBuf, words: &str) -> Command {
        let server = &self.existing.server;
        let mut command = Command::new(program);
        if program != "sysbench" {
            command.arg("sysbench");
        }
        command
            .arg(script)
            .args(words.split_whitespace())
            .arg(format!("--mysql-socket={}", server.socket().display()))
            .arg(format!("--mysql-user={}", server.user()))
            .arg(format!("--mysql-password={}", server.password()))
            .current_dir(self.existing.place.folder.path())
            .stdin(Stdio::null());
        command
    }

    fn niagara(&self, script: &PathBuf, words: &str) -> Command {
        self.sysbench(env!("CARGO_BIN_EXE_niagara"), script, words)
    }

    /// It has to end well; standard output.
    fn succeed(&self, script: &PathBuf, words: &str) -> String {
        let mut command = self.niagara(script, words);
        let (code, stdout, stderr) = run(&mut command);
        assert_eq!(code, Some(0), "{command:?}\n{stdout}{stderr}");
        stdout
    }

    /// It has to fail; standard output and error.
    fn fail(&self, script: &PathBuf, words: &str) -> String {
        let mut command = self.niagara(script, words);
        let (code, stdout, stderr) = run(&mut command);
        assert_eq!(code, Some(1), "{command:?}\n{stdout}{stderr}");
        stdout + &stderr
    }

    fn ask(&self, sql: &str) -> String {
        let rows = self.existing.server.query(sql).expect("a query");
        rows.concat()[0].clone()
    }
}

const INTERFACE: &str = r####"#!/usr/bin/env sysbench
function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
end

function event()
   local t = sysbench.sql.type
   print(drv:name(), con:query_row("SELECT 1, NULL, 'x'"))
   con:query("CREATE TABLE t (a INT, b VARCHAR(20), c DOUBLE)")
   con:bulk_insert_init("INSERT INTO t (a) VALUES")
   for i = 1, 100 do con:bulk_insert_next("(" .. i .. ")") end
   con:bulk_insert_done()
   local stmt = con:prepare("UPDATE t SET a = a + ?, b = ?, c = ?")
   local a, b, c = stmt:bind_create(t.INT), stmt:bind_create(t.VARCHAR, 5), stmt:bind_create(t.DOUBLE)
   stmt:bind_param(a, b, c)
   a:set(1000) b:set("longer than five") c:set(2.5)
   local changed = stmt:execute()
   print(changed == nil, changed)
   a:set(1) b:set(nil)
   stmt:execute()
   stmt:close()
   print(con:query_row("SELECT MIN(a), COUNT(b), MAX(c) FROM t"))
   local select = con:prepare("SELECT a, c FROM t WHERE a > ? ORDER BY a LIMIT 2")
   local from = select:bind_create(t.BIGINT)
   select:bind_param(from)
   from:set(1050)
   local rs = select:execute()
   print(rs.nrows, rs.nfields, unpack(rs:fetch_row()))
   local ok, e = pcall(con.query, con, "SELECT * FROM nowhere")
   print(ok, e)
   -- Out of a call of C, and out of a coroutine of the script's own.
   print((("1 2"):gsub("%d", function(n) return con:query_row("SELECT 10 * " .. n) end)))
   local each = coroutine.wrap(function()
      for i = 1, 2 do coroutine.yield(con:query_row("SELECT " .. i)) end
   end)
   print(each(), each())
   local other = drv:connect()
   print(other:query_row("SELECT CONNECTION_ID()") ~= con:query_row("SELECT CONNECTION_ID()"))
   other:disconnect()
   con:query("DROP TABLE t")
   print(sysbench.version, sysbench.tid, sysbench.opt.threads, #sysbench.rand.string("###"))
   db_query("CREATE TABLE old (a INT)")
   local s = db_prepare("INSERT INTO old VALUES (?)")
   db_bind_param(s, {7})
   db_execute(s)
   db_close(s)
   db_query("DROP TABLE old")
end
"####;

#[test]
fn the_interface_of_scripts() {
    let stage = Stage::new();
    let script = stage.write("interface.lua", INTERFACE);
    let stdout = stage.succeed(&script, "--events=1 --verbosity=1 run");
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines[0], "mysql\t1\tnil\tx");
    assert_eq!(lines[1], "true\t<sql_result>");
    assert_eq!(lines[2], "1002\t0\t2.5");
    assert_eq!(lines[3], "2\t2\t1051\t2.5");
    assert!(
        lines[4].starts_with("FATAL: mysql_drv_query() returned error 1146"),
        "{stdout}"
    );
    assert!(
        lines[5].starts_with("false\t") && lines[5].contains("errno = 1146, state = '42S02'"),
        "{stdout}"
    );
    assert_eq!(lines[6..8], ["10 20", "1\t2"]);
    assert_eq!(lines[8..10], ["true", "1.0.20\t0\t1\t3"]);
    // The same without prepared statements.
    let text = stage.succeed(&script, "--events=1 --verbosity=1 --db-ps-mode=disable run");
    assert!(text.contains("1002\t0\t2.5"), "{text}");
}

#[test]
fn procedures_may_return_rows() {
    let stage = Stage::new();
    let script = stage.write(
        "call.lua",
        r#"
function prepare()
   local c = sysbench.sql.driver():connect()
   c:query("CREATE PROCEDURE two(a INT) BEGIN SELECT a, 1; SELECT 2; END")
end
function thread_init()
   con = sysbench.sql.driver():connect()
   call = con:prepare("CALL two(?)")
   a = call:bind_create(sysbench.sql.type.INT)
   call:bind_param(a)
end
function event()
   a:set(3)
   call:execute()
end
"#,
    );
    stage.succeed(&script, "prepare");
    for program in ["sysbench", env!("CARGO_BIN_EXE_niagara")] {
        let words = "--events=20 --time=0 run";
        let (code, stdout, stderr) = run(&mut stage.sysbench(program, &script, words));
        assert_eq!(code, Some(0), "{stdout}{stderr}");
        assert!(
            stdout.contains("events:              20"),
            "{program}\n{stdout}"
        );
    }
    // What sysbench cannot do: it leaves the second result, and the connection is of no use any more.
    let text = stage.write(
        "text.lua",
        r#"
function event()
   local con = sysbench.sql.driver():connect()
   print(con:query_row("CALL two(5)"))
   print(con:query_row("SELECT 6; SELECT 7"))
   print(con:query_row("SELECT 8"))
end
"#,
    );
    let stdout = stage.succeed(&text, "--events=1 --verbosity=1 run");
    assert_eq!(stdout, "5\t1\n6\n8\n");
}

const WORKLOAD: &str = r#"
sysbench.cmdline.options = { rows = {"rows", 100}, fails = {"fails", false} }
local function connect() return sysbench.sql.driver():connect() end
function cmd_prepare()
   if sysbench.tid > 0 then return end
   local c = connect()
   c:query("CREATE TABLE shop (id INT PRIMARY KEY AUTO_INCREMENT, n INT)")
   c:bulk_insert_init("INSERT INTO shop (n) VALUES")
   for i = 1, sysbench.opt.rows do c:bulk_insert_next("(" .. i .. ")") end
   c:bulk_insert_done()
end
sysbench.cmdline.commands = { prepare = { cmd_prepare, sysbench.cmdline.PARALLEL_COMMAND } }
function cleanup() connect():query("DROP TABLE shop") end
function thread_init()
   con = connect()
   stmt = con:prepare("SELECT n FROM shop WHERE id = ?")
   id = stmt:bind_create(sysbench.sql.type.INT)
   stmt:bind_param(id)
end
function event()
   for _ = 1, 3 do
      id:set(sysbench.rand.default(1, sysbench.opt.rows))
      stmt:execute()
   end
   if sysbench.opt.fails then con:query("SELECT * FROM nowhere") end
end
function thread_done() con:disconnect() end
"#;

#[test]
fn a_script_is_a_workload_and_sysbench_agrees() {
    let stage = Stage::new();
    let script = stage.write("shop.lua", WORKLOAD);
    stage.succeed(&script, "--rows=500 --threads=3 prepare");
    assert_eq!(stage.ask("SELECT COUNT(*) FROM sbtest.shop"), "500");
    // One connection or many: three statements to an event, whoever runs it.
    for program in ["sysbench", env!("CARGO_BIN_EXE_niagara")] {
        let words = "--rows=500 --threads=64 --events=500 --time=0 run";
        let (code, stdout, stderr) = run(&mut stage.sysbench(program, &script, words));
        assert_eq!(code, Some(0), "{stdout}{stderr}");
        for line in [
            "read:                            1500",
            "events:              500",
        ] {
            assert!(stdout.contains(line), "{program}: no {line:?} in\n{stdout}");
        }
    }
    let text = stage.fail(&script, "--rows=500 --fails=on --events=1 run");
    assert!(
        text.contains("`thread_run' function failed: ") && text.contains("shop.lua:25: SQL error"),
        "{text}"
    );
    let text = stage.fail(&script, "--no-such=1 run");
    assert!(text.contains("invalid option: --no-such=1"), "{text}");
    stage.succeed(&script, "cleanup");

    let path = script.display().to_string();
    let bench = |action: &str, more: &[&str]| {
        let mut command =
            stage
                .existing
                .bench(&[path.as_str(), action, "--set", "rows=50", "--threads", "4"]);
        command.args(more);
        let (code, stdout, stderr) = run(&mut command);
        assert_eq!(code, Some(0), "{command:?}\n{stdout}\n{stderr}");
        stdout
    };
    bench("prepare", &[]);
    assert_eq!(stage.ask("SELECT COUNT(*) FROM sbtest.shop"), "50");
    let stdout = bench("run", &["--time", "1s", "--warm-up", "0", "--json"]);
    let result: Value = serde_json::from_str(&stdout).expect("JSON");
    let run = &result["runs"][0];
    assert!(
        run["transactions"].as_u64().expect("a number") > 0,
        "{stdout}"
    );
    bench("cleanup", &["--yes"]);
}

#[test]
fn for_one_seed_sysbench_draws_the_same() {
    let stage = Stage::new();
    let script = stage.write(
        "draw.lua",
        r#"
function event()
   for _, name in ipairs { "default", "uniform", "gaussian", "special", "pareto" } do
      io.write(name, " ", sysbench.rand[name](1, 1000000), "\n")
   end
   print(sysbench.rand.uniform_uint64(), sysbench.rand.uniform_double(), sysbench.rand.string("a#-@@"))
end"#,
    );
    for words in [
        "--rand-seed=42 --events=50 --verbosity=0 run",
        "--rand-seed=7 --rand-type=pareto --rand-pareto-h=0.3 --events=50 --verbosity=0 run",
    ] {
        let (code, theirs, _) = run(&mut stage.sysbench("sysbench", &script, words));
        assert_eq!(code, Some(0));
        assert_eq!(stage.succeed(&script, words), theirs, "{words}");
    }
}

#[test]
fn scripts_that_do_not_come_back_are_interrupted() {
    let stage = Stage::new();
    for endless in [
        "while true do end",
        "local n = 0 while true do n = n + 1 end",
    ] {
        let script = stage.write("endless.lua", &format!("function event() {endless} end"));
        let mut child = stage
            .niagara(&script, "--time=0 run")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("niagara starts");
        std::thread::sleep(Duration::from_millis(1500));
        signal(child.id() as i32, Signal::SIGINT);
        let since = Instant::now();
        while child.try_wait().expect("a child of ours").is_none() {
            if since.elapsed() > Duration::from_secs(60) {
                child.kill().expect("a child of ours");
                panic!("{endless} still runs after Ctrl-C");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

const AROUND: &str = r#"
local function connect() return sysbench.sql.driver():connect() end
function prepare() connect():query("CREATE TABLE said (what VARCHAR(40))") end
function cleanup() connect():query("DROP TABLE said") end
function init() begun = "init was here" end
function thread_init()
   con = connect()
   con:query("SELECT 1")
   con:query("SET @a = 1")
   con:query("INSERT INTO said VALUES ('thread_init')")
   stmt = con:prepare("SELECT 2")
end
function event() stmt:execute() end
function thread_done() con:query("INSERT INTO said VALUES ('thread_done')") end
function done() connect():query("INSERT INTO said VALUES ('done after " .. begun .. "')") end
"#;

#[test]
fn what_threads_ask_outside_their_events_is_counted_as_sysbench_counts_it() {
    let stage = Stage::new();
    let script = stage.write("around.lua", AROUND);
    let statistics = |program: &str| -> Vec<String> {
        stage.succeed(&script, "prepare");
        let words = "--threads=3 --events=10 --time=0 run";
        let (code, stdout, stderr) = run(&mut stage.sysbench(program, &script, words));
        assert_eq!(code, Some(0), "{stdout}{stderr}");
        assert_eq!(
            stage.ask("SELECT GROUP_CONCAT(what ORDER BY what SEPARATOR ', ') FROM sbtest.said"),
            "done after init was here, thread_done, thread_done, thread_done, thread_init, thread_init, thread_init"
        );
        stage.succeed(&script, "cleanup");
        let of = |name: &str| {
            let line = stdout.lines().find(|line| line.trim().starts_with(name));
            line.unwrap_or_else(|| panic!("{stdout}")).trim().to_owned()
        };
        ["read:", "write:", "other:", "total:"].map(of).to_vec()
    };
    assert_eq!(
        statistics(env!("CARGO_BIN_EXE_niagara")),
        statistics("sysbench")
    );
}

#[test]
fn threads_that_wait_for_each_other_in_thread_init_meet() {
    let stage = Stage::new();
    // One after the other, none would ever see the next one.
    let script = stage.write(
        "meet.lua",
        r#"
function prepare() sysbench.sql.driver():connect():query("CREATE TABLE here (who INT)") end
function thread_init()
   con = sysbench.sql.driver():connect()
   con:query("INSERT INTO here VALUES (" .. sysbench.tid .. ")")
   for _ = 1, 2000 do
      if con:query_row("SELECT COUNT(*) FROM here") + 0 == sysbench.opt.threads then return end
      con:query("DO SLEEP(0.01)")
   end
   error("nobody else came")
end
function event() con:query("SELECT 1") end
"#,
    );
    stage.succeed(&script, "prepare");
    let stdout = stage.succeed(&script, "--threads=8 --events=8 --time=0 run");
    assert!(stdout.contains("events:              8"), "{stdout}");
}

#[test]
fn threads_that_wait_for_each_other_in_thread_done_meet() {
    let stage = Stage::new();
    let script = stage.write(
        "part.lua",
        r#"
function prepare() sysbench.sql.driver():connect():query("CREATE TABLE gone (who INT)") end
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT 1") end
function thread_done()
   con:query("INSERT INTO gone VALUES (" .. sysbench.tid .. ")")
   for _ = 1, 500 do
      if con:query_row("SELECT COUNT(*) FROM gone") + 0 == sysbench.opt.threads then return end
      con:query("DO SLEEP(0.01)")
   end
   error("nobody else came")
end
"#,
    );
    stage.succeed(&script, "prepare");
    stage.succeed(&script, "--threads=8 --events=8 --time=0 run");
}

#[test]
fn as_a_workload_a_script_does_what_it_does_once() {
    let stage = Stage::new();
    let script = stage.write("around.lua", AROUND);
    let path = script.display().to_string();
    let bench = |words: &[&str]| {
        let mut command = stage.existing.bench(&[&[path.as_str()], words].concat());
        let (code, stdout, stderr) = run(&mut command);
        assert_eq!(code, Some(0), "{command:?}\n{stdout}\n{stderr}");
    };
    bench(&["prepare"]);
    bench(&["run", "--threads", "2", "--time", "1s", "--warm-up", "0"]);
    assert_eq!(
        stage.ask("SELECT GROUP_CONCAT(what ORDER BY what SEPARATOR ', ') FROM sbtest.said"),
        "done after init was here, thread_done, thread_done, thread_init, thread_init"
    );
}

#[test]
fn a_loop_in_prepare_is_interrupted() {
    let stage = Stage::new();
    for endless in [
        "while true do end",
        "local c = sysbench.sql.driver():connect() while true do c:query('SELECT 1') end",
    ] {
        let script = stage.write(
            "endless.lua",
            &format!("function prepare() {endless} end function event() end"),
        );
        let mut child = stage
            .existing
            .bench(&[&script.display().to_string(), "prepare"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("niagara starts");
        std::thread::sleep(Duration::from_millis(1500));
        signal(child.id() as i32, Signal::SIGINT);
        let since = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child of ours") {
                break status;
            }
            if since.elapsed() > Duration::from_secs(60) {
                child.kill().expect("a child of ours");
                panic!("{endless} still runs after Ctrl-C");
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        assert_eq!(status.code(), Some(130), "{endless}");
    }
}

#[test]
fn a_dry_run_needs_no_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("dry.lua");
    let text = r#"
function prepare() sysbench.sql.driver():connect():query("CREATE TABLE t (a INT)") print("prepared") end
function thread_init()
   con = sysbench.sql.driver():connect()
   stmt = con:prepare("SELECT a FROM t WHERE a = ? AND b = ?")
   a, b = stmt:bind_create(sysbench.sql.type.INT), stmt:bind_create(sysbench.sql.type.VARCHAR, 9)
   stmt:bind_param(a, b)
end
function event()
   a:set(1) b:set("x")
   stmt:execute()
   con:query("SELECT '?'")
   con:bulk_insert_init("INSERT INTO t VALUES") con:bulk_insert_next("(1)") con:bulk_insert_done()
end
"#;
    std::fs::write(&script, text).expect("a script");
    let dry = |program: &str, words: &str| {
        let mut command = Command::new(program);
        if program != "sysbench" {
            command.arg("sysbench");
        }
        command.arg(&script).args(words.split_whitespace());
        command.args(["--mysql-dry-run", "--mysql-socket=/nonexistent"]);
        let (code, stdout, stderr) = run(&mut command);
        assert_eq!(code, Some(0), "{program} {words}\n{stdout}{stderr}");
        stdout
    };
    let ours = env!("CARGO_BIN_EXE_niagara");
    assert!(dry(ours, "prepare").contains("prepared"));
    let text = dry(ours, "--threads=3 --events=50 --time=0 run");
    for line in [
        "other:                           150",
        "transactions:                        50 ",
    ] {
        assert!(text.contains(line), "no {line:?} in\n{text}");
    }
}

/// A script that asks no server, in a folder of its own, which is the current one.
struct Alone(tempfile::TempDir);

const BOTH: [&str; 2] = ["sysbench", env!("CARGO_BIN_EXE_niagara")];

impl Alone {
    fn new(script: &str) -> Alone {
        Alone::named("script.lua", script)
    }

    fn named(name: &str, script: &str) -> Alone {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(name), script).expect("a script");
        Alone(folder)
    }

    /// Exit code and standard output.
    fn run(&self, program: &str, words: &str) -> (Option<i32>, String) {
        let mut command = Command::new(program);
        if program != "sysbench" {
            command.arg("sysbench");
        }
        command
            .args(words.split_whitespace())
            .current_dir(self.0.path())
            .env_remove("LUA_PATH")
            .stdin(Stdio::null());
        let (code, stdout, stderr) = run(&mut command);
        assert!(!stderr.contains("panicked"), "{words}\n{stderr}");
        (code, stdout)
    }
}

#[test]
fn rows_of_a_bulk_insert_go_in_as_many_statements_as_with_sysbench() {
    // What has just room in a statement of 512 KiB, and one byte more.
    let insert = |bytes: u32| {
        format!(
            "function event()\n\
             local con = sysbench.sql.driver():connect()\n\
             con:bulk_insert_init('INSERT INTO t VALUES' .. (' '):rep(1024 - 20))\n\
             for _ = 1, 511 do con:bulk_insert_next(('x'):rep(1023)) end\n\
             con:bulk_insert_next(('x'):rep({bytes}))\n\
             con:bulk_insert_done()\nend"
        )
    };
    for bytes in [1, 1023] {
        let alone = Alone::new(&insert(bytes));
        let counted = BOTH.map(|program| {
            let words = "script.lua --mysql-dry-run --events=1 run";
            let (code, stdout) = alone.run(program, words);
            assert_eq!(code, Some(0), "{program}\n{stdout}");
            let line = stdout.lines().find(|line| line.contains("other:"));
            line.unwrap_or_else(|| panic!("{program}\n{stdout}"))
                .to_owned()
        });
        assert_eq!(counted[0], counted[1], "{bytes}");
    }
}

#[test]
fn a_script_in_the_current_folder_goes_before_the_workload_of_its_name() {
    let alone = Alone::named(
        "oltp_point_select.lua",
        "function event() print('this one') end",
    );
    for program in BOTH {
        let words = "oltp_point_select --events=2 --verbosity=0 run";
        let (code, stdout) = alone.run(program, words);
        assert_eq!((code, stdout.as_str()), (Some(0), "this one\nthis one\n"));
    }
}

#[test]
fn sysbenchs_own_scripts_can_be_required() {
    let alone = Alone::new(
        "require('oltp_point_select')\n\
         local theirs = event\n\
         function event() print(sysbench.opt.tables, type(theirs)) end\n\
         function thread_init() end\n\
         function thread_done() end",
    );
    for program in BOTH {
        let words = "script.lua --tables=3 --events=1 --verbosity=0 run";
        let (code, stdout) = alone.run(program, words);
        assert_eq!(
            (code, stdout.as_str()),
            (Some(0), "3\tfunction\n"),
            "{program}"
        );
    }
}

/// The lines of an output from where the load begins, numbers and what pads them as `#`, with the parenthesis behind some of them.
fn shape(stdout: &str) -> Vec<String> {
    let number = regex::Regex::new(r" *\d+(\.\d+)?( +\()?").expect("a pattern");
    let (_, load) = stdout.split_once("Threads started!").expect("a load");
    load.lines()
        .map(|line| number.replace_all(line, "#").into_owned())
        .collect()
}

#[test]
fn reports_speak_of_statements_once_a_script_has_a_driver() {
    let rests = "ffi.cdef[[int usleep(unsigned int);]]\nfunction event() ffi.C.usleep(2000) end\n";
    let has_driver = format!("{rests}function thread_init() sysbench.sql.driver() end");
    // Nothing is said in the last second: there the one tool may have ended before the other.
    let words = "--report-interval=2 --report-checkpoints=1 --rate=100 --time=3 run";
    for (script, test, line) in [
        (rests, "script.lua", "eps: "),
        (&has_driver, "script.lua", "tps: "),
    ] {
        let alone = Alone::new(script);
        let shapes = BOTH.map(|program| {
            let (code, stdout) = alone.run(program, &format!("{test} {words}"));
            assert_eq!(code, Some(0), "{program}\n{stdout}");
            assert!(stdout.contains(line), "{program}\n{stdout}");
            shape(&stdout)
        });
        assert_eq!(shapes[0], shapes[1], "{test}");
    }
}

#[test]
fn a_thread_that_is_free_takes_the_next_event_when_it_arrives() {
    let script = "ffi.cdef[[int usleep(unsigned int);]]\nfunction event() ffi.C.usleep(1000) end";
    let alone = Alone::new(script);
    for test in ["script.lua"] {
        for program in BOTH {
            let words = format!("{test} --rate=100 --time=3 run");
            let (code, stdout) = alone.run(program, &words);
            assert_eq!(code, Some(0), "{program}\n{stdout}");
            let events = stdout
                .lines()
                .find_map(|line| line.trim().strip_prefix("total number of events:"))
                .and_then(|count| count.trim().parse::<f64>().ok())
                .unwrap_or_else(|| panic!("{program}\n{stdout}"));
            // 300 of a Poisson process, and six standard deviations of them.
            assert!(
                (events - 300.0).abs() < 6.0 * 300.0_f64.sqrt(),
                "{program} {test}\n{stdout}"
            );
        }
    }
}

#[test]
fn a_loop_of_the_scripts_own_begins_when_all_threads_are_there() {
    // Two threads print at once: a line's own end is written apart from it, so each word brings ends of its own.
    let own = "function event() end\nfunction thread_init() print('\\ninit\\n') end\n";
    for (thread_run, events) in [
        ("function thread_run() print('\\nrun\\n') end", 0),
        (
            "ffi.cdef[[bool sb_more_events(int); void sb_event_start(int); void sb_event_stop(int);]]\n\
             function thread_run(id)\n\
             print('\\nrun\\n')\n\
             while ffi.C.sb_more_events(id) do ffi.C.sb_event_start(id) ffi.C.sb_event_stop(id) end\n\
             end",
            7,
        ),
    ] {
        let alone = Alone::new(&format!("{own}{thread_run}"));
        for program in BOTH {
            let (code, stdout) = alone.run(program, "script.lua --events=7 --threads=2 run");
            assert_eq!(code, Some(0), "{program}\n{stdout}");
            let said: Vec<&str> = stdout
                .lines()
                .filter(|line| ["init", "Threads started!", "run"].contains(line))
                .collect();
            let order = ["init", "init", "Threads started!", "run", "run"];
            assert_eq!(said, order, "{program}\n{stdout}");
            let line = format!("total number of events:              {events}\n");
            assert!(stdout.contains(&line), "{program}\n{stdout}");
        }
    }
}

#[test]
fn a_run_that_fails_has_an_end_too() {
    let alone = Alone::new(
        "function event() error('it fails') end\n\
         function done() print('done') end",
    );
    for program in BOTH {
        let (code, stdout) = alone.run(program, "script.lua --verbosity=1 run");
        assert_eq!(code, Some(1), "{program}\n{stdout}");
        assert_eq!(
            stdout,
            "FATAL: `thread_run' function failed: script.lua:1: it fails\ndone\n"
        );
    }
    let alone = Alone::new(
        "function thread_init() error('it fails') end\n\
         function event() end\n\
         function done() print('done') end",
    );
    for program in BOTH {
        let (code, stdout) = alone.run(program, "script.lua --verbosity=1 run");
        assert_eq!(code, Some(1), "{program}\n{stdout}");
        assert_eq!(
            stdout,
            "FATAL: `thread_init' function failed: script.lua:1: it fails\nFATAL: Thread initialization failed!\n"
        );
    }
}

#[test]
fn a_rate_that_cannot_be_kept_ends_the_run() {
    let stage = Stage::new();
    let script = stage.write(
        "slow.lua",
        "function event() local n = 0; for i = 1, 1e6 do n = n + i end end\n",
    );
    for rate in ["2000000000", "1000000"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_niagara"));
        command.arg("sysbench").arg(&script).arg("--verbosity=1");
        command.arg(format!("--rate={rate}")).arg("run");
        let (code, stdout, stderr) = run(&mut command);
        assert_eq!(code, Some(1), "{stdout}{stderr}");
        assert!(
            stdout.starts_with("FATAL: The event queue is full."),
            "{stdout}{stderr}"
        );
    }
}

#[test]
fn what_is_left_of_a_lost_connection_closes_nothing_of_the_next() {
    let stage = Stage::new();
    let script = stage.write(
        "again.lua",
        r#"
function event()
   local con = sysbench.sql.driver():connect()
   local before = con:prepare("SELECT 1")
   con:reconnect()
   local after = con:prepare("SELECT 2")
   before = nil
   collectgarbage() collectgarbage()
   print(after:execute().nrows)
   -- Both the connection and its statement are forgotten; the next connection has their numbers.
   con, after = nil, nil
   collectgarbage() collectgarbage()
   local other = sysbench.sql.driver():connect()
   local statement = other:prepare("SELECT 3")
   collectgarbage() collectgarbage()
   print(statement:execute().nrows)
   other:disconnect()
end"#,
    );
    let stdout = stage.succeed(&script, "--events=3 --verbosity=1 run");
    assert_eq!(stdout, "1\n1\n".repeat(3));
}

#[test]
fn a_lost_connection_is_put_up_with_by_any_of_its_numbers() {
    let stage = Stage::new();
    let script = stage.write(
        "gone.lua",
        r#"
function event()
   local drv = sysbench.sql.driver()
   local con, other = drv:connect(), drv:connect()
   local before = con:query_row("SELECT CONNECTION_ID()")
   other:query("KILL " .. before)
   local now
   repeat
      local ok, outcome = pcall(con.query_row, con, "SELECT CONNECTION_ID()")
      assert(ok or type(outcome) == "table", outcome)
      now = ok and outcome
   until now and now ~= before
   print("it is back")
end"#,
    );
    for number in [2006, 2011, 2013, 2055] {
        // 1927: the server may say so itself before it closes the connection.
        let words = format!("--events=1 --verbosity=1 --mysql-ignore-errors={number},1927 run");
        let stdout = stage.succeed(&script, &words);
        assert_eq!(stdout, "it is back\n", "{number}");
    }
}

/// What scripts do over hours: statements of every kind, rows, errors, connections that go and come.
const SOAK: &str = r#####"
ffi.cdef[[int usleep(unsigned int);]]
local function connect() return sysbench.sql.driver():connect() end
function prepare()
   local c = connect()
   c:query("CREATE TABLE soak (id INT PRIMARY KEY, n INT, t VARCHAR(100))")
   c:bulk_insert_init("INSERT INTO soak VALUES")
   for i = 1, 1000 do c:bulk_insert_next(("(%d, %d, 'text of row %d')"):format(i, i, i)) end
   c:bulk_insert_done()
   c:query("CREATE TABLE heap (id BIGINT, t VARCHAR(100)) ENGINE = MEMORY")
end
local function statements()
   -- By key: scanning the table while others change it ended MariaDB 10.11.19 twice after half a million events ("Required history data has been deleted").
   stmt = con:prepare("SELECT n, t FROM soak WHERE id = ? AND t <> ?")
   id, text = stmt:bind_create(sysbench.sql.type.INT), stmt:bind_create(sysbench.sql.type.VARCHAR, 40)
   stmt:bind_param(id, text)
end
function thread_init()
   con = connect()
   statements()
   histogram = sysbench.histogram.new(100, 1, 1000)
   events = 0
end
function event()
   events = events + 1
   local row = sysbench.rand.uniform(1, 1000)
   id:set(row)
   text:set(sysbench.rand.string("####-@@@@"))
   stmt:execute()
   if events % 3 == 0 then
      local rs = con:query(("SELECT id, n, t FROM soak WHERE id BETWEEN %d AND %d"):format(row, row + 9))
      for _ = 1, rs.nrows do histogram:update(tonumber(rs:fetch_row()[1])) end
      rs:free()
   end
   if events % 50 == 0 then
      local short = con:prepare("UPDATE soak SET n = n + 1 WHERE id = ?")
      local which = short:bind_create(sysbench.sql.type.BIGINT)
      short:bind_param(which)
      which:set(row)
      short:execute()
      short:close()
      assert(not pcall(con.query, con, "SELECT * FROM nowhere"))
   end
   if events % 500 == 0 then
      con:query("DELETE FROM heap LIMIT 100")
      con:bulk_insert_init("INSERT INTO heap VALUES")
      for _ = 1, 20 do con:bulk_insert_next(("(%d, '%s')"):format(row, sysbench.rand.string("@@@@@@@@"))) end
      con:bulk_insert_done()
      local each = coroutine.wrap(function() coroutine.yield(con:query_row("SELECT 1")) end)
      assert(each() == "1")
   end
   if events % 5000 == 0 then
      con:reconnect()
      statements()
   end
end
"#####;

/// Memory of a process in KiB: what it has in the machine's.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0)
}

#[test]
#[ignore = "minutes to an hour: cargo test --release -p niagara --test scripts soak -- --ignored --nocapture; \
            NIAGARA_SOAK_EVENTS says how many events, 10 million otherwise"]
fn soak() {
    let events: u64 = std::env::var("NIAGARA_SOAK_EVENTS")
        .map_or(10_000_000, |text| text.parse().expect("a number of events"));
    let stage = Stage::new();
    let script = stage.write("soak.lua", SOAK);
    stage.succeed(&script, "prepare");
    let words = format!(
        "--threads=64 --time=0 --events={events} --report-interval=1 --verbosity=3 \
         --mysql-ignore-errors=1213,1205,1020 run"
    );
    let mut child = stage
        .niagara(&script, &words)
        .stdout(Stdio::piped())
        .spawn()
        .expect("niagara starts");
    let pid = child.id();
    let output = child.stdout.take().expect("its standard output");
    let mut done = 0.0;
    let mut next = 10_000.0;
    let mut said = String::new();
    let mut seen: Vec<(f64, u64)> = Vec::new();
    println!("{:>12} {:>12}", "events", "RSS in KiB");
    for line in std::io::BufRead::lines(std::io::BufReader::new(output)) {
        let line = line.expect("text");
        let rate = line
            .split_once("tps: ")
            .and_then(|(_, rest)| rest.split(' ').next()?.parse::<f64>().ok());
        let Some(rate) = rate else {
            // It says each of its errors.
            if !line.contains("nowhere") && !line.starts_with("(last message") {
                said += &line;
                said.push('\n');
            }
            continue;
        };
        // An interval has a second.
        done += rate;
        if done >= next {
            seen.push((done, resident(pid)));
            println!("{done:>12.0} {:>12}", resident(pid));
            next = done * 1.25;
        }
    }
    let status = child.wait().expect("a child of ours");
    assert!(status.success(), "{status}\n{said}");
    let settled = seen.iter().find(|(done, _)| *done >= events as f64 / 10.0);
    let (Some((_, settled)), Some((_, last))) = (settled, seen.last()) else {
        panic!("too few events to see memory: {seen:?}");
    };
    // Flat: from a tenth of the events to all of them no more than the noise of an allocator.
    assert!(*last <= settled + settled / 10 + 4096, "{seen:?}");
}

#[test]
fn an_event_that_does_not_end_does_not_hold_up_the_report() {
    let stage = Stage::new();
    let endless = stage.write(
        "endless.lua",
        "ffi.cdef[[unsigned int sleep(unsigned int);]]\nfunction event() ffi.C.sleep(100000) end\n",
    );
    let start = |words: &str| {
        Command::new(env!("CARGO_BIN_EXE_niagara"))
            .arg("sysbench")
            .arg(&endless)
            .args(words.split(' '))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("niagara starts")
    };
    let forced = start("--time=1 --forced-shutdown=1 run");
    let interrupted = start("--time=0 run");
    for (mut child, is_interrupted) in [(interrupted, true), (forced, false)] {
        let stdout = child.stdout.take().expect("its standard output");
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stdout));
        if is_interrupted {
            // From then on it is prepared for Ctrl-C.
            let started = lines.any(|line| line.expect("text") == "Threads started!");
            assert!(started, "it ended early");
            signal(child.id() as i32, Signal::SIGINT);
        }
        let since = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child of ours") {
                break status;
            }
            if since.elapsed() > Duration::from_secs(180) {
                child.kill().expect("a child of ours");
                panic!("it still runs (Ctrl-C: {is_interrupted})");
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        let rest: Vec<String> = lines.map(|line| line.expect("text")).collect();
        let code = if is_interrupted { 130 } else { 2 };
        assert_eq!(status.code(), Some(code), "{rest:#?}");
        assert!(
            rest.iter().any(|line| line == "General statistics:"),
            "{rest:#?}"
        );
    }
}

#[test]
fn sysbench_0_4_test_is_refused_with_its_successor() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_niagara"));
    command.args([
        "sysbench",
        "--test=oltp",
        "--oltp-table-size=1000",
        "--oltp-read-only=on",
    ]);
    command.args([
        "--num-threads=4",
        "--max-requests=0",
        "--max-time=60",
        "--oltp-table-name=t",
        "run",
    ]);
    let (code, stdout, stderr) = run(&mut command);
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    for said in [
        "its successor is oltp_read_only",
        "without a successor: --oltp-table-name=t",
        "remedy: niagara sysbench oltp_read_only --table-size=1000 --threads=4 --events=0 --time=60 run",
    ] {
        assert!(stderr.contains(said), "{said}\n{stdout}{stderr}");
    }
}

#[test]
fn tests_of_the_machine_are_refused_with_a_remedy() {
    for name in ["cpu", "fileio", "memory", "mutex", "threads"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_niagara"));
        command.args(["sysbench", name, "run"]);
        let (code, stdout, stderr) = run(&mut command);
        assert_eq!(code, Some(1), "{name}\n{stdout}{stderr}");
        assert!(
            format!("{stdout}{stderr}").contains("remedy: run the test of sysbench itself"),
            "{name}\n{stdout}{stderr}"
        );
    }
}
