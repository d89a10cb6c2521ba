//! Passwords of accounts are in no capture, wherever in a log they stand.

mod common;

use std::fmt::Write as _;
use std::path::Path;

use common::{import_all, lines};
use niagara_capture::dropped::Cause;
use niagara_capture::export;

/// Statements with an account's password.
const SECRET: [&str; 30] = [
    "CREATE USER joe@'%' IDENTIFIED BY 'hunter2'",
    "ALTER USER joe IDENTIFIED BY 'hunter2' REPLACE 'hunter2'",
    "ALTER USER joe IDENTIFIED\tWITH caching_sha2_password\nAS 'hunter2'",
    "GRANT ALL ON *.* TO joe IDENTIFIED  BY PASSWORD 'hunter2'",
    "SET PASSWORD = 'hunter2'",
    "set /* a */ password for joe@localhost = PASSWORD('hunter2')",
    "SELECT PASSWORD('hunter2')",
    "SELECT OLD_PASSWORD ( 'hunter2' )",
    "CHANGE MASTER TO MASTER_HOST='a', MASTER_PASSWORD='hunter2'",
    "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD='hunter2'",
    "START REPLICA USER='joe' PASSWORD='hunter2'",
    "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'joe', PASSWORD 'hunter2')",
    "ALTER SERVER s OPTIONS (PASSWORD 'hunter2')",
    "CREATE TABLE t (a INT) ENGINE=FEDERATED CONNECTION='mysql://joe:hunter2@a/b/c'",
    "SET GLOBAL wsrep_sst_auth='joe:hunter2'",
    "CLONE INSTANCE FROM joe@a:3306 IDENTIFIED BY 'hunter2'",
    "UPDATE mysql.user SET authentication_string='hunter2' WHERE User='joe'",
    "PREPARE s FROM 'ALTER USER joe IDENTIFIED BY ''hunter2'''",
    "PREPARE s FROM 'SET  PASSWORD = ''hunter2'''",
    "EXECUTE IMMEDIATE 'SET\tPASSWORD FOR joe = ''hunter2'''",
    "SET @q = CONCAT('ALTER USER joe IDENTIFIED BY ', QUOTE('hunter2'))",
    "SELECT CONCAT('SET PASSWORD FOR joe = ', QUOTE('hunter2')) INTO @q",
    "SELECT 1; SET PASSWORD = 'hunter2'",
    "SELECT 1 /* GRANT ALL ON *.* TO joe IDENTIFIED BY 'hunter2' */",
    "UPDATE t SET a = 1 -- SET PASSWORD = 'hunter2'",
    "CREATE PROCEDURE p() BEGIN SELECT 1; SET PASSWORD FOR joe = 'hunter2'; END",
    "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO ALTER USER joe IDENTIFIED BY 'hunter2'",
    "BEGIN NOT ATOMIC EXECUTE IMMEDIATE 'CREATE USER joe IDENTIFIED BY ''hunter2'''; END",
    "INSERT INTO history VALUES ('SET PASSWORD = ''hunter2''')",
    "ALTER USR joe IDENTIFIED BY 'hunter2'",
];

/// Statements of an application that has columns of such names: they are its data.
const DATA: [&str; 5] = [
    "UPDATE users SET password='swordfish' WHERE id = 1",
    "INSERT INTO users (name, password) VALUES ('a', 'swordfish')",
    "SELECT id FROM users WHERE name = 'a' AND password = 'swordfish'",
    "CREATE TABLE users (password CHAR(9) COMMENT 'the password', KEY password (password))",
    "INSERT INTO pages VALUES ('Species are identified by \"swordfish\"')",
];

fn slow(statement: &str, out: &mut String) {
    write!(
        out,
        "# User@Host: app[app] @ localhost []\n# Thread_id: 7  Schema: shop  QC_hit: No\n\
         # Query_time: 0.000200  Lock_time: 0.000001  Rows_sent: 1  Rows_examined: 1\n\
         # Rows_affected: 0  Bytes_sent: 56\nSET timestamp=1795380360;\n{statement};\n"
    )
    .expect("a string");
}

fn general(statement: &str, out: &mut String) {
    for command in ["Query", "Prepare"] {
        writeln!(
            out,
            "2026-11-22T20:46:08.690874Z\t    7 {command}\t{statement}"
        )
        .expect("a string");
    }
}

/// Everything that is in a capture, literals and names among it.
fn everything(path: &Path) -> String {
    let mut out = Vec::new();
    export(path, &mut out, true, path).expect("a capture");
    let mut all = String::from_utf8(out).expect("JSON");
    all.push_str(&lines(path).join("\n"));
    all
}

#[test]
fn passwords_of_accounts_are_in_no_capture() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, write) in [
        ("slow.log", slow as fn(&str, &mut String)),
        ("general.log", general),
    ] {
        let mut log = String::new();
        for statement in SECRET.iter().chain(&DATA) {
            write(statement, &mut log);
        }
        let (path, output) = (folder.path().join(name), folder.path().join("a.capture"));
        std::fs::write(&path, log).expect("a file");
        let summary = import_all(&[path], &output).expect("a log");
        let all = everything(&output);
        for line in all.lines() {
            assert!(!line.contains("hunter2"), "{name}: {line}");
        }
        let kept = all.matches("swordfish").count();
        assert!(kept >= 4, "{name}: {all}");
        assert!(
            summary.dropped.count(Cause::Account) > 20,
            "{name}: {summary:?}"
        );
        assert_eq!(summary.dropped.count(Cause::BrokenHeader), 0);
    }
}

#[test]
fn data_of_such_names_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut log = String::new();
    for statement in DATA {
        slow(statement, &mut log);
    }
    let (path, output) = (folder.path().join("a.log"), folder.path().join("a.capture"));
    std::fs::write(&path, log).expect("a file");
    let summary = import_all(&[path], &output).expect("a log");
    assert!(summary.dropped.is_empty(), "{summary:?}");
    assert_eq!(lines(&output).len(), DATA.len());
}
