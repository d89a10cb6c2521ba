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
   print(stmt:execute().nrows)
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
    assert_eq!(lines[1], "100");
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

#[test]
fn the_machine_is_tested_without_a_server() {
    for (words, line) in [
        (
            "cpu --cpu-max-prime=500 --events=20 --threads=2 run",
            "events per second:",
        ),
        (
            "memory --memory-total-size=1M --threads=2 run",
            "1.00 MiB transferred",
        ),
        (
            "threads --thread-yields=5 --events=20 run",
            "total number of events:              20",
        ),
        (
            "mutex --mutex-locks=50 --mutex-loops=5 --threads=2 run",
            "total number of events:              2",
        ),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_niagara"));
        command.arg("sysbench").args(words.split(' '));
        let (code, stdout, stderr) = run(&mut command);
        assert_eq!(code, Some(0), "{words}\n{stdout}{stderr}");
        assert!(stdout.contains(line), "{words}\n{stdout}");
    }
}
