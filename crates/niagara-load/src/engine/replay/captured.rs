//! Captures for tests.

use niagara_capture::log::ReadOptions;
use niagara_capture::{Import, import};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// A capture in `folder` from a slow log of MySQL, a statement every 10 µs, each with its session and the database that the log
/// says.
pub(super) fn capture(folder: &Path, statements: &[(u64, &str, &str)]) -> PathBuf {
    let mut text = String::from(
        "/usr/sbin/mysqld, Version: 8.0.36 (MySQL Community Server - GPL). started with:\n\
         Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\n\
         Time                 Id Command    Argument\n",
    );
    for (number, (session, database, sql)) in statements.iter().enumerate() {
        let said = match *database {
            "" => String::new(),
            name => format!("use {name};\n"),
        };
        write!(
            text,
            "# Time: 2023-11-14T22:13:20.{:06}Z\n# User@Host: app[app] @ localhost []  Id: {session}\n\
             # Query_time: 0.000001  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n{said}SET timestamp=1700000000;\n{sql};\n",
            number * 10 + 1
        )
        .expect("a string");
    }
    let (log, output) = (folder.join("slow.log"), folder.join("a.capture"));
    std::fs::write(&log, text).expect("a file");
    let order = Import {
        files: vec![log],
        read: ReadOptions::default(),
        output: output.clone(),
        replace: true,
        clients: Vec::new(),
        counted: None,
        stored: None,
    };
    import(&order, &AtomicBool::new(false), |_| {}).expect("a log");
    output
}
