//! A small shop: its dump, a slow log of what it asks, and the capture of that.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::document;

/// Two tables, and rows enough for a scan to cost something.
pub fn dump() -> String {
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
pub fn log(statements: &[(String, u64, u64)]) -> String {
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

pub fn niagara(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_niagara"));
    command.args(arguments).current_dir(folder);
    let output = command.output().expect("started");
    document::check(&command, &output);
    output
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder with `shop.sql` and `shop.capture`.
pub fn shop(statements: &[(String, u64, u64)]) -> tempfile::TempDir {
    shop_of(&dump(), statements)
}

/// The same of another dump.
pub fn shop_of(dump: &str, statements: &[(String, u64, u64)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("shop.sql"), dump).expect("written");
    fs::write(folder.path().join("slow.log"), log(statements)).expect("written");
    let imported = niagara(folder.path(), &["capture", "import", "slow.log"]);
    assert!(imported.status.success(), "{}", text(&imported.stderr));
    folder
}
