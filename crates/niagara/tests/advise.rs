//! `niagara advise`: from a slow log and a dump to an index, and what it refuses.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Two tables, and rows enough for a scan to cost something.
fn dump() -> String {
    let rows = |count: usize, row: &dyn Fn(usize) -> String| {
        (1..=count).map(row).collect::<Vec<_>>().join(",")
    };
    format!(
        "-- MariaDB dump 10.19  Distrib 10.11.19-MariaDB, for debian-linux-gnu (x86_64)\n\
         CREATE DATABASE `shop`;\nUSE `shop`;\n\
         CREATE TABLE customer (id INT PRIMARY KEY, email VARCHAR(60), country CHAR(2)) ENGINE=InnoDB;\n\
         INSERT INTO customer VALUES {};\n\
         CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT, total INT, KEY by_total (total)) ENGINE=InnoDB;\n\
         INSERT INTO orders VALUES {};\n\
         -- Dump completed on 2026-11-28  0:00:00\n",
        rows(3000, &|i| format!("({i},'u{i}@example.org','at')")),
        rows(3000, &|i| format!("({i},{},{})", i % 700, i % 90)),
    )
}

/// A slow log of MariaDB's with these statements, each with what it examined and sent.
fn log(statements: &[(String, u64, u64)]) -> String {
    let head = "/usr/sbin/mariadbd, Version: 10.11.19-MariaDB-0+deb12u1 (Debian 12). started with:\n\
        Tcp port: 0  Unix socket: /run/mysqld/mysqld.sock\nTime\t\t    Id Command\tArgument\n# Time: 261128  0:00:00\n";
    let entries = statements.iter().enumerate().map(|(place, (statement, examined, sent))| {
        let micros = 100 + examined;
        format!(
            "# User@Host: app[app] @ localhost []\n# Thread_id: 7  Schema: shop  QC_hit: No\n\
             # Query_time: 0.{micros:06}  Lock_time: 0.000010  Rows_sent: {sent}  Rows_examined: {examined}\n\
             # Rows_affected: 0  Bytes_sent: 90\n\
             # Full_scan: Yes  Full_join: No  Tmp_table: No  Tmp_table_on_disk: No\n\
             # Filesort: No  Filesort_on_disk: No  Merge_passes: 0  Priority_queue: No\n\
             SET timestamp={};\n{statement};\n",
            1_795_824_000 + place
        )
    });
    format!("{head}{}", entries.collect::<String>())
}

fn niagara(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_niagara"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("started")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder with `shop.sql` and `shop.capture`.
fn shop(statements: &[(String, u64, u64)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("shop.sql"), dump()).expect("written");
    fs::write(folder.path().join("slow.log"), log(statements)).expect("written");
    let imported = niagara(folder.path(), &["capture", "import", "slow.log"]);
    assert!(imported.status.success(), "{}", text(&imported.stderr));
    folder
}

#[test]
fn advice_goes_from_log_to_index() {
    let mut statements: Vec<(String, u64, u64)> = (0..20)
        .map(|i| {
            (
                format!(
                    "SELECT id FROM customer WHERE email = 'u{}@example.org'",
                    i * 97
                ),
                3000,
                1,
            )
        })
        .collect();
    // Not understood, and never fatal.
    statements.push((
        "SELECT id FROM customer PROCEDURE ANALYSE ((".to_owned(),
        0,
        0,
    ));
    statements.push(("HANDLER customer OPEN".to_owned(), 0, 0));
    let folder = shop(&statements);
    let info = niagara(
        folder.path(),
        &[
            "capture",
            "info",
            "shop.capture",
            "--sort",
            "rows",
            "--json",
        ],
    );
    let info: Value = serde_json::from_slice(&info.stdout).expect("JSON");
    assert_eq!(info["format"], 1);
    let first = &info["digests"][0];
    assert_eq!(
        (&first["rows_examined"], &first["plan"]["full_scans"]),
        (&Value::from(60_000), &Value::from(20))
    );
    let number = first["digest"].as_str().expect("a digest");
    let one = niagara(
        folder.path(),
        &["capture", "info", "shop.capture", &number[..8]],
    );
    let shown = text(&one.stdout);
    assert!(
        shown.contains("tables: customer")
            && shown.contains("samples are hidden")
            && !shown.contains("@example.org"),
        "{shown}"
    );
    let one = niagara(
        folder.path(),
        &[
            "capture",
            "info",
            "shop.capture",
            &number[..8],
            "--literals",
        ],
    );
    assert!(text(&one.stdout).contains("@example.org"));

    let advised = niagara(
        folder.path(),
        &["advise", "--capture", "shop.capture", "--data", "shop.sql"],
    );
    let out = text(&advised.stdout);
    assert!(advised.status.success(), "{}", text(&advised.stderr));
    let first = out.lines().next().unwrap_or_default();
    assert!(
        first.contains("one statement that reads 3,001 rows") && first.contains("1 index takes"),
        "{out}"
    );
    assert!(out.contains("not yet proven by duels"), "{out}");
    assert!(out.lines().count() < 45, "one screen: {out}");
    let schema = fs::read_to_string(folder.path().join("niagara-advice/shop/deploy/schema.sql"))
        .expect("written");
    let index = "ALTER TABLE `shop`.`customer` ADD INDEX `idx_email` (`email`), ALGORITHM=INPLACE, LOCK=NONE;";
    assert!(schema.contains(index), "{schema}");
    assert!(!schema.contains("@example.org"), "no literal: {schema}");
    let undo = fs::read_to_string(folder.path().join("niagara-advice/shop/deploy/undo.sql"))
        .expect("written");
    assert!(undo.contains("DROP INDEX `idx_email`"), "{undo}");
}

#[test]
fn advice_without_need_is_none() {
    let statements: Vec<(String, u64, u64)> = (1..20)
        .map(|i| {
            (
                format!("SELECT total FROM orders WHERE id = {}", i * 97),
                1,
                1,
            )
        })
        .collect();
    let folder = shop(&statements);
    let advised = niagara(
        folder.path(),
        &[
            "advise",
            "--capture",
            "shop.capture",
            "--data",
            "shop.sql",
            "--json",
        ],
    );
    assert!(advised.status.success(), "{}", text(&advised.stderr));
    let json: Value = serde_json::from_slice(&advised.stdout).expect("JSON");
    assert_eq!(json["format"], 1);
    let judged = json["screened"]["judged"].as_array().expect("a list");
    assert!(
        judged.iter().all(|one| one["fate"]["code"] != "chosen"),
        "{judged:?}"
    );
}

#[test]
fn advice_wants_data() {
    let folder = shop(&[("SELECT 1".to_owned(), 0, 1)]);
    let refused = niagara(folder.path(), &["advise", "--capture", "shop.capture"]);
    let told = text(&refused.stderr);
    assert!(
        !refused.status.success() && told.contains("remedy: --data"),
        "{told}"
    );
    let refused = niagara(
        folder.path(),
        &["advise", "--capture", "slow.log", "--data", "shop.sql"],
    );
    assert!(
        !refused.status.success() && text(&refused.stderr).contains("slow.log"),
        "{}",
        text(&refused.stderr)
    );
}
