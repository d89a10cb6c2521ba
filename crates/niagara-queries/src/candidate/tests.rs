use niagara_server::HideClause;

use super::*;
use crate::catalog::{Column, ForeignKey};

const ABILITIES: Abilities = Abilities {
    hiding: Some(HideClause::Ignored),
    descending: true,
    functional: true,
    histograms: false,
    for_statement: None,
};

fn name(table: &str) -> TableName {
    TableName {
        database: "shop".into(),
        table: table.into(),
    }
}

fn column(name: &str, type_name: &str) -> Column {
    Column {
        name: name.into(),
        type_name: type_name.into(),
        nullable: true,
        collation: None,
        length: None,
        bytes: None,
    }
}

fn index(name: &str, unique: bool, columns: &[&str]) -> Index {
    Index {
        name: name.into(),
        unique,
        kind: IndexKind::Ordered,
        parts: columns.iter().map(|name| IndexPart::column(name)).collect(),
        visible: true,
    }
}

/// A catalog with one table `t` that has the columns a to e, all numbers, `body`, a TEXT, and the primary key `id`.
fn catalog(indexes: Vec<Index>) -> Catalog {
    let mut columns: Vec<Column> = ["id", "a", "b", "c", "d", "e"]
        .map(|name| column(name, "int"))
        .to_vec();
    columns.push(column("body", "text"));
    let mut all = vec![index("PRIMARY", true, &["id"])];
    all.extend(indexes);
    let table = |of: &str| Table {
        name: name(of),
        engine: Some("InnoDB".into()),
        rows: 10_000,
        data_bytes: 0,
        index_bytes: 0,
        columns: columns.clone(),
        indexes: all.clone(),
    };
    Catalog {
        tables: ["t", "u"].map(|of| (name(of), table(of))).into(),
        ..Catalog::default()
    }
}

/// The columns of the candidates on `t` for these statements.
fn proposed(catalog: &Catalog, statements: &[&str]) -> Vec<String> {
    let structures: Vec<Structure> = statements
        .iter()
        .map(|text| Structure::read(text, "shop", catalog).unwrap())
        .collect();
    let asking: Vec<Asking<'_>> = (structures.iter().enumerate())
        .map(|(digest, structure)| Asking {
            digest,
            structures: vec![structure],
            weight: 1.0,
        })
        .collect();
    let (candidates, _) = candidates(&asking, catalog, &Values::new(), ABILITIES);
    let on_t = candidates
        .iter()
        .filter(|candidate| candidate.table == name("t"));
    on_t.map(|candidate| crate::catalog::parts_in_words(&candidate.parts))
        .collect()
}

#[test]
fn indexes_follow_from_what_is_asked() {
    let catalog = catalog(Vec::new());
    for (statement, expected) in [
        ("SELECT e FROM t WHERE a = 1 AND b = 2", "(a, b)"),
        ("SELECT body FROM t WHERE a = 1 AND c > 3", "(a, c)"),
        (
            "SELECT body FROM t WHERE c BETWEEN 1 AND 2 AND a IN (1, 2)",
            "(a, c)",
        ),
        (
            "SELECT body FROM t WHERE a = 1 ORDER BY b DESC LIMIT 5",
            "(a, b)",
        ),
        (
            "SELECT body FROM t ORDER BY a, b DESC LIMIT 5",
            "(a, b DESC)",
        ),
        (
            "SELECT u.body FROM u JOIN t ON t.d = u.id WHERE t.a = 1 AND t.body = 'x'",
            "(d)",
        ),
        ("SELECT a, COUNT(*) FROM t GROUP BY a", "(a)"),
        ("SELECT body FROM t WHERE body = 'x'", "(body(32))"),
        ("SELECT body FROM t WHERE a = 1 OR b = 2", "(b)"),
        ("UPDATE t SET b = 1 WHERE a = 3", "(a)"),
        ("DELETE FROM t WHERE a = 3", "(a)"),
        (
            "SELECT id FROM u WHERE EXISTS (SELECT 1 FROM t WHERE t.c = u.id)",
            "(c)",
        ),
        ("SELECT id FROM u WHERE id IN (SELECT d FROM t)", "(d)"),
        ("SELECT body FROM t WHERE ABS(a) = 3", "((ABS(a)))"),
        ("SELECT b, c FROM t WHERE a = 1", "(a, b, c)"),
    ] {
        let found = proposed(&catalog, &[statement]);
        assert!(
            found.contains(&expected.to_owned()),
            "{statement}: {found:?}"
        );
    }
}

#[test]
fn one_order_serves_two_statements() {
    let catalog = catalog(Vec::new());
    let found = proposed(
        &catalog,
        &[
            "SELECT body FROM t WHERE a = 1 AND b = 2",
            "SELECT body FROM t WHERE b = 2 AND c > 1",
        ],
    );
    assert!(
        found.contains(&"(b, a)".to_owned()) || found.contains(&"(b, c)".to_owned()),
        "{found:?}"
    );
    let found = proposed(
        &catalog,
        &[
            "SELECT body FROM t WHERE a = 1 AND b = 2",
            "SELECT body FROM t WHERE b = 2",
        ],
    );
    assert!(found.contains(&"(b, a)".to_owned()), "{found:?}");
}

#[test]
fn nothing_is_proposed_twice() {
    let there = vec![index("by_a", false, &["a", "b"])];
    let catalog = catalog(there);
    assert!(!proposed(&catalog, &["SELECT body FROM t WHERE a = 1"]).contains(&"(a)".to_owned()));
    assert_eq!(
        proposed(&catalog, &["SELECT body FROM t WHERE id = 1 AND a = 2"]),
        [""; 0]
    );
    let extended = Asking {
        digest: 0,
        structures: Vec::new(),
        weight: 1.0,
    };
    let structure = Structure::read(
        "SELECT body FROM t WHERE b = 1 AND c = 2 AND a = 3",
        "shop",
        &catalog,
    )
    .unwrap();
    let asking = [Asking {
        structures: vec![&structure],
        ..extended
    }];
    let (found, _) = candidates(&asking, &catalog, &Values::new(), ABILITIES);
    let one = found
        .iter()
        .find(|one| one.parts.len() == 3)
        .expect("the index extended");
    assert_eq!(crate::catalog::parts_in_words(&one.parts), "(a, b, c)");
    assert_eq!(one.replaces, ["by_a"]);
}

#[test]
fn what_is_hidden_is_shown_and_not_made_again() {
    let hidden = |name: &str, unique: bool, columns: &[&str]| Index {
        visible: false,
        ..index(name, unique, columns)
    };
    let catalog = catalog(vec![
        hidden("long", false, &["a", "d", "e"]),
        hidden("k_inv", false, &["a", "c"]),
        hidden("one_b", true, &["b"]),
    ]);
    for (asked, parts, name) in [("a", "(a, c)", "k_inv"), ("b", "(b)", "one_b")] {
        let text = format!("SELECT body FROM t WHERE {asked} = 1");
        let structure = Structure::read(&text, "shop", &catalog).unwrap();
        let asking = [Asking {
            digest: 0,
            structures: vec![&structure],
            weight: 1.0,
        }];
        let (found, _) = candidates(&asking, &catalog, &Values::new(), ABILITIES);
        let [one] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(crate::catalog::parts_in_words(&one.parts), parts);
        assert_eq!(
            one.add_clause(),
            format!("ALTER INDEX `{name}` NOT IGNORED")
        );
        assert_eq!(one.undo_clause(), format!("ALTER INDEX `{name}` IGNORED"));
    }
}

/// Indexes by their names, each with a reason.
type Named<Reason> = Vec<(String, Reason)>;

/// What can go of these indexes where none is used, and what stays.
fn dropped(catalog: &Catalog, unseen: u64) -> (Named<DropReason>, Named<KeptReason>) {
    let touched = BTreeSet::from([name("t")]);
    let of = IndexUse {
        touched,
        unseen,
        named: BTreeSet::from([(name("t"), "hinted".to_owned())]),
        ..IndexUse::default()
    };
    let (drops, kept) = drops(catalog, &of);
    let of_t = drops.into_iter().filter(|drop| drop.table == name("t"));
    let kept = kept.into_iter().filter(|one| one.table == name("t"));
    (
        of_t.map(|drop| (drop.index.name, drop.reason)).collect(),
        kept.map(|one| (one.index, one.reason)).collect(),
    )
}

#[test]
fn duplicates_and_beginnings_can_go() {
    let catalog = catalog(vec![
        index("ab", false, &["a", "b"]),
        index("a", false, &["a"]),
        index("ab_again", false, &["a", "b"]),
    ]);
    let (drops, _) = dropped(&catalog, 1);
    assert!(
        drops.contains(&(
            "a".into(),
            DropReason::LeftPrefix {
                of: "ab_again".into()
            }
        )) || drops.contains(&("a".into(), DropReason::LeftPrefix { of: "ab".into() })),
        "{drops:?}"
    );
    let twins = drops
        .iter()
        .filter(|(name, _)| name.starts_with("ab"))
        .count();
    assert_eq!(twins, 1, "one of two stays: {drops:?}");
}

#[test]
fn an_index_inherits_uses_of_its_beginning() {
    let catalog = catalog(vec![
        index("a", false, &["a"]),
        index("ab", false, &["a", "b"]),
        index("abc", false, &["a", "b", "c"]),
    ]);
    let of = IndexUse {
        used: BTreeSet::from([(name("t"), "a".to_owned())]),
        touched: BTreeSet::from([name("t")]),
        ..IndexUse::default()
    };
    let (drops, _) = drops(&catalog, &of);
    let of_t = drops.iter().filter(|drop| drop.table == name("t"));
    let gone: Vec<&str> = of_t.map(|drop| drop.index.name.as_str()).collect();
    assert_eq!(gone, ["a", "ab"]);
}

#[test]
fn what_a_constraint_needs_stays() {
    let mut catalog = catalog(vec![
        index("one_c", true, &["c"]),
        index("d", false, &["d"]),
        index("e", false, &["e"]),
    ]);
    catalog.foreign_keys.push(ForeignKey {
        name: "fk".into(),
        table: name("t"),
        columns: vec!["d".into()],
        referenced: name("u"),
        referenced_columns: vec!["id".into()],
        follows_delete: false,
        follows_update: false,
    });
    let (drops, kept) = dropped(&catalog, 0);
    assert_eq!(drops, [("e".to_owned(), DropReason::NeverUsed)]);
    assert_eq!(
        kept,
        [("d".to_owned(), KeptReason::ForeignKey { name: "fk".into() })]
    );
    // A unique one that another index begins with enforces more than that.
    let table = catalog.tables.get_mut(&name("t")).unwrap();
    table.indexes.push(index("ca", false, &["c", "a"]));
    let (drops, _) = dropped(&catalog, 0);
    assert!(drops.iter().all(|(name, _)| name != "one_c"), "{drops:?}");
}

#[test]
fn what_a_hint_names_stays() {
    let statement = "SELECT body FROM t AS x FORCE INDEX (Hinted, `other`) JOIN u USE KEY FOR JOIN (k) ON u.a = x.a";
    let structure = Structure::read(statement, "shop", &catalog(Vec::new())).unwrap();
    let uses = structure.blocks.iter().flat_map(|block| &block.uses);
    let named: Vec<&str> = uses
        .flat_map(|one| &one.named_indexes)
        .map(String::as_str)
        .collect();
    assert_eq!(named, ["hinted", "other", "k"]);
    let catalog = catalog(vec![
        index("hinted", false, &["a"]),
        index("ab", false, &["a", "b"]),
    ]);
    let (drops, kept) = dropped(&catalog, 0);
    assert_eq!(drops, [("ab".to_owned(), DropReason::NeverUsed)]);
    assert_eq!(kept, [("hinted".to_owned(), KeptReason::Named)]);
}

#[test]
fn unseen_statements_may_use_what_seems_unused() {
    let catalog = catalog(vec![index("e", false, &["e"])]);
    let (drops, kept) = dropped(&catalog, 3);
    assert_eq!(drops, []);
    assert_eq!(
        kept,
        [("e".to_owned(), KeptReason::NotAllSeen { statements: 3 })]
    );
}

#[test]
fn grammar_that_nobody_knows_is_named() {
    let catalog = catalog(Vec::new());
    for text in [
        "",
        "SELEC 1",
        "SELECT 1; SELECT 2",
        "HANDLER t OPEN",
        "SELECT (((",
        "\u{0}",
        "SHOW TABLES",
        "DROP TABLE t",
    ] {
        assert!(Structure::read(text, "shop", &catalog).is_err(), "{text}");
    }
    let deep = format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(Structure::read(&deep, "shop", &catalog).is_err());
}

#[test]
fn messages_hold_no_literals() {
    let catalog = catalog(Vec::new());
    for text in [
        "SELECT a FROM t WHERE b = 'secret' 'more' ) 'secret'",
        "SELECT 'secret",
        "SELECT a FROM t LIMIT 'secret' 'secret'",
    ] {
        let reason = Structure::read(text, "shop", &catalog).map(|_| ());
        assert!(!format!("{reason:?}").contains("secret"), "{reason:?}");
    }
}

#[test]
fn long_chains_of_operators_do_no_harm() {
    let catalog = catalog(Vec::new());
    for length in [100, 900, 100_000] {
        for operator in [" OR ", " AND ", " UNION SELECT 1 WHERE "] {
            let chain = vec!["a = 1"; length].join(operator);
            let structure = Structure::read(
                &format!("SELECT body FROM t WHERE {chain}"),
                "shop",
                &catalog,
            );
            assert!(length < 100_000 || structure == Err(crate::statement::NotUnderstood::TooLong));
        }
    }
}
