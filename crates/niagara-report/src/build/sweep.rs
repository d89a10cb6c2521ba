//! A sweep: throughput by thread count, the law, the knee, and where the time goes.

use niagara_model::{Breakdown, SweepCurve, SweepSummary};
use niagara_stats::IntervalEstimate;

use super::{Digits, Own, interval_estimate, interval_over, three_digits};
use crate::document::{Block, Depth, Figure, Section, Table};
use crate::{chart, number};

pub(super) fn own(sweep: &SweepSummary) -> Own {
    Own {
        pictures: vec![picture(sweep)],
        tables: tables(sweep).into_iter().map(Section::from).collect(),
        ..Own::default()
    }
}

fn picture(sweep: &SweepSummary) -> Section {
    let figure = chart::sweep(sweep).map(|picture| {
        Block::Figure(Figure {
            title: String::new(),
            picture,
            caption: "Points are geometric means over fresh starts with their intervals; lines are the fitted scalability law; the ring \
                      is the knee. The axis of threads is logarithmic."
                .to_owned(),
        })
    });
    Section::new(Depth::Page, "Throughput over threads").with_some(figure)
}

fn tables(sweep: &SweepSummary) -> Vec<Table> {
    let mut grids = Vec::new();
    if !sweep.ratios.is_empty() {
        let names: Vec<&str> = sweep
            .curves
            .iter()
            .map(|curve| curve.title.as_str())
            .collect();
        let [first, second] =
            [names.first(), names.get(1)].map(|name| name.copied().unwrap_or_default());
        let mut grid = Table::new(
            format!("{second} over {first}"),
            &[
                ("Threads", true),
                ("Throughput ratio", true),
                ("Duels", true),
            ],
        );
        for at in &sweep.ratios {
            grid.rows.push(vec![
                at.threads.to_string(),
                format!(
                    "× {}",
                    interval_over("one duel", &at.ratio, Digits::Decimals(3))
                ),
                at.duels.to_string(),
            ]);
        }
        grid.notes.push(format!(
            "Both were alive in each duel, the load moving between them; {} % intervals over duels, for each thread count \
             on its own.",
            number::confidence(sweep.header.alpha)
        ));
        grids.push(grid);
    }
    grids.extend(by_round(sweep));
    for curve in &sweep.curves {
        grids.push(throughput(curve, sweep.header.alpha));
        grids.push(where_time_goes(curve));
    }
    grids.extend(unevenness(sweep));
    grids.push(laws(sweep));
    grids
}

/// Each of several variants over the first and over the one before it.
fn by_round(sweep: &SweepSummary) -> Option<Table> {
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for one in &sweep.by_round {
        if !pairs.contains(&(one.of, one.over)) {
            pairs.push((one.of, one.over));
        }
    }
    let title = |index: usize| {
        let curve = sweep.curves.get(index);
        curve.map_or("", |curve| curve.title.as_str())
    };
    let mut grid = Table::new(
        "Variants over each other, round by round",
        &[
            ("Variant", false),
            ("Threads", true),
            ("Throughput ratio", true),
            ("Rounds", true),
        ],
    );
    for (of, over) in pairs {
        let found = sweep.by_round.iter();
        for one in found.filter(|one| (one.of, one.over) == (of, over)) {
            grid.rows.push(vec![
                format!("{} over {}", title(of), title(over)),
                one.threads.to_string(),
                format!(
                    "× {}",
                    interval_over("one round", &one.ratio, Digits::Decimals(3))
                ),
                one.rounds.to_string(),
            ]);
        }
    }
    grid.notes.push(format!(
        "Each was measured alone, in rounds of random order; a ratio is of two starts of one round, so that an hour in which \
         the machine is slow counts for both. {} % intervals over rounds, for each row on its own.",
        number::confidence(sweep.header.alpha)
    ));
    (!grid.rows.is_empty()).then_some(grid)
}

/// How unevenly connections were served, all variants beside each other.
fn unevenness(sweep: &SweepSummary) -> Option<Table> {
    let mut grid = Table::new(
        "Fairness: how far connections lie apart",
        &[
            ("Variant", false),
            ("Threads", true),
            ("Transactions of a connection", true),
            ("Its time in them", true),
        ],
    );
    grid.long = true;
    for curve in &sweep.curves {
        for point in &curve.points {
            let Some(found) = &point.unevenness else {
                continue;
            };
            let share = |figure: &Option<IntervalEstimate>| match figure {
                Some(figure) => interval_estimate(figure, Digits::Percent),
                None => number::NOTHING.to_owned(),
            };
            grid.rows.push(vec![
                curve.title.clone(),
                point.threads.to_string(),
                share(&found.transactions),
                share(&found.seconds),
            ]);
        }
    }
    grid.notes.push(format!(
        "Standard deviation over the connections of a start as a share of their mean: 0 where all are served alike. sysbench's \
         threads fairness prints the same deviation, not divided by the mean. Means and {} % intervals over fresh starts.",
        number::confidence(sweep.header.alpha)
    ));
    (!grid.rows.is_empty()).then_some(grid)
}

fn throughput(curve: &SweepCurve, alpha: f64) -> Table {
    let mut grid = Table::new(
        format!("{}: throughput and latency", curve.title),
        &[
            ("Threads", true),
            ("tps", true),
            ("p50 ms", true),
            ("p95 ms", true),
            ("p99 ms", true),
            ("Starts", true),
        ],
    );
    // Of the percentiles the median is what can be spared last.
    grid.spare = vec![5, 3, 2];
    grid.short_notes = usize::from(curve.knee.is_some());
    for (index, point) in curve.points.iter().enumerate() {
        grid.rows.push(vec![
            point.threads.to_string(),
            interval_estimate(&point.tps, Digits::Whole),
            interval_estimate(&point.p50_ms, Digits::Three),
            interval_estimate(&point.p95_ms, Digits::Three),
            interval_estimate(&point.p99_ms, Digits::Three),
            point.starts.to_string(),
        ]);
        if curve
            .knee
            .as_ref()
            .is_some_and(|knee| knee.threads == point.threads)
        {
            grid.strong.push(index);
        }
    }
    if let Some(knee) = &curve.knee {
        let mut points = curve.points.iter();
        let at_knee = points.find(|point| point.threads == knee.threads);
        let at_knee = at_knee.and_then(|point| point.breakdown.as_ref());
        grid.notes.push(format!(
            "Bold: the knee, {}: {}. {}",
            number::count(knee.threads as usize, "thread"),
            match knee.threads == knee.best_threads {
                true => "no other measured count is better".to_owned(),
                false => format!(
                    "the smallest count within {} of the best, which is at {}",
                    number::percent(knee.within),
                    number::count(knee.best_threads as usize, "thread")
                ),
            },
            at_knee.map_or(String::new(), |found| format!(
                "What holds it back there: {found}."
            ))
        ));
    }
    grid.notes.push(format!(
        "{} % intervals over fresh starts, in random order. The load is closed: throughput times mean latency is the number of connections.",
        number::confidence(alpha)
    ));
    let errors: u64 = curve
        .points
        .iter()
        .flat_map(|point| point.errors.values())
        .sum();
    if errors > 0 {
        let errors = number::count(errors as usize, "statement");
        grid.notes.push(format!(
            "Refused by the server (deadlocks and the like) and tried again: {errors}."
        ));
    }
    grid
}

fn where_time_goes(curve: &SweepCurve) -> Table {
    let mut grid = Table::new(
        format!("{}: where the time goes", curve.title),
        &[
            ("Threads", true),
            ("CPUs: server", true),
            ("load", true),
            ("other", true),
            ("idle", true),
            ("Connections: on CPU", true),
            ("wait for a CPU", true),
            ("row locks", true),
            ("elsewhere", true),
            ("CPU µs/tx", true),
            ("switches/tx", true),
            ("log syncs/tx", true),
        ],
    );
    grid.long = true;
    let share = |value: f64| number::percent(value);
    let maybe = |value: Option<f64>| value.map_or(number::NOTHING.to_owned(), number::percent);
    for point in &curve.points {
        let Some(b): Option<&Breakdown> = point.breakdown.as_ref() else {
            continue;
        };
        grid.rows.push(vec![
            point.threads.to_string(),
            share(b.server),
            share(b.client),
            share(b.other),
            share(b.idle),
            share(b.on_cpu),
            maybe(b.run_queue),
            maybe(b.row_locks),
            share(b.elsewhere),
            three_digits(b.cpu_us),
            three_digits(b.switches[0] + b.switches[1]),
            b.log_syncs.map_or(number::NOTHING.to_owned(), three_digits),
        ]);
    }
    grid.notes.push(
        "Of the machine's CPU time, and of the connections' time: what the kernel and the server count. “Elsewhere” is \
         the network, the load generator's turn, the log, and locks inside of the server. Syncs are those of the binary \
         log's groups or of InnoDB's log, or of all of InnoDB's files where the server counts those alone (MariaDB)."
            .to_owned(),
    );
    for point in &curve.points {
        if let Some(b) = &point.breakdown {
            grid.notes.push(format!(
                "{}: {b}.",
                number::count(point.threads as usize, "thread")
            ));
        }
    }
    grid
}

fn laws(sweep: &SweepSummary) -> Table {
    let mut grid = Table::new(
        "The scalability law",
        &[
            ("", false),
            ("λ, tps of one thread", true),
            ("σ, contention", true),
            ("κ, coherency", true),
            ("Peak at threads", true),
            ("Peak tps", true),
            ("Residual", true),
        ],
    );
    grid.long = true;
    for curve in &sweep.curves {
        match &curve.law {
            Some(law) => grid.rows.push(vec![
                curve.title.clone(),
                interval_estimate(&law.lambda, Digits::Whole),
                interval_estimate(&law.sigma, Digits::Three),
                interval_estimate(&law.kappa, Digits::Three),
                interval_estimate(&law.peak_threads, Digits::Three),
                law.peak_tps.map_or("∞".to_owned(), number::grouped),
                format!(
                    "{}{}",
                    number::percent(law.residual),
                    if law.misfit { ", misfit" } else { "" }
                ),
            ]),
            None => {
                grid.notes.push(format!(
                    "{}: the law has three parameters, and needs at least three thread counts and four starts.",
                    curve.title
                ));
            }
        }
    }
    grid.notes.push(format!(
        "Universal Scalability Law (Gunther 2007): X(N) = λN / (1 + σ(N − 1) + κN(N − 1)), fitted to every fresh start by \
         least squares on ln X; {} % intervals by profile likelihood. Misfit: the points lie off the curve by more than \
         starts differ.",
        number::confidence(sweep.header.alpha)
    ));
    grid
}
