//! Statements with a known cause of slowness: the cause is named.

mod common;

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use common::Shop;
use niagara_capture::info::info;
use niagara_queries::{DataCopy, Deadline, Selection, observe, refresh_statistics};

/// Statements, and the code of what makes each of them slow.
const CASES: [(&str, &str); 42] = [
    (
        "no_usable_index",
        "SELECT id FROM customer WHERE note = 'note 77'",
    ),
    (
        "no_usable_index",
        "SELECT id FROM purchase WHERE total = 77",
    ),
    (
        "no_usable_index",
        "SELECT id FROM purchase WHERE total BETWEEN 10 AND 11",
    ),
    (
        "no_usable_index",
        "UPDATE customer SET note = 'changed' WHERE legacy = 'L77'",
    ),
    (
        "no_usable_index",
        "DELETE FROM purchase WHERE customer_ref = 'nobody'",
    ),
    (
        "no_usable_index",
        "SELECT sku FROM stock WHERE quantity = 99 AND counted > '2024-01-01'",
    ),
    (
        "no_usable_index",
        "SELECT purchase_id FROM purchase_line WHERE quantity IN (7, 8)",
    ),
    (
        "not_selective",
        "SELECT id FROM purchase WHERE status = 'sent' AND total = 77",
    ),
    (
        "not_selective",
        "SELECT id FROM customer WHERE country = 'at' AND note = 'note 20'",
    ),
    (
        "not_selective",
        "SELECT sku FROM stock WHERE region = 'eu' AND quantity = 7",
    ),
    ("conversion", "SELECT id FROM customer WHERE phone = 1077"),
    (
        "conversion",
        "SELECT id FROM purchase WHERE customer_ref = 77",
    ),
    ("conversion", "SELECT name FROM product WHERE sku = 5"),
    (
        "conversion",
        "SELECT c.id FROM purchase p JOIN customer c ON c.phone = p.customer_id WHERE p.id = 9",
    ),
    (
        "collation",
        "SELECT c.id FROM purchase p JOIN customer c ON c.legacy = p.customer_ref WHERE p.id = 7",
    ),
    (
        "function_on_column",
        "SELECT id FROM customer WHERE YEAR(joined) = 2021 AND MONTH(joined) = 2",
    ),
    (
        "function_on_column",
        "SELECT id FROM customer WHERE LOWER(email) = 'u5@example.org'",
    ),
    (
        "function_on_column",
        "SELECT id FROM purchase WHERE DATE(placed) = '2025-01-05'",
    ),
    (
        "function_on_column",
        "SELECT id FROM purchase WHERE customer_id + 1 = 100",
    ),
    (
        "function_on_column",
        "SELECT id FROM customer WHERE SUBSTRING(phone, 1, 4) = '0107'",
    ),
    (
        "leading_wildcard",
        "SELECT id FROM customer WHERE email LIKE '%77@example.org'",
    ),
    (
        "leading_wildcard",
        "SELECT sku FROM product WHERE name LIKE '%thing 77%'",
    ),
    (
        "leading_wildcard",
        "SELECT sku FROM product WHERE name REGEXP 'ing 77$'",
    ),
    (
        "or_across_columns",
        "SELECT id FROM customer WHERE note = 'note 5' OR legacy = 'L9'",
    ),
    (
        "or_across_columns",
        "SELECT id FROM purchase WHERE total = 499 OR customer_ref = '55'",
    ),
    (
        "or_across_columns",
        "SELECT id FROM purchase WHERE customer_id = 5 OR total = 77",
    ),
    (
        "join_without_index",
        "SELECT c.id, p.id FROM customer c JOIN purchase p ON p.total = c.id WHERE c.country = 'hu' AND c.joined < '2020-01-09'",
    ),
    (
        "join_without_index",
        "SELECT w.name, COUNT(*) FROM warehouse w JOIN purchase p ON p.number = w.number GROUP BY w.name",
    ),
    (
        "join_without_index",
        "SELECT l.line FROM purchase_line l JOIN product r ON r.name = l.sku WHERE l.purchase_id = 5",
    ),
    (
        "filesort",
        "SELECT id, note FROM customer ORDER BY note LIMIT 5",
    ),
    (
        "filesort",
        "SELECT id FROM purchase WHERE status = 'sent' ORDER BY total LIMIT 10",
    ),
    (
        "filesort",
        "SELECT id FROM purchase ORDER BY total DESC, id LIMIT 3",
    ),
    (
        "temporary_table",
        "SELECT customer_ref, COUNT(*) FROM purchase GROUP BY customer_ref",
    ),
    ("temporary_table", "SELECT DISTINCT note FROM customer"),
    (
        "temporary_table",
        "SELECT total, SUM(number) FROM purchase GROUP BY total ORDER BY SUM(number) DESC LIMIT 3",
    ),
    (
        "calc_found_rows",
        "SELECT SQL_CALC_FOUND_ROWS id FROM purchase WHERE status = 'sent' ORDER BY placed LIMIT 5",
    ),
    (
        "deep_offset",
        "SELECT id, total FROM purchase ORDER BY id LIMIT 5000, 10",
    ),
    (
        "deep_offset",
        "SELECT * FROM customer ORDER BY id LIMIT 10 OFFSET 6000",
    ),
    (
        "random_order",
        "SELECT id FROM customer ORDER BY RAND() LIMIT 1",
    ),
    (
        "dependent_subquery",
        "SELECT id FROM customer c WHERE c.country = 'hu' AND c.joined < '2020-02-09' \
      AND (SELECT COUNT(*) FROM purchase p WHERE p.customer_ref = c.phone AND p.total > 400) > 1",
    ),
    (
        "negated_condition",
        "SELECT COUNT(*) FROM customer WHERE note NOT LIKE 'note%'",
    ),
    ("reads_everything", "SELECT id, note FROM customer"),
];

/// A table whose statistics say the contrary of what is in it, and a statement that they mislead.
const STALE: [&str; 7] = [
    "CREATE TABLE audit (id INT PRIMARY KEY, kind INT, day INT, KEY by_kind (kind), KEY by_day (day)) STATS_AUTO_RECALC = 0",
    "CREATE TABLE probe (id INT PRIMARY KEY, kind INT, day INT)",
    "INSERT INTO audit SELECT id, id, 1 FROM customer WHERE id < 4000",
    "INSERT INTO probe SELECT n, 1, n + 100 FROM digit",
    "ANALYZE TABLE audit, probe",
    "UPDATE audit SET kind = 1, day = id",
    "COMMIT",
];
const MISLED: &str =
    "SELECT COUNT(a.id) FROM probe p STRAIGHT_JOIN audit a ON a.kind = p.kind AND a.day = p.day";

/// How many of the statements on this server have their cause named first, and which have not.
fn named(server: &str) -> Result<(usize, Vec<String>)> {
    let shop = Shop::start(server)?;
    let mut admin = shop.admin()?;
    for statement in STALE {
        admin.run(statement.as_bytes())?;
    }
    drop(admin);
    let mut statements: Vec<String> = CASES
        .iter()
        .map(|(_, statement)| (*statement).to_owned())
        .collect();
    statements.push(MISLED.to_owned());
    // A page that asks for its products one by one.
    statements.push(String::new());
    statements.extend((0..10).map(|i| format!("SELECT price FROM product WHERE sku = 'sku{i}'")));
    let capture = shop.capture("causes", &statements)?;
    let info = info(&capture)?;
    let mut copy = DataCopy::of(&shop.server, &shop.install, Duration::from_secs(30))?;
    let catalog = copy.catalog()?;
    let deadline = Deadline::after(Duration::from_secs(1200));
    let selection = Selection {
        share: 1.0,
        most: 1000,
    };
    let mut tell = |_: &str| Ok(());
    let mut observed = observe(
        &mut copy,
        &catalog,
        (&capture, &info),
        "shop",
        selection,
        deadline,
        &mut tell,
    )?;
    refresh_statistics(&mut copy, &catalog, &mut observed, deadline, &mut tell)?;
    let mut expected: HashMap<String, &str> = HashMap::new();
    let digest = |statement: &str| {
        let mut cut = niagara_capture::sql::Cut::default();
        cut.read(
            statement.as_bytes(),
            niagara_capture::sql::SqlMode::default(),
        );
        String::from_utf8_lossy(&niagara_capture::sql::digest_text(cut.for_digest())).into_owned()
    };
    expected.extend(
        CASES
            .iter()
            .map(|(code, statement)| (digest(statement), *code)),
    );
    expected.insert(digest(MISLED), "stale_statistics");
    expected.insert(
        digest("SELECT price FROM product WHERE sku = 'sku1'"),
        "n_plus_one",
    );
    assert_eq!(
        expected.len(),
        CASES.len() + 2,
        "each is a digest of its own"
    );
    let mut right = 0;
    let mut wrong = Vec::new();
    for (text, code) in &expected {
        let one = observed.iter().find(|one| one.info.text == *text);
        let codes: Vec<&str> = one.map_or(Vec::new(), |one| {
            one.causes.iter().map(|cause| cause.code()).collect()
        });
        match codes.first() == Some(code) {
            true => right += 1,
            false => wrong.push(format!(
                "{text}\n  expected {code}, found {codes:?}, {:?}",
                one.map(|one| (&one.plan, one.work, &one.refused))
            )),
        }
    }
    Ok((right, wrong))
}

/// Nine of ten.
fn check(server: &str) -> Result<()> {
    let (right, wrong) = named(server)?;
    eprintln!(
        "{server}: {right} of {} named\n{}",
        right + wrong.len(),
        wrong.join("\n")
    );
    assert!(
        right * 10 >= (right + wrong.len()) * 9,
        "{right} of {}\n{}",
        right + wrong.len(),
        wrong.join("\n")
    );
    Ok(())
}

#[test]
fn mariadb_causes_are_named() -> Result<()> {
    check("mariadb-10.11")
}

#[test]
fn mysql_causes_are_named() -> Result<()> {
    check("mysql-9.7")
}
