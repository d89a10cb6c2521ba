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
