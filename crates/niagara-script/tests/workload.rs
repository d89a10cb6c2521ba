//! A script as a workload, as far as that needs no server: what it is known by, whether it changes data, and what is done once.

use niagara_load::{Workload, WorkloadBuilder, WorkloadSpec, read_script};
use std::path::Path;
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        niagara_script::install();
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).expect("a file");
    }

    fn read(&self, name: &str) -> WorkloadSpec {
        let path = self.0.path().join(name);
        WorkloadSpec::of(read_script(Path::new(&path)).expect("a script"))
    }

    /// The script of this text, with these options.
    fn spec(&self, text: &str, options: &[(&str, &str)]) -> WorkloadSpec {
        self.write("script.lua", text);
        let mut spec = self.read("script.lua");
        if let Workload::Script(script) = &mut spec.workload {
            for (name, value) in options {
                script.give(name, value);
            }
        }
        spec
    }
}

#[test]
fn data_are_known_by_text_options_and_what_is_required() {
    let folder = Folder::new();
    folder.write("early.lua", "rows = 10");
    folder.write(
        "late.lua",
        "return function(c) c:query('INSERT INTO t VALUES (1)') end",
    );
    let text = "require 'early'\nfunction prepare() require('late')(sysbench.sql.driver():connect()) end\nfunction event() end";
    let key = |options: &[(&str, &str)]| folder.spec(text, options).data_key(4);
    let first = key(&[]);
    assert_eq!(key(&[]), first);
    assert_ne!(key(&[("rows", "20")]), first);
    // What only `prepare` requires counts as well.
    folder.write(
        "late.lua",
        "return function(c) c:query('INSERT INTO t VALUES (2)') end",
    );
    let second = key(&[]);
    assert_ne!(second, first);
    folder.write("early.lua", "rows = 11");
    assert_ne!(key(&[]), second);
    // Whether it writes is said of the load, not of the data.
    let mut said = WorkloadBuilder::from(folder.spec(text, &[]));
    said.set_scale("niagara-only-reads", "on")
        .expect("an option of all scripts");
    assert!(said.set_scale("niagara-only-reads", "perhaps").is_err());
    let said = said.build().expect("a workload");
    assert_eq!(said.data_key(4), folder.spec(text, &[]).data_key(4));
    assert!(!said.writes());
}

const HEAD: &str = "
sysbench.cmdline.options = { write = {'write', false}, n = {'n', 3} }
function prepare() sysbench.sql.driver():connect():query('CREATE TABLE t (a INT)') end
function thread_init()
   con = sysbench.sql.driver():connect()
   read = con:prepare('SELECT a FROM t WHERE a = ?')
   id = read:bind_create(sysbench.sql.type.INT)
   read:bind_param(id)
   change = con:prepare('UPDATE t SET a = a + 1')
end
";

#[test]
fn whether_a_script_writes_is_found_out_by_trying_it() {
    let folder = Folder::new();
    let writes = |event: &str, options: &[(&str, &str)]| {
        let text = format!("{HEAD}\nfunction event()\n{event}\nend");
        folder.spec(&text, options).writes()
    };
    for reads in [
        "con:query('BEGIN') id:set(1) read:execute() con:query('COMMIT')",
        "print('said nowhere') ffi.C.usleep(5000000) con:query('select 1')",
        "if sysbench.opt.write then change:execute() end read:execute()",
        "for _ = 1, sysbench.opt.n do con:query_row('SELECT 1') end",
        // What has no rows has a result that is NULL, as with sysbench.
        "local rs = con:query('SELECT 1') assert(rs == nil and rs and rs.nrows == 0 and not pcall(rs.free, rs))",
        "assert(read:execute() == nil and tostring(read:execute()) == '<sql_result>')",
        "assert(con:query_row('SELECT 1') == nil)",
        "('1 2'):gsub('%d', function(n) con:query('SELECT ' .. n) end)",
    ] {
        assert!(!writes(reads, &[]), "{reads}");
    }
    for changes in [
        "change:execute()",
        "if sysbench.rand.uniform(1, 20) == 1 then change:execute() end read:execute()",
        "con:query('SELECT a FROM t FOR UPDATE')",
        "con:bulk_insert_init('INSERT INTO t VALUES') con:bulk_insert_next('(1)') con:bulk_insert_done()",
        "db_query('DELETE FROM t')",
        "('1 2'):gsub('%d', function(n) con:query('DELETE FROM t WHERE a = ' .. n) end)",
        // Nobody can say: it computes with a row that is not there.
        "local n = con:query_row('SELECT 1') con:query('SELECT ' .. n + 1)",
        // It is not done just to try it.
        "io.open('/nonexistent/rates', 'a') con:query('SELECT 1')",
        // It asks for nothing.
        "",
        "while true do end",
    ] {
        assert!(writes(changes, &[]), "{changes}");
    }
    let depends = "if sysbench.opt.write then change:execute() end read:execute()";
    assert!(writes(depends, &[("write", "on")]));
}
