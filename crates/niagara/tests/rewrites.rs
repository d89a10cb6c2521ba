//! Statements in place of captured ones: the file to edit, the comparison, answers that differ, and mistakes.

mod common;

use std::fs;
use std::path::Path;
use std::process::Output;

use common::shop::{niagara, shop, text};
use niagara_model::{CompareSummary, Summary};
use niagara_stats::Verdict;
use niagara_store::Store;

/// A shop whose customers are looked for by their addresses.
fn searched_shop() -> tempfile::TempDir {
    let statements: Vec<(String, u64, u64)> = (0..600)
        .map(|i| {
            let email = format!("u{}@example.org", i + 1);
            let select = format!("SELECT id FROM customer WHERE email = '{email}' LIMIT 5");
            (select, 3000, 1)
        })
        .collect();
    shop(&statements)
}

/// The file that a rewrite begins as.
fn rewrite_of_first(folder: &Path) -> String {
    let info = niagara(folder, &["capture", "info", "shop.capture", "--json"]);
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).expect("JSON");
    let digest = info["digests"][0]["digest"].as_str().expect("a digest");
    let words = [
        "capture",
        "info",
        "shop.capture",
        &digest[..8],
        "--as-rewrite",
    ];
    let written = niagara(folder, &words);
    assert!(written.status.success(), "{}", text(&written.stderr));
    text(&written.stdout)
}

fn compared(folder: &Path, rewrite: &str) -> Output {
    compared_with(folder, rewrite, &["--max-duels", "2", "--to-the-end"])
}

fn compared_with(folder: &Path, rewrite: &str, more: &[&str]) -> Output {
    fs::write(folder.join("search.toml"), rewrite).expect("written");
    let shared = [
        "compare",
        "base",
        "rewrite=./search.toml",
        "--workload",
        "./shop.capture",
        "--data",
        "shop.sql",
        "--slice",
        "100ms",
        "--couples",
        "2",
        "--warm-up",
        "100ms",
        "--disturbance",
        "100%",
        "--budget",
        "3m",
        "--seed",
        "3",
        "--out",
        "study",
    ];
    niagara(folder, &[&shared[..], more].concat())
}

fn summary(folder: &Path) -> CompareSummary {
    let store = Store::open_read_only(&folder.join("study/results.db")).expect("results");
    match store.summary().expect("readable") {
        Some(Summary::Compare(compare)) => *compare,
        other => panic!("a comparison, not {other:?}"),
    }
}

#[test]
fn a_rewrite_is_compared_by_speed_and_answers() {
    let folder = searched_shop();
    let file = rewrite_of_first(folder.path());
    assert!(
        file.contains("WHERE email = ?1 LIMIT ?2") && !file.contains("example.org"),
        "{file}"
    );
    // The same question in other words.
    let same = file.replace(
        "SELECT id FROM customer WHERE email = ?1",
        "SELECT /* other */ id FROM customer IGNORE INDEX (PRIMARY) WHERE email IN (?1)",
    );
    assert_ne!(same, file);
    let done = compared(folder.path(), &same);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let replay = summary(folder.path())
        .comparison
        .replay
        .expect("a capture's");
    assert!(replay.answers.is_empty(), "{:?}", replay.answers);
    let answers = replay.same_answers.expect("compared");
    assert!(
        answers.by_content > 0 && answers.failure.is_none(),
        "{answers:?}"
    );
    assert_eq!(replay.digests.len(), 1);
}

#[test]
fn a_proven_rewrite_is_handed_over() {
    let statements: Vec<(String, u64, u64)> = (0..400)
        .map(|i| {
            let select = format!("SELECT id FROM customer WHERE id + 0 = {} LIMIT 5", i + 1);
            (select, 3000, 1)
        })
        .collect();
    let folder = shop(&statements);
    let file = rewrite_of_first(folder.path());
    let better = file.replace("id + ?1 = ?2", "id = ?2");
    assert_ne!(better, file);
    let done = compared_with(folder.path(), &better, &["--max-duels", "12"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let summary = summary(folder.path());
    // How many duels the time was enough for is the machine's to say; what is handed over follows from them.
    let is_proven = summary.comparison.throughput.verdict == Some(Verdict::Faster);
    let read = |name: &str| fs::read_to_string(folder.path().join("study/deploy").join(name));
    assert_eq!(read("proxysql.sql").is_ok(), is_proven);
    if !is_proven {
        return;
    }
    let rules = read("proxysql.sql").expect("written");
    assert!(
        rules.contains(r"'^\s*SELECT\s+id\s+FROM\s+customer\s+WHERE\s+id\s+\+\s+(")
            && rules.contains(r"'SELECT id FROM customer WHERE id = \2 LIMIT \3'"),
        "{rules}"
    );
    let statements = read("statements.sql").expect("written");
    assert!(
        statements.contains("--   SELECT id FROM customer WHERE id + ?1 = ?2 LIMIT ?3\n")
            && statements.contains("\nSELECT id FROM customer WHERE id = ?2 LIMIT ?3;\n"),
        "{statements}"
    );
    assert!(read("README.md").expect("written").contains("proxysql.sql"));
}

#[test]
fn a_rewrite_with_other_answers_is_named() {
    let folder = searched_shop();
    let file = rewrite_of_first(folder.path());
    let other = file.replace("WHERE email = ?1", "WHERE email > ?1 ORDER BY id");
    let done = compared(folder.path(), &other);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let replay = summary(folder.path())
        .comparison
        .replay
        .expect("a capture's");
    assert!(!replay.answers.is_empty());
}

#[test]
fn mistakes_of_rewrites_have_places() {
    let folder = searched_shop();
    let file = rewrite_of_first(folder.path());
    for (changed, expected) in [
        (file.replace("?2", "?3"), "?3 of digest"),
        (
            file.replace("digest = \"", "digest = \"0000"),
            "the capture has no digest 0000",
        ),
        (
            file.replace("LIMIT ?2", "INTO OUTFILE \'x\'"),
            "search.toml:",
        ),
        (
            file.replace("statement", "statment"),
            "did you mean `statement`",
        ),
    ] {
        assert_ne!(changed, file);
        let done = compared(folder.path(), &changed);
        let told = text(&done.stderr);
        assert!(!done.status.success() && told.contains(expected), "{told}");
        assert!(told.contains("remedy"), "{told}");
    }
}
