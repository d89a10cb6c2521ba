//! Servers that cannot hide an index: candidates are built and dropped on the copy. `scripts/fetch-test-servers` fetches them.

mod common;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use common::{INDEXES, Shop, shop_statements};
use niagara_queries::{schema, words};

/// The binary of a server that was fetched.
fn binary(name: &str) -> Result<PathBuf> {
    let cache = std::env::var_os("NIAGARA_TEST_SERVERS").map(PathBuf::from);
    let home = std::env::var_os("HOME").context("no home")?;
    let cache = cache.unwrap_or_else(|| Path::new(&home).join(".cache/niagara-test-servers"));
    let places = [
        "bin/mysqld",
        "usr/sbin/mariadbd",
        "usr/sbin/mysqld",
        "bin/mariadbd",
    ];
    let found = places.iter().map(|place| cache.join(name).join(place));
    found
        .into_iter()
        .find(|path| path.is_file())
        .with_context(|| format!("{name} is not there: scripts/fetch-test-servers {name}"))
}

fn indexes_are_built_and_dropped(name: &str) -> Result<()> {
    let shop = Shop::start(&binary(name)?.display().to_string())?;
    let capture = shop.capture("shop", &shop_statements())?;
    let well = shop.advise(&capture)?;
    assert_eq!(
        well.screened.chosen().count(),
        0,
        "{}",
        words::headline(&well)
    );
    // Each product is in eight warehouses.
    let mut digests = well.digests.iter();
    let by_sku = digests.find(|one| one.text.contains("from stock where sku"));
    assert_eq!(by_sku.and_then(|one| one.rows_returned), Some(8.0));
    let good = well.screened.work_before;
    shop.drop_indexes(&INDEXES)?;
    let advice = shop.advise(&capture)?;
    let (before, after) = (advice.screened.work_before, advice.screened.work_after);
    assert!(
        after <= good + 0.1 * (before - good),
        "{good} {before} {after}: {}\n{:#?}\n{:#?}",
        words::headline(&advice),
        advice.screened.judged,
        advice.screened.effects
    );
    let files = schema::files(&advice);
    assert!(
        files
            .iter()
            .all(|(_, text)| !text.contains("IGNORED") && !text.contains("INVISIBLE")),
        "{files:?}"
    );
    Ok(())
}

#[test]
#[ignore = "scripts/fetch-test-servers mariadb-10.5 fetches it; make test-queries"]
fn mariadb_10_5_counts_by_building() -> Result<()> {
    indexes_are_built_and_dropped("mariadb-10.5")
}

#[test]
#[ignore = "scripts/fetch-test-servers mysql-5.7.22 fetches it; make test-queries"]
fn mysql_5_7_counts_by_building() -> Result<()> {
    indexes_are_built_and_dropped("mysql-5.7.22")
}
