//! How fast logs are read: `make bench-capture`, or
//! `cargo run --release -p niagara-capture --example throughput -- [MEGABYTES]`.
//!
//! A log is made up, written to a temporary folder, read and imported, on one core each. What is printed is of this machine.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use jiff::tz::TimeZone;
use niagara_capture::dropped::Dropped;
use niagara_capture::log::{Input, Item, LogReader, Probe, ReadOptions};
use niagara_capture::{Import, import};

/// Entries by turns: a point query, a list, an insert of several rows, a long text.
fn entry(number: u64, out: &mut impl Write, mysql: bool) -> std::io::Result<()> {
    let (thread, second) = (number % 64 + 10, 1_795_379_600 + number / 20_000);
    let statement = match number % 4 {
        0 => format!("SELECT c FROM sbtest1 WHERE id={}", number * 7919 % 100_000),
        1 => format!(
            "SELECT id, name FROM customers WHERE id IN ({}, {}, {}, {}) AND active = 1 ORDER BY name LIMIT 20",
            number,
            number + 1,
            number + 2,
            number * 3
        ),
        2 => format!(
            "INSERT INTO orders (customer, state, note) VALUES ({number}, 'new', 'call first'), ({number}, 'paid', NULL)"
        ),
        _ => format!(
            "UPDATE pages SET body = '{}' WHERE id = {number}",
            "Lorem ipsum dolor sit amet, it''s said. ".repeat(12)
        ),
    };
    if mysql {
        write!(
            out,
            "# Time: 2026-11-22T20:46:08.690874Z\n# User@Host: app[app] @ web1 [10.0.0.7]  Id: {thread:>5}\n\
             # Query_time: 0.000{:03}  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n",
            number % 1000
        )?;
    } else {
        write!(
            out,
            "# User@Host: app[app] @ web1 [10.0.0.7]\n# Thread_id: {thread}  Schema: shop  QC_hit: No\n\
             # Query_time: 0.000{:03}  Lock_time: 0.000001  Rows_sent: 1  Rows_examined: 1\n\
             # Rows_affected: 0  Bytes_sent: 56\n",
            number % 1000
        )?;
    }
    writeln!(out, "SET timestamp={second};\n{statement};")
}

fn general(number: u64, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(
        out,
        "2026-11-22T20:46:08.{:06}Z\t{:>5} Query\tSELECT c FROM sbtest1 WHERE id={} AND k BETWEEN 10 AND 20",
        number % 1_000_000,
        number % 64 + 10,
        number * 7919 % 100_000
    )
}

fn measure(name: &str, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let options = ReadOptions {
        zone: TimeZone::UTC,
        ..ReadOptions::default()
    };
    let megabytes = path.metadata()?.len() as f64 / 1e6;
    let probe = Probe::read(Input::open(path)?, &options.zone)?;
    let began = Instant::now();
    let mut reader = LogReader::new(Input::open(path)?, path.to_owned(), &probe, &options);
    let mut dropped = Dropped::default();
    let mut entries = 0_u64;
    while let Some(item) = reader.next(&mut dropped)? {
        entries += u64::from(matches!(item, Item::Entry(..)));
    }
    let read = began.elapsed().as_secs_f64();
    let output = path.with_extension("capture");
    let job = Import {
        files: vec![path.to_owned()],
        read: options,
        output: output.clone(),
        replace: true,
        counted: None,
        stored: None,
        clients: Vec::new(),
    };
    let began = Instant::now();
    import(&job, &AtomicBool::new(false), |_| {})?;
    let imported = began.elapsed().as_secs_f64();
    println!(
        "{name:<14} {megabytes:>6.0} MB {entries:>9} entries   read {:>6.0} MB/s   imported {:>6.0} MB/s   capture {:>5.1} % of the log",
        megabytes / read,
        megabytes / imported,
        output.metadata()?.len() as f64 / 1e4 / megabytes
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let megabytes: u64 = std::env::args()
        .nth(1)
        .map_or(Ok(200), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    for name in ["mariadb-slow", "mysql-slow", "mysql-general"] {
        let path = folder.path().join(format!("{name}.log"));
        let mut out = BufWriter::new(std::fs::File::create(&path)?);
        let mut number = 0;
        let mut block = Vec::new();
        let mut written = 0;
        while written < megabytes << 20 {
            block.clear();
            for _ in 0..1000 {
                match name {
                    "mysql-general" => general(number, &mut block)?,
                    name => entry(number, &mut block, name == "mysql-slow")?,
                }
                number += 1;
            }
            out.write_all(&block)?;
            written += block.len() as u64;
        }
        out.flush()?;
        drop(out);
        measure(name, &path)?;
    }
    Ok(())
}
