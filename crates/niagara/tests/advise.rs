//! `niagara advise`: from a slow log and a dump to an index, and what it refuses.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use common::shop::{niagara, shop, shop_of, text};
use niagara_model::Summary;
use niagara_store::Store;
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
    for file in [&schema, &undo] {
        let wait = file.find("\nSET SESSION lock_wait_timeout = 10;\n");
        assert!(
            wait.is_some_and(|wait| wait < file.find("\nALTER").unwrap_or(0)),
            "{file}"
        );
    }
    check_report(&folder.path().join("niagara-advice/shop"));
}

/// The page and the Markdown have what the set does to a statement, and nothing of what people typed.
fn check_report(folder: &Path) {
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("written");
    let (markdown, page) = (read("report.md"), read("report.html"));
    for expected in [
        "- What takes the time: ",
        "- How sure: Rows and pages are counted on a copy",
        "| shop.customer(email) | ",
        "| Rows read | 3,001 | 1.9 |",
        "| customer | whole table |",
        "| customer | lookup by index | `idx_email` | email | 1 |",
    ] {
        assert!(markdown.contains(expected), "{expected}: {markdown}");
    }
    for expected in [
        "Work before and after: ",
        "Rows read: 3,001 before, 1.9 after",
        "Plan with the set",
        "lookup by index",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    for text in [markdown, page] {
        assert!(!text.contains("@example.org"), "no literal");
    }
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
    let json: Value = common::document::read(&read("advice.json").expect("written"));
    let proof = &json["proof"];
    if has_caution(&json, "proof_failed") {
        // A busy machine may have had no time for a duel.
        assert!(
            proof.is_null() && out.contains("The set is not proven"),
            "{out}"
        );
        return;
    }
    assert!(proof["set"]["duels"].as_u64() > Some(0), "{out}");
    assert_eq!(
        proof["digests"].as_array().map(Vec::len),
        Some(1),
        "{proof}"
    );
    assert_eq!(proof["indexes"][0]["index"], "idx_email");
    // How many duels the time was enough for, and how good the replay was, is the machine's to say; what is handed over follows from
    // them. What cannot be decided stays as it was counted.
    let first = out.lines().next().unwrap_or_default();
    let is_handed_over = first.contains("Proven by duels") || first.contains("Not proven");
    assert_eq!(read("deploy/schema.sql").is_ok(), is_handed_over, "{out}");
    let fate = &json["screened"]["judged"][0]["fate"]["code"];
    assert_eq!(fate == "chosen", is_handed_over, "{fate}");
    let poor_replay = &proof["set"]["poor_replay"];
    assert!(
        poor_replay.is_null() || !first.contains("Proven by duels"),
        "{first}: {poor_replay}"
    );
    assert!(out.lines().count() < 45, "one screen: {out}");
}

/// What was counted is handed over when the duels are stopped, or everything would have to be counted again.
#[test]
fn ctrl_c_in_the_duels_keeps_what_was_counted() {
    let statements: Vec<(String, u64, u64)> = (0..200)
        .map(|i| {
            let select = format!("SELECT id FROM customer WHERE email = 'u{i}@example.org'");
            (select, 3000, 1)
        })
        .collect();
    let folder = shop(&statements);
    let told = folder.path().join("told");
    let mut advising = Command::new(env!("CARGO_BIN_EXE_niagara"))
        .current_dir(folder.path())
        .args(["advise", "--capture", "shop.capture", "--data", "shop.sql"])
        .args(["--budget", "30m"])
        .stdout(fs::File::create(folder.path().join("out")).expect("a file"))
        .stderr(fs::File::create(&told).expect("a file"))
        .spawn()
        .expect("niagara starts");
    let advice = folder.path().join("niagara-advice/shop");
    common::wait_until("duels", Duration::from_secs(300), || {
        let ended = advising.try_wait().expect("a child");
        assert_eq!(ended, None, "{}", text(&fs::read(&told).expect("a file")));
        advice.join("duels").is_dir()
    });
    let pid = i32::try_from(advising.id()).expect("a pid");
    common::signal(pid, nix::sys::signal::Signal::SIGINT);
    let status = advising.wait().expect("its end");
    assert_eq!(status.code(), Some(130));
    let out = text(&fs::read(folder.path().join("out")).expect("a file"));
    assert!(out.contains("the duels were stopped on request"), "{out}");
    let json = fs::read_to_string(advice.join("advice.json")).expect("written");
    let json: Value = common::document::read(&json);
    assert!(has_caution(&json, "proof_failed") && json["proof"].is_null());
    let schema = fs::read_to_string(advice.join("deploy/schema.sql")).expect("written");
    assert!(
        schema.contains("idx_email") && schema.contains("not proven"),
        "{schema}"
    );
}

/// Whether an advice has a caution of this code.
fn has_caution(advice: &Value, code: &str) -> bool {
    let cautions = advice["cautions"].as_array();
    cautions.is_some_and(|all| all.iter().any(|one| one["code"] == code))
}

/// What `niagara advise` prints of the shop in this folder where no index may be added, and its document.
fn advised_without_indexes(folder: &Path) -> (String, Value) {
    let advised = niagara(
        folder,
        &[
            "advise",
            "shop.capture",
            "--data",
            "shop.sql",
            "--max-indexes",
            "0",
            "--budget",
            "40s",
        ],
    );
    assert!(advised.status.success(), "{}", text(&advised.stderr));
    let json = fs::read_to_string(folder.join("niagara-advice/shop/advice.json"));
    let json = common::document::read(&json.expect("written"));
    (text(&advised.stdout), json)
}

/// Tables that the optimizer misjudges: three conditions hold together, and it multiplies their shares. So it computes a derived table
/// once for each row.
fn misjudged() -> String {
    let rows = |row: &dyn Fn(usize) -> String| (0..10_000).map(row).collect::<Vec<_>>().join(",");
    format!(
        "-- MariaDB dump 10.19  Distrib 10.11.19-MariaDB, for debian-linux-gnu (x86_64)\n\
         CREATE DATABASE `shop`;\nUSE `shop`;\n\
         CREATE TABLE click (id INT PRIMARY KEY, site INT, kind INT, place INT, product_id INT, KEY by_site (site), \
         KEY by_kind (kind), KEY by_place (place)) ENGINE=InnoDB;\n\
         INSERT INTO click VALUES {};\n\
         CREATE TABLE sold (id INT PRIMARY KEY, product_id INT, amount INT, KEY by_product (product_id)) ENGINE=InnoDB;\n\
         INSERT INTO sold VALUES {};\n\
         -- Dump completed on 2026-11-28  0:00:00\n",
        rows(&|i| match i % 10 {
            0 => format!("({i},1,1,1,{})", i % 250),
            _ => format!(
                "({i},{},{},{},{})",
                2 + i % 7,
                2 + i % 5,
                2 + i % 3,
                i % 250
            ),
        }),
        rows(&|i| format!("({i},{},{i})", i % 250)),
    )
}

#[test]
fn duels_decide_whether_a_setting_is_handed_over() {
    let select = "SELECT SUM(s.total) FROM click k JOIN (SELECT product_id, SUM(amount) AS total FROM sold GROUP BY product_id) s \
                  ON s.product_id = k.product_id WHERE k.site = 1 AND k.kind = 1 AND k.place = 1";
    let statements: Vec<(String, u64, u64)> =
        (0..100).map(|_| (select.to_owned(), 40_000, 1)).collect();
    let folder = shop_of(&misjudged(), &statements);
    let (out, json) = advised_without_indexes(folder.path());
    let read =
        |name: &str| fs::read_to_string(folder.path().join("niagara-advice/shop").join(name));
    let first = &json["screened"]["settings"][0];
    assert_eq!(
        (&first["lever"], &first["variables"]["optimizer_switch"]),
        (
            &Value::from("no-split-materialized"),
            &Value::from("split_materialized=off")
        ),
        "{out}"
    );
    // A busy machine may have had no time for a duel.
    assert!(
        first["trial"]["duels"].as_u64() > Some(0) || has_caution(&json, "setting_proof_failed"),
        "{out}"
    );
    // How many duels the time was enough for is the machine's to say; what is handed over follows from them.
    let is_proven = out
        .lines()
        .next()
        .unwrap_or_default()
        .contains("split_materialized=off' is proven by duels: throughput × ");
    let file = read("deploy/optimizer.cnf");
    assert_eq!(file.is_ok(), is_proven, "{out}");
    assert!(read("deploy/schema.sql").is_err(), "{out}");
    if let Ok(file) = file {
        for expected in [
            "\n[mysqld]\noptimizer_switch = split_materialized=off\n",
            "SET STATEMENT optimizer_switch='split_materialized=off' FOR SELECT …",
            "SET GLOBAL optimizer_switch = 'split_materialized=off';",
        ] {
            assert!(file.contains(expected), "{expected}: {file}");
        }
    }
    let markdown = read("report.md").expect("written");
    assert!(markdown.contains("Settings of the optimizer"), "{markdown}");
}

/// A table for stale statistics: all rows have one kind, and each has a day of its own.
fn with_other_rows() -> String {
    let rows = |count: usize, row: &dyn Fn(usize) -> String| {
        (0..count).map(row).collect::<Vec<_>>().join(",")
    };
    format!(
        "-- MariaDB dump 10.19  Distrib 10.11.19-MariaDB, for debian-linux-gnu (x86_64)\n\
         CREATE DATABASE `shop`;\nUSE `shop`;\n\
         CREATE TABLE audit (id INT PRIMARY KEY, kind INT, day INT, KEY by_kind (kind), KEY by_day (day)) \
         ENGINE=InnoDB STATS_AUTO_RECALC=0;\n\
         INSERT INTO audit VALUES {};\n\
         CREATE TABLE probe (id INT PRIMARY KEY, kind INT, day INT) ENGINE=InnoDB;\n\
         INSERT INTO probe VALUES {};\n\
         -- Dump completed on 2026-11-28  0:00:00\n",
        rows(4000, &|i| format!("({i},1,{i})")),
        rows(10, &|i| format!("({i},1,{})", i + 100)),
    )
}

/// The copy takes the server's statistics. Duels then prove what fresh ones bring.
#[test]
fn stale_statistics_of_the_server_are_found_and_proven() {
    let select = "SELECT COUNT(a.id) FROM probe p STRAIGHT_JOIN audit a ON a.kind = p.kind AND a.day = p.day";
    let statements: Vec<(String, u64, u64)> =
        (0..200).map(|_| (select.to_owned(), 40_000, 1)).collect();
    let folder = shop_of(&with_other_rows(), &statements);
    let of_index = |index: &str, different: &str| {
        let row = ["shop", "audit", index, "n_diff_pfx01", different, "20"];
        Value::from(row.map(Value::from).to_vec())
    };
    let statistics = serde_json::json!({
        "version": "10.11.19-MariaDB",
        "tables": [{ "table": "innodb_indexes", "rows": [of_index("by_kind", "4000"), of_index("by_day", "1")] }],
    });
    fs::write(
        folder.path().join("shop.sql.statistics.json"),
        statistics.to_string(),
    )
    .expect("room");
    let (out, json) = advised_without_indexes(folder.path());
    let read =
        |name: &str| fs::read_to_string(folder.path().join("niagara-advice/shop").join(name));
    let saves = json["statistics"][0]["saves"].as_f64();
    assert!(saves > Some(0.9), "{out}");
    // A busy machine may have had no time for a duel.
    let trial = &json["statistics_trial"];
    assert!(
        trial["duels"].as_u64() > Some(0) || has_caution(&json, "statistics_proof_failed"),
        "{out}"
    );
    let is_proven = out.contains("Fresh statistics alone are proven: throughput × ");
    assert_eq!(
        out.contains("1 digest takes 99.8 % less work with fresh statistics; proven by")
            || out.contains("1 digest takes 99.9 % less work with fresh statistics; proven by"),
        is_proven,
        "{out}"
    );
    let schema = read("deploy/schema.sql").expect("written");
    assert!(schema.contains("ANALYZE TABLE `shop`.`audit`;"), "{schema}");
}

#[test]
#[ignore = "minutes; make test-queries"]
fn a_tuning_hands_over_its_indexes() {
    let statements: Vec<(String, u64, u64)> = (0..750)
        .flat_map(|i| {
            let by_email = format!(
                "SELECT id FROM customer WHERE email = 'u{}@example.org'",
                i * 4 + 1
            );
            let customer = i % 700;
            let by_customer =
                format!("SELECT id, total FROM orders WHERE customer_id = {customer}");
            let rows = if (1..=200).contains(&customer) { 5 } else { 4 };
            [(by_email, 3000, 1), (by_customer, 3000, rows)]
        })
        .collect();
    let folder = shop(&statements);
    let tuned = niagara(
        folder.path(),
        &[
            "tune",
            "mariadb-10.11",
            "--workload",
            "./shop.capture",
            "--data",
            "shop.sql",
            "--allow",
            "schema",
            "--only",
            "capture-indexes",
            "--budget",
            "4m",
            "--no-profile",
            "--out",
            "study",
        ],
    );
    assert!(tuned.status.success(), "{}", text(&tuned.stderr));
    let store = Store::open_read_only(&folder.path().join("study/results.db")).expect("results");
    let Some(Summary::Tune(summary)) = store.summary().expect("readable") else {
        panic!("a tuning");
    };
    // How many duels the time was enough for is the machine's to say; what is handed over follows from them.
    let read = |name: &str| fs::read_to_string(folder.path().join("study/deploy").join(name));
    assert_eq!(
        read("schema.sql").is_ok(),
        summary.header.deployment.is_some()
    );
    let Some(deployment) = &summary.header.deployment else {
        return;
    };
    assert_eq!(
        (deployment.schema.len(), deployment.schema_undo.len()),
        (2, 2)
    );
    let schema = read("schema.sql").expect("written");
    for expected in [
        "\nALTER TABLE `shop`.`customer` ADD INDEX `idx_email` (`email`), ALGORITHM=INPLACE, LOCK=NONE;\n",
        "-- indexes for the captured statements: × ",
        "Building them took ",
        "--   gh-ost --database=shop --table=orders ",
    ] {
        assert!(schema.contains(expected), "{expected}: {schema}");
    }
    let undo = read("undo.sql").expect("written");
    assert!(undo.contains("DROP INDEX `idx_email`;"), "{undo}");
    let readme = read("README.md").expect("written");
    assert!(readme.contains("DATABASE < schema.sql"), "{readme}");
}

/// A dump without secondary indexes.
fn without_indexes(dump: &str) -> String {
    let mut out = String::new();
    let mut table: Option<Vec<&str>> = None;
    for line in dump.lines() {
        match &mut table {
            None if line.starts_with("CREATE TABLE") => table = Some(vec![line]),
            None => out += &format!("{line}\n"),
            Some(lines) if line.starts_with(')') => {
                let (head, body) = lines.split_first().expect("the first line");
                let is_kept = |line: &&str| {
                    let word = line.split_whitespace().next();
                    !matches!(word, Some("KEY" | "UNIQUE" | "FULLTEXT"))
                };
                let kept = body.iter().copied().filter(is_kept);
                let kept: Vec<&str> = kept.map(|line| line.trim_end_matches(',')).collect();
                out += &format!("{head}\n{}\n{line}\n", kept.join(",\n"));
                table = None;
            }
            Some(lines) => lines.push(line),
        }
    }
    out
}

#[test]
#[ignore = "make test-recommendations makes the captures; make test-queries"]
fn applications_get_their_indexes_back() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/recommendations/captures");
    let root = std::env::var_os("NIAGARA_CAPTURES").map_or(root, PathBuf::from);
    for application in ["wordpress", "mediawiki"] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dump = root.join(application).join("data.sql");
        // A blob of a dump may be no text.
        let Ok(dump) = fs::read(&dump) else {
            eprintln!("{} is not there: make test-recommendations", dump.display());
            continue;
        };
        let dump = String::from_utf8_lossy(&dump).into_owned();
        let capture = root.join(application).join("traffic.capture");
        let capture = capture.display().to_string();
        let work = |name: &str, dump: &str| {
            fs::write(folder.path().join(name), dump).expect("written");
            let arguments = [
                "advise",
                "--capture",
                &capture,
                "--data",
                name,
                "--no-duels",
                "--json",
            ];
            let advised = niagara(folder.path(), &arguments);
            assert!(advised.status.success(), "{}", text(&advised.stderr));
            let json: Value = serde_json::from_slice(&advised.stdout).expect("JSON");
            let of = |name: &str| json["screened"][name].as_f64().expect("a number");
            (of("work_before"), of("work_after"))
        };
        let (good, _) = work("own.sql", &dump);
        let (before, after) = work("none.sql", &without_indexes(&dump));
        eprintln!(
            "{application}: work {good:.0} with its own indexes, {before:.0} without, {after:.0} with the set"
        );
        assert!(
            before <= 1.1 * good || after <= good + 0.1 * (before - good),
            "{application}"
        );
    }
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
    let judged = json["screened"]["judged"].as_array().expect("a list");
    assert!(
        judged.iter().all(|one| one["fate"]["code"] != "chosen"),
        "{judged:?}"
    );
}

/// The captured server found the rows by an index that the copy lacks.
#[test]
fn another_plan_than_the_captured_servers_is_told() {
    let statements: Vec<(String, u64, u64)> = (0..20)
        .map(|i| {
            let email = format!("u{}@example.org", i * 97);
            let statement = format!("SELECT id FROM customer WHERE email = '{email}'");
            (statement, 1, 1)
        })
        .collect();
    let folder = shop(&statements);
    let mut arguments = vec!["advise", "--capture", "shop.capture"];
    arguments.extend(["--data", "shop.sql", "--no-duels", "--json"]);
    let advised = niagara(folder.path(), &arguments);
    assert!(advised.status.success(), "{}", text(&advised.stderr));
    let json: Value = serde_json::from_slice(&advised.stdout).expect("JSON");
    let mut cautions = json["cautions"].as_array().into_iter().flatten();
    let other = cautions.find(|one| one["code"] == "other_plan");
    let other = other.unwrap_or_else(|| panic!("{}", json["cautions"]));
    assert_eq!(
        (&other["captured"], &other["digests"]),
        (&1.0.into(), &1.into())
    );
    assert!(other["counted"].as_f64() >= Some(3000.0), "{other}");
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
