//! The first sentence of a tuning, what it leaves out, and both variants where the tail of latency decides.

mod fixture;

use fixture::{html, markdown};
use niagara_model::{
    Alternative, AlternativeReason, Benefit, CheckFinding, CheckOutcome, CheckPart, ChosenIndex,
    Deployment, DropReason, DroppedLever, FinalCheck, Finding, Follows, Goal, LongerSlices,
    NextStep, OVER_SOCKET, Obstacle, Others, OverSocket, Phase, QueriesFirst, Recommendation,
    Setup, Summary, TargetSize, TargetValue, TuneSummary,
};
use niagara_report::{DeployInput, Files, Report, Study, View, deploy, headline, warnings};
use niagara_settings::{ProcessSettings, TransportKind};
use niagara_store::Store;

fn setting() -> Setup {
    Setup {
        server: "mariadb-10.11".to_owned(),
        workload: "oltp_read_only, 4 tables of 100000 rows, InnoDB, 32 threads".to_owned(),
        threads: 32,
        remote_application: false,
        on_socket: false,
        benchmark: false,
        slice_seconds: Some(1.0),
        lever_slice_seconds: None,
    }
}

fn benefit(others: Others) -> Benefit {
    Benefit {
        setting: setting(),
        goal: Goal::Throughput,
        effect: fixture::estimate(1.19, 1.17, 1.25),
        duels: 12,
        p99: Some(fixture::estimate(0.89, 0.86, 0.92)),
        others,
    }
}

/// Only the socket is recommended; the rest was dropped, one lever for its tail.
fn tuned() -> TuneSummary {
    let mut tune = fixture::tune();
    let rest = tune.rungs.split_off(1);
    let whole = tune.total.clone().expect("a total");
    tune.recommendation = Some(Recommendation::UseSocket(benefit(Others::NotShown {
        levers: rest.len(),
    })));
    tune.dropped = rest
        .into_iter()
        .enumerate()
        .map(|(place, rung)| DroppedLever {
            screened: rung.screened,
            claim: None,
            because: match place {
                0 => DropReason::Tail {
                    percentile: Goal::P99,
                    ratio: fixture::estimate(1.14, 1.12, 1.17),
                },
                _ => DropReason::NotShownTogether {
                    effect: fixture::estimate(1.002, 0.994, 1.01),
                    levers: 2,
                },
            },
        })
        .collect();
    tune.alternatives = vec![Alternative {
        levers: vec!["Unix socket".to_owned(), "Thread pool".to_owned()],
        comparison: Box::new(whole),
        because: AlternativeReason::Tail,
    }];
    tune.next = Some(NextStep::NothingKnown);
    tune
}

fn text(summary: &Summary, verbose: bool) -> String {
    let view = View {
        width: 120,
        verbose,
        ..View::default()
    };
    let text = fixture::terminal(Study::of_summary(summary), view);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_first_sentence_says_what_to_do() {
    let summary = Summary::Tune(Box::new(tuned()));
    let first = headline(&summary);
    assert!(
        first.starts_with("Use the Unix socket in the application. mariadb-10.11 then"),
        "{first}"
    );
    for part in [
        "completes 19 % more transactions",
        "[1.17, 1.25]",
        "12 fresh duels",
        "× 0.89",
        "Nothing else",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    assert!(text(&summary, false).starts_with(&first));
}

/// A benchmark's tables are nobody's traffic, and a percentile that may be the same is not told as a figure.
#[test]
fn the_proof_says_what_it_is_of() {
    let of = |change: fn(&mut Benefit)| {
        let mut benefit = benefit(Others::None);
        change(&mut benefit);
        Recommendation::UseSocket(benefit).to_string()
    };
    let own = of(|_| {});
    assert!(
        own.starts_with("Use the Unix socket in the application. ")
            && own.contains("latency: lower (better), × 0.89"),
        "{own}"
    );
    let tested = of(|benefit| benefit.setting.benchmark = true);
    assert!(
        tested.starts_with(
            "What helps on this benchmark: the Unix socket in the application. Apply nothing yet: measure your own traffic first (`niagara pack`)."
        ),
        "{tested}"
    );
    let edge = of(|benefit| benefit.p99 = Some(fixture::estimate(0.97, 0.89, 1.0)));
    assert!(edge.contains("between 11 % lower and 0 % higher"), "{edge}");
    let open = of(|benefit| benefit.p99 = Some(fixture::estimate(0.97, 0.89, 1.01)));
    assert!(
        open.contains("99th percentile of latency: undecided, between 11 % lower and 1 % higher"),
        "{open}"
    );
    assert!(!open.contains("0.97"), "{open}");
    let short = of(|benefit| benefit.setting.slice_seconds = Some(0.1));
    assert!(
        short.contains("slices of 0.1 s are too short") && !short.contains("0.89"),
        "{short}"
    );
}

/// The page begins with what to do; how sure that is follows as a paragraph.
#[test]
fn the_headline_is_what_to_do() {
    let mut tune = tuned();
    let setting = Setup {
        benchmark: true,
        ..setting()
    };
    tune.recommendation = Some(Recommendation::UseSocket(Benefit {
        setting,
        ..benefit(Others::None)
    }));
    let summary = Summary::Tune(Box::new(tune));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = fixture::store(&folder.path().join("results.db"), &summary, 2, 0.01);
    let report = Report::load(&store).expect("just written");
    let text = markdown(&report);
    let title = "Unix socket: × 1.19 [1.17, 1.25], proven";
    let first = "What helps on this benchmark: the Unix socket in the application. Apply nothing yet: measure your own traffic first (`niagara pack`).";
    let second = "mariadb-10.11 then completes 19 % more transactions (oltp_read_only, 32 threads), proven by 12 fresh duels.";
    let words = format!("# {title}\n\n{first}\n\n{second}");
    assert!(text.starts_with(&words), "{text}");
    let page = html(&report).replace('\u{a0}', " ");
    let (first, _) = first.split_once(" (").expect("a command in brackets");
    let words = format!("<h1>{title}</h1><p class=\"lead\">{first} (");
    assert!(page.contains(&words), "{page}");
    assert!(
        page.contains(&format!("</p><p class=\"lead\">{second}")),
        "{page}"
    );
}

/// An application that uses the socket already has its own figures.
#[test]
fn duels_over_the_socket_have_throughput_and_both_latencies() {
    let mut tune = tuned();
    tune.recommendation = Some(Recommendation::Install {
        changes: vec!["Thread pool".to_owned()],
        with_socket: true,
        over_socket: Some(OverSocket {
            duels: Some(5),
            gain: fixture::estimate(1.03, 1.01, 1.06),
            p50: Some(fixture::estimate(0.96, 0.93, 0.98)),
            p99: Some(fixture::estimate(1.02, 0.95, 1.09)),
            cpu: None,
        }),
        benefit: benefit(Others::None),
    });
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("results.db");
    let mut store = fixture::store(&path, &Summary::Tune(Box::new(tune)), 2, 0.01);
    let has = |store: &Store, parts: [&str; 3]| {
        let text = markdown(&Report::load(store).expect("just written"));
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
    };
    has(
        &store,
        [
            "| Throughput | × 1.03 [1.01, 1.06] |",
            "| Median latency | × 0.96 [0.93, 0.98] |",
            "| 99th percentile of latency | × 1.02 [0.95, 1.09] |",
        ],
    );
    // Where its duels are stored, both sides' own figures as well.
    let mut noise = fixture::Noise::new(7);
    let (mut duel, mut slices) = fixture::duel(&mut noise, 2, Phase::Claim, 0, 0.03);
    OVER_SOCKET.clone_into(&mut duel.subject);
    // Long enough for the tail of steady load.
    for slice in &mut slices {
        slice.seconds = 1.0;
    }
    store.add_duel(&duel, &slices).expect("room");
    has(
        &store,
        [
            "| start, socket (A) | final (B) | B over A |",
            "| × 0.96 [0.93, 0.98] |",
            "| × 1.02 [0.95, 1.09] |",
        ],
    );
}

/// A title is read at a glance, whatever was found.
#[test]
fn title_has_twelve_words_at_most() {
    let effect = fixture::estimate(1.017, 1.0098, 1.0254);
    let tail = Obstacle::Tail {
        effect,
        tail: effect,
        percentile: Goal::P99,
    };
    let obstacles = [
        Obstacle::NothingPromising,
        Obstacle::TooNoisy,
        Obstacle::NotShown { effect: None },
        Obstacle::NotShown {
            effect: Some(effect),
        },
        Obstacle::TimeEnded {
            together: Some(effect),
        },
        tail,
        Obstacle::Unsound,
    ];
    let nothing = obstacles.map(|because| Recommendation::Nothing {
        because,
        setting: setting(),
    });
    let long = "C library malloc that keeps freed memory, in arenas of its own";
    let changes = [vec!["Thread pool".to_owned()], vec![long.to_owned()]];
    let install = changes.into_iter().flat_map(|changes| {
        [false, true].map(|with_socket| Recommendation::Install {
            changes: changes.clone(),
            with_socket,
            over_socket: None,
            benefit: Benefit {
                goal: Goal::P99,
                ..benefit(Others::None)
            },
        })
    });
    let mut recommendations = nothing.to_vec();
    recommendations.extend(install);
    recommendations.push(Recommendation::UseSocket(benefit(Others::None)));
    let mut titles: Vec<String> = recommendations.iter().map(Recommendation::title).collect();
    let index = |table: &str, columns: usize| ChosenIndex {
        table: table.to_owned(),
        columns: (0..columns).map(|at| format!("column_{at}")).collect(),
    };
    let sets = [
        vec![],
        vec![index("wp_posts", 3)],
        vec![index("wp_posts", 11)],
        vec![index("a", 1), index("b", 2)],
    ];
    titles.extend(sets.map(|indexes| queries_first(indexes).title()));
    for title in &titles {
        assert!(title.split_whitespace().count() <= 12, "{title}");
    }
    for expected in [
        "Change nothing: no gain proven, the best × 1.017 [1.009, 1.026]",
        "Unix socket and 1 change: p99 × 0.84 [0.80, 0.86], proven",
        "First: 7 statements, 28 % of the database's time",
        "First: an index on wp_posts(column_0, column_1, column_2)",
        "First: an index on wp_posts",
    ] {
        assert!(
            titles.iter().any(|title| title == expected),
            "{expected}: {titles:#?}"
        );
    }
}

/// Seven statements of a capture, and these indexes for them.
fn queries_first(indexes: Vec<ChosenIndex>) -> QueriesFirst {
    QueriesFirst {
        share: 0.28,
        of_time: true,
        digests: 7,
        digest: "eed97cae8341bb68".to_owned(),
        rows_examined: 514.0,
        rows_returned: 10.0,
        indexes,
        saved: 0.5,
    }
}

/// Statements come before the server, in every form, unless the final variant has their indexes.
#[test]
fn statements_come_first() {
    let mut tune = tuned();
    let found = queries_first(vec![ChosenIndex {
        table: "wp_posts".to_owned(),
        columns: vec!["post_status".to_owned(), "post_date".to_owned()],
    }]);
    tune.header.warnings = vec![Finding::QueriesFirst(found.clone()).into()];
    let of = |tune: &TuneSummary| Summary::Tune(Box::new(tune.clone()));
    let told = headline(&of(&tune));
    let words = "First: an index on wp_posts(post_status, post_date), which saves 50 % of the rows and pages read. 7 statements: 28 % of \
                 the database's time. The first (eed97cae) reads 514 rows and returns or changes 10. Use the Unix socket";
    assert!(told.starts_with(words), "{told}");
    // Nobody is told to change nothing behind something to change.
    tune.recommendation = Some(Recommendation::Nothing {
        because: Obstacle::NothingPromising,
        setting: setting(),
    });
    let told = headline(&of(&tune));
    assert!(
        told.contains("10. Settings: keep yours on mariadb-10.11"),
        "{told}"
    );
    assert!(warnings(&of(&tune)).is_empty());
    tune.header.warnings = vec![Finding::QueriesFirst(queries_first(Vec::new())).into()];
    let told = headline(&of(&tune));
    let words = "First: 7 statements, 28 % of the database's time. The first (eed97cae) reads 514 rows and returns or changes 10; \
                 counting chose no index.";
    assert!(told.starts_with(words), "{told}");
    tune.rungs[0].risk = "schema".to_owned();
    let told = headline(&of(&tune));
    assert!(told.starts_with("Change nothing"), "{told}");
}

#[test]
fn sentences_depend_on_the_setting() {
    let nothing = |because, change: fn(&mut Setup)| {
        let mut setting = setting();
        change(&mut setting);
        Recommendation::Nothing { because, setting }.to_string()
    };
    let plain = nothing(Obstacle::NothingPromising, |_| {});
    assert!(
        plain.starts_with("Change nothing on mariadb-10.11 for oltp_read_only, 32 threads:"),
        "{plain}"
    );
    assert!(!plain.contains("socket"), "{plain}");
    let remote = nothing(Obstacle::TooNoisy, |setting| {
        setting.remote_application = true
    });
    assert!(
        remote.contains("too noisy") && remote.contains("another host"),
        "{remote}"
    );
    let already = nothing(Obstacle::NotShown { effect: None }, |setting| {
        setting.on_socket = true
    });
    assert!(already.contains("already"), "{already}");
    let tail = Obstacle::Tail {
        effect: fixture::estimate(1.17, 1.14, 1.2),
        tail: fixture::estimate(1.3, 1.2, 1.4),
        percentile: Goal::P99,
    };
    let tail = nothing(tail, |_| {});
    assert!(
        tail.contains("p99 × 1.30 [1.20, 1.40]") && tail.contains("--guard none"),
        "{tail}"
    );
    let install = Recommendation::Install {
        changes: vec!["Thread pool".to_owned(), "gcc PGO".to_owned()],
        with_socket: true,
        over_socket: Some(OverSocket {
            duels: None,
            gain: fixture::estimate(1.03, 1.01, 1.06),
            p50: None,
            p99: Some(fixture::estimate(1.02, 0.95, 1.09)),
            cpu: None,
        }),
        benefit: benefit(Others::Undecided {
            levers: 1,
            together: None,
        }),
    };
    let measured = match install.clone() {
        Recommendation::Install {
            over_socket: Some(left),
            changes,
            with_socket,
            benefit,
        } => Recommendation::Install {
            over_socket: Some(OverSocket {
                duels: Some(5),
                ..left
            }),
            changes,
            with_socket,
            benefit,
        },
        other => panic!("{other}"),
    };
    let figure = measured.figure_over_socket();
    assert!(figure.is_some_and(|told| {
        told.starts_with("× 1.03 [1.01, 1.06], by 5 fresh duels of its own; 99th")
    }));
    let install = install.to_string();
    for part in [
        "Use the Unix socket in the application, and apply 2 changes to the server: Thread pool; gcc PGO. That takes a restart. mariadb-10.11 then",
        "If the application uses the socket already (WordPress connects so with DB_HOST localhost), under this load the rest brings × 1.03 [1.01, 1.06], calculated: the total divided by the socket's own figure; 99th percentile of latency: undecided, between 5 % lower and 9 % higher, × 1.02 [0.95, 1.09].",
        "For an application that stays on TCP, or runs on another host, nothing here is proven: `niagara tune --app remote` measures",
        "--budget",
    ] {
        assert!(install.contains(part), "{part}: {install}");
    }
}

#[test]
fn every_form_has_what_was_left_out() {
    let summary = Summary::Tune(Box::new(tuned()));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = fixture::store(&folder.path().join("results.db"), &summary, 2, 0.01);
    let report = Report::load(&store).expect("just written");
    let page = html(&report).replace('\u{a0}', " ");
    for form in [text(&summary, true), markdown(&report), page] {
        for part in [
            "Picked by the screening, and not recommended",
            "Variants against the start",
            "the tail of latency is worse",
        ] {
            assert!(form.contains(part), "{part}: {form}");
        }
    }
    // One screen has both variants, for that is a choice to make.
    let short = text(&summary, false);
    assert!(short.contains("Variants against the start"), "{short}");
    assert!(
        !short.contains("Picked by the screening, and not recommended"),
        "{short}"
    );
}

/// A variant that is not recommended may look better by luck.
#[test]
fn a_larger_gain_that_may_be_chance_is_called_so() {
    let told_because = |because, ratio, low, high| {
        let mut tune = tuned();
        let other = &mut tune.alternatives[0];
        other.because = because;
        other.comparison.throughput.estimate = fixture::estimate(ratio, low, high);
        text(&Summary::Tune(Box::new(tune)), true)
    };
    let told = |ratio, low, high| told_because(AlternativeReason::UnprovenLevers, ratio, low, high);
    let words = "not every lever of it is proven; its larger gain may be chance";
    let within = told(1.33, 1.25, 1.42);
    assert!(within.contains(words), "{within}");
    for (ratio, low, high) in [(1.45, 1.4, 1.5), (1.3, 1.25, 1.36)] {
        let other = told(ratio, low, high);
        assert!(
            other.contains("not every lever") && !other.contains("chance"),
            "{other}"
        );
    }
    let because = AlternativeReason::UnprovenLeversAndTail;
    let other = told_because(because, 1.33, 1.25, 1.42);
    assert!(
        other.contains("the tail of latency is worse, and not every lever")
            && !other.contains("chance"),
        "{other}"
    );
}

/// Each variant's figures have the length of their slices. A variant that was dropped for its tail was measured as a total.
#[test]
fn variants_of_different_slices_say_so() {
    let of = |because, seconds| {
        let mut tune = tuned();
        tune.alternatives[0].because = because;
        let Some(Recommendation::UseSocket(benefit)) = &mut tune.recommendation else {
            panic!("the socket alone");
        };
        benefit.setting.lever_slice_seconds = seconds;
        let told = text(&Summary::Tune(Box::new(tune)), true).replace('\u{a0}', " ");
        let variants = told.split("Variants against the start").nth(1);
        variants.unwrap_or_else(|| panic!("{told}")).to_owned()
    };
    let tail = of(AlternativeReason::Tail, Some(0.1));
    assert_eq!(tail.matches("Slices 1 s").count(), 2, "{tail}");
    let unproven = of(AlternativeReason::UnprovenLeversAndTail, Some(0.1));
    for words in ["Slices 1 s", "Slices 0.1 s", "different slices"] {
        assert!(unproven.contains(words), "{words}: {unproven}");
    }
    let alike = of(AlternativeReason::Tail, None);
    assert!(!alike.contains("different slices"), "{alike}");
}

/// A lever whose tail had a second look has both figures, each with its slices.
#[test]
fn a_second_look_at_a_tail_is_told_whole() {
    let mut tune = fixture::tune();
    let claims = tune.rungs.iter_mut().filter_map(|rung| rung.claim.as_mut());
    for claim in claims {
        claim.latency_p99 = Some(fixture::estimate(1.04, 0.95, 1.13));
    }
    let mut claims = tune.rungs.iter_mut().filter_map(|rung| rung.claim.as_mut());
    let claim = claims.next().expect("a lever with fresh duels");
    claim.in_longer_slices = Some(LongerSlices {
        duels: 5,
        effect: fixture::estimate(1.108, 1.106, 1.128),
    });
    let summary = Summary::Tune(Box::new(tune));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = fixture::store(&folder.path().join("results.db"), &summary, 2, 0.01);
    let report = Report::load(&store).expect("just written");
    let told = html(&report).replace('\u{a0}', " ");
    for words in [
        "in slices of 1 s × 1.108 [1.106, 1.128], 5 duels",
        "5 fresh duels in slices of 1 s",
    ] {
        assert!(told.contains(words), "{words}");
    }
}

/// The total of one lever is of the same change as the duels that decided to keep it.
#[test]
fn one_lever_has_one_figure() {
    let mut tune = tuned();
    tune.header.deployment = Some(Deployment {
        runtime: ProcessSettings {
            transport: Some(TransportKind::Unix),
            ..ProcessSettings::default()
        },
        ..Deployment::default()
    });
    let summary = |tune: &TuneSummary| Summary::Tune(Box::new(tune.clone()));
    let forms = |summary: &Summary| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = fixture::store(&folder.path().join("results.db"), summary, 2, 0.01);
        let report = Report::load(&store).expect("just written");
        [text(summary, false), text(summary, true), markdown(&report)]
    };
    let words = "12 earlier duels (× 1.173 [1.158, 1.188]) decided to keep it";
    for form in forms(&summary(&tune)) {
        assert!(form.contains(words), "{form}");
        assert!(!form.contains("Each lever starts"), "{form}");
        assert_eq!(form.matches("proven, n = 12").count(), 1, "{form}");
    }
    let input = DeployInput::of(&summary(&tune)).expect("something to deploy");
    assert_eq!(input.rungs[0].effect, "× 1.31 [1.28, 1.35], proven, n = 12");
    // Without duels of its own there is nothing to tell apart.
    tune.rungs[0].claim = tune.total.clone();
    for form in forms(&summary(&tune)) {
        assert!(!form.contains("earlier duels"), "{form}");
    }
}

/// What fresh duels say of a lever by itself or of its group stands in its row, and how little the screening promised.
#[test]
fn levers_that_are_left_open_have_the_duels_of_their_group() {
    let mut tune = tuned();
    let effect = fixture::estimate(1.06, 1.03, 1.13);
    for lever in &mut tune.dropped {
        lever.because = DropReason::TimeEndedInGroup {
            effect,
            levers: 3,
            duels: 5,
        };
    }
    tune.dropped[0].screened.effect = fixture::estimate(1.01, 0.98, 1.04);
    let summary = Summary::Tune(Box::new(tune));
    let long = text(&summary, true);
    for part in [
        "× 1.06 [1.03, 1.13]",
        "the group of 3, n = 5",
        "5 fresh duels showed that the group of 3 helps; the time ended before it was tried alone",
        "gcc-pgo",
    ] {
        assert!(long.contains(part), "{part}: {long}");
    }
    // Two of the three promised something by themselves.
    assert_eq!(long.matches("no effect shown").count(), 1, "{long}");
}

#[test]
fn what_is_left_open_has_the_command_that_decides_it() {
    let mut tune = tuned();
    tune.next = Some(NextStep::MoreTime {
        levers: vec!["Thread pool".to_owned(), "gcc PGO".to_owned()],
        ids: ["unix-socket", "thread-pool", "gcc-pgo"]
            .map(str::to_owned)
            .to_vec(),
    });
    let screen = |budget_seconds, command: Option<&str>| {
        let mut tune = tune.clone();
        tune.header.budget_seconds = Some(budget_seconds);
        let files = Files {
            command: command.map(str::to_owned),
            ..fixture::files()
        };
        fixture::at_the_end(&Summary::Tune(Box::new(tune)), &files, 80)
    };
    let command = "niagara tune mariadb-10.11 --threads 32";
    // One line, to be copied, however narrow the terminal.
    let line = format!("next:    {command} --only unix-socket,thread-pool,gcc-pgo --budget 30m\n");
    let short = screen(180.0, Some(command));
    assert!(short.contains(&line), "{short}");
    assert!(short.contains("decide on Thread pool, gcc PGO"), "{short}");
    let hour = screen(3600.0, Some(command));
    assert!(hour.contains("--budget 120m\n"), "{hour}");
    let unknown = screen(180.0, None);
    assert!(!unknown.contains("--only"), "{unknown}");
    let long = text(&Summary::Tune(Box::new(tune)), true);
    let words = "`--only unix-socket,thread-pool,gcc-pgo` tries these alone, with what is kept.";
    assert!(long.contains(words), "{long}");
}

#[test]
fn undecided_levers_are_counted_apart_from_those_that_are_not_kept() {
    let mut tune = tuned();
    // What was picked was screened like the others.
    for lever in &mut tune.dropped {
        lever.because = DropReason::TimeEnded;
        tune.not_helped.push(lever.screened.clone());
    }
    let summary = Summary::Tune(Box::new(tune));
    let screen = fixture::at_the_end(&summary, &fixture::files(), 160);
    assert!(
        screen.contains("6 levers measured and not kept, 3 undecided, 5 not tried ("),
        "{screen}"
    );
    let long = text(&summary, true);
    assert_eq!(long.matches("Role undecided").count(), 3, "{long}");
    assert_eq!(long.matches("Role not kept").count(), 6, "{long}");
}

#[test]
fn warnings_are_told_worst_first() {
    let mut tune = tuned();
    tune.header.warnings = vec![
        Finding::BeyondBudget { duels: 1 }.into(),
        Finding::StrongestOnly.into(),
        Finding::CheckFailed(FinalCheck {
            part: CheckPart::Crash,
            outcome: CheckOutcome::Failed {
                finding: Box::new(CheckFinding::NothingAcknowledged),
            },
            limits: Vec::new(),
        })
        .into(),
    ];
    let told = warnings(&Summary::Tune(Box::new(tune)));
    let weights: Vec<_> = told
        .iter()
        .map(|warning| warning.finding.weight())
        .collect();
    assert!(weights.is_sorted(), "{weights:?}");
    assert!(matches!(told[0].finding, Finding::CheckFailed { .. }));
}

#[test]
fn deployed_sizes_name_other_machines() {
    let mut tune = tuned();
    let at = |size, value: &str| TargetValue {
        size,
        value: value.to_owned(),
    };
    let mut size = TargetSize {
        variable: "thread_pool_size".to_owned(),
        follows: Follows::Cpus,
        measured: "4".to_owned(),
        here: 2,
        at: vec![at(1, "2"), at(2, "4"), at(4, "8"), at(8, "16")],
        target: None,
    };
    let mut file = |size: &TargetSize| {
        tune.header.deployment = Some(Deployment {
            family: "mariadb".to_owned(),
            config: [(size.variable.clone(), size.installed().to_owned())].into(),
            sizes: vec![size.clone()],
            runtime: ProcessSettings {
                transport: Some(TransportKind::Tcp),
                ..ProcessSettings::default()
            },
            ..Deployment::default()
        });
        let summary = Summary::Tune(Box::new(tune.clone()));
        let input = DeployInput::of(&summary).expect("something to deploy");
        let files = deploy(&input);
        let file = files.into_iter().find(|(name, _)| name.ends_with(".cnf"));
        file.expect("an option file").1
    };
    let text = file(&size);
    assert!(
        text.contains("measured with 4 on 2 CPUs") && text.contains("16 on 8 CPUs"),
        "{text}"
    );
    size.target = Some(at(8, "16"));
    let text = file(&size);
    assert!(
        text.contains("thread_pool_size = 16") && text.contains("not measured"),
        "{text}"
    );
}
