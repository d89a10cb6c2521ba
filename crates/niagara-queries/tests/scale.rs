//! Many digests on many tables: what a digest costs, and that memory does not grow with their number.

mod common;

use std::time::Instant;

use anyhow::{Context, Result};
use common::Shop;
use niagara_queries::Limits;

const TABLES: usize = 300;
const DIGESTS: usize = 2000;

/// Memory of this process at its highest, in bytes.
fn peak() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .context("a peak")?;
    let kilobytes = line.split_whitespace().nth(1).context("a number")?;
    Ok(kilobytes.parse::<u64>()? << 10)
}

#[test]
#[ignore = "minutes; make test-queries"]
fn thousands_of_digests_stay_flat() -> Result<()> {
    let shop = Shop::empty("mariadb-10.11")?;
    let mut admin = shop.admin()?;
    admin.run(b"CREATE TABLE digit (n INT PRIMARY KEY)")?;
    admin.run(b"INSERT INTO digit VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)")?;
    for table in 0..TABLES {
        admin.run(format!("CREATE TABLE t{table} (id INT PRIMARY KEY, a INT, b INT, c VARCHAR(20), d INT, KEY by_a (a))").as_bytes())?;
        admin.run(
            format!(
                "INSERT INTO t{table} SELECT i, i % 50, i % 70, CONCAT('c', i), i FROM \
                 (SELECT a.n + 10 * b.n + 100 * c.n AS i FROM digit a, digit b, digit c) AS many"
            )
            .as_bytes(),
        )?;
    }
    // Each differs from the others by its table or by the columns that it asks for.
    let asks = [
        "a = {}",
        "b = {}",
        "d = {}",
        "c = 'c{}'",
        "a = {} AND b < 9",
        "d < {}",
        "b = {} AND d > 3",
    ];
    let mut statements = Vec::new();
    for digest in 0..DIGESTS {
        let (table, ask) = (digest % TABLES, asks[digest / TABLES % asks.len()]);
        for value in 0..3 {
            statements.push(format!(
                "SELECT id FROM t{table} WHERE {}",
                ask.replace("{}", &(digest % 40 + value).to_string())
            ));
        }
    }
    let capture = shop.capture("scale", &statements)?;
    let before = peak()?;
    let begun = Instant::now();
    let advice = shop.advise_within(
        &capture,
        Limits {
            indexes: 20,
            bytes: None,
        },
    )?;
    let grown = peak()?.saturating_sub(before);
    eprintln!(
        "{DIGESTS} digests on {TABLES} tables: {:.0} s, {} counted, {} candidates, {} chosen, memory grew by {} MB",
        begun.elapsed().as_secs_f64(),
        advice.digests.len(),
        advice.screened.judged.len(),
        advice.screened.chosen().count(),
        grown >> 20
    );
    assert!(advice.digests.len() <= 200);
    // 64 KB a digest: its text, a sample, its structure, its plan.
    assert!(grown < (DIGESTS as u64) << 16, "{grown}");
    Ok(())
}
