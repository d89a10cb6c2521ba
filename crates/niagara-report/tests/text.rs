//! What the terminal shows, and Markdown, CSV and JSON.

mod fixture;

use fixture::{html, markdown};
use niagara_model::{
    BuildCheck, BuildNote, CheckCount, CheckFigure, CheckFinding, CheckOutcome, CheckPart,
    CompareSummary, DigestComparison, DigestFinding, Failure, Finding, PartFault, PartFigures,
    Releases, ReplayRecord, ReplaySummary, SeriesOfRuns, Summary, Warning,
};
use niagara_report::{DeployInput, Files, Format, Report, Study, View, deploy};
use niagara_settings::{ProcessSettings, TlsSession, TransportKind};
use niagara_stats::{Estimate, Verdict};
use serde_json::json;

/// The short form, as it is printed at the end of a study whose slices are gone.
fn terminal(summary: &Summary, colour: bool, width: usize) -> String {
    let view = View {
        colour,
        width,
        verbose: false,
    };
    fixture::terminal(Study::of_summary(summary), view)
}

/// What a tuning without builds says of them.
const BUILDS: &str = "none tried; a server built from source brought × 1.38 [1.37, 1.39] elsewhere over the package of 10.11.19, 16 threads (docs/results/compiler-matrix.md): add --with-builds";

/// All that is printed at the end of a study, whose slices are kept.
fn ending(summary: &Summary, width: usize, verbose: bool) -> String {
    let stored = report(summary);
    let folder = std::path::Path::new("niagara-results/tune-mariadb-10.11-oltp_read_only");
    let files = Files {
        report: folder.join("report.html"),
        deploy: matches!(summary, Summary::Tune(_)).then(|| folder.join("deploy")),
        results: folder.join("results.db"),
        builds: matches!(summary, Summary::Tune(_)).then(|| BUILDS.to_owned()),
        command: Some("niagara tune mariadb-10.11".to_owned()),
        advice: Some("niagara advise --pack shop.niagara".to_owned()),
        ..fixture::files()
    };
    let limits = [
        "What limits the final variant now: CPU (100 % of the time), that is, hardware.".to_owned(),
    ];
    let view = View {
        colour: false,
        width,
        verbose,
    };
    let study = Study::of(&stored).with_files(Some(&files), &limits);
    fixture::terminal(study, view)
}

/// What a run of `niagara tune mariadb-10.11 --budget 10m` stored.
fn ten_minutes() -> Summary {
    let text = include_str!("fixture/tune-of-ten-minutes.json");
    serde_json::from_str(text).expect("as it was stored")
}

/// Lines that a terminal of `width` columns shows, and that none of them is longer.
fn lines(text: &str, width: usize) -> usize {
    for line in text.lines() {
        let columns = console::measure_text_width(line);
        assert!(columns <= width, "{width}: {line}");
    }
    text.lines().count()
}

#[test]
fn a_tuning_of_ten_minutes_ends_on_one_screen() {
    for (width, most) in [(80, 50), (100, 45), (120, 42), (200, 41)] {
        let text = ending(&ten_minutes(), width, false);
        let count = lines(&text, width);
        assert!(count <= most, "{width} columns: {count} lines\n{text}");
        for words in [
            "mariadb-10.11 is 47 % faster with 6 changes",
            "Unix socket instead of TCP",
            "Total",
            "Transactions per second",
            "99th percentile",
            "To apply",
            "deploy:  niagara-results/",
            "next:    read deploy/README.md",
            "niagara report --verbose",
            "69 not tried",
        ] {
            assert!(
                text.contains(words),
                "{width} columns: no {words:?}\n{text}"
            );
        }
    }
    insta::assert_snapshot!(ending(&ten_minutes(), 80, false));
}

/// A tuning of captured traffic, of which nothing was proven and whose statements come first.
fn captured() -> niagara_model::TuneSummary {
    let Summary::Tune(mut tune) = ten_minutes() else {
        panic!("a tuning");
    };
    let index = niagara_model::ChosenIndex {
        table: "wp_posts".to_owned(),
        columns: vec!["post_status".to_owned(), "post_date".to_owned()],
    };
    tune.header.workload =
        "traffic (captured workload), 26813 statements of 742 sessions, InnoDB, 5 threads"
            .to_owned();
    tune.header.warnings = vec![
        Finding::QueriesFirst(niagara_model::QueriesFirst {
            share: 0.28,
            of_time: true,
            digests: 7,
            digest: "eed97cae8341bb68".to_owned(),
            rows_examined: 514.0,
            rows_returned: 10.0,
            indexes: vec![index],
            saved: 0.5,
        })
        .into(),
        Finding::StrongestOnly.into(),
    ];
    tune.header.deployment = None;
    tune.header.checks.clear();
    let open = fixture::estimate(1.01, 0.98, 1.07);
    let total = tune.total.as_mut().expect("a total");
    total.throughput = fixture::judgement(7, Some(Verdict::Undetected), open);
    total.taken = Some([0.04, 0.05]);
    total.unadjusted = Some(fixture::estimate(1.01, 0.97, 1.03));
    total.replay = Some(replay(&[DigestFinding::Undetected; 31]));
    tune.searched = None;
    for rung in &mut tune.rungs {
        rung.claim = None;
    }
    tune.recommendation = Some(niagara_model::Recommendation::Nothing {
        because: niagara_model::Obstacle::NotShown { effect: Some(open) },
        setting: niagara_model::Setup {
            server: "mariadb-10.11".to_owned(),
            workload: tune.header.workload.clone(),
            threads: 5,
            remote_application: false,
            on_socket: false,
            benchmark: false,
            slice_seconds: None,
            lever_slice_seconds: None,
        },
    });
    tune.next = Some(niagara_model::NextStep::Advise { indexes: 1 });
    *tune
}

/// A replay that is good enough, with a digest for each of these.
fn replay(findings: &[DigestFinding]) -> ReplaySummary {
    let verdict = json!({ "code": "good", "cautions": [] });
    let mut fidelity = ReplayRecord::default().fidelity;
    fidelity.replayed = 17_677;
    let digests = findings.iter().enumerate();
    let digests = digests.map(|(place, finding)| DigestComparison {
        captured_us: None,
        digest: format!("{place:016x}"),
        text: "select wp_comments.comment_id from wp_comments join wp_posts on wp_posts.id = comment_post_id".to_owned(),
        share: 0.03,
        latency: fixture::estimate(0.99, 0.97, 1.01),
        p: Some(1.0),
        finding: *finding,
        mean_us: [3052.0, 3022.0],
        p95_us: [None; 2],
        count: [9; 2],
        errors: [0; 2],
        rows: [9; 2],
    });
    ReplaySummary {
        verdict: serde_json::from_value(verdict).expect("a verdict"),
        fidelity,
        answers: Vec::new(),
        identical: None,
        same_answers: None,
        alpha: 0.05,
        duels: 7,
        digests: digests.collect(),
    }
}

#[test]
fn a_tuning_of_captured_traffic_ends_on_one_screen() {
    let summary = Summary::Tune(Box::new(captured()));
    let mut screen = at_the_end(&summary, 100);
    let count = lines(&screen, 100);
    assert!(count <= 46, "{count} lines\n{screen}");
    for words in [
        "First: an index on wp_posts(post_status, post_date), which saves",
        "Settings: keep yours on mariadb-10.11",
        "none was shown slower or faster (31 kinds looked at)",
        "17\u{2009}677 captured statements were answered; the replay is good enough to decide by",
        "took 4 % of the CPUs from A, 5 % from B; uncorrected × 1.01 [0.97, 1.03]",
        "B over A: of neighbouring slices",
        "tried (B)",
        "next:    niagara advise --pack shop.niagara\n",
    ] {
        assert!(screen.contains(words), "{words}\n{screen}");
    }
    // The next step is that of the first sentence, and nothing is told twice.
    for words in [
        "builds:",
        "then:",
        "By digest",
        "final variant",
        "as measured",
    ] {
        assert!(!screen.contains(words), "{words}\n{screen}");
    }
    insta::assert_snapshot!(screen);
    // What was called is told, a line each.
    let mut tune = captured();
    let mut findings = [DigestFinding::Undetected; 31];
    findings[..2].copy_from_slice(&[DigestFinding::Slower, DigestFinding::Faster]);
    tune.total.as_mut().expect("a total").replay = Some(replay(&findings));
    screen = at_the_end(&Summary::Tune(Box::new(tune)), 100);
    let is_digest = |line: &&str| line.contains(" µs ") && !line.contains("Server CPU");
    let rows = screen.lines().filter(is_digest);
    assert_eq!(rows.count(), 2, "{screen}");
    assert!(screen.contains("29 more: --verbose."), "{screen}");
    assert!(lines(&screen, 100) <= 54, "{screen}");
}

/// All that is printed at the end where nothing is handed over.
fn at_the_end(summary: &Summary, width: usize) -> String {
    let stored = report(summary);
    let files = Files {
        report: "niagara-results/tune/report.html".into(),
        results: "niagara-results/tune/results.db".into(),
        builds: Some(BUILDS.to_owned()),
        advice: Some("niagara advise --pack shop.niagara".to_owned()),
        ..fixture::files()
    };
    let limits = ["What limits the final variant now: CPU (100 % of the time).".to_owned()];
    let view = View {
        width,
        ..View::default()
    };
    let study = Study::of(&stored).with_files(Some(&files), &limits);
    let text = fixture::terminal(study, view);
    text.replace("What limits the final variant", "What limits it")
}

/// What nobody is to install is drawn as what is not proven, and not called final.
#[test]
fn a_total_that_is_not_proven_is_hatched() {
    let tried = report(&Summary::Tune(Box::new(captured())));
    let page = html(&tried);
    assert!(page.contains("class=\"row total screened\""), "{page}");
    for words in ["Tried again in fresh duels", "Filled: tried again."] {
        assert!(page.contains(words), "{words}\n{page}");
    }
    assert!(page.contains("hatched ones are not"), "{page}");
    assert!(!page.contains("Filled: kept"), "{page}");
    let proven = html(&report(&ten_minutes()));
    assert!(proven.contains("class=\"row total\""), "{proven}");
    assert!(proven.contains("Filled: kept"), "{proven}");
}

/// Beneath a table of two rows nobody reads twelve sentences.
#[test]
fn legend_is_short() {
    let text = markdown(&report(&tune()));
    let mut rows = text
        .lines()
        .skip_while(|line| !line.starts_with("| **Total**"));
    let legend = rows.nth(2).expect("the legend");
    assert!(legend.split_whitespace().count() <= 64, "{legend}");
    assert!(
        text.contains("**How to read this**\n\nA duel starts both"),
        "{text}"
    );
}

#[test]
fn servers_that_are_started_alike_are_listed_once() {
    let mut report = report(&tune());
    let text = markdown(&report);
    assert!(!text.contains("started alike"), "{text}");
    let command = report.variants[0].command.clone();
    for variant in &mut report.variants {
        variant.command.clone_from(&command);
    }
    report.variants[1].content = json!({ "runtime": { "transport": "unix" } });
    let text = markdown(&report);
    let words =
        "The server is started alike on both sides; B's client connects through the Unix socket.";
    assert!(text.contains(words), "{text}");
    assert_eq!(text.matches(&command).count(), 1, "{text}");
    for (variant, side) in [(0, "A"), (1, "B")] {
        report.variants[variant].content = json!({ "runtime": { "transport": "tls" } });
        report.variants[1 - variant].content = json!({ "runtime": {} });
        let text = markdown(&report);
        assert!(
            text.contains(&format!("but for {side}'s certificate")),
            "{text}"
        );
    }
}

#[test]
fn every_form_says_how_the_load_was_encrypted() {
    let session = |cipher: &str| {
        Some(TlsSession {
            version: "TLSv1.3".into(),
            cipher: cipher.into(),
        })
    };
    let mut compare = fixture::compare();
    for (encryption, words) in [
        ([session("C1"), None], "A: TLSv1.3, C1"),
        ([None, session("C1")], "B: TLSv1.3, C1"),
        ([session("C1"), session("C1")], "A and B: TLSv1.3, C1"),
        (
            [session("C1"), session("C2")],
            "A: TLSv1.3, C1; B: TLSv1.3, C2",
        ),
    ] {
        compare.comparison.encryption = encryption;
        let summary = Summary::Compare(Box::new(compare.clone()));
        for text in [
            ending(&summary, 120, false),
            markdown(&report(&summary)),
            html(&report(&summary)),
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
    }
}

/// The test that Niagara brings along is not taken for the answers to the user's own statements.
#[test]
fn checks_tell_the_capture_from_the_test() {
    let Summary::Tune(mut tune) = ten_minutes() else {
        panic!("a tuning");
    };
    let mut replay = replay(&[DigestFinding::Undetected]);
    replay.same_answers = Some(niagara_model::SameAnswers {
        transactions: 8604,
        of_transactions: 8604,
        by_content: 17_319,
        by_rows: 4_705,
        ..niagara_model::SameAnswers::default()
    });
    tune.total.as_mut().expect("a total").replay = Some(replay);
    let summary = Summary::Tune(tune);
    let files = deploy(&DeployInput::of(&summary).expect("handed over"));
    let (_, readme) = files.into_iter().next().expect("the README comes first");
    for text in [markdown(&report(&summary)), readme] {
        let told = "Answers to your capture: passed (17\u{2009}319 statements answered alike, 4\u{2009}705 more by errors and number of rows); same answers: passed (Niagara's own test: ";
        assert!(text.contains(told), "{text}");
    }
    let screen = ending(&summary, 100, false);
    assert!(
        screen.contains("Answers to your capture, same answers: passed."),
        "{screen}"
    );
}

#[test]
fn what_one_screen_leaves_out_is_in_the_long_form_and_on_the_page() {
    let long = ending(&ten_minutes(), 100, true);
    assert!(long.lines().count() > 100, "{long}");
    let page = html(&report(&ten_minutes()));
    let Summary::Tune(tune) = ten_minutes() else {
        panic!("a tuning");
    };
    let not_kept = tune.not_helped.iter().map(|lever| &lever.title);
    // Those that nobody can try here, and those by name, are counted in a text.
    let is_counted = |lever: &niagara_model::NotTried| {
        let by_name = matches!(lever.reason, niagara_model::Reason::OnlyByName { .. });
        by_name || lever.reason.is_about_server()
    };
    let named = tune.not_tried.iter().filter(|lever| !is_counted(lever));
    let counted = tune.not_tried.iter().filter(|lever| is_counted(lever));
    // Words may be on two lines.
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (long, page) = (flat(&long), flat(&page));
    let begins = |title: &str| {
        let start = title.chars().take(30).collect::<String>();
        start.trim_end().to_owned()
    };
    let is_on_page =
        |start: &str| page.contains(&start.replace('\'', "&#39;")) || page.contains(start);
    for title in not_kept.chain(named.map(|lever| &lever.title)) {
        let start = begins(title);
        assert!(long.contains(&start) && is_on_page(&start), "{start}");
    }
    for lever in counted {
        assert!(is_on_page(&begins(&lever.title)), "{}", lever.title);
    }
    for words in [
        "16 levers: tried only when asked for by name: --also ID",
        "17 levers: not for this server: `niagara levers` says why",
    ] {
        assert!(long.contains(words), "{words}\n{long}");
    }
}

/// Where only the application changes, nobody is told to remove files or to restart a server.
#[test]
fn a_socket_alone_ends_with_what_to_change_in_the_application() {
    let Summary::Tune(mut tune) = ten_minutes() else {
        panic!("a tuning");
    };
    tune.header.deployment = Some(niagara_model::Deployment {
        runtime: ProcessSettings {
            transport: Some(TransportKind::Unix),
            ..ProcessSettings::default()
        },
        ..niagara_model::Deployment::default()
    });
    let summary = Summary::Tune(tune);
    let screen = ending(&summary, 200, false);
    assert!(
        screen.contains("next:    read deploy/README.md: what to change in the application"),
        "{screen}"
    );
    let whole = report(&summary);
    for text in [markdown(&whole), html(&whole)] {
        assert!(text.contains("Put the old host and port back"), "{text}");
        assert!(!text.contains("Remove the same files"), "{text}");
    }
}

/// What a sweep stored on a busy machine: its figures say nothing, its form does.
#[test]
fn a_sweep_ends_on_one_screen() {
    let text = include_str!("fixture/sweep.json");
    let summary: Summary = serde_json::from_str(text).expect("as it was stored");
    for width in [80, 120, 200] {
        let text = ending(&summary, width, false);
        assert!(lines(&text, width) <= 30, "{width}\n{text}");
        assert!(
            text.contains("p99 ms") && text.contains("the knee"),
            "{text}"
        );
    }
    let long = ending(&summary, 100, true);
    assert!(long.contains("The scalability law") && long.contains("where the time goes"));
}

/// Stopped after the total, before the final variant was checked.
#[test]
fn what_was_proven_and_not_checked_yet_is_no_recommendation_and_says_how_to_get_it() {
    let Summary::Tune(mut tune) = ten_minutes() else {
        panic!("a tuning");
    };
    let checks = std::mem::take(&mut tune.header.checks);
    (tune.header.complete, tune.header.deployment) = (false, None);
    let of = |tune: &niagara_model::TuneSummary| Summary::Tune(Box::new(tune.clone()));
    let unchecked = of(&tune);
    assert!(DeployInput::of(&unchecked).is_none());
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let whole = report(&unchecked);
    let screen = without_deploy(&unchecked);
    for text in [screen.clone(), markdown(&whole), html(&whole)] {
        let text = flat(&text);
        assert!(text.contains("not checked yet"), "{text}");
        assert!(text.contains("same command continues"), "{text}");
        assert!(!text.contains("a warning above says why"), "{text}");
    }
    assert!(screen.contains("deploy:  not yet"), "{screen}");

    // One that failed has its own reason.
    tune.header.checks = checks;
    tune.header.checks[0].outcome = CheckOutcome::Failed {
        finding: Box::new(CheckFinding::NothingAcknowledged),
    };
    let failed = without_deploy(&of(&tune));
    assert!(!failed.contains("not checked yet"), "{failed}");
}

/// Whoever installs a built server sees at first whether it was checked itself, on the screen, in the report and in deploy/.
#[test]
fn the_check_of_a_build_that_is_handed_over_stands_where_the_others_do() {
    let Summary::Tune(mut tune) = ten_minutes() else {
        panic!("a tuning");
    };
    let one_line = "clang, LTO thin, PGO on mixed";
    let deployment = tune.header.deployment.as_mut().expect("handed over");
    deployment.built = Some(niagara_model::DeployBuild {
        prefix: "/builds/1/prefix".into(),
        binary: "usr/sbin/mariadbd".into(),
        one_line: one_line.to_owned(),
        recipe: "{}".to_owned(),
        releases: None,
        sha256: None,
    });
    let note = |of: &str, recipe: &str, check| BuildNote {
        of: of.to_owned(),
        recipe: recipe.to_owned(),
        trained_on: Vec::new(),
        measured_on_training: false,
        releases: None,
        check,
    };
    let figures = "crash recovery: 13 kills; regression suite: 904 tests passed";
    let passed = BuildCheck::Passed {
        parts: vec![
            counted(CheckPart::Crash, CheckCount::Kills, 13),
            counted(CheckPart::Suite, CheckCount::TestsPassed, 904),
        ],
    };
    tune.header.builds = vec![
        note("A", "gcc", failed()),
        note("final variant", one_line, passed),
    ];
    let summary = Summary::Tune(tune);
    let screen = without_deploy(&summary);
    assert!(
        screen.contains("The build, same answers: passed."),
        "{screen}"
    );
    let files = deploy(&DeployInput::of(&summary).expect("handed over"));
    let (_, readme) = files.into_iter().next().expect("the README comes first");
    for text in [markdown(&report(&summary)), html(&report(&summary)), readme] {
        let told = format!("The build: passed ({figures}); same answers: passed (");
        assert!(text.contains(&told), "{text}");
    }
}

/// What a part of a check counted.
fn counted(part: CheckPart, code: CheckCount, value: u64) -> PartFigures {
    PartFigures {
        part,
        figures: vec![CheckFigure { code, value }],
    }
}

/// A build whose own tests fail.
fn failed() -> BuildCheck {
    BuildCheck::Failed(PartFault {
        part: CheckPart::Suite,
        finding: Box::new(CheckFinding::TestWithoutVerdict {
            test: "main.select".to_owned(),
        }),
    })
}

fn without_deploy(summary: &Summary) -> String {
    fixture::at_the_end(summary, &fixture::files(), 100)
}

#[test]
fn a_comparison_ends_on_one_screen() {
    let summary = Summary::Compare(Box::new(fixture::compare()));
    for width in [80, 120, 200] {
        let text = ending(&summary, width, false);
        assert!(lines(&text, width) <= 30, "{width}\n{text}");
    }
    insta::assert_snapshot!(ending(&summary, 80, false));
}

fn tune() -> Summary {
    Summary::Tune(Box::new(fixture::tune()))
}

#[test]
fn a_tuned_server() {
    insta::assert_snapshot!(terminal(&tune(), false, 100));
}

#[test]
fn a_tuned_server_with_everything() {
    let report = report(&tune());
    let view = View {
        width: 100,
        verbose: true,
        ..View::default()
    };
    let text = fixture::terminal(Study::of(&report), view);
    insta::assert_snapshot!(text);
    // What is not shown in short is counted.
    let words = "No doublewrite buffer (doublewrite), Log flushed once a second (flush-log): risk durability";
    assert!(text.contains(words), "{text}");
}

#[test]
fn every_form_has_the_absolute_figures_of_both_sides() {
    let report = report(&tune());
    for text in [markdown(&report), html(&report)] {
        for words in [
            "In figures",
            "start (A)",
            "final (B)",
            "Transactions per second",
            "99th percentile in slices, ms",
            "Errors",
            "The start: innodb_buffer_pool_size = 128M, log_bin = OFF.",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}

/// What `--only` takes stands beside the title wherever there is room for both.
#[test]
fn levers_are_named_with_what_options_take() {
    let wide = terminal(&tune(), false, 140);
    assert!(wide.contains("Thread pool (thread-pool)  "), "{wide}");
    let narrow = terminal(&tune(), false, 80);
    assert!(narrow.contains("Thread pool  "), "{narrow}");
    assert!(!narrow.contains("(thread-pool)"), "{narrow}");
    let text = markdown(&report(&tune()));
    let way = "| Thread pool | `thread-pool` | `thread_handling = pool-of-threads` | × 1.004";
    let all = "| jemalloc | `jemalloc` | `malloc = jemalloc` | × 1.003";
    assert!(text.contains(way) && text.contains(all), "{text}");
}

#[test]
fn a_tuned_server_on_a_narrow_terminal() {
    insta::assert_snapshot!(terminal(&tune(), false, 60));
}

#[test]
fn a_comparison_without_a_difference_shown() {
    let summary = Summary::Compare(Box::new(fixture::compare()));
    let text = terminal(&summary, false, 100);
    assert!(!text.contains("no effect"));
    insta::assert_snapshot!(text);
}

#[test]
fn every_form_tells_what_a_build_was_trained_on_and_whether_it_is_correct() {
    let mut compare = fixture::compare();
    compare.header.builds = vec![BuildNote {
        of: "B".into(),
        recipe: "gcc, LTO thin, PGO on oltp_read_only".into(),
        trained_on: vec!["oltp_read_only".into()],
        measured_on_training: true,
        releases: None,
        check: BuildCheck::Passed {
            parts: vec![counted(
                CheckPart::Crash,
                CheckCount::AcknowledgedCommits,
                22291,
            )],
        },
    }];
    let of = |compare: &CompareSummary| Summary::Compare(Box::new(compare.clone()));
    let screen = terminal(&of(&compare), false, 160);
    for words in [
        "build of B",
        "gcc, LTO thin, PGO on oltp_read_only",
        "is one of these",
        "passed the check (crash recovery: 22291 acknowledged commits)",
    ] {
        assert!(screen.contains(words), "{words}:\n{screen}");
    }
    compare.header.builds[0].measured_on_training = false;
    compare.header.builds[0].check = failed();
    let screen = terminal(&of(&compare), false, 160);
    assert!(screen.contains("is none of these"), "{screen}");
    assert!(
        screen.contains("FAILED the check: regression suite: main.select"),
        "{screen}"
    );
    let report = report(&of(&compare));
    for page in [markdown(&report), html(&report)] {
        assert!(page.contains("is none of these") && page.contains("FAILED the check"));
    }
}

#[test]
fn an_older_release_is_said_in_the_first_lines_of_every_form() {
    let mut tune = fixture::tune();
    let of = |release: &str| BuildNote {
        of: "final variant".into(),
        recipe: "clang".into(),
        trained_on: Vec::new(),
        measured_on_training: false,
        releases: Some(Releases {
            built: release.into(),
            beside: Some("10.11.19-MariaDB-0+deb12u1".into()),
        }),
        check: BuildCheck::Passed {
            parts: vec![counted(CheckPart::Crash, CheckCount::Kills, 10)],
        },
    };
    let words =
        "older release (10.11.9-MariaDB) than the server compared with it (10.11.19-MariaDB";
    tune.header.builds = vec![of("10.11.9-MariaDB")];
    let summary = Summary::Tune(Box::new(tune.clone()));
    let screen = terminal(&summary, false, 160);
    let first = screen.lines().skip(1).take(5).collect::<Vec<_>>();
    let first = first
        .join(" ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(first.contains(words), "{screen}");
    let whole = report(&summary);
    for page in [markdown(&whole), html(&whole)] {
        let (warning, result) = (page.find(words), page.find("From the starting point"));
        assert!(warning.is_some() && warning < result, "{page}");
    }
    for other in ["10.11.19-MariaDB", "10.11.20-MariaDB"] {
        tune.header.builds = vec![of(other)];
        let screen = terminal(&Summary::Tune(Box::new(tune.clone())), false, 160);
        assert!(!screen.contains("older release"), "{screen}");
        assert!(screen.contains(&format!("{other}, ")), "{screen}");
    }
}

#[test]
fn warnings_come_before_everything_but_the_headline() {
    let mut tune = fixture::tune();
    tune.header.complete = false;
    tune.total = None;
    tune.header.warnings = vec![
        Finding::NegativeControlMoved {
            part: None,
            effect: fixture::estimate(1.03, 1.01, 1.05),
            one_in: 20.0,
        }
        .into(),
    ];
    let text = terminal(&Summary::Tune(Box::new(tune)), false, 100);
    insta::assert_snapshot!(text.lines().take(6).collect::<Vec<_>>().join("\n"));
}

/// An interval of 95 % leaves out 1 now and then. The report says whether that is an alarm.
#[test]
fn the_negative_control_is_within_chance_or_warned_of() {
    let mut tune = fixture::tune();
    let of = |tune: &niagara_model::TuneSummary| Summary::Tune(Box::new(tune.clone()));
    assert!(terminal(&of(&tune), false, 200).contains("(changes nothing)"));
    tune.negative_control = Some(fixture::screened("nothing", "Nothing changes", "", 0.985));
    let chance = terminal(&of(&tune), false, 200);
    assert!(
        chance.contains("(changes nothing: misses 1, as 1 in 20 does; its 99 % bracket holds 1)"),
        "{chance}"
    );
    let page = markdown(&report(&of(&tune)));
    assert!(page.contains("warns where that of 99 % does"), "{page}");
    let effect = tune.negative_control.as_ref().expect("just set").effect;
    let moved = Finding::NegativeControlMoved {
        part: None,
        effect,
        one_in: 100.0,
    };
    tune.header.warnings = vec![moved.into()];
    let warned = terminal(&of(&tune), false, 200);
    assert!(
        warned.contains("(changes nothing, and moved: see the warning)"),
        "{warned}"
    );
    assert!(!warned.contains("1 in 20"), "{warned}");
}

/// Verdicts with intervals that they can go with; the last two were called at an early look.
fn judged() -> Vec<(Option<Verdict>, Estimate)> {
    let nothing = fixture::estimate(1.0012, 0.9961, 1.0064);
    vec![
        (
            Some(Verdict::Faster),
            fixture::estimate(1.031, 1.017, 1.046),
        ),
        (Some(Verdict::Slower), fixture::estimate(0.97, 0.955, 0.985)),
        (
            Some(Verdict::NotWorthwhile),
            fixture::estimate(0.9995, 0.996, 1.003),
        ),
        (Some(Verdict::Undetected), nothing),
        (None, nothing),
        (Some(Verdict::Faster), nothing),
        (Some(Verdict::Slower), nothing),
    ]
}

#[test]
fn a_multiple_is_told_as_one() {
    let mut compare = fixture::compare();
    compare.comparison.throughput.verdict = Some(Verdict::Faster);
    for (ratio, words) in [
        (2.5, "is 150 % faster than"),
        (3.4, "is 3.4 times as fast as"),
        (185.2, "is 185 times as fast as"),
    ] {
        compare.comparison.throughput.estimate = Estimate {
            ratio,
            low: ratio / 1.1,
            high: ratio * 1.1,
        };
        let told = niagara_report::headline(&Summary::Compare(Box::new(compare.clone())));
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn every_verdict_has_its_sentence() {
    let mut compare = fixture::compare();
    let mut sentences = Vec::new();
    for (verdict, estimate) in judged() {
        compare.comparison.throughput.verdict = verdict;
        compare.comparison.throughput.estimate = estimate;
        sentences.push(niagara_report::headline(&Summary::Compare(Box::new(
            compare.clone(),
        ))));
    }
    for (verdict, estimate) in judged().into_iter().take(5) {
        let mut tune = fixture::tune();
        if let Some(total) = &mut tune.total {
            total.throughput.verdict = verdict;
            total.throughput.estimate = estimate;
        }
        sentences.push(niagara_report::headline(&Summary::Tune(Box::new(tune))));
    }
    for goal in [niagara_model::Goal::Cpu, niagara_model::Goal::P99] {
        let mut aimed = fixture::compare();
        aimed.comparison.goal = goal;
        for (verdict, estimate) in judged() {
            let mut on_goal = aimed.comparison.throughput.clone();
            on_goal.verdict = verdict;
            on_goal.estimate = estimate;
            aimed.comparison.on_goal = Some(on_goal);
            sentences.push(niagara_report::headline(&Summary::Compare(Box::new(
                aimed.clone(),
            ))));
        }
    }
    compare.comparison.throughput.estimate = Estimate {
        ratio: 1.02,
        low: 0.0,
        high: f64::INFINITY,
    };
    compare.comparison.throughput.verdict = Some(Verdict::Undetected);
    compare.comparison.throughput.duels = 1;
    sentences.push(niagara_report::headline(&Summary::Compare(Box::new(
        compare,
    ))));
    insta::assert_snapshot!(sentences.join("\n"));
}

/// A verdict counts what its protocol has.
#[test]
fn the_verdict_of_pairs_counts_pairs() {
    let mut compare = fixture::compare();
    let duels = compare.comparison.throughput.duels;
    compare.header.protocol = "pair".into();
    let page = html(&report(&Summary::Compare(Box::new(compare))));
    assert!(page.contains(&format!("{duels} pairs, ")), "{page}");
    assert!(!page.contains(&format!("{duels} duels, ")), "{page}");
}

#[test]
fn of_too_few_duels_the_first_line_says_that_and_how_sure_the_interval_is() {
    let few = |judged: &mut niagara_stats::Judgement| {
        judged.verdict = Some(Verdict::Undetected);
        judged.estimate = fixture::estimate(1.4, 1.3, 1.5);
        (judged.duels, judged.critical, judged.confidence) = (4, None, Some(0.875));
    };
    let mut tune = fixture::tune();
    few(&mut tune.total.as_mut().expect("a total").throughput);
    let mut compare = fixture::compare();
    few(&mut compare.comparison.throughput);
    let mut pairs = compare.clone();
    pairs.header.protocol = "pair".into();
    for (summary, words) in [
        (
            Summary::Tune(Box::new(tune)),
            "too few duels to call a gain",
        ),
        (
            Summary::Compare(Box::new(compare)),
            "Too few duels to call a difference",
        ),
        (
            Summary::Compare(Box::new(pairs)),
            "Too few pairs to call a difference",
        ),
    ] {
        let told = niagara_report::headline(&summary);
        assert!(told.contains(words), "{told}");
        assert!(told.contains("at 88 % confidence (4 "), "{told}");
        assert!(!told.contains("not detected"), "{told}");
        assert!(!told.contains("unseen"), "{told}");
    }
}

#[test]
fn a_final_variant_that_could_not_be_measured_is_told_beside_what_was_proven() {
    let mut tune = fixture::tune();
    (tune.total, tune.header.deployment) = (None, None);
    tune.total_failure = Some(Failure {
        variant: "mariadb-10.11 + unix-socket".into(),
        error: "exit 1".into(),
    });
    let summary = |tune: &niagara_model::TuneSummary| Summary::Tune(Box::new(tune.clone()));
    let told = niagara_report::headline(&summary(&tune));
    let words = "4 levers looked helpful in the screening for oltp_read_only, 32 threads, 2 of them proven by fresh \
                 duels; the final variant could not be measured";
    assert!(told.contains(words), "{told}");
    let screen = without_deploy(&summary(&tune));
    assert!(!screen.contains("nothing was proven"), "{screen}");
    for rung in &mut tune.rungs {
        rung.claim = None;
    }
    let told = niagara_report::headline(&summary(&tune));
    let words = "nothing is proven: the final variant could not be measured";
    assert!(told.contains(words), "{told}");
    // Stopped before it was tried.
    tune.total_failure = None;
    let told = niagara_report::headline(&summary(&tune));
    assert!(told.contains("ended before the total was judged"), "{told}");
}

/// What `niagara tune` stored, with the rung of the pool, whose size was searched, at this place.
fn searched() -> (niagara_model::TuneSummary, usize) {
    let Summary::Tune(tune) = ten_minutes() else {
        panic!("a tuning");
    };
    let mut rungs = tune.rungs.iter();
    let pool = rungs.position(|rung| rung.screened.lever == "thread-pool-double");
    (*tune, pool.expect("in the final variant"))
}

/// The rows of the way to the final variant, and the rungs that deploy/ tells of.
fn way(tune: &niagara_model::TuneSummary) -> (Vec<String>, Vec<niagara_report::DeployRung>) {
    let summary = Summary::Tune(Box::new(tune.clone()));
    let text = markdown(&report(&summary));
    let rows = text.lines().skip_while(|line| !line.starts_with("| Lever"));
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    let deploy = DeployInput::of(&summary).expect("proven");
    (rows.map(str::to_owned).collect(), deploy.rungs)
}

#[test]
fn the_gain_of_a_searched_number_is_counted_once_where_its_rung_was_judged() {
    let (mut tune, pool) = searched();
    let (rows, _) = way(&tune);
    assert!(rows[pool].contains("thread_pool_size=4`"), "{rows:#?}");
    assert!(rows.iter().any(|row| row.contains("| searched |")));

    let e = fixture::estimate(1.2, 1.18, 1.22);
    tune.rungs[pool].claim = Some(fixture::claim("a", "b", 8, Verdict::Faster, e));
    let (rows, rungs) = way(&tune);
    // Fresh duels measured what is deployed.
    assert!(rows[pool].contains("thread_pool_size=14`"), "{rows:#?}");
    assert!(rows[pool].contains("proven, n = 8"), "{rows:#?}");
    assert!(
        !rows.iter().any(|row| row.contains("| searched |")),
        "{rows:#?}"
    );
    assert!(rungs.iter().all(|rung| !rung.effect.contains("searched")));
    let sets = &rungs[pool].sets;
    assert!(
        sets.iter().any(|name| name == "thread_pool_size"),
        "{sets:?}"
    );

    // A second number whose rung was not judged: what it brings by itself nobody knows.
    let ranges = &mut tune.searched.as_mut().expect("a search").ranges;
    let other = ranges.iter_mut().find(|range| range.start == range.chosen);
    let other = other.expect("a range that stayed");
    other.chosen = 2 * other.start;
    let mut second = tune.rungs[pool].clone();
    second.screened.lever.clone_from(&other.lever);
    second.claim = None;
    tune.rungs.push(second);
    let (rows, rungs) = way(&tune);
    let left = rows.iter().find(|row| row.contains("| searched |"));
    let left = left.expect("a step of its own");
    assert!(
        left.contains("table_open_cache 4000 instead of 2000"),
        "{left}"
    );
    assert!(
        !left.contains('×') && !left.contains("thread_pool_size"),
        "{left}"
    );
    assert_eq!(rungs.last().expect("that of the search").effect, "searched");

    // The only rung is the total, with all that was searched.
    let total = tune.total.clone();
    tune.rungs = vec![tune.rungs[pool].clone()];
    tune.rungs[0].claim = total;
    let (rows, _) = way(&tune);
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert!(rows[0].contains("thread_pool_size=14`"), "{rows:#?}");
}

#[test]
fn a_lever_of_the_search_alone_is_told_in_its_step_and_not_as_screened() {
    let (mut tune, pool) = searched();
    let mut rung = tune.rungs[pool].clone();
    rung.screened = fixture::screened(
        "io-capacity-high",
        "more background writes a second",
        "innodb_io_capacity=2000, innodb_io_capacity_max=4000",
        0.95,
    );
    rung.chosen = Some("innodb_io_capacity=100, innodb_io_capacity_max=200".into());
    tune.rungs.push(rung);
    let ranges = &mut tune.searched.as_mut().expect("a search").ranges;
    ranges.push(niagara_model::SearchedRange {
        lever: "io-capacity-high".into(),
        variable: "innodb_io_capacity".into(),
        from: 100,
        to: 20_000,
        start: 200,
        chosen: 100,
        added: true,
    });
    let both = ["innodb_io_capacity", "innodb_io_capacity_max"].map(str::to_owned);
    let deployment = tune.header.deployment.as_mut().expect("proven");
    let sets = &mut deployment.sets;
    sets.insert("io-capacity-high".into(), both.to_vec());
    let (rows, rungs) = way(&tune);
    let told = |rows: &[String], words: &str| rows.iter().any(|row| row.contains(words));
    assert!(!told(&rows, "more background writes"), "{rows:#?}");
    let words = "thread_pool_size 14 instead of 4, innodb_io_capacity 100 instead of 200";
    assert!(told(&rows, words), "{rows:#?}");
    assert!(
        rungs
            .iter()
            .all(|rung| rung.title != "more background writes a second")
    );
    let found = rungs.last().expect("that of the search");
    assert!(
        both.iter().all(|name| found.sets.contains(name)),
        "{:?}",
        found.sets
    );
    // It is in the final variant all the same.
    let summary = Summary::Tune(Box::new(tune.clone()));
    let headline = niagara_report::headline(&summary);
    assert!(headline.contains("with 7 changes"), "{headline}");
    let page = html(&report(&summary));
    assert!(
        page.contains("screened with <code>innodb_io_capacity=2000"),
        "{page}"
    );
    assert!(page.contains("with the number of the search"), "{page}");

    // Judged by fresh duels it has a figure of its own, of the number that it has.
    let e = fixture::estimate(1.05, 1.03, 1.07);
    let last = tune.rungs.last_mut().expect("just put there");
    last.claim = Some(fixture::claim("a", "b", 8, Verdict::Faster, e));
    let (rows, _) = way(&tune);
    let row = rows
        .iter()
        .find(|row| row.contains("more background writes"));
    let row = row.expect("a step of its own");
    assert!(
        row.contains("innodb_io_capacity=100") && row.contains("proven, n = 8"),
        "{row}"
    );
}

/// Medians, a ratio or a verdict beside the means of the protocol of 2008 would be another protocol's.
#[test]
fn trimmed_series_show_runs_and_means_alone() {
    let mut compare = fixture::compare();
    compare.header.protocol = "trimmed".into();
    compare.header.warnings = vec![Finding::TrimmedProtocol.into()];
    compare.comparison.throughput.verdict = None;
    compare.comparison.tps = [777.0, 888.0];
    compare.comparison.taken = Some([0.4, 0.5]);
    compare.runs = Some(SeriesOfRuns {
        tps: [
            vec![100.0, 140.0, 120.0, 111.0, 132.0],
            vec![210.0, 150.0, 160.0, 170.0, 183.0],
        ],
    });
    let summary = Summary::Compare(Box::new(compare.clone()));
    let stored = report(&summary);
    let texts = [
        terminal(&summary, false, 160),
        ending(&summary, 160, true),
        markdown(&stored),
        html(&stored),
    ];
    for text in &texts {
        // The means of 111, 120, 132 and of 160, 170, 183.
        for word in ["mean of the middle three", "run 5", "210", "121", "171"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        for word in [
            "777",
            "× 1",
            "1.0012",
            "not judged",
            "undetected",
            "α =",
            "no interval)",
            "widens",
        ] {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
    let metrics = fixture::of_study(&stored, Format::Openmetrics);
    assert!(metrics.contains("run=\"5\"} 183"), "{metrics}");
    assert!(!metrics.contains("niagara_gain"), "{metrics}");
    assert!(!metrics.contains("niagara_verdict"), "{metrics}");
    // Stopped before the last run.
    compare.runs = None;
    let stopped = niagara_report::headline(&Summary::Compare(Box::new(compare)));
    assert!(stopped.contains("are not compared yet"), "{stopped}");
}

#[test]
fn terminal_markdown_and_page_use_the_same_words() {
    let words = [
        "faster",
        "slower",
        "not worthwhile",
        "undetected",
        "not judged yet",
        "called faster at an earlier look",
        "called slower at an earlier look",
    ];
    for ((verdict, estimate), word) in judged().into_iter().zip(words) {
        let mut compare = fixture::compare();
        compare.comparison.throughput.verdict = verdict;
        compare.comparison.throughput.estimate = estimate;
        let summary = Summary::Compare(Box::new(compare));
        let headline = niagara_report::headline(&summary);
        let report = report(&summary);
        assert!(
            markdown(&report).contains(&format!("| {word}, 32 duels")),
            "{word}"
        );
        let page = html(&report);
        assert!(
            page.contains(&format!("<strong>{word}</strong>, 32 duels")),
            "{word}"
        );
        let screen = terminal(&summary, false, 160);
        assert!(
            screen
                .lines()
                .any(|line| line.contains("Throughput, B over A")
                    && line.trim_end().ends_with(&format!("  {word}"))),
            "{word}: {screen}"
        );
        // One line of the terminal is 160 columns at most.
        for text in [markdown(&report), screen.replace('\n', " ")] {
            assert!(text.contains(&headline), "{headline}: {text}");
        }
    }
}

#[test]
fn colours_only_when_asked_for() {
    assert!(!terminal(&tune(), false, 80).contains('\x1b'));
    assert!(terminal(&tune(), true, 80).contains("\x1b[1m"));
}

#[test]
fn no_line_is_longer_than_the_terminal() {
    for width in [72, 80, 100, 140] {
        for line in terminal(&tune(), true, width).lines() {
            assert!(
                console::measure_text_width(line) <= width,
                "{width}: {line}"
            );
        }
    }
}

fn report(summary: &Summary) -> Report {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = fixture::store(&folder.path().join("results.db"), summary, 2, 0.27);
    Report::load(&store).expect("just written")
}

#[test]
fn markdown_of_a_tuned_server() {
    insta::assert_snapshot!(markdown(&report(&tune())));
}

/// Who acts on a report is not sent through a hundred rows first.
#[test]
fn long_lists_stand_behind_all_that_a_reader_acts_on() {
    let text = markdown(&report(&tune()));
    let order = [
        "## What it costs to apply",
        "## How it was measured",
        "## To repeat it",
        "## All levers as screened",
        "## Not tried: 5 levers",
    ];
    let places = order.map(|words| text.find(words).expect(words));
    assert!(places.is_sorted(), "{places:?}\n{text}");
    assert!(
        text.trim_end()
            .ends_with("unknown variable 'innodb_use_io_uring=1'"),
        "{text}"
    );
    let by_name = |lever: &str, title: &str| niagara_model::NotTried {
        lever: lever.into(),
        title: title.into(),
        reason: niagara_model::Reason::OnlyByName {
            lever: lever.into(),
            build: false,
        },
    };
    let mut named = fixture::tune();
    named.not_tried.push(by_name("nice", "higher priority"));
    named.not_tried.push(by_name("spin-off", "no spinning"));
    let text = markdown(&report(&Summary::Tune(Box::new(named))));
    let words = "- 2 levers: tried only when asked for by name: --also ID";
    assert!(text.contains(words), "{text}");
    // A page has them folded, with their number.
    let page = html(&report(&tune()));
    for summary in ["10 levers and 2 controls", "5 levers, by reason"] {
        let folded = format!("<details><summary>{summary}");
        assert!(page.contains(&folded), "{summary}\n{page}");
    }
}

/// Latency's mean follows from throughput: that is said once, not in every row.
#[test]
fn what_a_closed_load_means_is_said_once() {
    let text = markdown(&report(&tune()));
    let words = "Each connection waits for its answer before its next statement.";
    assert_eq!(text.matches(words).count(), 1, "{text}");
    let mut aimed = fixture::tune();
    aimed.total.as_mut().expect("a total").goal = niagara_model::Goal::P99;
    let text = markdown(&report(&Summary::Tune(Box::new(aimed))));
    assert!(!text.contains(words), "{text}");
}

#[test]
fn what_only_the_screening_set_up_is_counted_and_not_listed() {
    let mut report = report(&tune());
    let mut duel = report.duels[0].clone();
    duel.phase = niagara_model::Phase::Screen;
    for (place, id) in ["s1", "s2"].into_iter().enumerate() {
        duel.variants[place] = id.into();
        report.variants.push(niagara_model::VariantRecord {
            id: id.into(),
            label: format!("side {id}"),
            command: format!("mariadbd --{id}"),
            ..report.variants[0].clone()
        });
    }
    report.duels.push(duel);
    let text = markdown(&report);
    assert!(text.contains("and 2 of the screening"), "{text}");
    assert!(!text.contains("--s1"), "{text}");
    assert!(text.contains(&report.variants[0].command), "{text}");
    assert!(html(&report).contains("2 variants of the screening"));
}

#[test]
fn markdown_of_a_comparison_with_a_warning() {
    let mut compare = fixture::compare();
    compare.header.warnings = vec![Warning::about("a | b\n<log>", Finding::PairProtocol)];
    insta::assert_snapshot!(markdown(&report(&Summary::Compare(Box::new(compare)))));
}

#[test]
fn every_slice_is_a_line_of_csv() {
    let mut report = report(&tune());
    report.variants[0].label = "base, \"plain\"".into();
    let text = fixture::of_study(&report, Format::Csv);
    let mut lines = text.lines();
    let columns = lines.next().expect("a header").split(',').count();
    assert_eq!(lines.clone().count(), 80);
    for line in lines {
        let quoted = line.contains("\"base, \"\"plain\"\"\"");
        assert_eq!(
            line.split(',').count(),
            columns + usize::from(quoted),
            "{line}"
        );
        assert!(
            line.starts_with(['0', '1']) && line.contains(",total,,scored,"),
            "{line}"
        );
    }
}

#[test]
fn an_interval_that_is_one_sided_says_what_its_ends_are_worth() {
    let mut tuned = fixture::tune();
    let two_sided = markdown(&report(&Summary::Tune(Box::new(tuned.clone()))));
    assert!(!two_sided.contains("at least the lower"), "{two_sided}");

    let total = tuned.total.as_mut().expect("a total");
    (total.throughput.one_sided, total.throughput.alpha) = (true, 0.1);
    let one_sided = markdown(&report(&Summary::Tune(Box::new(tuned))));
    assert!(
        one_sided.contains(
            "Brackets: in this run the gain is at least the lower figure (95 % confidence or more)."
        ),
        "{one_sided}"
    );
}

/// The legend explains a total above the product of its parts.
#[test]
fn a_total_above_the_product_of_its_parts_is_explained() {
    let told = |ratio: f64| {
        let mut tuned = fixture::tune();
        let total = tuned.total.as_mut().expect("a total");
        total.throughput.estimate = fixture::estimate(ratio, ratio - 0.02, ratio + 0.02);
        markdown(&report(&Summary::Tune(Box::new(tuned))))
    };
    for (ratio, words) in [
        (1.25, "the parts give × 1.3"),
        (1.33, "the parts give × 1.3"),
        (
            1.45,
            "it lies above the parts' product: levers that act on each other, or chance.",
        ),
    ] {
        let text = told(ratio);
        assert!(text.contains(words), "{ratio}: {text}");
    }
}

/// The method has the lengths of slices, duels and warm-up.
#[test]
fn a_method_has_the_lengths_of_duels() {
    let text = markdown(&report(&tune()));
    let line = text.lines().find(|line| line.starts_with("- Protocol: "));
    let line = line.expect("the protocol");
    for words in ["both servers alive", "couples of slices of", "of warm-up"] {
        assert!(line.contains(words), "{words}: {line}");
    }
}
