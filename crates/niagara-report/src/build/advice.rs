//! What the queries of a capture need: a page for whoever decides first, then a section for each statement.

use niagara_queries::words::{
    POOR_REPLAY, application_remedy, bytes, counted, headline, no_cause, number as figure, percent,
    span, statistics,
};
use niagara_queries::{
    Advice, DigestAdvice, Effect, Fate, Judged, MENDED, Plan, Trial, Work, schema,
};
use niagara_stats::Estimate;

use crate::chart;
use crate::document::{
    Block, Claim, Column, Depth, Document, Facts, Figure, Introduction, Section, Table, Tone,
};
use crate::number;

/// Statements that have a section of their own.
const STATEMENTS: usize = 20;
/// Statements in the picture.
const DRAWN: usize = 10;
/// Characters of a statement in a table.
const TEXT: usize = 100;
/// What stands in a cell where nothing was counted.
const NOTHING: &str = "–";

/// The report.
pub(crate) fn advice(advice: &Advice) -> Document {
    let mut sections = vec![
        in_short(advice),
        picture(advice),
        indexes(advice),
        application(advice),
        statements(advice),
    ];
    sections.extend(duels(advice));
    sections.extend(settings(advice));
    sections.extend(drops(advice));
    let own = advice.digests.iter().take(STATEMENTS);
    sections.extend(own.map(|digest| statement(advice, digest)));
    sections.extend(rejected(advice));
    Document {
        masthead: ["Niagara advise".to_owned(), advice.server.clone()],
        introduction: Introduction::of_headline(headline(advice)),
        lead: vec![(
            Depth::Every,
            format!(
                "Capture of {} statements in {}",
                figure(advice.statements as f64),
                span(advice.capture_seconds)
            ),
        )],
        warnings: advice.cautions.iter().map(ToString::to_string).collect(),
        sections,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        source: "from this advice alone",
    }
}

/// For whoever decides: what takes the time, what helps, how sure that is, what it costs.
fn in_short(advice: &Advice) -> Section {
    let rows = [
        ("What takes the time", advice.finding.to_string()),
        ("What helps", help(advice)),
        ("How sure", sureness(advice)),
        ("What it costs", cost(advice)),
        ("What to do", steps(advice)),
    ];
    let rows = rows.into_iter().filter(|(_, value)| !value.is_empty());
    let rows = rows.map(|(name, value)| (name.to_owned(), value)).collect();
    Section::new(Depth::Every, "").with_some(Facts::wide(rows))
}

fn help(advice: &Advice) -> String {
    let chosen = advice.screened.chosen().count();
    let mut parts = Vec::new();
    if chosen > 0 {
        parts.push(format!(
            "{} {} {} of the counted work away.",
            counted(chosen as u64, "index"),
            if chosen == 1 { "takes" } else { "take" },
            percent(advice.saved())
        ));
    }
    parts.extend(statistics(advice).iter().map(|line| format!("{line}.")));
    let setting = advice.setting().filter(|one| !one.is_lost());
    parts.extend(setting.map(|one| format!("{one}.")));
    if parts.is_empty() {
        parts.push("No index that was tried pays for itself.".to_owned());
    }
    parts.join(" ")
}

fn sureness(advice: &Advice) -> String {
    let has_set = advice.screened.chosen().next().is_some();
    match &advice.proof {
        Some(proof) => {
            let trial = proof.handed_over.as_ref().unwrap_or(&proof.set);
            if has_set && trial.is_open() {
                let why = match trial.poor_replay.is_empty() {
                    true => {
                        let duels = number::count(trial.duels, "duel");
                        format!("{duels} on the capture are too few to decide by")
                    }
                    false => POOR_REPLAY.to_owned(),
                };
                return format!(
                    "Rows and pages are counted on a copy of the data. It is not proven: {why} (throughput {}).",
                    number::estimate(&trial.throughput)
                );
            }
            let found = match has_set {
                true => "Proven by",
                false => "Not shown by",
            };
            let same = match trial.other_answers.is_empty() {
                true => " Statements have the same answers.",
                false => " Some statements have other answers.",
            };
            format!(
                "{found} {} on the capture: throughput {}.{same}",
                number::count(trial.duels, "duel"),
                number::estimate(&trial.throughput)
            )
        }
        None if advice.proven_setting().is_some() => {
            "Proven by duels on the capture; statements have the same answers.".to_owned()
        }
        None if has_set => {
            "Rows and pages are counted on a copy of the data. The gain in time is not measured."
                .to_owned()
        }
        None => String::new(),
    }
}

fn cost(advice: &Advice) -> String {
    let chosen: Vec<&Judged> = advice.screened.chosen().collect();
    if chosen.is_empty() {
        return String::new();
    }
    let seconds = chosen.iter().filter_map(|one| one.build_seconds).sum();
    let space = chosen.iter().filter_map(|one| one.bytes).sum();
    let writes: f64 = chosen.iter().map(|one| one.costs).sum();
    let blocking = chosen.iter().filter(|one| !one.online).count();
    let waits = match blocking {
        0 => "tables can be written to meanwhile".to_owned(),
        many => format!(
            "for {} writes to the table wait",
            counted(many as u64, "index")
        ),
    };
    format!(
        "Building took {} on the copy ({waits}). The indexes take {}. Writes cost {} of the work more.",
        span(seconds),
        bytes(space),
        percent(writes / advice.screened.work_before.max(1.0))
    )
}

fn steps(advice: &Advice) -> String {
    let mut steps = Vec::new();
    if schema::has_schema(advice) {
        steps.push("Apply deploy/schema.sql on a replica first; deploy/watch.sql names what to look at; deploy/undo.sql takes it back.");
    }
    if advice.proven_setting().is_some() {
        steps.push("deploy/optimizer.cnf has the setting, and how it is set and taken back.");
    }
    if !steps.is_empty() {
        steps.push("Niagara applies nothing.");
    }
    steps.join(" ")
}

/// Work of all executions, before and with the set.
fn picture(advice: &Advice) -> Section {
    let mut rows: Vec<chart::WorkRow> = (advice.digests.iter())
        .filter_map(|digest| {
            let before = digest.work?.total();
            let effect = advice.effect(&digest.digest);
            let after = effect.map_or(before, |effect| effect.after.total());
            let count = digest.count as f64;
            Some(chart::WorkRow {
                title: format!("{} {}", short(digest), digest.text),
                before: count * effect.map_or(before, |effect| effect.before.total()),
                after: count * after,
            })
        })
        .collect();
    rows.sort_by(|a, b| b.before.total_cmp(&a.before));
    rows.truncate(DRAWN);
    let picture = chart::work(&rows, "Work before and after").map(|picture| {
        Block::Figure(Figure {
            title: String::new(),
            picture,
            caption: "Work of all captured executions, in rows (a page counts as 3 rows): grey before, blue with the set. It is counted, so it is the same on a busy machine."
                .to_owned(),
        })
    });
    Section::new(Depth::Page, "Work before and after").with_some(picture)
}

fn indexes(advice: &Advice) -> Section {
    let mut table = Table::of(
        "Indexes",
        &[
            ("Index", Column::Words),
            ("Comes back without it", Column::Figures),
            ("Writes cost", Column::Figures),
            ("Built in", Column::Figures),
            ("Size", Column::Figures),
            ("Duels without it", Column::Words),
        ],
    );
    let work = advice.screened.work_before.max(1.0);
    table.rows = (advice.screened.chosen())
        .map(|one| {
            vec![
                one.candidate.to_string(),
                percent(one.saves / work),
                percent(one.costs / work),
                one.build_seconds.map_or_else(|| NOTHING.to_owned(), span),
                one.bytes.map_or_else(|| NOTHING.to_owned(), bytes),
                alone(advice, one),
            ]
        })
        .collect();
    table.notes = vec![
        "Figures are shares of the counted work of the capture. Those without an index do not add up: another one may do a part of its \
         work. Time and size are of the copy."
            .to_owned(),
    ];
    match table.rows.is_empty() {
        true => Section::new(Depth::Long, ""),
        false => Section::from(table).named("indexes"),
    }
}

/// What duels of the set against the set without this index showed.
fn alone(advice: &Advice, one: &Judged) -> String {
    let Some(proof) = &advice.proof else {
        return "not run".to_owned();
    };
    let table = one.candidate.table.to_string();
    let mut trials = proof.indexes.iter();
    let trial = trials
        .find(|trial| trial.table == table && trial.index == one.candidate.name)
        .and_then(|one| one.trial.as_ref());
    trial.map_or_else(
        || "only with the others".to_owned(),
        |trial| number::estimate(&trial.throughput),
    )
}

/// What only the application can change.
fn application(advice: &Advice) -> Section {
    let is_mended = |digest: &DigestAdvice| {
        let effect = advice.effect(&digest.digest);
        effect.is_some_and(|effect| effect.after.total() < MENDED * effect.before.total())
    };
    let others = advice.digests.iter().filter(|digest| !is_mended(digest));
    let remedies = others.flat_map(|digest| {
        digest.causes.iter().filter_map(|cause| {
            let remedy = application_remedy(cause)?;
            Some(format!("{}: {cause}: {remedy}.", short(digest)))
        })
    });
    let remedies: Vec<String> = remedies.collect();
    let section = Section::new(Depth::Every, "For the application");
    match remedies.is_empty() {
        true => section,
        false => section.with(Block::List(remedies)),
    }
}

fn statements(advice: &Advice) -> Section {
    let mut table = Table::new(
        "Statements",
        &[
            ("Digest", false),
            ("Of time", true),
            ("Executions", true),
            ("Returned", true),
            ("Rows read", true),
            ("With the set", true),
            ("Statement", false),
        ],
    );
    table.rows = (advice.digests.iter())
        .map(|digest| {
            let after = advice.effect(&digest.digest).map(|effect| effect.after);
            let rows = |work: Option<Work>| shown(work.map(|work| work.rows));
            vec![
                short(digest).to_owned(),
                percent(digest.share),
                figure(digest.count as f64),
                shown(digest.rows_returned),
                rows(digest.work),
                rows(after.or(digest.work)),
                format!(
                    "{}\n{}",
                    in_one_line(&digest.text),
                    number::capital(&why(digest))
                ),
            ]
        })
        .collect();
    table.notes =
        vec!["Rows are the mean of an execution. Pages are in the sections below.".to_owned()];
    Section::from(table).named("statements")
}

/// What duels showed of the set, and of each statement.
fn duels(advice: &Advice) -> Vec<Section> {
    let Some(proof) = &advice.proof else {
        return Vec::new();
    };
    let trial = proof.handed_over.as_ref().unwrap_or(&proof.set);
    let mut table = Table::new(
        "Time of each statement",
        &[
            ("Digest", false),
            ("With the set", true),
            ("Statement", false),
        ],
    );
    table.rows = (proof.digests.iter())
        .map(|digest| {
            vec![
                digest.digest.chars().take(8).collect(),
                number::estimate(&digest.time),
                in_one_line(&digest.text),
            ]
        })
        .collect();
    table.notes =
        vec!["Time of an execution, with the set over without it; slower ones first.".to_owned()];
    vec![
        Section::new(Depth::Every, "Duels")
            .named("duels")
            .with(Block::Claims(claims(trial))),
        Section::from(table).at(Depth::Long),
    ]
}

fn claims(trial: &Trial) -> Vec<Claim> {
    let lesser = |title: &str, estimate: &Option<Estimate>| {
        estimate.map(|estimate| Claim {
            title: title.to_owned(),
            estimate,
            verdict: String::new(),
            note: "below 1 is better".to_owned(),
            tone: Tone::Open,
        })
    };
    let mut claims = vec![Claim {
        title: "Throughput".to_owned(),
        estimate: trial.throughput,
        verdict: match (trial.pays(), trial.is_open()) {
            (true, _) => "better",
            (false, true) => "not decided",
            (false, false) => "not shown to pay",
        }
        .to_owned(),
        note: number::count(trial.duels, "duel"),
        tone: match trial.pays() {
            true => Tone::of(&trial.throughput),
            false => Tone::Open,
        },
    }];
    claims.extend(lesser("CPU time of a transaction", &trial.cpu));
    claims.extend(lesser("p99 of latency", &trial.p99));
    claims
}

/// Settings of the optimizer that save work with the set there, and what the first of them does to each statement.
fn settings(advice: &Advice) -> Vec<Section> {
    let Some(first) = advice.setting() else {
        return Vec::new();
    };
    let lines = advice.screened.settings.iter();
    let lines = lines.map(|one| format!("{one}.")).collect();
    let mut table = Table::new(
        format!("Work of an execution with {}", first.setting),
        &[
            ("Digest", false),
            ("Rows read", true),
            ("With it", true),
            ("Pages read", true),
            ("With it", true),
            ("Statement", false),
        ],
    );
    table.rows = (first.digests.iter())
        .map(|effect| {
            let text = advice.digests.iter();
            let mut text = text.filter(|digest| digest.digest == effect.digest);
            vec![
                effect.digest.chars().take(8).collect(),
                figure(effect.before.rows),
                figure(effect.after.rows),
                figure(effect.before.pages),
                figure(effect.after.pages),
                text.next()
                    .map_or_else(String::new, |one| in_one_line(&one.text)),
            ]
        })
        .collect();
    let note =
        "A setting may change the plan of any statement, also of those that the capture lacks.";
    vec![
        Section::new(Depth::Every, "Settings of the optimizer")
            .named("optimizer")
            .with(Block::List(lines))
            .with_some(
                first
                    .trial
                    .as_ref()
                    .map(|trial| Block::Claims(claims(trial))),
            )
            .with(Block::Note(note.to_owned())),
        Section::from(table).at(Depth::Long),
    ]
}

/// Indexes that can go, or were not used, and tables that want something else.
fn drops(advice: &Advice) -> Option<Section> {
    let drops = advice.superfluous().chain(advice.unseen());
    let drops = drops.map(|drop| format!("{}: {}.", drop.title(), drop.reason));
    let tables = advice.tables.iter().map(|table| format!("{table}."));
    let lines: Vec<String> = drops.chain(tables).collect();
    (!lines.is_empty()).then(|| {
        Section::new(Depth::Every, "Superfluous indexes, and tables")
            .with(Block::List(lines))
            .with(Block::Note(format!(
                "By a capture of {}: what it does not use may serve what runs at other times.",
                span(advice.capture_seconds)
            )))
    })
}

/// A statement: text, causes, work and plan before and with the set.
fn statement(advice: &Advice, digest: &DigestAdvice) -> Section {
    let effect = advice.effect(&digest.digest);
    let mut section = Section::new(
        Depth::Long,
        format!(
            "Statement {}: {} of the time",
            short(digest),
            percent(digest.share)
        ),
    )
    .with(Block::Code(digest.text.clone()))
    .with_some(Facts::short(facts(advice, digest)));
    if !digest.causes.is_empty() {
        let causes = digest.causes.iter().map(|cause| format!("{cause}."));
        section = section.with(Block::List(causes.collect()));
    }
    if let Some(effect) = effect {
        let picture = chart::work(&work_rows(effect), "Work of an execution");
        section = section
            .with_some(picture.map(|picture| {
                Block::Figure(Figure {
                    title: String::new(),
                    picture,
                    caption: "An execution: grey before, blue with the set.".to_owned(),
                })
            }))
            .with_at(Depth::Text, Block::Table(work_table(digest, effect)));
    }
    let after = effect.and_then(|effect| effect.plan.as_ref());
    let title = match after {
        Some(_) => "Plan before",
        None => "Plan",
    };
    let name = short(digest);
    section = section.with_some(digest.plan.as_ref().and_then(|of| plan(title, name, of)));
    section.with_some(after.and_then(|of| plan("Plan with the set", name, of)))
}

fn facts(advice: &Advice, digest: &DigestAdvice) -> Vec<(String, String)> {
    let mut facts = vec![
        ("executions", figure(digest.count as f64)),
        ("returned", shown(digest.rows_returned)),
    ];
    match (digest.work, &digest.refused) {
        (Some(work), _) => {
            facts.push(("rows read", figure(work.rows)));
            facts.push(("pages read", figure(work.pages)));
        }
        (None, Some(words)) => facts.push(("not counted", words.clone())),
        (None, None) => {}
    }
    if let Some(reason) = &digest.not_understood {
        facts.push(("not understood", reason.to_string()));
    }
    let serves = |one: &&Judged| one.serves.contains(&digest.digest);
    let indexes = advice.screened.chosen().filter(serves);
    let indexes: Vec<String> = indexes.map(|one| one.candidate.to_string()).collect();
    if !indexes.is_empty() {
        facts.push(("served by", indexes.join(", ")));
    }
    let trials = advice.proof.iter().flat_map(|proof| &proof.digests);
    let mut trials = trials.filter(|trial| trial.digest == digest.digest);
    if let Some(trial) = trials.next() {
        facts.push(("time, by duels", number::estimate(&trial.time)));
    }
    let facts = facts.into_iter();
    facts
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The kinds of work, by their names.
fn kinds(work: &Work) -> [(&'static str, f64); 4] {
    [
        ("Rows read", work.rows),
        ("Pages read", work.pages),
        ("Rows sorted or buffered", work.extra),
        ("Pages changed", work.pages_written),
    ]
}

fn work_rows(effect: &Effect) -> Vec<chart::WorkRow> {
    let both = kinds(&effect.before).into_iter().zip(kinds(&effect.after));
    let both = both.filter(|((_, before), (_, after))| before + after >= 0.5);
    both.map(|((title, before), (_, after))| chart::WorkRow {
        title: title.to_owned(),
        before,
        after,
    })
    .collect()
}

fn work_table(digest: &DigestAdvice, effect: &Effect) -> Table {
    let mut table = Table::new(
        format!("Work of statement {}", short(digest)),
        &[("Work", false), ("Before", true), ("With the set", true)],
    );
    let rows = work_rows(effect).into_iter();
    table.rows = rows
        .map(|row| vec![row.title, figure(row.before), figure(row.after)])
        .collect();
    table
}

/// A plan as a table; none of a plan without tables.
fn plan(title: &str, digest: &str, plan: &Plan) -> Option<Block> {
    let mut table = Table::of(
        // A page has many plans: each region of it needs a name of its own.
        format!("{title}, statement {digest}"),
        &[
            (title, Column::Words),
            ("Access", Column::Words),
            ("Key", Column::Code),
            ("By", Column::Words),
            ("Rows expected", Column::Figures),
            ("", Column::Words),
        ],
    );
    table.rows = (plan.tables.iter())
        .map(|access| {
            let notes = [
                ("index alone", access.covering),
                ("join without an index", access.join_buffer),
                ("for each outer row", access.dependent),
            ];
            let notes = notes.iter().filter(|(_, holds)| *holds);
            let notes: Vec<&str> = notes.map(|(note, _)| *note).collect();
            vec![
                access.alias.clone(),
                access.access.to_string(),
                access.key.clone().unwrap_or_default(),
                access.used_key_parts.join(", "),
                figure(access.rows),
                notes.join(", "),
            ]
        })
        .collect();
    let steps = [
        ("sort", plan.filesort),
        ("temporary table", plan.temporary_table),
    ];
    let steps = steps.iter().filter(|(_, holds)| *holds);
    let blank = |text: &str| {
        let mut row = vec![String::new(); table.columns.len()];
        row[0] = text.to_owned();
        row
    };
    let steps: Vec<Vec<String>> = steps.map(|(step, _)| blank(step)).collect();
    table.rows.extend(steps);
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

/// Candidates that are not handed over, and what was not tried, each with its reason.
fn rejected(advice: &Advice) -> Option<Section> {
    let judged = advice.screened.judged.iter();
    let judged = judged.filter(|one| one.fate != Fate::Chosen);
    let judged = judged.map(|one| vec![one.candidate.to_string(), one.fate.to_string()]);
    let not_tried = advice.not_tried.iter();
    let not_tried = not_tried.map(|one| vec![one.to_string(), one.reason.to_string()]);
    let mut table = Table::new(
        "Candidates that are not handed over",
        &[("Candidate", false), ("Reason", false)],
    );
    table.rows = judged.chain(not_tried).collect();
    table.long = true;
    (!table.rows.is_empty()).then(|| Section::from(table).named("candidates"))
}

fn why(digest: &DigestAdvice) -> String {
    if let Some(words) = &digest.refused {
        return format!("not counted: {words}");
    }
    let causes: Vec<String> = digest.causes.iter().map(ToString::to_string).collect();
    match causes.is_empty() {
        true => no_cause(digest).to_owned(),
        false => causes.join("; "),
    }
}

fn short(digest: &DigestAdvice) -> &str {
    digest.digest.get(..8).unwrap_or(&digest.digest)
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), figure)
}

fn in_one_line(text: &str) -> String {
    let mut line: String = (text.chars().take(TEXT))
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().count() > TEXT {
        line.push('…');
    }
    line
}
