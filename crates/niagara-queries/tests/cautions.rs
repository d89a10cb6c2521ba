//! What an advice does not know, and says so.

mod common;

use anyhow::Result;
use common::{Shop, filled};
use niagara_queries::{Advice, Caution, report};

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

/// The caution says that each of them is in advice.json.
#[test]
fn statements_that_are_not_understood_are_named_though_they_take_no_time() -> Result<()> {
    let shop = with_items("mariadb-10.11")?;
    let mut statements = vec!["SELECT COUNT(DISTINCT note, b) FROM item".to_owned(); 30];
    // Nobody here knows this grammar.
    statements.push(
        "SET STATEMENT max_statement_time = 9 FOR SELECT id FROM item WHERE id = 7".to_owned(),
    );
    let advice = shop.advise(&shop.capture("unknown", &statements)?)?;
    let named: Vec<&str> = (advice.cautions.iter())
        .filter_map(|caution| match caution {
            Caution::NotUnderstood { digests, named, .. } => {
                assert_eq!(*digests, named.len());
                Some(named.iter().map(|one| one.text.as_str()))
            }
            _ => None,
        })
        .flatten()
        .collect();
    assert!(
        named
            .contains(&"set statement max_statement_time = ? for select id from item where id = ?"),
        "{named:?}"
    );
    let little = |text: &&str| advice.digests.iter().all(|digest| digest.text != **text);
    assert!(named.iter().any(little), "{:?}", advice.digests);
    Ok(())
}

/// MySQL's log does not count what the rounds of a recursion read, so its figure says nothing of the plan.
#[test]
fn a_recursion_has_no_other_plan() -> Result<()> {
    let shop = with_items("mysql-9.7")?;
    shop.server
        .query("CREATE TABLE shop.tree (id INT PRIMARY KEY, parent INT)")?;
    shop.server
        .query("INSERT INTO shop.tree SELECT id, id DIV 2 FROM shop.item WHERE id < 8000")?;
    shop.server.query("ANALYZE TABLE shop.tree")?;
    let statements: Vec<String> = (1..4)
        .map(|root| {
            format!(
                "WITH RECURSIVE below AS (SELECT id FROM tree WHERE id = {root} UNION ALL \
                 SELECT t.id FROM tree t JOIN below b ON t.parent = b.id) SELECT COUNT(*) FROM below"
            )
        })
        .collect();
    let advice = shop.advise(&shop.capture("recursion", &statements)?)?;
    let other = |caution: &Caution| matches!(caution, Caution::OtherPlan { .. });
    assert!(!advice.cautions.iter().any(other), "{:?}", advice.cautions);
    Ok(())
}
