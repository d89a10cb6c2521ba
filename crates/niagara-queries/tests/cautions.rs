//! What an advice does not know, and says so.

mod common;

use anyhow::Result;
use common::{Shop, filled};
use niagara_queries::{Advice, Caution, Fate, report};

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
    statements.extend(["HANDLER item OPEN", "HANDLER item READ FIRST"].map(str::to_owned));
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
    assert!(named.contains(&"handler item read first"), "{named:?}");
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

/// The same writes by a statement, by a trigger, by a procedure and by a foreign key: counted ones keep an index away, a caution names
/// the others.
fn hidden_writes(server: &str) -> Result<()> {
    let shop = Shop::empty(server)?;
    for table in ["audit_direct", "audit_trigger", "audit_call", "audit_key"] {
        filled(&shop, table, "ref INT, item_id INT", "i, NULL")?;
    }
    for statement in [
        "CREATE TABLE item (id INT PRIMARY KEY AUTO_INCREMENT, a INT)",
        "CREATE TRIGGER noting AFTER INSERT ON item FOR EACH ROW BEGIN IF NEW.a >= 0 THEN \
         INSERT INTO audit_trigger (ref) VALUES (NEW.a); END IF; END",
        "CREATE PROCEDURE audit(IN n INT) BEGIN INSERT INTO audit_call (ref) VALUES (n); END",
        "ALTER TABLE audit_key ADD CONSTRAINT goes FOREIGN KEY (item_id) REFERENCES item (id) ON DELETE CASCADE",
    ] {
        shop.admin()?.run(statement.as_bytes())?;
    }
    let mut statements: Vec<String> = ["direct", "trigger", "call", "key"]
        .map(|table| format!("SELECT id FROM audit_{table} WHERE ref = 7"))
        .into();
    statements.push("DELETE FROM item WHERE id = 3".to_owned());
    for i in 0..60 {
        let rows: Vec<String> = (0..200).map(|n| format!("({})", i * n)).collect();
        let rows = rows.join(", ");
        statements.push(format!("INSERT INTO audit_direct (ref) VALUES {rows}"));
        statements.push(format!("INSERT INTO item (a) VALUES {rows}"));
        statements.push(format!("CALL audit({i})"));
    }
    let advice = shop.advise(&shop.capture("writes", &statements)?)?;
    let told = report::text(&advice, None);
    let fates = |table: &str| -> Vec<&Fate> {
        let judged = advice.screened.judged.iter();
        let judged = judged.filter(|one| one.candidate.table.table == table);
        judged.map(|one| &one.fate).collect()
    };
    for table in ["audit_direct", "audit_trigger"] {
        assert_eq!(fates(table), [&Fate::CostsMore], "{table}: {told}");
    }
    for (table, writer) in [
        ("audit_call", "procedure audit"),
        ("audit_key", "foreign key goes"),
    ] {
        assert_eq!(fates(table), [&Fate::Chosen], "{table}: {told}");
        let caution = format!("shop.{table} is also written by {writer}, which is not counted");
        assert!(told.contains(&caution), "{caution}: {told}");
    }
    Ok(())
}

#[test]
fn writes_of_mariadbs_triggers_are_counted() -> Result<()> {
    hidden_writes("mariadb-10.11")
}

#[test]
fn writes_of_mysqls_triggers_are_counted() -> Result<()> {
    hidden_writes("mysql-9.7")
}
