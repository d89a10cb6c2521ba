//! Indexes that are taken away are proposed again, and nothing is where nothing is missing.

mod common;

use anyhow::Result;
use common::schemas::{LEDGER, REPORTS};
use common::{INDEXES, SHOP, Schema, Shop, filled, shop_statements};
use niagara_queries::{Advice, Fate, Limits, PlanSetting, Proof, Trial, report, schema, words};
use niagara_stats::{Estimate, Verdict};

/// Servers of both families.
const MARIADB: &str = "mariadb-10.11";
const MYSQL: &str = "mysql-9.7";

/// That the set restores nine tenths of what the missing indexes saved, where they saved a tenth of the work.
fn check_restored(advice: &Advice, good: f64, title: &str) {
    let (before, after) = (advice.screened.work_before, advice.screened.work_after);
    eprintln!(
        "{title}: work {good:.0} with the schema's indexes, {before:.0} without, {after:.0} with the set ({} indexes of {} candidates, {:.1} s)",
        advice.screened.chosen().count(),
        advice.screened.judged.len(),
        advice.seconds
    );
    if before > 1.1 * good {
        assert!(
            after <= good + 0.1 * (before - good),
            "{title}: {}",
            describe(advice)
        );
    }
    for one in advice.screened.chosen() {
        assert!(one.saves > one.costs, "{title}: {one:?}");
    }
}

fn describe(advice: &Advice) -> String {
    let judged: Vec<String> = (advice.screened.judged.iter())
        .map(|one| {
            format!(
                "{}{:?} {:?}",
                one.candidate.table,
                one.candidate
                    .parts
                    .iter()
                    .map(|part| &part.column)
                    .collect::<Vec<_>>(),
                one.fate
            )
        })
        .collect();
    format!("{}\n{}", words::headline(advice), judged.join("\n"))
}

/// All indexes gone, none gone.
fn all_and_none(server: &str) -> Result<()> {
    let shop = Shop::start(server)?;
    let capture = shop.capture("shop", &shop_statements())?;
    let well = shop.advise(&capture)?;
    eprintln!("{}", report::text(&well, None));
    assert_eq!(well.screened.chosen().count(), 0, "{}", describe(&well));
    assert!(
        words::headline(&well).starts_with("0 indexes"),
        "{}",
        words::headline(&well)
    );
    for digest in &well.digests {
        eprintln!(
            "{:6.1} {:5.0?} {} {:?}",
            digest.work.map_or(0.0, |work| work.total()),
            digest.rows_returned,
            digest.text,
            digest.causes
        );
    }
    let never_wrong = |advice: &Advice| advice.digests.iter().all(|digest| digest.work.is_some());
    assert!(never_wrong(&well), "{:#?}", well.digests);
    shop.restore_indexes()?;
    shop.drop_indexes(&INDEXES)?;
    let advice = shop.advise(&capture)?;
    check_restored(&advice, well.screened.work_before, "all indexes gone");
    eprintln!("{}", report::text(&advice, None));
    let files = schema::files(&advice);
    apply_and_undo(&shop, &files)?;
    Ok(())
}

/// The files are statements that the server takes.
fn apply_and_undo(shop: &Shop, files: &[(&str, String)]) -> Result<()> {
    // The study has left the candidates there.
    shop.restore_indexes()?;
    shop.drop_indexes(&INDEXES)?;
    let count = || -> Result<String> {
        let rows = shop.server.query(
            "SELECT COUNT(DISTINCT table_name, index_name) FROM information_schema.statistics WHERE table_schema = 'shop'",
        )?;
        Ok(rows[0][0].clone())
    };
    let before = count()?;
    for (file, text) in files {
        execute(shop, text)?;
        match *file {
            "schema.sql" => assert_ne!(count()?, before),
            "undo.sql" => assert_eq!(count()?, before),
            _ => {}
        }
    }
    Ok(())
}

/// As a client does with a file.
fn execute(shop: &Shop, file: &str) -> Result<()> {
    for statement in file
        .lines()
        .filter(|line| !line.starts_with("--") && !line.is_empty())
    {
        shop.server.query(statement.trim_end_matches(';'))?;
    }
    Ok(())
}

#[test]
fn mariadb_gets_all_indexes_back() -> Result<()> {
    all_and_none(MARIADB)
}

#[test]
fn mysql_gets_all_indexes_back() -> Result<()> {
    all_and_none(MYSQL)
}

/// Nothing where no index is gone; then all gone, and each gone alone.
fn one_by_one(server: &str, schema: &Schema) -> Result<()> {
    let shop = Shop::with(server, schema)?;
    let capture = shop.capture("shop", &(schema.statements)())?;
    let well = shop.advise(&capture)?;
    assert_eq!(well.screened.chosen().count(), 0, "{}", describe(&well));
    let good = well.screened.work_before;
    let alone = schema.indexes.chunks(1);
    for gone in std::iter::once(schema.indexes).chain(alone) {
        shop.restore_indexes()?;
        shop.drop_indexes(gone)?;
        let title = match gone {
            [(_, only, _)] => only,
            _ => "all indexes",
        };
        check_restored(&shop.advise(&capture)?, good, title);
    }
    Ok(())
}

#[test]
#[ignore = "minutes; make test-queries"]
fn mariadb_gets_each_index_back() -> Result<()> {
    one_by_one(MARIADB, &SHOP)
}

#[test]
#[ignore = "minutes; make test-queries"]
fn mysql_gets_each_index_back() -> Result<()> {
    one_by_one(MYSQL, &SHOP)
}

#[test]
#[ignore = "minutes; make test-queries"]
fn reports_get_each_index_back() -> Result<()> {
    one_by_one(MARIADB, &REPORTS)
}

#[test]
#[ignore = "minutes; make test-queries"]
fn a_ledger_gets_each_index_back() -> Result<()> {
    one_by_one(MARIADB, &LEDGER)
}

#[test]
fn writes_outweigh_a_reader_seldom_seen() -> Result<()> {
    let shop = Shop::start(MARIADB)?;
    // Rows are found by columns without an index now and then, and many are written.
    let mut statements: Vec<String> = (0..2)
        .map(|i| {
            format!(
                "SELECT id FROM purchase WHERE total = {} AND customer_ref = '{i}'",
                i * 7
            )
        })
        .collect();
    for i in 0..60 {
        let rows: Vec<String> = (0..200)
            .map(|n| {
                format!(
                    "({i}, 'eu', 1, 'new', '2025-06-01', {}, '{n}')",
                    (i + n) % 500
                )
            })
            .collect();
        statements.push(format!(
            "INSERT INTO purchase (customer_id, region, number, status, placed, total, customer_ref) VALUES {}",
            rows.join(", ")
        ));
    }
    let capture = shop.capture("writes", &statements)?;
    let advice = shop.advise(&capture)?;
    for one in &advice.screened.judged {
        eprintln!(
            "{} {:?}: saves {} costs {}",
            one.candidate.name, one.fate, one.saves_alone, one.costs
        );
    }
    let purchases = || {
        advice
            .screened
            .judged
            .iter()
            .filter(|one| one.candidate.table.table == "purchase")
    };
    assert!(
        purchases().any(|one| one.fate == Fate::CostsMore),
        "{}",
        describe(&advice)
    );
    assert!(
        purchases().all(|one| one.fate != Fate::Chosen),
        "{}",
        describe(&advice)
    );
    Ok(())
}

/// One execution of the statement exceeds its time limit and uses up the budget.
#[test]
fn a_missing_index_is_found_though_the_budget_ends_while_statements_are_looked_at() -> Result<()> {
    let shop = Shop::start(MARIADB)?;
    // Half a millisecond for each of 8,000 rows: twice the time of an execution.
    let statements: Vec<String> = (1..4)
        .map(|n| format!("SELECT id FROM customer WHERE SLEEP(0.0005 + id * 0) = 0 AND note LIKE 'note 17{n}%'"))
        .collect();
    let capture = shop.capture("slow", &statements)?;
    let limits = Limits {
        indexes: 20,
        bytes: None,
    };
    let short = shop.advise_in([1, 1], &capture, limits)?;
    assert_eq!(short.screened.chosen().count(), 0, "{}", describe(&short));
    let headline = words::headline(&short);
    assert!(
        headline.starts_with("0 indexes: the budget ended before"),
        "{headline}"
    );
    let longer = shop.advise_in([1, 600], &capture, limits)?;
    let chosen: Vec<&str> = (longer.screened.chosen())
        .map(|one| one.candidate.parts[0].column.as_str())
        .collect();
    assert_eq!(chosen, ["note"], "{}", describe(&longer));
    Ok(())
}

/// The index that a new one begins with goes and comes with it, and stays where duels do not show that the new one pays.
fn replaced(server: &str) -> Result<()> {
    let shop = Shop::start(server)?;
    shop.drop_indexes(&[INDEXES[5]])?;
    shop.server
        .query("ALTER TABLE shop.purchase ADD INDEX short (status)")?;
    let statements: Vec<String> = (1..20)
        .map(|day| {
            format!(
                "SELECT id, total FROM purchase WHERE status = 'paid' AND placed BETWEEN '2025-01-{day:02}' AND '2025-01-{:02}'",
                day + 6
            )
        })
        .collect();
    let capture = shop.capture("status", &statements)?;
    let mut advice = shop.advise(&capture)?;
    let gone = |advice: &Advice| -> Vec<String> {
        let drops = advice.superfluous();
        drops.map(|drop| drop.index.name.clone()).collect()
    };
    assert_eq!(gone(&advice), ["short"], "{}", describe(&advice));
    replace_and_undo(&shop, &advice)?;
    advice.take_proof(Proof {
        set: Trial {
            throughput: Estimate {
                ratio: 1.0,
                low: 0.99,
                high: 1.01,
            },
            verdict: Some(Verdict::Undetected),
            is_decidable: true,
            cpu: None,
            p99: None,
            duels: 12,
            other_answers: Vec::new(),
            poor_replay: Vec::new(),
        },
        digests: Vec::new(),
        indexes: Vec::new(),
        handed_over: None,
        seconds: 1.0,
    });
    assert_eq!(gone(&advice), [""; 0], "{}", describe(&advice));
    assert!(!schema::has_schema(&advice), "{}", describe(&advice));
    Ok(())
}

/// The new index comes and the old one goes by the same statement; so does the way back.
fn replace_and_undo(shop: &Shop, advice: &Advice) -> Result<()> {
    shop.restore_indexes()?;
    shop.drop_indexes(&[INDEXES[5]])?;
    let files = schema::files(advice);
    let file = |name: &str| {
        let mut all = files.iter().filter(|(file, _)| *file == name);
        all.next().map_or("", |(_, text)| text.as_str())
    };
    let new: Vec<&str> = (advice.screened.chosen())
        .map(|one| one.candidate.name.as_str())
        .collect();
    let there = || -> Result<[bool; 2]> {
        let rows = shop.server.query(
            "SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = 'shop' AND table_name = 'purchase'",
        )?;
        let has = |name: &str| rows.iter().any(|row| row[0] == name);
        Ok([has("short"), new.iter().all(|name| has(name))])
    };
    assert_eq!(there()?, [true, false]);
    execute(shop, file("schema.sql"))?;
    assert_eq!(there()?, [false, true], "{}", file("schema.sql"));
    execute(shop, file("undo.sql"))?;
    assert_eq!(there()?, [true, false], "{}", file("undo.sql"));
    Ok(())
}

#[test]
fn mariadb_keeps_what_a_rejected_index_replaces() -> Result<()> {
    replaced(MARIADB)
}

#[test]
fn mysql_keeps_what_a_rejected_index_replaces() -> Result<()> {
    replaced(MYSQL)
}

/// The set shows a hidden index in place of a new one, and the undo hides it again.
fn shown_again(server: &str, hides: &str, shows: &str) -> Result<()> {
    let shop = Shop::start(server)?;
    let hide = format!("ALTER TABLE shop.customer ALTER INDEX by_phone {hides}");
    shop.server.query(&hide)?;
    let mut statements: Vec<String> = (0..10)
        .map(|i| format!("SELECT id FROM customer WHERE phone = '0{}'", 1000 + i * 7))
        .collect();
    statements.push("UPDATE customer SET phone = '7' WHERE id = 7".to_owned());
    let advice = shop.advise(&shop.capture("hidden", &statements)?)?;
    let [one] = &advice.screened.chosen().collect::<Vec<_>>()[..] else {
        panic!("{}", describe(&advice));
    };
    assert_eq!((one.costs, one.bytes), (0.0, None));
    let told = report::text(&advice, None);
    assert!(
        told.contains("; by_phone has these columns and is hidden: "),
        "{told}"
    );
    let files = schema::files(&advice);
    let line = |file: usize, expected: &str| {
        let (name, text) = &files[file];
        assert!(text.contains(expected), "{name}: {text}");
        assert!(!text.contains("ADD INDEX `idx_phone`"), "{text}");
    };
    line(
        0,
        &format!(
            "ALTER TABLE `shop`.`customer` ALTER INDEX `by_phone` {shows}, ALGORITHM=INPLACE, LOCK=NONE;"
        ),
    );
    line(
        1,
        &format!("ALTER TABLE `shop`.`customer` ALTER INDEX `by_phone` {hides};"),
    );
    let hidden = |is_hidden: bool| -> Result<()> {
        let made = shop.server.query("SHOW CREATE TABLE shop.customer")?;
        let mut lines = made[0][1].lines();
        let line = lines
            .find(|line| line.contains("by_phone"))
            .unwrap_or_default();
        assert_eq!(line.contains(hides), is_hidden, "{line}");
        Ok(())
    };
    shop.server.query(&hide)?;
    execute(&shop, &files[0].1)?;
    hidden(false)?;
    execute(&shop, &files[1].1)?;
    hidden(true)
}

#[test]
fn mariadb_shows_what_is_ignored() -> Result<()> {
    shown_again(MARIADB, "IGNORED", "NOT IGNORED")
}

#[test]
fn mysql_shows_what_is_invisible() -> Result<()> {
    shown_again(MYSQL, "INVISIBLE", "VISIBLE")
}

/// MariaDB's settings of one statement: what follows them is taken apart, explained and counted with them.
#[test]
fn a_statement_with_settings_of_its_own_gets_its_index() -> Result<()> {
    let shop = Shop::empty("mariadb-10.11")?;
    filled(&shop, "item", "a INT, b INT", "i, i % 97")?;
    let reading = "SET STATEMENT max_statement_time=30, optimizer_switch='mrr=on' FOR SELECT b FROM item WHERE a =";
    let changing = "SET STATEMENT lock_wait_timeout=5 FOR UPDATE item SET a = a WHERE b =";
    let mut statements: Vec<String> = (1..20).map(|i| format!("{reading} {i}")).collect();
    statements.extend((1..20).map(|i| format!("{changing} {}", i + 100)));
    let advice = shop.advise(&shop.capture("settings", &statements)?)?;
    let set = advice.screened.chosen();
    let mut chosen: Vec<String> = set.map(|one| one.candidate.add_clause()).collect();
    chosen.sort();
    assert_eq!(
        chosen,
        ["ADD INDEX `idx_a` (`a`)", "ADD INDEX `idx_b` (`b`)"],
        "{}",
        describe(&advice)
    );
    Ok(())
}

/// A setting of the optimizer's switches.
fn switch(flag: &str) -> PlanSetting {
    PlanSetting {
        lever: format!("optimizer-switch={flag}"),
        variables: [("optimizer_switch".to_owned(), flag.to_owned())].into(),
    }
}

/// Adds statements that the optimizer misjudges to those of the shop; of the settings the one that mends them is found, and no other.
fn misjudged(server: &str, tables: &[&str], statement: &str, mends: &str) -> Result<()> {
    let shop = Shop::start(server)?;
    for one in tables {
        shop.server.query(one)?;
    }
    let mut statements = shop_statements();
    statements.extend(std::iter::repeat_n(statement.to_owned(), 20));
    let capture = shop.capture("shop", &statements)?;
    // One that the server lacks, one that gives no statement of the shop another plan.
    let settings = ["no_such_switch=off", "mrr=on", mends].map(switch);
    let advice = shop.advise_with(&capture, &settings, 0)?;
    let found: Vec<_> = advice.screened.settings.iter().collect();
    let [one] = &found[..] else {
        panic!("{found:#?}");
    };
    eprintln!("{one}");
    assert_eq!(one.setting, switch(mends), "{one:#?}");
    assert!(one.saves > 0.3, "{one:#?}");
    let most = &one.digests[0];
    assert!(most.after.total() < 0.5 * most.before.total(), "{most:#?}");
    let told = report::text(&advice, None);
    assert!(
        told.contains(&format!("Optimizer: optimizer_switch = '{mends}': takes ")),
        "{told}"
    );
    assert!(schema::optimizer(&advice).is_none(), "it is not proven");
    Ok(())
}

#[test]
fn mariadb_fills_a_derived_table_once_where_that_reads_less() -> Result<()> {
    misjudged(
        MARIADB,
        &[
            "CREATE TABLE shop.click (id INT PRIMARY KEY AUTO_INCREMENT, site INT NOT NULL, kind INT NOT NULL, place INT NOT NULL, \
             product_id INT NOT NULL, KEY by_site (site), KEY by_kind (kind), KEY by_place (place))",
            // The three conditions hold together, and the optimizer multiplies their shares.
            "INSERT INTO shop.click (site, kind, place, product_id) SELECT IF(i % 10 = 0, 1, 2 + i % 7), IF(i % 10 = 0, 1, 2 + i % 5), \
             IF(i % 10 = 0, 1, 2 + i % 3), i % 250 FROM (SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n AS i FROM shop.digit a, \
             shop.digit b, shop.digit c, shop.digit d) AS t",
            "CREATE TABLE shop.sold (id INT PRIMARY KEY AUTO_INCREMENT, product_id INT NOT NULL, amount INT NOT NULL, \
             KEY by_product (product_id))",
            "INSERT INTO shop.sold (product_id, amount) SELECT i % 250, i FROM (SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n AS i \
             FROM shop.digit a, shop.digit b, shop.digit c, shop.digit d) AS t",
        ],
        "SELECT SUM(s.total) FROM click k JOIN (SELECT product_id, SUM(amount) AS total FROM sold GROUP BY product_id) s \
         ON s.product_id = k.product_id WHERE k.site = 1 AND k.kind = 1 AND k.place = 1",
        "split_materialized=off",
    )
}

#[test]
fn mysql_leaves_the_index_of_an_order_where_that_reads_less() -> Result<()> {
    misjudged(
        MYSQL,
        &[
            "CREATE TABLE shop.visit (id INT PRIMARY KEY AUTO_INCREMENT, site INT NOT NULL, seen INT NOT NULL, note VARCHAR(60) NOT NULL, \
             KEY by_site (site), KEY by_seen (seen))",
            // The site's rows are the last, and the optimizer expects them everywhere.
            "INSERT INTO shop.visit (site, seen, note) SELECT IF(i >= 9500, 5, i % 50 + 10), i, REPEAT('x', 50) FROM \
             (SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n AS i FROM shop.digit a, shop.digit b, shop.digit c, shop.digit d) AS t",
        ],
        "SELECT note FROM visit WHERE site = 5 ORDER BY seen LIMIT 10",
        "prefer_ordering_index=off",
    )
}

#[test]
fn no_setting_is_named_where_plans_are_good() -> Result<()> {
    let shop = Shop::start(MARIADB)?;
    let capture = shop.capture("shop", &shop_statements())?;
    let settings = [
        "split_materialized=off",
        "rowid_filter=off",
        "mrr=on,mrr_sort_keys=on",
    ];
    let mut settings: Vec<PlanSetting> = settings.map(switch).into();
    for (name, value) in [
        ("optimizer_use_condition_selectivity", "1"),
        ("eq_range_index_dive_limit", "2"),
        ("optimizer_search_depth", "0"),
    ] {
        settings.push(PlanSetting {
            lever: name.to_owned(),
            variables: [(name.to_owned(), value.to_owned())].into(),
        });
    }
    let advice = shop.advise_with(&capture, &settings, 20)?;
    assert_eq!(advice.screened.settings, [], "{}", describe(&advice));
    Ok(())
}
