//! A comparison of two variants.

use niagara_model::{CompareSummary, SeriesOfRuns};

use super::{Own, decisive, lesser_in_short, upgrade};
use crate::document::{Block, Claim, Column, Depth, Figure, Section, Table};
use crate::{Sides, chart, number, wording};

pub(super) fn own(compare: &CompareSummary, sides: Option<&Sides>) -> Own {
    if let Some(runs) = &compare.runs {
        return series(compare, runs);
    }
    let comparison = &compare.comparison;
    let main = decisive(comparison, &compare.header);
    let main = Claim {
        title: format!("{}, B over A", main.title),
        note: String::new(),
        ..main
    };
    let verdict = Section::new(Depth::Brief, "").with(Block::Claims(vec![main]));
    Own {
        pictures: vec![picture(compare)],
        claims: vec![verdict, lesser_in_short(comparison, sides)],
        tables: compare.upgrade.iter().flat_map(upgrade::sections).collect(),
        facts: facts_in_short(compare),
        method: (compare.header.protocol == "duel").then(|| METHOD.to_owned()),
        ..Own::default()
    }
}

/// The protocol of 2008: its runs and their means, and nothing that would need an interval.
fn series(compare: &CompareSummary, runs: &SeriesOfRuns) -> Own {
    Own {
        tables: vec![Section::from(runs_table(runs))],
        facts: facts_in_short(compare),
        method: Some(METHOD_OF_SERIES.to_owned()),
        ..Own::default()
    }
}

fn runs_table(runs: &SeriesOfRuns) -> Table {
    let count = runs.tps.iter().map(Vec::len).max().unwrap_or(0);
    let numbers: Vec<String> = (1..=count).map(|run| format!("run {run}")).collect();
    let mut columns = vec![("", Column::Words)];
    columns.extend(numbers.iter().map(|name| (name.as_str(), Column::Figures)));
    columns.push(("mean of the middle three", Column::Figures));
    let mut table = Table::of("Transactions per second", &columns);
    for ((name, tps), mean) in ["A", "B"].into_iter().zip(&runs.tps).zip(runs.means()) {
        let mut row = vec![name.to_owned()];
        row.extend(tps.iter().map(|tps| number::rate(*tps)));
        row.resize(count + 1, number::NOTHING.to_owned());
        row.push(number::rate(mean));
        table.rows.push(row);
    }
    table
}

fn picture(compare: &CompareSummary) -> Section {
    let picture = chart::comparison(&compare.comparison);
    let figure = picture.map(|picture| {
        Block::Figure(Figure {
            title: String::new(),
            picture,
            caption: "Each with its interval; the first is what was decided by. Of CPU and latency lower is better.".to_owned(),
        })
    });
    Section::new(Depth::Page, "B over A").with_some(figure)
}

/// Who they are, and how it was measured.
fn facts_in_short(compare: &CompareSummary) -> Vec<(String, String)> {
    let (header, comparison) = (&compare.header, &compare.comparison);
    let judged = comparison.judged();
    let unit = niagara_model::unit(&header.protocol);
    let duels = number::count(judged.duels, unit);
    let mut evidence = format!("{duels}, {}", wording::error_probability(judged));
    if let (None, Some(next)) = (judged.verdict, judged.next_look) {
        evidence += &format!(", judged next after {}", number::count(next, unit));
    }
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    fact("A", comparison.a.clone());
    fact("B", comparison.b.clone());
    match compare.runs {
        Some(_) => fact("runs", "one series of each, after fresh starts".to_owned()),
        None => fact("evidence", evidence),
    }
    for (name, value) in wording::builds(&header.builds) {
        fact(&name, value);
    }
    if let Some(encryption) = wording::encryption(comparison) {
        fact("TLS", encryption);
    }
    if let Some(nodes) = wording::nodes(comparison) {
        fact("nodes", nodes);
    }
    let effect = match compare.runs {
        Some(_) => "is part of the difference",
        None => wording::WIDENS,
    };
    if let Some(taken) = wording::others_took(comparison, effect) {
        fact("others", taken);
    }
    fact(
        "time",
        format!("{}; seed {}", wording::time(header), header.seed),
    );
    facts
}

const METHOD_OF_SERIES: &str = "The protocol of 2008: five runs of A, then five of B, each after a fresh start; of either the best and the \
    worst are dropped and the other three averaged. What the machine does meanwhile is part of the difference.";

const METHOD: &str = "A and B are alive at once on identical data; the load moves between them in short slices, in random order, while \
    the idle one is frozen. Two neighbouring slices, one of each, are a couple; usually 4 to 40 couples after a fresh start of both \
    servers are a duel. A duel gives one figure, and duels are what the interval is made from. It holds for this machine and this \
    workload.";
