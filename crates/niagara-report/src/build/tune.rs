//! A tuning: the way from the starting point, every lever that was screened, what was not tried.

use niagara_model::{
    Benefit, Conclusion, Finding, Goal, NotTried, OverSocket, Reason, Recommendation,
    STEADY_SLICE_SECONDS, Screened, TuneSummary,
};
use niagara_stats::Estimate;

use super::{Own, TO_THE_FINAL, earned, lesser_in_short, way_heading};
use crate::document::{Block, Column, Depth, Facts, Figure, Folded, Section, Table, Way};
use crate::handover::is_only_tried;
use crate::ladder;
use crate::{Report, Sides, chart, number, wording};

/// The heading of a way to a variant that nobody is to install.
const ONLY_TRIED: &str = "Tried again in fresh duels";
/// The risk class of levers that need no `--allow`.
const NO_RISK: &str = "none";
/// Levers of the final variant that are shown at once.
const MAX_OPEN: usize = 12;

pub(super) fn own(tune: &TuneSummary, sides: Option<&Sides>, report: Option<&Report>) -> Own {
    let total = tune.total.as_ref();
    Own {
        pictures: way(tune),
        claims: total
            .map(|total| lesser_in_short(total, sides))
            .into_iter()
            .collect(),
        tables: [over_socket(tune, report), rungs(tune)]
            .into_iter()
            .chain(earned::tables(tune))
            .chain([together(tune), searched(tune)])
            .collect(),
        lists: vec![screened(tune), not_tried(&tune.not_tried)],
        facts: facts_in_short(tune),
        method: Some(method(tune.header.alpha)),
    }
}

/// The way to the final variant: every step with how to read it, and for one screen.
fn way(tune: &TuneSummary) -> Vec<Section> {
    if tune.rungs.is_empty() {
        return Vec::new();
    }
    let heading = match is_only_tried(tune) {
        true => ONLY_TRIED,
        false => TO_THE_FINAL,
    };
    let section = |depth, notes| {
        let how_to_read = Block::Folded(ladder::how_to_read(tune));
        let way = Way {
            steps: ladder::steps(tune),
            judged_by: wording::judged_by(tune.header.goal),
            notes,
        };
        Section::new(depth, way_heading(heading, tune.header.goal))
            .with(Block::Way(way))
            .with_at(Depth::Long, how_to_read)
    };
    vec![
        section(Depth::Long, ladder::legend(tune)),
        section(Depth::Brief, ladder::legend_in_short(tune)),
    ]
}

/// The gain of an application that uses the Unix socket already; the other figures start from TCP.
fn over_socket(tune: &TuneSummary, report: Option<&Report>) -> Section {
    let heading = "Where the application uses the socket already";
    let Some(Recommendation::Install {
        over_socket: Some(left),
        benefit,
        ..
    }) = &tune.recommendation
    else {
        return Section::new(Depth::Long, heading);
    };
    let note = match left.duels {
        Some(duels) => format!(
            "A is the start over the socket, B the final variant; from {} of its own{}, at another time. The figures above start from TCP: \
             compare within a table.",
            number::count(duels, "fresh duel"),
            benefit.setting.slice_seconds.map_or(String::new(), |seconds| format!(
                ", in slices of {}",
                number::seconds(seconds)
            ))
        ),
        None => "Calculated: the total divided by the socket's own figure. The figures above start from TCP.".to_owned(),
    };
    let judged = report.filter(|_| benefit.goal == Goal::Throughput && left.duels.is_some());
    let sides = judged.and_then(|report| Sides::over_socket(report, left));
    Section::from(match sides {
        Some(sides) => sides.judged_table(heading, note),
        None => ratios_over_socket(heading, left, benefit, note),
    })
}

/// The same without either side's own figures, which a quotient has not.
fn ratios_over_socket(heading: &str, left: &OverSocket, benefit: &Benefit, note: String) -> Table {
    let mut table = Table::of(
        heading,
        &[("", Column::Words), ("B over A", Column::Figures)],
    );
    table.long = true;
    let mut row = |name: &str, figure: Estimate| {
        table
            .rows
            .push(vec![name.to_owned(), number::estimate(&figure)]);
    };
    row(benefit.goal.title(), benefit.goal.figure(&left.gain));
    if let Some(p50) = left.p50.filter(|_| benefit.goal == Goal::Throughput) {
        row("Median latency", p50);
    }
    let has_tail = benefit.goal != Goal::P99 && !benefit.setting.has_short_slices();
    if let Some(p99) = left.p99.filter(|_| has_tail) {
        row("99th percentile of latency", p99);
    }
    if let Some(cpu) = left.cpu.filter(|_| benefit.goal != Goal::Cpu) {
        row("Server CPU per transaction", cpu);
    }
    table.notes.push(note);
    table
}

/// What each lever of the final variant changes, and why.
fn rungs(tune: &TuneSummary) -> Section {
    let heading = match is_only_tried(tune) {
        true => "The levers that were tried again",
        false => "The levers of the final variant",
    };
    let section = Section::new(Depth::Page, heading);
    if tune.rungs.is_empty() {
        return section;
    }
    let mut table = Table::of(
        heading,
        &[
            ("Lever", Column::Words),
            ("Id", Column::Code),
            ("Change", Column::Code),
            ("Screened, 95 %", Column::Figures),
            ("Fresh duels", Column::Figures),
        ],
    );
    let is_risky = tune.rungs.iter().any(|rung| rung.risk != NO_RISK);
    if is_risky {
        table.columns.push(("--allow".to_owned(), Column::Words));
    }
    let has_fresh = tune.rungs.iter().any(|rung| rung.claim.is_some());
    for rung in &tune.rungs {
        let screened = &rung.screened;
        let change = match &rung.chosen {
            Some(chosen) => format!("{chosen}\nscreened with `{}`", screened.change),
            None => screened.change.clone(),
        };
        let claim = rung.claim.as_ref().map(|claim| {
            let judged = claim.judged();
            let decided = match ladder::earlier_duels(tune) {
                Some(_) => "\nthey decided to keep it: the figure above is of fresh ones",
                None => "",
            };
            let longer = claim.in_longer_slices.as_ref();
            let longer = longer.map_or(String::new(), |longer| {
                format!(
                    "\nin slices of {} {}, {}",
                    number::seconds(STEADY_SLICE_SECONDS),
                    number::estimate(&longer.effect),
                    number::count(longer.duels, "duel")
                )
            });
            format!(
                "{}\n{}, {}{decided}{longer}",
                number::estimate(&judged.estimate),
                wording::verdict_on_goal(claim),
                number::count(judged.duels, "duel")
            )
        });
        let mut row = vec![
            format!("{}\n{}", screened.title, wording::paragraph(&rung.why)),
            screened.lever.clone(),
            change,
            number::estimate(&screened.effect),
            claim.unwrap_or(number::NOTHING.to_owned()),
        ];
        if is_risky {
            row.push(match rung.risk.as_str() {
                NO_RISK => number::NOTHING.to_owned(),
                risk => risk.to_owned(),
            });
        }
        table.rows.push(row);
    }
    section.with(Block::Folded(Folded {
        title: "What each changes, and why".to_owned(),
        detail: String::new(),
        open: tune.rungs.len() <= MAX_OPEN,
        inner: Section::new(Depth::Every, "")
            .with(Block::Table(table))
            .with_some(has_fresh.then(|| Block::Note(wording::fresh_count(tune)))),
    }))
}

/// Every lever as it was screened.
fn screened(tune: &TuneSummary) -> Section {
    let section = Section::new(Depth::Long, "All levers as screened").named("levers");
    let Some(forest) = chart::forest(tune) else {
        return section;
    };
    let mut table = Table::of(
        "All screened levers",
        &[
            ("Lever", Column::Words),
            ("Id", Column::Code),
            ("Change", Column::Code),
            ("Effect, 95 %", Column::Figures),
            ("Std. error", Column::Figures),
            ("With earlier runs, 95 %", Column::Figures),
            ("Duels", Column::Figures),
            ("Role", Column::Words),
        ],
    );
    let mut row = |lever: &Screened, role: &str| {
        table.rows.push(vec![
            lever.title.clone(),
            lever.lever.clone(),
            lever.change.clone(),
            number::estimate(&lever.effect),
            number::percent(lever.std_err),
            number::estimate(lever.expected.as_ref().unwrap_or(&lever.effect)),
            lever.duels.to_string(),
            role.to_owned(),
        ]);
    };
    for rung in &tune.rungs {
        row(
            &rung.screened,
            match (is_only_tried(tune), tune.is_added(rung)) {
                (true, _) => "tried again",
                (false, true) => "in the final variant, with the number of the search",
                (false, false) => "in the final variant",
            },
        );
    }
    let is_open = wording::is_stopped_in_screening(tune);
    for lever in &tune.not_helped {
        let mut dropped = tune.dropped.iter();
        let is_undecided =
            dropped.any(|one| one.screened.lever == lever.lever && one.because.is_undecided());
        row(
            lever,
            match (is_open, is_undecided) {
                (true, _) => "not judged",
                (false, true) => "undecided",
                (false, false) => "not kept",
            },
        );
    }
    if let Some(lever) = &tune.negative_control {
        row(
            lever,
            &format!("negative control ({})", nothing_changed(tune, lever)),
        );
    }
    if let Some(lever) = &tune.positive_control {
        row(lever, "positive control (known to slow)");
    }
    let levers = tune.not_helped.len() + tune.rungs.len();
    let with_pairs = (!tune.together.is_empty()).then(|| {
        "Fitted together with the pairs of levers that act on each other; the log's figures were fitted without them.".to_owned()
    });
    let notes = [
        with_pairs,
        wording::many_intervals(levers),
        Some(wording::PICKED.to_owned()),
        wording::control_rule(tune),
    ];
    let controls = [&tune.negative_control, &tune.positive_control];
    let controls = controls.iter().filter(|control| control.is_some()).count();
    let count = match controls {
        0 => number::count(levers, "lever"),
        controls => format!(
            "{} and {}",
            number::count(levers, "lever"),
            number::count(controls, "control")
        ),
    };
    let filled = match is_only_tried(tune) {
        true => "Filled: tried again. Ring: not tried again.",
        false => "Filled: kept. Ring: not kept.",
    };
    let figure = Figure {
        title: String::new(),
        picture: forest,
        caption: format!(
            "Effect of each lever with its 95 % interval, all from the same screening duels. {filled} Diamond: the negative control, \
             which changes nothing and must not move at 99 %. Square: the positive control, which is known to slow the server and must lose. \
             Each effect is an average over the settings of the other levers: alone, a lever may bring more or less. Screening \
             chooses and does not prove: effects chosen for being large are on average smaller than they look."
        ),
    };
    let inner = Section::new(Depth::Every, "")
        .with(Block::Figure(figure))
        .with(Block::Table(table));
    let notes = notes.into_iter().flatten().map(Block::Note);
    section.with(Block::Folded(Folded {
        title: count,
        detail: String::new(),
        open: false,
        inner: notes.fold(inner, Section::with),
    }))
}

fn together(tune: &TuneSummary) -> Section {
    list(
        "Levers that act on each other",
        tune.together
            .iter()
            .map(|pair| wording::together(pair, &tune.rungs))
            .collect(),
    )
}

fn searched(tune: &TuneSummary) -> Section {
    let searched = tune.searched.as_ref();
    let lines = searched.map(|searched| searched.lines(tune.total.is_some()));
    list("Ranges searched", lines.unwrap_or_default())
}

fn list(heading: &str, lines: Vec<String>) -> Section {
    let section = Section::new(Depth::Long, heading);
    match lines.is_empty() {
        true => section,
        false => section.with(Block::List(lines)),
    }
}

/// Levers that were not tried, by reason: a page has all of them, a text counts those that nobody can try, and those by name.
fn not_tried(not_tried: &[NotTried]) -> Section {
    let count = number::count(not_tried.len(), "lever");
    let section = Section::new(Depth::Long, format!("Not tried: {count}")).named("not-tried");
    if not_tried.is_empty() {
        return section;
    }
    let is_counted = |left: &&NotTried| left.reason.is_about_server() || is_by_name(left);
    let (counted, named): (Vec<&NotTried>, Vec<&NotTried>) = not_tried.iter().partition(is_counted);
    let (by_name, about_server): (Vec<&NotTried>, Vec<&NotTried>) =
        counted.into_iter().partition(|left| is_by_name(left));
    let counts = [
        (by_name.len(), BY_NAME.to_owned()),
        (about_server.len(), ABOUT_SERVER.to_owned()),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts = counts.map(|(count, reason)| (number::count(count, "lever"), reason));
    let in_text: Vec<(String, String)> = counts.chain(by_reason(&named)).collect();
    let mut on_page = by_reason(&about_server);
    on_page.extend(by_reason(&named));
    if !by_name.is_empty() {
        // The reason of each names the lever: together they take one line.
        on_page.insert(0, (titles(&by_name), BY_NAME.to_owned()));
    }
    let facts = |rows| Block::Facts(Facts { rows, wide: true });
    let folded = Folded {
        title: format!("{count}, by reason"),
        detail: String::new(),
        open: false,
        inner: Section::new(Depth::Every, "").with(facts(on_page)),
    };
    section
        .with_at(Depth::Text, facts(in_text))
        .with_at(Depth::Page, Block::Folded(folded))
}

const BY_NAME: &str = "tried only when asked for by name: --also ID";
const ABOUT_SERVER: &str = "not for this server: `niagara levers` says why";

fn is_by_name(left: &NotTried) -> bool {
    matches!(left.reason, Reason::OnlyByName { .. })
}

/// `No doublewrite buffer (doublewrite), …`.
fn titles(levers: &[&NotTried]) -> String {
    let levers = levers.iter();
    let levers = levers.map(|lever| format!("{} ({})", lever.title, lever.lever));
    levers.collect::<Vec<_>>().join(", ")
}

/// Levers with the reason that they have in common, the most common reason first.
fn by_reason(levers: &[&NotTried]) -> Vec<(String, String)> {
    let groups = wording::by_reason(levers.iter().copied()).into_iter();
    let rows = groups.map(|(reason, levers)| (titles(&levers), reason.to_string()));
    rows.collect()
}

/// How it was measured, and whether the method can be believed.
fn facts_in_short(tune: &TuneSummary) -> Vec<(String, String)> {
    let mut facts = wording::builds(&tune.header.builds);
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    let took = wording::time_of_asked(&tune.header);
    let end = match tune.conclusion {
        Some(early @ (Conclusion::NothingLeftToDecide | Conclusion::TooLittleForAnother)) => {
            format!(" ({early})")
        }
        Some(Conclusion::TimeUsed) | None => String::new(),
    };
    fact(
        "Measured",
        format!("{took}{end}; seed {}", tune.header.seed),
    );
    if let Some(picked) = wording::picked_in_short(tune) {
        fact("Sensitivity", picked);
    }
    if let Some(controls) = controls(tune) {
        fact("Controls", controls);
    }
    // The screening's warning speaks of these.
    let failed = tune.not_tried.iter();
    let failed: Vec<String> = failed
        .filter(|lever| lever.reason.failed_in_duels())
        .map(|lever| format!("{} ({})", lever.lever, lever.reason))
        .collect();
    if !failed.is_empty() {
        fact("Failed", failed.join("; "));
    }
    let others_took = |total| wording::others_took(total, wording::WIDENS);
    if let Some(taken) = tune.total.as_ref().and_then(others_took) {
        fact("Others", taken);
    }
    facts
}

/// What the screening's controls showed; `None` where it had none.
pub(super) fn controls(tune: &TuneSummary) -> Option<String> {
    let negative = tune.negative_control.iter();
    let negative = negative.map(|lever| (lever, nothing_changed(tune, lever)));
    let positive = tune.positive_control.iter();
    let positive = positive.map(|lever| (lever, "slows the server"));
    let controls: Vec<String> = negative
        .chain(positive)
        .map(|(lever, role)| format!("{} ({role})", number::estimate(&lever.effect)))
        .collect();
    (!controls.is_empty()).then(|| controls.join(", "))
}

/// What the negative control is, and whether its figure is what chance makes of it: the tuning has warned where it is not.
fn nothing_changed(tune: &TuneSummary, control: &Screened) -> &'static str {
    let mut warnings = tune.header.warnings.iter();
    let has_moved = warnings.any(|one| matches!(one.finding, Finding::NegativeControlMoved { .. }));
    match (has_moved, control.effect.holds(1.0)) {
        (true, _) => "changes nothing, and moved: see the warning",
        (false, true) => "changes nothing",
        (false, false) => "changes nothing: misses 1, as 1 in 20 does; its 99 % bracket holds 1",
    }
}

fn method(alpha: f64) -> String {
    format!(
        "Two servers with identical data are alive at once; the load moves between them in short slices, in random order, while the \
         idle one is frozen. Two neighbouring slices, one of each, are a couple; usually 4 to 40 couples after a fresh start of both \
         servers are a duel, which gives one figure. Screening duels set every lever at once, in a balanced design, and estimate all \
         effects together. What is called proven, and the total, come from fresh duels that the screening never saw. On identical \
         variants, and while the noise is steady, the chance of calling the total faster is at most {alpha}. All of it holds for this \
         machine and this workload, and for such slices: niagara compare --protocol pair measures without interruption."
    )
}
