//! What an advice does not know, and says so.

mod common;

use anyhow::Result;
use common::{Shop, filled};
use niagara_queries::{Advice, report};

/// Whether the text for a terminal says this.
fn tells(advice: &Advice, expected: &str) -> bool {
    report::text(advice, None).contains(expected)
}

/// A server with a table `item` of 20,000 rows: `id`, `a`, `b`, `note`.
fn with_items(server: &str) -> Result<Shop> {
    let shop = Shop::empty(server)?;
    filled(
        &shop,
        "item",
        "a INT, b INT, note VARCHAR(40)",
        "i, i % 97, 'n'",
    )?;
    Ok(shop)
}

#[test]
fn statements_of_procedures_are_not_looked_into() -> Result<()> {
    let shop = with_items("mariadb-10.11")?;
    shop.server.query(
        "CREATE PROCEDURE shop.per_note() SELECT COUNT(DISTINCT note, b) INTO @n FROM shop.item",
    )?;
    let mut statements = vec!["CALL per_note()".to_owned(); 20];
    statements.push("CALL shop.per_note()".to_owned());
    statements.push("SELECT id FROM item WHERE id = 7".to_owned());
    let advice = shop.advise(&shop.capture("calls", &statements)?)?;
    assert!(
        tells(
            &advice,
            " of the time is in CALL, whose statements are not looked into."
        ),
        "{}",
        report::text(&advice, None)
    );
    Ok(())
}
