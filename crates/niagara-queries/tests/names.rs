//! Tables, columns and aliases whose names need care: letters beyond ASCII, quotes, spaces.

mod common;

use anyhow::Result;
use common::{Shop, filled};
use niagara_queries::{Advice, report};

/// The indexes of the set, as their statements name them.
fn chosen(advice: &Advice) -> Vec<String> {
    let set = advice.screened.chosen();
    set.map(|one| one.candidate.add_clause()).collect()
}

/// The same statement with other literals, so often that it matters.
fn repeated(statement: impl Fn(usize) -> String) -> Vec<String> {
    (0..20).map(statement).collect()
}

/// Upper-case letters beyond ASCII, in a table, in a column and in an alias.
fn letters_of_any_alphabet(server: &str) -> Result<()> {
    let shop = Shop::empty(server)?;
    filled(
        &shop,
        "`Ärzte`",
        "`Öffnet` INT, note VARCHAR(40)",
        "i * 7, 'a'",
    )?;
    let mut statements = repeated(|i| format!("SELECT note FROM `Ärzte` WHERE `öffnet` = {i}"));
    statements.extend(repeated(|i| {
        format!("SELECT `Ü`.note FROM `Ärzte` `Ü` WHERE `Ü`.note = 'b{i}'")
    }));
    let advice = shop.advise(&shop.capture("letters", &statements)?)?;
    let mut found = chosen(&advice);
    found.sort();
    assert_eq!(
        found,
        [
            "ADD INDEX `idx_note` (`note`)",
            "ADD INDEX `idx_Öffnet` (`Öffnet`)"
        ],
        "{}",
        report::text(&advice, None)
    );
    Ok(())
}

#[test]
fn mariadb_finds_indexes_for_names_of_any_alphabet() -> Result<()> {
    letters_of_any_alphabet("mariadb-10.11")
}

#[test]
fn mysql_finds_indexes_for_names_of_any_alphabet() -> Result<()> {
    letters_of_any_alphabet("mysql-9.7")
}

/// MariaDB's plans with a double quote in a name are no JSON.
#[test]
fn a_plan_that_cannot_be_read_is_told_and_its_work_counts() -> Result<()> {
    let shop = Shop::empty("mariadb-10.11")?;
    filled(&shop, "`q\"q`", "a INT, b INT", "i * 7, i % 2")?;
    let mut statements = repeated(|i| format!("SELECT b FROM `q\"q` WHERE a = {i}"));
    statements.extend(repeated(|i| {
        format!("SELECT COUNT(DISTINCT a + {i}) FROM `q\"q`")
    }));
    let advice = shop.advise(&shop.capture("quotes", &statements)?)?;
    let told = report::text(&advice, None);
    assert!(
        told.contains("not known: the server's plan cannot be read"),
        "{told}"
    );
    assert!(!told.contains("finds what it needs"), "{told}");
    let found = chosen(&advice);
    assert!(
        found.iter().any(|one| one.contains("(`a`")),
        "{found:?}: {told}"
    );
    Ok(())
}
