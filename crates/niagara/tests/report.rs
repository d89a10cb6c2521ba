//! The report of a finished study is made from its results alone, as often as wanted.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{Place, run};
use niagara_check::{CheckFinding, CheckRecord, Outcome, Part, PartReport};
use niagara_model::{
    Comparison, DeployBuild, Deployment, Reason, Rung, Screened, StudyHeader, StudyRecord, Summary,
    TuneSummary,
};
use niagara_server::{Cache, Catalog, Family, Install, ProcessSettings, TransportKind, get};
use niagara_stats::{Estimate, Judgement, Verdict};
use niagara_store::Store;

fn study() -> StudyRecord {
    StudyRecord {
        kind: "tune".into(),
        command: "niagara tune mariadb-10.11".into(),
        key: "k".into(),
        seed: 7,
        started_unix_ms: 1_790_000_000_000,
        plan: serde_json::json!({}),
        machine: serde_json::json!({"cpus": 2}),
        niagara_version: "0.1.0".into(),
    }
}

/// A ladder of one lever; proven by its total, or not.
fn tuned(proven: bool) -> TuneSummary {
    let effect = Estimate::from_log(0.08, 0.06, 0.1);
    let total = Comparison {
        rate: None,
        unadjusted: None,
        all_time: None,
        in_longer_slices: None,
        latency_p99: None,
        taken: None,
        nodes: None,
        caution: None,
        failed: None,
        as_measured: None,
        stability: None,
        a: "mariadb-10.11".into(),
        b: "mariadb-10.11 + flush-neighbors-off".into(),
        goal: niagara_model::Goal::Throughput,
        on_goal: None,
        throughput: Judgement {
            duels: 8,
            verdict: Some(if proven {
                Verdict::Faster
            } else {
                Verdict::Undetected
            }),
            estimate: effect,
            w: 36.0,
            critical: Some(36),
            predictive_power: 1.0,
            called_at: None,
            confidence: None,
            looks: Vec::new(),
            one_sided: false,
            withdrawn: false,
            next_look: None,
            alpha: 0.05,
        },
        cpu_per_transaction: None,
        latency_p50: None,
        latency_p95: None,
        tps: [1000.0, 1080.0],
        dropped: [0, 0],
        couples: 96,
        replay: None,
        encryption: [None, None],
    };
    TuneSummary {
        header: StudyHeader {
            about: None,
            server: "mariadb-10.11".into(),
            server_version: "10.11.14-MariaDB".into(),
            workload: "oltp_read_write, 1 table of 1000 rows, InnoDB, 4 threads".into(),
            goal: niagara_model::Goal::Throughput,
            rate: None,
            protocol: "duel".into(),
            seed: 7,
            alpha: 0.05,
            budget_seconds: Some(600.0),
            elapsed_seconds: 580.0,
            load_seconds: 400.0,
            complete: true,
            sd_duel: Some(0.012),
            builds: Vec::new(),
            checks: Vec::new(),
            deployment: proven.then(|| Deployment {
                family: "mariadb".into(),
                config: BTreeMap::from([("innodb_flush_neighbors".into(), "0".into())]),
                runtime: ProcessSettings {
                    transport: Some(TransportKind::Tcp),
                    ..ProcessSettings::default()
                },
                sets: BTreeMap::from([(
                    "flush-neighbors-off".into(),
                    vec!["innodb_flush_neighbors".into()],
                )]),
                machine: "a machine of two CPUs".into(),
                ..Deployment::default()
            }),
            warnings: vec![],
        },
        threads: 4,
        total: Some(total),
        total_failure: None,
        total_of: None,
        recommendation: None,
        next: None,
        conclusion: None,
        guard: niagara_model::TailGuard::default(),
        dropped: Vec::new(),
        alternatives: Vec::new(),
        rungs: vec![Rung {
            screened: Screened {
                lever: "flush-neighbors-off".into(),
                title: "No flushing of neighbours".into(),
                change: "innodb_flush_neighbors=0".into(),
                effect,
                std_err: 0.01,
                expected: None,
                duels: 24,
                tail: None,
            },
            chosen: None,
            claim: None,
            why: "Solid-state disks do not care.".into(),
            risk: "none".into(),
        }],
        not_helped: vec![],
        together: vec![],
        searched: None,
        not_tried: vec![],
        negative_control: None,
        positive_control: None,
    }
}

fn store(folder: &Path) -> Store {
    std::fs::create_dir_all(folder).expect("a folder");
    Store::create(&folder.join("results.db"), &study()).expect("a fresh folder")
}

fn write_files(place: &Place) {
    let (code, _, stderr) = run(place
        .niagara(&["report", "--format", "files"])
        .arg(place.out()));
    assert_eq!(code, Some(0), "{stderr}");
}

/// Files for one place are no reason to take those for another away.
#[test]
fn files_for_several_places_lie_side_by_side() {
    let place = Place::new();
    let summary = Summary::Tune(Box::new(tuned(true)));
    store(&place.out()).set_summary(&summary).expect("room");
    for name in ["rds", "ansible"] {
        let (code, _, stderr) = run(place
            .niagara(&["report", "--format", "files", "--for", name])
            .arg(place.out()));
        assert_eq!(code, Some(0), "{stderr}");
    }
    write_files(&place);
    for name in ["README.md", "rds.sh", "ansible.yml"] {
        assert!(place.out().join("deploy").join(name).is_file(), "{name}");
    }
}

#[test]
fn a_study_that_was_killed_before_its_files_were_written_gets_them_all() {
    let place = Place::new();
    let store = store(&place.out());
    let summary = Summary::Tune(Box::new(tuned(true)));
    store.set_summary(&summary).expect("room");
    drop(store);

    write_files(&place);
    let read = |name: &str| std::fs::read_to_string(place.out().join(name)).expect(name);
    assert!(read("report.html").contains("No flushing of neighbours"));
    assert!(read("report.md").contains("No flushing of neighbours"));
    let options = read("deploy/60-niagara.cnf");
    assert!(options.contains("innodb_flush_neighbors = 0"), "{options}");
    assert!(
        options.contains("No flushing of neighbours: ×"),
        "{options}"
    );
    let readme = read("deploy/README.md");
    assert!(readme.contains("a machine of two CPUs"), "{readme}");

    let (code, stdout, _) = run(place.niagara(&["report"]).arg(place.out()));
    assert_eq!(code, Some(0));
    assert!(stdout.contains("deploy:  "), "{stdout}");
    let left: Vec<_> = std::fs::read_dir(place.out())
        .expect("there")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(left.len(), 4, "{left:?}");
}

#[test]
fn what_is_not_proven_any_more_is_not_handed_over() {
    let place = Place::new();
    let store = store(&place.out());
    for proven in [true, false] {
        let summary = Summary::Tune(Box::new(tuned(proven)));
        store.set_summary(&summary).expect("room");
        write_files(&place);
        assert_eq!(place.out().join("deploy").is_dir(), proven);
    }
    // What a person put there stays.
    std::fs::create_dir(place.out().join("deploy")).expect("a folder");
    std::fs::write(place.out().join("deploy/notes.txt"), "mine").expect("a file");
    write_files(&place);
    assert!(place.out().join("deploy/notes.txt").is_file());
}

/// `niagara server check` may find later what the checks before the hand-over did not.
#[test]
fn a_built_server_that_failed_a_check_since_is_not_handed_over_again() {
    let place = Place::new();
    let cache = Cache::at(&place.work().join("cache")).expect("a cache");
    let prefix = place.work().join("prefix");
    let binary = prefix.join("usr/sbin/mariadbd");
    std::fs::create_dir_all(binary.parent().expect("a folder")).expect("room");
    std::fs::write(&binary, "a server").expect("room");
    let sha256 = niagara_server::file_digest(&binary).expect("readable");
    let mut summary = tuned(true);
    let deployment = summary.header.deployment.as_mut().expect("proven");
    deployment.built = Some(DeployBuild {
        prefix: prefix.clone(),
        binary: "usr/sbin/mariadbd".into(),
        one_line: "clang".into(),
        recipe: "{}".into(),
        releases: None,
        sha256: Some(sha256.clone()),
    });
    store(&place.out())
        .set_summary(&Summary::Tune(Box::new(summary)))
        .expect("room");
    let files = || {
        run(place
            .niagara(&["report", "--format", "files"])
            .arg(place.out())
            .env("NIAGARA_CACHE", cache.root()))
    };
    let (code, _, stderr) = files();
    assert_eq!(code, Some(0), "{stderr}");
    assert!(place.out().join("deploy/README.md").is_file());

    let install = Install {
        name: "mariadb-10.11".into(),
        family: Family::Mariadb,
        version: "10.11.18".parse().expect("a version"),
        version_string: "10.11.18-MariaDB".into(),
        basedir: prefix.join("usr"),
        server: binary,
        mallocs: BTreeMap::new(),
        own_malloc: "glibc".into(),
        packages: BTreeMap::new(),
        plugins: Vec::new(),
        libraries: None,
    };
    let crash = PartReport {
        part: Part::Crash,
        outcome: Outcome::Failed,
        figures: Vec::new(),
        findings: vec![CheckFinding::NothingAcknowledged],
        more_findings: 0,
        left_out: Vec::new(),
        notes: Vec::new(),
        logs: None,
        seconds: 40.0,
        seed: 1,
        whole: true,
    };
    let mut record = CheckRecord::new(&install, sha256);
    record.note(crash);
    record.save(&cache).expect("room");
    let (code, _, stderr) = files();
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.contains("no commit was ever acknowledged") && stderr.contains("remedy: "),
        "{stderr}"
    );
    assert!(!place.out().join("deploy").exists());
}

/// Writes a study into a folder of its own and says where.
fn kept(place: &Place, name: &str, tune: TuneSummary) -> std::path::PathBuf {
    let folder = place.out().join(name);
    let summary = Summary::Tune(Box::new(tune));
    store(&folder).set_summary(&summary).expect("room");
    folder
}

#[test]
fn two_studies_are_put_side_by_side() {
    let place = Place::new();
    let before = kept(&place, "before", tuned(true));
    let mut slower = tuned(true);
    slower.total.as_mut().expect("a total").throughput.estimate =
        Estimate::from_log(0.0, -0.02, 0.02);
    let after = kept(&place, "after", slower);
    let both = |more: &[&str]| {
        run(place
            .niagara(&["report"])
            .args([&before, &after])
            .args(more))
    };
    let (code, stdout, stderr) = both(&[]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stdout.starts_with("The results differ, with the same set-up: throughput B over A"),
        "{stdout}"
    );
    assert!(stdout.contains("No flushing of neighbours"), "{stdout}");
    let (code, stdout, stderr) = both(&["--json"]);
    assert_eq!(code, Some(0), "{stderr}");
    let value: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(value["total"]["differs"], true);
    assert_eq!(value["studies"][1]["name"], "after");
    for (form, begins) in [
        ("markdown", "# The results differ"),
        ("html", "<!DOCTYPE html>"),
    ] {
        let (code, stdout, stderr) = both(&["--format", form]);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stdout.starts_with(begins), "{stdout}");
    }
    let (code, _, stderr) = both(&["--format", "csv"]);
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("the slices of one study") && stderr.contains("html"),
        "{stderr}"
    );
}

#[test]
fn what_cannot_be_put_side_by_side_is_told_with_a_remedy() {
    let place = Place::new();
    let one = kept(&place, "one", tuned(true));
    let (code, _, stderr) = run(place.niagara(&["report"]).args([&one, &one]));
    assert_eq!(code, Some(1));
    assert!(stderr.contains("was named twice"), "{stderr}");
    let nowhere = place.out().join("nowhere");
    let (code, _, stderr) = run(place.niagara(&["report"]).args([&one, &nowhere]));
    assert_eq!(code, Some(1));
    assert!(stderr.contains("nowhere holds no study"), "{stderr}");
}

#[test]
fn a_tuning_without_builds_says_what_one_brought_elsewhere() {
    let because = |server: &str, workload: &str, levers: &[&str], reason: Reason| {
        let place = Place::new();
        let store = store(&place.out());
        let mut tune = tuned(true);
        tune.header.server = server.to_owned();
        tune.header.workload = tune.header.workload.replace("oltp_read_write", workload);
        tune.not_tried = levers
            .iter()
            .map(|lever| niagara_model::NotTried {
                lever: (*lever).to_owned(),
                title: "a build".to_owned(),
                reason: reason.clone(),
            })
            .collect();
        let summary = Summary::Tune(Box::new(tune));
        store.set_summary(&summary).expect("room");
        drop(store);
        let (code, stdout, stderr) = run(place.niagara(&["report"]).arg(place.out()));
        assert_eq!(code, Some(0), "{stderr}");
        stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let unasked = || Reason::OnlyByName {
        lever: "LEVER".to_owned(),
        build: true,
    };
    let told =
        |workload: &str, levers: &[&str]| because("mariadb-10.11", workload, levers, unasked());
    let builds = ["build-clang-pgo-lto", "build-pgo-lto"];
    // Of this workload where there is a figure, else the one that is known best; and not what one build adds to another, or one without
    // a profile, however well that is known.
    for (workload, figure) in [
        (
            "oltp_read_write",
            "× 1.176 [1.160, 1.189] (AMD EPYC) to × 1.33 [1.30, 1.36] (Intel Xeon) over the package of 10.11.19, 16 threads, trained on the same load (docs/results/compiler-matrix.md, docs/results/training-crossed.md)",
        ),
        (
            "oltp_delete",
            "× 1.15 [1.12, 1.18] (AMD EPYC) to × 1.381 [1.369, 1.392] (Intel Xeon) with mariadb-10.11, oltp_read_only over the package of 10.11.19, 16 threads, trained on the same load (docs/results/compiler-matrix.md)",
        ),
    ] {
        let words = format!(
            "builds: none tried; elsewhere a server built from source brought {figure}: --with-builds tries the best that fit into --build-budget; the package's updates do not reach such a server"
        );
        let text = told(workload, &builds);
        assert!(text.contains(&words), "{words}\n{text}");
    }
    assert!(!told("oltp_read_write", &["query-cache"]).contains("--with-builds"));
    // A server that is named by its path is built as the catalogue's of its branch and series.
    let by_path = because("/usr/sbin/mariadbd", "oltp_read_write", &builds, unasked());
    assert!(
        by_path.contains("to × 1.33 [1.30, 1.36] (Intel Xeon) with mariadb-10.11 over"),
        "{by_path}"
    );
    let text = because(
        "mariadb-10.11",
        "oltp_read_write",
        &["build-clang-pgo-lto"],
        Reason::BuildBudget {
            takes: Some(27.0 * 60.0),
            budget: 20.0 * 60.0,
            left: 20.0 * 60.0,
        },
    );
    assert!(
        text.contains("a longer --build-budget") && !text.contains("--with-builds"),
        "{text}"
    );
}

/// The files of the packaged MariaDB as cmake leaves them where nothing is installed, the source elsewhere.
fn build_tree(folder: &Path) {
    let cache = Cache::open().expect("the shared cache");
    let catalog = Catalog::load(&[]).expect("the built-in catalogue");
    let description = catalog.get("mariadb-10.11").expect("in the catalogue");
    let install = get(&cache, description, &mut |_| {}).expect("a fetched server");
    let share = install.basedir.join("share/mysql");
    let source = folder.join("source");
    let made = ["share/english", "scripts"].map(|part| match part {
        "scripts" => folder.join("build").join(part),
        part => folder.join("build/sql").join(part),
    });
    for folder in made.iter().chain([&source.join("scripts")]) {
        std::fs::create_dir_all(folder).expect("a folder");
    }
    let copy = |from: &Path, to: &Path| {
        let name = from.file_name().expect("a file");
        std::fs::copy(from, to.join(name)).expect("copied");
    };
    copy(
        &install.basedir.join("sbin/mariadbd"),
        &folder.join("build/sql"),
    );
    copy(&share.join("english/errmsg.sys"), &made[0]);
    for file in std::fs::read_dir(&share).expect("files").flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        match name.as_str() {
            "maria_add_gis_sp_bootstrap.sql" | "mysql_sys_schema.sql" => {
                copy(&file.path(), &made[1])
            }
            name if name.ends_with(".sql") => copy(&file.path(), &source.join("scripts")),
            _ => {}
        }
    }
    let cache = format!("CMAKE_HOME_DIRECTORY:INTERNAL={}\n", source.display());
    std::fs::write(folder.join("build/CMakeCache.txt"), cache).expect("written");
}

#[test]
fn comparison_fails_a_pipeline_by_its_condition() {
    let place = Place::new();
    build_tree(place.folder.path());
    let compare = |out: &str, words: &[&str]| {
        let mut command = place.niagara(&["compare", "base", "./build/sql/mariadbd"]);
        command.args(["--threads", "2", "--table-size", "1000", "--slice", "50ms"]);
        command.args(["--warm-up", "100ms", "--couples", "2", "--max-duels", "2"]);
        command.args(["--budget", "2m", "--seed", "1", "--out", out]);
        run(command.args(words))
    };
    let (code, stdout, stderr) = compare(
        "study",
        &["--format", "github", "--fail-if", "maybe-slower>1%"],
    );
    assert_eq!(
        code,
        Some(3),
        "two duels exclude nothing:\n{stdout}\n{stderr}"
    );
    assert!(
        stdout.starts_with("::error title=niagara%3A maybe-slower>1%25::"),
        "{stdout}"
    );
    assert!(
        stdout.lines().all(|line| line.starts_with("::")),
        "{stdout}"
    );
    let (code, stdout, stderr) = compare(
        "other",
        &["--format", "openmetrics", "--fail-if", "slower>99%"],
    );
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    assert!(
        stdout.contains("niagara_gain{a=\"mariadb-10.11\"") && stdout.ends_with("# EOF\n"),
        "{stdout}"
    );
    let (code, stdout, _) = run(&mut place.niagara(&["report", "study", "--format", "github"]));
    assert_eq!(code, Some(0));
    assert!(stdout.starts_with("::notice title=niagara::"), "{stdout}");
    let (code, _, stderr) = compare("third", &["--fail-if", "faster>2%"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("slower>2%"), "{stderr}");
}
