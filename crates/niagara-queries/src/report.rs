//! An advice on one screen of a terminal, the finding first.

use std::fmt::Write as _;

use niagara_stats::Estimate;

use crate::advice::{Advice, DigestAdvice};
use crate::catalog::parts_in_words;
use crate::fate::Fate;
use crate::schema;
use crate::words::{
    application_remedy, counted, headline, index_size, interval, is_hidden, no_cause, number,
    percent, span, statistics,
};

/// Statements that are shown.
const STATEMENTS: usize = 6;
/// Indexes that are shown, chosen and rejected ones.
const INDEXES: usize = 10;
const REJECTED: usize = 3;
const DROPS: usize = 5;
const SETTINGS: usize = 3;
const RATIOS: usize = 4;
const REMEDIES: usize = 4;
/// Characters of a statement that are shown.
const TEXT: usize = 84;

/// The advice as text; `folder` is where its files are, where there are some.
pub fn text(advice: &Advice, folder: Option<&str>) -> String {
    let mut out = headline(advice) + "\n";
    statements(advice, &mut out);
    indexes(advice, &mut out);
    proof(advice, &mut out);
    settings(advice, &mut out);
    drops(advice, &mut out);
    remedies(advice, &mut out);
    out.push('\n');
    for caution in &advice.cautions {
        let _ = writeln!(out, "{caution}");
    }
    if let Some(folder) = folder {
        let _ = writeln!(out, "report:  {folder}/report.html");
    }
    let mut files = Vec::new();
    if schema::has_schema(advice) {
        files.push("schema.sql, undo.sql, watch.sql");
    }
    if advice.proven_setting().is_some() {
        files.push("optimizer.cnf");
    }
    match (folder, files.is_empty()) {
        (_, true) => out.push_str("deploy:  nothing, for there is nothing to hand over\n"),
        (Some(folder), false) => {
            let _ = writeln!(
                out,
                "deploy:  {folder}/deploy: {}. Niagara applies nothing.",
                files.join(", ")
            );
        }
        (None, false) => {}
    }
    out
}

fn one_line(text: &str) -> String {
    let mut line: String = text
        .chars()
        .take(TEXT)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().count() > TEXT {
        line.push('…');
    }
    line
}

fn statements(advice: &Advice, out: &mut String) {
    let _ = writeln!(
        out,
        "\n  share      count  rows read   pages  returned  statement, and why it costs that"
    );
    for digest in advice.digests.iter().take(STATEMENTS) {
        let work = digest.work.unwrap_or_default();
        let shown = |value: f64| match digest.work {
            Some(_) => number(value),
            None => "-".to_owned(),
        };
        let _ = writeln!(
            out,
            "{:>7} {:>10} {:>10} {:>7} {:>9}  {} {}",
            percent(digest.share),
            digest.count,
            shown(work.rows),
            shown(work.pages),
            digest.rows_returned.map_or("-".to_owned(), number),
            &digest.digest[..digest.digest.len().min(8)],
            one_line(&digest.text)
        );
        let _ = writeln!(out, "{:49}{}", "", why(digest));
    }
    if advice.digests.len() > STATEMENTS {
        let _ = writeln!(
            out,
            "{:>7} {} more, in advice.json",
            "",
            advice.digests.len() - STATEMENTS
        );
    }
}

fn why(digest: &DigestAdvice) -> String {
    if let Some(words) = &digest.refused {
        return format!("not counted: {}", one_line(words));
    }
    match digest.causes.first() {
        Some(cause) => cause.to_string(),
        None => no_cause(digest).to_owned(),
    }
}

fn indexes(advice: &Advice, out: &mut String) {
    let screened = &advice.screened;
    let chosen: Vec<_> = screened.chosen().collect();
    let rejected: Vec<_> = screened
        .judged
        .iter()
        .filter(|one| one.fate != Fate::Chosen)
        .collect();
    let tried = screened.judged.len();
    let _ = writeln!(
        out,
        "\nIndexes: {} of {} that were built on the copy and counted",
        chosen.len(),
        counted(tried as u64, "candidate")
    );
    let work = screened.work_before.max(1.0);
    for one in chosen.iter().take(INDEXES) {
        let made = match one.candidate.hidden {
            Some(_) => is_hidden(&one.candidate.name),
            None => format!(
                "built in {}, {}",
                span(one.build_seconds.unwrap_or(0.0)),
                index_size(one.bytes)
            ),
        };
        let _ = writeln!(
            out,
            "  {}{}: without it {} of the work comes back; writes take {} more; {made}",
            one.candidate.table,
            parts_in_words(&one.candidate.parts),
            percent(one.saves / work),
            percent(one.costs / work)
        );
    }
    if chosen.len() > INDEXES {
        let _ = writeln!(out, "  {} more, in schema.sql", chosen.len() - INDEXES);
    }
    for one in rejected.iter().take(REJECTED) {
        let _ = writeln!(
            out,
            "  not {}{}: {}",
            one.candidate.table,
            parts_in_words(&one.candidate.parts),
            one.fate
        );
    }
    if rejected.len() > REJECTED {
        let _ = writeln!(
            out,
            "  and not {} more: advice.json has the reason of each",
            rejected.len() - REJECTED
        );
    }
}

/// What duels showed, slower statements first.
fn proof(advice: &Advice, out: &mut String) {
    let Some(proof) = &advice.proof else {
        return;
    };
    let (name, trial) = match &proof.handed_over {
        Some(trial) => ("what is handed over", trial),
        None => ("the set", &proof.set),
    };
    let shown = |estimate: &Option<Estimate>| estimate.as_ref().map_or("-".to_owned(), interval);
    let _ = writeln!(
        out,
        "Duels, {name} over {} ({}): throughput {}, CPU a transaction {}, p99 {}",
        match advice.statistics.is_empty() {
            true => "the start",
            false => "fresh statistics",
        },
        trial.duels,
        interval(&trial.throughput),
        shown(&trial.cpu),
        shown(&trial.p99)
    );
    for digest in proof.digests.iter().take(RATIOS) {
        let _ = writeln!(
            out,
            "  time {} of {} {}",
            interval(&digest.time),
            &digest.digest[..digest.digest.len().min(8)],
            one_line(&digest.text)
        );
    }
    if proof.digests.len() > RATIOS {
        let _ = writeln!(
            out,
            "  {} more, in advice.json",
            proof.digests.len() - RATIOS
        );
    }
}

/// Settings of the optimizer that save work with the set there.
fn settings(advice: &Advice, out: &mut String) {
    let settings = &advice.screened.settings;
    for one in settings.iter().take(SETTINGS) {
        let _ = writeln!(out, "Optimizer: {one}");
    }
    if settings.len() > SETTINGS {
        let _ = writeln!(out, "  {} more, in advice.json", settings.len() - SETTINGS);
    }
}

fn drops(advice: &Advice, out: &mut String) {
    for line in statistics(advice) {
        let _ = writeln!(out, "Statistics: {line}");
    }
    let drops: Vec<_> = advice.superfluous().collect();
    if !drops.is_empty() {
        let _ = writeln!(
            out,
            "Can go, by a capture of {}:",
            span(advice.capture_seconds)
        );
        for drop in drops.iter().take(DROPS) {
            let _ = writeln!(out, "  {}: {}", drop.title(), drop.reason);
        }
        if drops.len() > DROPS {
            let _ = writeln!(out, "  {} more, in schema.sql", drops.len() - DROPS);
        }
    }
    match advice.unseen().count() {
        0 => {}
        unseen => {
            let _ = writeln!(
                out,
                "Not used within {}: {} (advice.json names them; capture a day to judge them)",
                span(advice.capture_seconds),
                counted(unseen as u64, "index")
            );
        }
    }
    for table in &advice.tables {
        let _ = writeln!(out, "Table: {table}");
    }
}

/// What only the application can change, for statements that the set leaves as they are.
fn remedies(advice: &Advice, out: &mut String) {
    let helped = |digest: &DigestAdvice| {
        let effect = advice
            .screened
            .effects
            .iter()
            .find(|effect| effect.digest == digest.digest);
        effect.is_some_and(|effect| effect.after.total() < 0.5 * effect.before.total())
    };
    let remedies: Vec<String> = (advice.digests.iter())
        .filter(|digest| !helped(digest))
        .filter_map(|digest| {
            let cause = digest.causes.first()?;
            Some(format!(
                "  {}: {cause}: {}",
                &digest.digest[..digest.digest.len().min(8)],
                application_remedy(cause)?
            ))
        })
        .take(REMEDIES)
        .collect();
    if !remedies.is_empty() {
        let _ = writeln!(out, "For the application:\n{}", remedies.join("\n"));
    }
}
