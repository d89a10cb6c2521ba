//! A record as a page.

use std::fmt::Write;

use niagara_model::number::interval_in;
use niagara_stats::{Estimate, outwards};

use super::record::{Figure, Machine, Record, Row, Run, Table};

/// The page of one record.
pub fn page(record: &Record) -> String {
    let mut page = format!(
        "<!-- Rendered from {0}.json by `make docs-results`. -->\n# {1}\n\n{2}\n",
        record.id,
        record.title,
        sentences(&record.finding, &record.found)
    );
    let study = record
        .study
        .as_ref()
        .map(|study| format!(" Study: [{study}](../../{study})."))
        .unwrap_or_default();
    let then = record
        .published
        .as_ref()
        .map(|then| format!(" Published earlier: {then}."))
        .unwrap_or_default();
    let (told, silent): (Vec<&Run>, Vec<&Run>) = record
        .runs
        .iter()
        .filter(|run| run.only_in_record)
        .partition(|run| !run.found.is_empty());
    let counted = match silent.len() {
        0 => String::new(),
        1 => ", with a further run".to_owned(),
        many => format!(", with {many} further runs"),
    };
    let _ = writeln!(
        page,
        "\n[Record]({0}.json){counted}.{study}{then}",
        record.id
    );
    let mut before = Vec::new();
    for run in record.runs.iter().filter(|run| !run.only_in_record) {
        let facts = facts(run);
        page.push_str(&section(run, &facts, &before));
        before = facts;
    }
    if !told.is_empty() {
        page.push_str("\n## Further runs, in the record\n\n");
        for run in told {
            let _ = writeln!(page, "- {}: {}", run.title, run.found.join(" "));
        }
    }
    if !record.not_measured.is_empty() {
        let _ = write!(
            page,
            "\n## Not measured\n\n{}\n",
            record.not_measured.join(" ")
        );
    }
    page
}

/// The table of all findings.
pub fn overview(records: &[Record]) -> String {
    let mut page = "<!-- Rendered from the records by `make docs-results`. -->\n# What was measured\n\n\
        Each page names the machine and, where they were kept, commands and seeds. Its record (JSON, [schema](schema.json)) has every figure, method, checks and all notes.\n\
        \"Added\": the day the figures entered the repository.\n\
        All machines are virtual, not all the same, with 2 CPUs that server and load generator share.\n\
        Ratios (B over A) are medians over duels, not quotients of columns; brackets hold 95 % intervals, with exceptions. A tuning's total, CPU time and latency have 90 % (one-sided 95 %), its proven levers 90 % or more.\n\
        The rungs of a ladder [share 5 %](../methodology.md#proof): their intervals are wider, the total's is of 95 %.\n\n\
        |result|finding|published earlier|\n|---|---|---|\n"
        .to_owned();
    for record in records {
        let _ = writeln!(
            page,
            "|[{}]({}.md)|{}|{}|",
            record.title,
            record.id,
            record.finding,
            record.published.as_deref().unwrap_or_default()
        );
    }
    page.push_str(
        "\n## Not measured\n\n\
         - Gains with clients on CPUs of their own: `placement=apart` takes three CPUs.\n\
         - A load from [another machine](../two-machines.md) over a real network.\n\
         - More than two CPUs.\n\
         - Most of the [studies](../studies.md) `compiler-versions.toml`, `compiler-pairs.toml` and `inlined-functions.toml`.\n\
         - Servers outside of Debian's archive, such as Oracle's binaries of MySQL.\n",
    );
    page
}

fn sentences(first: &str, rest: &[String]) -> String {
    std::iter::once(first)
        .chain(rest.iter().map(String::as_str))
        .collect::<Vec<_>>()
        .join(" ")
}

fn section(run: &Run, facts: &[Fact], before: &[Fact]) -> String {
    let mut text = format!("\n## {}\n", run.title);
    if !facts.is_empty() {
        text.push('\n');
    }
    for fact in facts {
        let (name, shown) = fact;
        let shown = if before.contains(fact) {
            "as above"
        } else {
            shown
        };
        let _ = writeln!(text, "- {name}: {shown}");
    }
    if !run.commands.is_empty() {
        let _ = write!(text, "\n```\n{}\n```\n", run.commands.join("\n"));
    }
    for table in run.tables.iter().filter(|table| !table.only_in_record) {
        text.push_str(&table_text(table));
    }
    text.push_str(&only_in_record(&run.tables));
    if !run.found.is_empty() {
        let _ = write!(text, "\n{}\n", run.found.join(" "));
    }
    if !run.not_measured.is_empty() {
        let _ = write!(text, "\nNot measured: {}\n", run.not_measured.join(" "));
    }
    text
}

/// A condition of a run, by name.
type Fact = (&'static str, String);

/// The conditions of a run, as far as they were noted.
fn facts(run: &Run) -> Vec<Fact> {
    let mut load = run.workloads.clone();
    load.extend(run.data.clone());
    match run.threads.as_slice() {
        [] => {}
        [one] => load.push(format!("{one} thread{}", if *one == 1 { "" } else { "s" })),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(u32::to_string).collect();
            load.push(format!("{} and {last} threads", first.join(", ")));
        }
    }
    load.extend(run.transport.clone());
    let mut machine: Vec<String> = run.machine.iter().map(machine_text).collect();
    machine.extend(run.conditions.clone());
    let shown = run.commands.join(" ");
    let seeds: Vec<u64> = run
        .seeds
        .iter()
        .copied()
        .filter(|seed| !shown.contains(&format!("seed {seed}")))
        .collect();
    let further = match seeds.len() == run.seeds.len() {
        true => "Seed",
        false => "Further seeds",
    };
    let mut time: Vec<String> = run.time.iter().cloned().collect();
    time.extend(
        run.spread
            .iter()
            .map(|spread| format!("standard deviation of a duel {spread}")),
    );
    [
        ("Servers", run.servers.join("; ")),
        ("Baseline", run.baseline.clone().unwrap_or_default()),
        ("Load", load.join(", ")),
        ("Machine", machine.join("; ")),
        ("Time", time.join("; ")),
        (further, seeds_text(&seeds)),
        ("Added", run.date.clone().unwrap_or_default()),
    ]
    .into_iter()
    .filter(|(_, fact)| !fact.is_empty())
    .collect()
}

/// Three and more that follow one another are a range.
fn seeds_text(seeds: &[u64]) -> String {
    seeds
        .chunk_by(|seed, next| seed.checked_add(1) == Some(*next))
        .flat_map(|row| match row {
            [first, _, .., last] => vec![format!("{first} to {last}")],
            few => few.iter().map(u64::to_string).collect(),
        })
        .collect::<Vec<_>>()
        .join(", ")
}

fn machine_text(machine: &Machine) -> String {
    let mut text = format!(
        "{}, {} {}CPUs",
        machine.cpu,
        machine.cpus,
        if machine.virtual_machine {
            "virtual "
        } else {
            ""
        }
    );
    for fact in [&machine.memory, &machine.system, &machine.kernel]
        .into_iter()
        .flatten()
    {
        let _ = write!(text, ", {fact}");
    }
    text
}

/// The names of the tables whose rows stand in the record alone.
fn only_in_record(tables: &[Table]) -> String {
    let named = |table: &Table| {
        let title = table.title.as_ref().or(table.over.as_ref());
        format!("- {}\n", capital(title.unwrap_or(&table.rows_are)))
    };
    let left = tables.iter().filter(|table| table.only_in_record);
    let names: String = left.map(named).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("\nIn the record:\n\n{names}"),
    }
}

fn table_text(table: &Table) -> String {
    let mut text = String::from("\n");
    let mut caption: Vec<String> = table.title.iter().cloned().collect();
    caption.extend(table.over.iter().map(|over| format!("ratios over {over}")));
    caption.extend(
        table
            .confidence
            .iter()
            .map(|confidence| format!("intervals: {confidence}")),
    );
    if !caption.is_empty() {
        let _ = writeln!(text, "{}:\n", capital(&caption.join("; ")));
    }
    let any = |has: fn(&Row) -> bool| table.rows.iter().any(has);
    /// A further column: its name, and its text in a row.
    type Column = (&'static str, fn(&Row) -> String);
    let extra: Vec<Column> = [
        (
            any(|row| row.verdict.is_some()),
            "verdict",
            (|row| row.verdict.clone().unwrap_or_default()) as fn(&Row) -> String,
        ),
        (any(|row| row.n.is_some()), "n", |row| {
            row.n.map(|n| n.to_string()).unwrap_or_default()
        }),
        (any(|row| row.note.is_some()), "note", |row| {
            row.note.clone().unwrap_or_default()
        }),
    ]
    .into_iter()
    .filter(|(used, ..)| *used)
    .map(|(_, name, cell)| (name, cell))
    .collect();
    let names = std::iter::once(table.rows_are.as_str())
        .chain(table.columns.iter().map(String::as_str))
        .chain(extra.iter().map(|(name, _)| *name));
    let head = names.collect::<Vec<_>>().join("|");
    let rule = vec!["---"; 1 + table.columns.len() + extra.len()].join("|");
    let _ = writeln!(text, "|{head}|\n|{rule}|");
    for row in &table.rows {
        let cells = std::iter::once(row.name.clone())
            .chain(
                table
                    .columns
                    .iter()
                    .map(|column| row.figures.get(column).map(figure).unwrap_or_default()),
            )
            .chain(extra.iter().map(|(_, cell)| cell(row)));
        let _ = writeln!(text, "|{}|", cells.collect::<Vec<_>>().join("|"));
    }
    text
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

fn figure(figure: &Figure) -> String {
    let unit = figure
        .unit
        .as_ref()
        .map(|unit| format!(" {unit}"))
        .unwrap_or_default();
    let mut text = match (figure.ratio, figure.value) {
        (Some(ratio), _) => format!("× {}", number(ratio, figure.decimals)),
        (None, Some(value)) => format!("{}{unit}", number(value, figure.decimals)),
        (None, None) => String::new(),
    };
    if let Some(low) = figure.low {
        let ends = [low, figure.high.unwrap_or(f64::INFINITY)];
        let interval = match figure.ratio {
            Some(ratio) => interval_in(
                &Estimate {
                    ratio,
                    low,
                    high: ends[1],
                },
                figure.decimals,
            ),
            None => {
                let [low, high] =
                    outwards(ends, figure.decimals).map(|end| match end.is_finite() {
                        true => number(end, figure.decimals),
                        false => "∞".to_owned(),
                    });
                format!("[{low}, {high}]")
            }
        };
        let _ = write!(text, " {interval}");
    }
    if let Some(words) = &figure.text {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(words);
    }
    text
}

/// A number with its digits, and a comma before every three of them from ten thousand on.
fn number(number: f64, decimals: usize) -> String {
    let plain = format!("{number:.decimals$}");
    let (whole, rest) = plain.split_once('.').unwrap_or((&plain, ""));
    if whole.len() < 5 {
        return plain;
    }
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if rest.is_empty() {
        grouped
    } else {
        format!("{grouped}.{rest}")
    }
}
