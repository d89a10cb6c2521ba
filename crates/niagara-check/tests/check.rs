//! Checks of real servers: sound ones pass, and each kind of fault that a check is for is found.

use std::collections::BTreeMap;

use niagara_check::{
    AnswersOptions, CheckCount, CheckFinding, CheckNote, CheckOptions, CrashOptions, Outcome, Part,
    PartReport, Planted, SkipReason, Standing, Subject, SuiteOptions, check, compare_answers,
    crash_recovery, passed, standing,
};
use niagara_server::{Cache, Cancel, Catalog, Config, Install};

fn cache() -> Cache {
    Cache::open().expect("the shared cache")
}

fn install(name: &str) -> Install {
    let catalog = Catalog::load(&[]).expect("the built-in catalogue");
    let description = catalog.get(name).expect("in the catalogue");
    niagara_server::get(&cache(), description, &mut |text| eprintln!("{text}")).expect("fetched")
}

fn config(name: &str, value: &str) -> Config {
    BTreeMap::from([(name.to_owned(), value.to_owned())])
}

fn crash(name: &str, options: &CrashOptions) -> PartReport {
    let (cache, install) = (cache(), install(name));
    crash_recovery(&cache, &install, options, &Cancel::default(), &mut |_| {}).expect("done")
}

fn answers(ours: &str, theirs: &str, options: &AnswersOptions) -> PartReport {
    compare_answers(
        &cache(),
        &install(ours),
        &install(theirs),
        options,
        &Cancel::default(),
        &mut |_| {},
    )
    .expect("done")
}

/// All findings with what shows them.
fn told_of(report: &PartReport) -> String {
    let findings = report.findings.iter();
    let told = findings.map(|one| format!("{one}\n{}", one.evidence().unwrap_or_default()));
    told.collect::<Vec<_>>().join("\n")
}

/// Whether the part says that it is no reason to recommend the server, and why.
fn recommends_nothing(report: &PartReport, why: &str) -> bool {
    let said = |note: &CheckNote| matches!(note, CheckNote::RecommendsNothing { objection } if objection.to_string().contains(why));
    !report.whole && report.notes.iter().any(said)
}

/// Few rows and one engine: seconds.
fn small(planted: Planted) -> AnswersOptions {
    AnswersOptions {
        scale: 5,
        engines: vec!["InnoDB".into()],
        planted,
        ..AnswersOptions::default()
    }
}

#[test]
fn a_killed_server_keeps_what_it_acknowledged() {
    for name in ["mariadb-10.11", "mysql-9.7"] {
        let report = crash(
            name,
            &CrashOptions {
                kills: 1,
                after_ms: 400..800,
                ..CrashOptions::default()
            },
        );
        assert_eq!(report.outcome, Outcome::Passed, "{name}: {report:#?}");
        assert!(
            report.value(CheckCount::AcknowledgedCommits) > Some(10),
            "{name}: {report:#?}"
        );
        // A kill or so finds faults; it recommends nothing.
        assert!(!report.whole);
    }
}

/// A data directory is made with pages of one size, and no server starts on it with another.
#[test]
fn a_server_with_another_page_size_is_checked_on_data_of_its_own() {
    let report = crash(
        "mariadb-10.11",
        &CrashOptions {
            kills: 1,
            after_ms: 100..300,
            config: config("innodb_page_size", "8192"),
            ..CrashOptions::default()
        },
    );
    assert_eq!(report.outcome, Outcome::Passed, "{report:#?}");
}

/// The tables of a final variant may be in another engine: one that comes in a package of its own.
#[test]
fn a_killed_server_keeps_what_it_acknowledged_in_another_engine() {
    let cache = cache();
    let catalog = Catalog::load(&[]).expect("the built-in catalogue");
    let engine = "ROCKSDB";
    let packaged = install("mariadb-10.11");
    let install = niagara_server::with_engine(&cache, &catalog, packaged, engine, &mut |text| {
        eprintln!("{text}");
    })
    .expect("fetched");
    let options = CrashOptions {
        kills: 2,
        after_ms: 400..800,
        engine: engine.into(),
        ..CrashOptions::default()
    };
    let report = crash_recovery(&cache, &install, &options, &Cancel::default(), &mut |_| {});
    let report = report.expect("done");
    assert_eq!(report.outcome, Outcome::Passed, "{report:#?}");
    assert!(
        report.value(CheckCount::AcknowledgedCommits) > Some(10),
        "{report:#?}"
    );
    assert!(!report.whole);
}

/// The kernel kills a server for want of memory, an administrator one that is in the way: neither says anything of the build.
#[test]
fn a_server_that_somebody_else_kills_fails_nothing() {
    use niagara_server::Around;
    use std::thread::{JoinHandle, spawn};

    let folder = tempfile::tempdir().expect("a temporary folder");
    let cache = Cache::at(folder.path()).expect("a cache");
    let running = cache.root().join("running");
    // The one server that is on record, half a second after it was given work.
    let kill = move || {
        std::thread::sleep(std::time::Duration::from_millis(500));
        let entries = std::fs::read_dir(running).expect("there").flatten();
        for entry in entries {
            let record = std::fs::read(entry.path()).expect("readable");
            let record: serde_json::Value = serde_json::from_slice(&record).expect("valid");
            let pid = record["server"]["pid"].to_string();
            let status = std::process::Command::new("kill")
                .args(["-9", &pid])
                .status();
            assert!(status.expect("it runs").success(), "{pid}");
        }
    };
    let options = CrashOptions {
        kills: 1,
        // Longer than it takes somebody else.
        after_ms: 60_000..60_001,
        ..CrashOptions::default()
    };
    let mut killer: Option<JoinHandle<()>> = None;
    let error = crash_recovery(
        &cache,
        &install("mariadb-10.11"),
        &options,
        &Cancel::default(),
        &mut |progress| {
            if progress.text.starts_with("writing") && killer.is_none() {
                killer = Some(spawn(kill.clone()));
            }
        },
    )
    .expect_err("nothing is known of it");
    killer.expect("begun").join().expect("it found one");
    let around = Around::of(&error);
    assert!(
        matches!(around, Some(Around::Killed | Around::Memory)),
        "{error:#}"
    );
    assert!(error.to_string().contains("killed it"), "{error:#}");
}

/// The log is written once a second: what was committed since is lost with the process.
#[test]
fn a_server_that_acknowledges_before_it_writes_is_found_out() {
    let report = crash(
        "mariadb-10.11",
        &CrashOptions {
            kills: 3,
            after_ms: 500..900,
            config: config("innodb_flush_log_at_trx_commit", "0"),
            ..CrashOptions::default()
        },
    );
    assert_eq!(report.outcome, Outcome::Failed, "{report:#?}");
    let told = told_of(&report);
    assert!(
        told.contains("acknowledged as committed: it is not there"),
        "{told}"
    );
}

#[test]
fn a_server_gives_the_same_answers_as_itself() {
    for name in ["mariadb-10.11", "mysql-9.7"] {
        let report = answers(name, name, &small(Planted::default()));
        assert_eq!(report.outcome, Outcome::Passed, "{name}: {report:#?}");
        assert!(
            report.value(CheckCount::Statements) > Some(250),
            "{name}: {report:#?}"
        );
        assert!(
            report.value(CheckCount::WholeTables) >= Some(10),
            "{name}: {report:#?}"
        );
        assert!(
            recommends_nothing(&report, "agrees with itself"),
            "{report:#?}"
        );
    }
}

#[test]
fn a_planted_difference_is_found() {
    let statement = |sql: &str| Planted {
        statement: Some(sql.to_owned()),
        ..Planted::default()
    };
    let variable = |name: &str, value: &str| Planted {
        config: config(name, value),
        ..Planted::default()
    };
    for (what, planted, told) in [
        (
            "a cent",
            statement("UPDATE person SET salary = salary + 0.01 WHERE id = 17"),
            "SELECT * FROM `person`",
        ),
        (
            "a row that is gone",
            statement("DELETE FROM orders WHERE id = 31"),
            "CHECKSUM TABLE `orders`",
        ),
        (
            "another collation of one column",
            statement(
                "ALTER TABLE word MODIFY uca VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
            ),
            "uca",
        ),
        (
            "a table too many",
            statement("CREATE TABLE nobody_asked_for (id INT)"),
            "SHOW FULL TABLES",
        ),
        (
            "no strict mode",
            variable("sql_mode", "NO_ENGINE_SUBSTITUTION"),
            "INSERT INTO narrow",
        ),
        (
            "another rounding",
            variable("div_precision_increment", "5"),
            "AVG(",
        ),
    ] {
        let report = answers("mariadb-10.11", "mariadb-10.11", &small(planted));
        assert_eq!(report.outcome, Outcome::Failed, "{what}: {report:#?}");
        let findings = told_of(&report);
        assert!(findings.contains(told), "{what}: {findings}");
    }
}

/// What equal answers are promised everywhere is so: between series, and between the branches of the family.
#[test]
fn servers_of_different_series_are_compared_where_answers_must_be_equal() {
    for (ours, theirs) in [
        ("mariadb-11.8", "mariadb-10.11"),
        ("mysql-9.7", "mariadb-10.11"),
    ] {
        let report = answers(ours, theirs, &small(Planted::default()));
        assert_eq!(report.outcome, Outcome::Passed, "{ours}: {report:#?}");
        assert!(
            report.value(CheckCount::Statements) > Some(150),
            "{ours}: {report:#?}"
        );
        let left_out: Vec<String> = report
            .left_out
            .iter()
            .map(|out| out.what.to_string())
            .collect();
        assert!(
            left_out
                .iter()
                .any(|what| what.starts_with("regular expressions")),
            "{left_out:?}"
        );
        assert!(
            recommends_nothing(&report, "of another series"),
            "{report:#?}"
        );
    }
}

#[test]
fn what_was_found_is_kept_for_the_binary() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ours = install("mariadb-10.11");
    // Records of its own; servers and images of everybody.
    let cache = Cache::at(folder.path()).expect("a cache");
    let catalog = Catalog::load(&[]).expect("the built-in catalogue");
    let subject = Subject {
        ours: ours.clone(),
        theirs: Some(ours.clone()),
        suite: None,
    };
    let options = CheckOptions {
        parts: vec![Part::Crash, Part::Suite],
        crash: CrashOptions {
            kills: 1,
            after_ms: 100..200,
            ..CrashOptions::default()
        },
        suite: SuiteOptions::default(),
        ..CheckOptions::default()
    };
    let mut parts = Vec::new();
    let record = check(
        &cache,
        &catalog,
        &subject,
        &options,
        &Cancel::default(),
        &mut |_| {},
        &mut |report| parts.push(report.part),
    )
    .expect("done");
    assert_eq!(parts, [Part::Crash, Part::Suite]);
    assert_eq!(record.version, ours.version);
    assert_eq!(record.missing(), Part::ALL);
    assert!(!passed(&cache, &ours.server).expect("read"));
    match standing(&cache, &ours.server).expect("read") {
        Standing::Unknown(Some(kept)) => assert_eq!(*kept, record),
        other => panic!("{other:?}"),
    }
    // What failed once is not refuted by a smaller check, and is forgotten when that is asked for.
    let mut failing = record.clone();
    let mut failed = record.parts[&Part::Crash].clone();
    failed.outcome = Outcome::Failed;
    failed.findings = vec![CheckFinding::NothingAcknowledged];
    failing.note(failed);
    failing.save(&cache).expect("saved");
    for forget in [false, true] {
        let options = CheckOptions {
            parts: vec![Part::Crash],
            forget,
            ..options.clone()
        };
        let record = check(
            &cache,
            &catalog,
            &subject,
            &options,
            &Cancel::default(),
            &mut |_| {},
            &mut |report| assert_eq!(report.outcome, Outcome::Passed),
        )
        .expect("done");
        assert_eq!(record.failed(), !forget, "{record:#?}");
        let known = standing(&cache, &ours.server).expect("read");
        assert_eq!(matches!(known, Standing::Failed(_)), !forget, "{known:?}");
    }
    let stopped = Cancel::default();
    stopped.cancel();
    let error = check(
        &cache,
        &catalog,
        &subject,
        &options,
        &stopped,
        &mut |_| {},
        &mut |_| {},
    );
    assert!(
        error
            .expect_err("stopped")
            .is::<niagara_server::Cancelled>()
    );
}

/// The suite's own runner against the binary: two tests that pass, and one that cannot.
#[test]
fn the_suite_runs_against_the_binary() {
    use niagara_check::{TestList, regression_suite};
    let ours = install("mariadb-10.11");
    let catalog = Catalog::load(&[]).expect("the built-in catalogue");
    let description = catalog.get("mariadb-10.11").expect("in the catalogue");
    let suite = niagara_server::get_suite(&cache(), description, ours.version, &mut |text| {
        eprintln!("{text}");
    })
    .expect("fetched")
    .expect("described");
    // Logs of its own; servers and images of everybody.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let own = Cache::at(folder.path()).expect("a cache");
    let list = TestList::parse(
        "x.tests",
        "main.alias\nmain.bigint\nmain.alter_table_debug\nmain.analyze_debug\nmain.no_such_test\n",
    )
    .expect("valid");
    let run_with = |only: &[&str], planted: &[&str]| {
        let options = SuiteOptions {
            only: only.iter().map(|name| (*name).to_owned()).collect(),
            parallel: Some(1),
            planted: planted.iter().map(|word| (*word).to_owned()).collect(),
            tree: None,
        };
        regression_suite(
            &own,
            &ours,
            &ours,
            &suite,
            &list,
            &options,
            &Cancel::default(),
            &mut |_| {},
        )
    };
    let run = |only: &[&str]| run_with(only, &[]);
    let report = run(&["main.alias", "main.bigint"]).expect("done");
    assert_eq!(report.outcome, Outcome::Passed, "{report:#?}");
    assert_eq!(
        report.value(CheckCount::TestsPassed),
        Some(2),
        "{report:#?}"
    );
    assert!(
        report.value(CheckCount::ServersStarted) > Some(0),
        "{report:#?}"
    );
    assert!(!report.whole);
    // Texts in double quotes are names now: the test fails, fails again, and passes on the server compared with.
    let planted = run_with(&["main.alias"], &["--mysqld=--sql-mode=ANSI_QUOTES"]).expect("done");
    assert_eq!(planted.outcome, Outcome::Failed, "{planted:#?}");
    assert_eq!(
        planted.value(CheckCount::TestsFailed),
        Some(1),
        "{planted:#?}"
    );
    // Its faults are put to itself, which would excuse them.
    assert!(
        recommends_nothing(&planted, "agrees with itself"),
        "{planted:#?}"
    );
    let CheckFinding::TestFailed { test, log, .. } = &planted.findings[0] else {
        panic!("{planted:#?}");
    };
    let log = std::fs::read_to_string(log).expect("a log");
    assert!(test == "main.alias" && log.contains("alias"), "{log}");
    let report = run(&["main.alias", "main.no_such_test"]).expect("done");
    assert_eq!(
        report.value(CheckCount::TestsPassed),
        Some(1),
        "{report:#?}"
    );
    assert!(
        matches!(report.left_out[0].reason, SkipReason::NotInSuite { .. }),
        "{report:#?}"
    );
    // Those two take a debug build.
    let error = run(&["main.alias", "main.alter_table_debug", "main.analyze_debug"])
        .expect_err("most of it says nothing")
        .to_string();
    assert!(error.contains("only 1 of 3 tests passed"), "{error}");
    let error = run(&["main.no_such_test"])
        .expect_err("nothing to run")
        .to_string();
    assert!(
        error.contains("none of the tests main.no_such_test"),
        "{error}"
    );
}

/// The statements of a check on one server, as a build is trained on them.
#[test]
fn a_server_executes_the_statements_of_a_check_again_and_again() {
    use niagara_check::exercise;
    use niagara_server::{ImageStore, LaunchSpec, ProcessSettings, launch};
    let cache = cache();
    for name in ["mariadb-10.11", "mysql-9.7"] {
        let install = install(name);
        let image = ImageStore::new(&cache)
            .ensure(&install, "empty", "InnoDB", &mut |_| Ok(()), &mut |_| {})
            .expect("an image");
        let clone = cache.work_folder("clone").expect("a folder");
        let datadir = clone.path().join("data");
        image.clone_to(&datadir).expect("a clone");
        let spec = LaunchSpec {
            install: &install,
            datadir,
            runtime: &ProcessSettings::default(),
            config: &Config::new(),
        };
        let server = launch(&cache, &spec).expect("it starts");
        let mut told = Vec::new();
        let executed = exercise(&server, &install, 0.0, &Cancel::default(), &mut |text| {
            told.push(text.to_owned());
        })
        .expect("done");
        assert!(executed > 2000, "{name}: {executed}");
        assert!(told.iter().any(|text| text.contains("InnoDB")), "{told:?}");
        let rows = server
            .query("SELECT COUNT(*) FROM niagara_innodb.person")
            .expect("there");
        assert!(
            rows[0][0].parse::<u64>().expect("a number") > 1000,
            "{rows:?}"
        );
        let stopped = Cancel::default();
        stopped.cancel();
        let error = exercise(&server, &install, 9.0, &stopped, &mut |_| {}).expect_err("stopped");
        assert!(error.is::<niagara_server::Cancelled>());
        server.stop().expect("it ends");
    }
}

/// A server that was built to write a profile is started in many ways: to tell its version and its options, to make a data
/// directory, to be checked. Each of them says where the profile goes, or it lies in the folder that Niagara runs in.
#[test]
fn no_way_to_start_a_server_leaves_a_profile_lying_about() {
    use niagara_check::{TestList, regression_suite};
    use std::os::unix::fs::PermissionsExt;
    let packaged = install("mariadb-10.11");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let own = Cache::at(&folder.path().join("cache")).expect("a cache");
    let (strays, starts) = (folder.path().join("strays"), folder.path().join("starts"));
    let server = folder.path().join("mariadbd");
    let script = format!(
        "#!/bin/sh\necho x >> '{}'\n[ -n \"$LLVM_PROFILE_FILE\" ] || echo \"$@\" >> '{}'\nexec '{}' \"$@\"\n",
        starts.display(),
        strays.display(),
        packaged.server.display()
    );
    std::fs::write(&server, script).expect("written");
    std::fs::set_permissions(&server, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let started = || {
        std::fs::read_to_string(&starts)
            .unwrap_or_default()
            .lines()
            .count()
    };
    let no_stray = |what: &str| {
        let strays = std::fs::read_to_string(&strays).unwrap_or_default();
        assert_eq!(strays, "", "{what}");
    };
    Install::from_path(&server).expect("a server");
    no_stray("its version");
    let instrumented = Install {
        server,
        ..packaged.clone()
    };
    instrumented
        .verbose_help(&[], folder.path())
        .expect("its options");
    let options = folder.path().join("my.cnf");
    std::fs::write(&options, "[mariadbd]\nport = 4000\n").expect("written");
    instrumented.print_defaults(&options).expect("its options");
    no_stray("its options");
    let before = started();
    // Bootstrap, and the server itself.
    let report = compare_answers(
        &own,
        &instrumented,
        &packaged,
        &small(Planted::default()),
        &Cancel::default(),
        &mut |_| {},
    );
    assert_eq!(report.expect("done").outcome, Outcome::Passed);
    assert!(started() >= before + 2, "a data directory, a server");
    no_stray("a data directory, a server");
    let catalog = Catalog::load(&[]).expect("the built-in catalogue");
    let description = catalog.get("mariadb-10.11").expect("in the catalogue");
    let suite = niagara_server::get_suite(&cache(), description, packaged.version, &mut |_| {});
    let list = TestList::parse("x.tests", "main.alias\n").expect("valid");
    let before = started();
    // That a script stands before the server is a finding; how it was started is what matters here.
    let _ = regression_suite(
        &own,
        &instrumented,
        &packaged,
        &suite.expect("fetched").expect("described"),
        &list,
        &SuiteOptions {
            parallel: Some(1),
            ..SuiteOptions::default()
        },
        &Cancel::default(),
        &mut |_| {},
    );
    assert!(started() > before, "the suite's runner");
    no_stray("the suite's runner");
}

/// A suite of another version than the server: the files of the server's own source are what it has to pass.
#[test]
fn tests_of_another_version_are_those_of_the_servers_source() {
    use niagara_check::{TestList, regression_suite};
    let ours = install("mariadb-10.11");
    let catalog = Catalog::load(&[]).expect("the built-in catalogue");
    let description = catalog.get("mariadb-10.11").expect("in the catalogue");
    let mut suite = niagara_server::get_suite(&cache(), description, ours.version, &mut |_| {})
        .expect("fetched")
        .expect("described");
    suite.version.patch += 1;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let own = Cache::at(&folder.path().join("cache")).expect("a cache");
    let tests = suite.runner.parent().expect("a folder").join("main");
    let tree = folder.path().join("tree/mysql-test/main");
    std::fs::create_dir_all(&tree).expect("made");
    let write = |name: &str, text: &str| std::fs::write(tree.join(name), text).expect(name);
    for name in ["alias.test", "alias.result"] {
        std::fs::copy(tests.join(name), tree.join(name)).expect(name);
    }
    // As an older source has it: one statement less, and its answer with it.
    write("bigint.test", "select 9223372036854775807 as older;\n");
    write(
        "bigint.result",
        "select 9223372036854775807 as older;\nolder\n9223372036854775807\n",
    );
    let list = TestList::parse("x.tests", "main.alias\nmain.bigint\nmain.case\n").expect("valid");
    let run = |only: &[&str], planted: &[&str]| {
        let options = SuiteOptions {
            only: only.iter().map(|name| (*name).to_owned()).collect(),
            parallel: Some(1),
            tree: Some(folder.path().join("tree")),
            planted: planted.iter().map(|word| (*word).to_owned()).collect(),
        };
        regression_suite(
            &own,
            &ours,
            &ours,
            &suite,
            &list,
            &options,
            &Cancel::default(),
            &mut |_| {},
        )
        .expect("done")
    };
    let report = run(&[], &[]);
    assert_eq!(report.outcome, Outcome::Passed, "{report:#?}");
    assert_eq!(
        report.value(CheckCount::TestsPassed),
        Some(2),
        "{report:#?}"
    );
    assert!(
        report.value(CheckCount::ServersStarted) > Some(0),
        "{report:#?}"
    );
    let is_taken = |note: &CheckNote| matches!(note, CheckNote::TestsOfSource { tests, .. } if tests[..] == ["main.bigint"]);
    assert!(report.notes.iter().any(is_taken), "{report:#?}");
    assert!(
        report
            .left_out
            .iter()
            .any(|out| out.what.to_string() == "main.case"
                && out.reason == SkipReason::NotInSource),
        "{report:#?}"
    );
    // What fails with the source's files and passes with the suite's failed for programs of another version.
    write(
        "bigint.result",
        "select 9223372036854775807 as older;\nolder\n1\n",
    );
    let report = run(&["main.bigint"], &[]);
    assert_eq!(
        report.value(CheckCount::TestsPassed),
        Some(1),
        "{report:#?}"
    );
    let failed_first = |note: &CheckNote| matches!(note, CheckNote::PassedWithFilesOfSuite { test, .. } if test == "main.bigint");
    assert!(report.notes.iter().any(failed_first), "{report:#?}");
    // What fails with both is a fault, whatever the other server says.
    write("alias.result", "older\n");
    let report = run(&["main.alias"], &["--mysqld=--sql-mode=ANSI_QUOTES"]);
    assert_eq!(
        report.value(CheckCount::TestsFailed),
        Some(1),
        "{report:#?}"
    );
    assert!(
        report.findings[0].to_string().starts_with("main.alias"),
        "{report:#?}"
    );
}
