//! `niagara advise`: from a slow log and a dump to an index, and what it refuses.

mod common;

use std::fs;

use common::shop::{niagara, shop, text};
use serde_json::Value;

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
        &[
            "advise",
            "--capture",
            "shop.capture",
            "--data",
            "shop.sql",
            "--no-duels",
        ],
    );
    let out = text(&advised.stdout);
    assert!(advised.status.success(), "{}", text(&advised.stderr));
    let first = out.lines().next().unwrap_or_default();
    assert!(
        first.contains("one statement that reads 3,001 rows") && first.contains("1 index takes"),
        "{out}"
    );
    assert!(out.contains("not proven by duels"), "{out}");
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
fn duels_decide_what_is_handed_over() {
    let statements: Vec<(String, u64, u64)> = (0..1500)
        .map(|i| {
            let email = format!("u{}@example.org", i * 2);
            let select = format!("SELECT id FROM customer WHERE email = '{email}'");
            (select, 3000, 1)
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
            "--budget",
            "60s",
        ],
    );
    let out = text(&advised.stdout);
    assert!(advised.status.success(), "{}", text(&advised.stderr));
    let read =
        |name: &str| fs::read_to_string(folder.path().join("niagara-advice/shop").join(name));
    let json: Value = serde_json::from_str(&read("advice.json").expect("written")).expect("JSON");
    let proof = &json["proof"];
    assert!(proof["set"]["duels"].as_u64() > Some(0), "{out}");
    assert_eq!(
        proof["digests"].as_array().map(Vec::len),
        Some(1),
        "{proof}"
    );
    assert_eq!(proof["indexes"][0]["index"], "idx_email");
    // How many duels the time was enough for is the machine's to say; what is handed over follows from them.
    let is_proven = out
        .lines()
        .next()
        .is_some_and(|line| line.contains("Proven by duels"));
    assert_eq!(read("deploy/schema.sql").is_ok(), is_proven, "{out}");
    let fate = &json["screened"]["judged"][0]["fate"]["code"];
    assert_eq!(fate == "chosen", is_proven, "{fate}");
    assert!(out.lines().count() < 45, "one screen: {out}");
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
