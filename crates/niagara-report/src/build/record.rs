//! What a colleague needs to check and to repeat it: command, machine, variants, events.

use niagara_model::{Event, EventRecord, VariantRecord};
use serde_json::Value;

use crate::document::{Block, Column, Depth, Facts, Folded, Section, Table};
use crate::flat::flat;
use crate::{Report, Sides, node_account, number};

pub(super) fn sections(report: &Report) -> Vec<Section> {
    vec![
        nodes_held(report),
        repeat(report),
        variants(report),
        Section::new(Depth::Page, "The machine").with(Block::Folded(Folded {
            title: "The machine that measured, as its kernel describes it".to_owned(),
            detail: String::new(),
            open: false,
            inner: Section::new(Depth::Every, "").with(tree(&report.study.machine)),
        })),
        Section::new(Depth::Page, "").with(Block::Folded(Folded {
            title: "The plan".to_owned(),
            detail: String::new(),
            open: false,
            inner: Section::new(Depth::Every, "").with(tree(&report.study.plan)),
        })),
        events(report),
    ]
}

fn repeat(report: &Report) -> Section {
    let study = &report.study;
    let mut section = Section::new(Depth::Long, "To repeat it")
        .named("repeat")
        .with(Block::Code(study.command.clone()))
        .with(Block::Note(format!(
            "Seed {seed} (`--seed {seed}` draws the same order), Niagara {}, begun {}.",
            study.niagara_version,
            number::moment(study.started_unix_ms),
            seed = study.seed,
        )));
    let (judged, screened) = report.judged_and_screened();
    match started_alike(&judged) {
        Some(both) => section = section.with_at(Depth::Text, both),
        None => {
            for variant in judged {
                section = section.with_at(Depth::Text, launched(variant, false, None));
            }
        }
    }
    if screened.is_empty() {
        return section;
    }
    let rest = format!(
        "and {} of the screening and the search: report.html has their commands, results.db all of them",
        screened.len()
    );
    section.with_at(Depth::Text, Block::Note(rest))
}

/// One block for two variants whose servers are started by the same command.
fn started_alike(judged: &[&VariantRecord]) -> Option<Block> {
    let [a, b] = judged else {
        return None;
    };
    if (&a.command, &a.server_version) != (&b.command, &b.server_version) {
        return None;
    }
    let connect_by = |transport| [a, b].map(|variant| connects_by(transport, &variant.content));
    let words = match (connect_by("unix"), connect_by("tls")) {
        ([false, true], [false, false]) => {
            "The server is started alike on both sides; B's client connects through the Unix socket."
        }
        (_, [false, true]) => {
            "The server is started alike on both sides, but for B's certificate: its client connects with TLS."
        }
        (_, [true, false]) => {
            "The server is started alike on both sides, but for A's certificate: its client connects with TLS."
        }
        _ => "The server is started alike on both sides.",
    };
    Some(Block::Folded(Folded {
        title: "Both servers".to_owned(),
        detail: a.server_version.clone(),
        open: false,
        inner: Section::new(Depth::Every, "")
            .with(Block::Code(a.command.clone()))
            .with(Block::Note(words.to_owned())),
    }))
}

/// Whether a variant's content says, anywhere, that its clients use this transport.
fn connects_by(transport: &str, content: &Value) -> bool {
    match content {
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            (name == "transport" && value == transport) || connects_by(transport, value)
        }),
        Value::Array(values) => values.iter().any(|value| connects_by(transport, value)),
        _ => false,
    }
}

fn variants(report: &Report) -> Section {
    let (judged, screened) = report.judged_and_screened();
    let mut section = Section::new(Depth::Page, "Variants as launched");
    for variant in &judged {
        section = section.with(launched(
            variant,
            judged.len() <= 2,
            Some(tree(&variant.content)),
        ));
    }
    if screened.is_empty() {
        return section;
    }
    let count = number::count(screened.len(), "variant");
    let mut inner = Section::new(Depth::Every, "");
    // Label and command say all of their content.
    for variant in screened {
        inner = inner.with(launched(variant, false, None));
    }
    section.with(Block::Folded(Folded {
        title: format!("{count} of the screening"),
        detail: String::new(),
        open: false,
        inner,
    }))
}

/// A variant's command, and its `content` where it is shown field by field.
fn launched(variant: &VariantRecord, open: bool, content: Option<Block>) -> Block {
    let command = Section::new(Depth::Every, "").with(Block::Code(variant.command.clone()));
    Block::Folded(Folded {
        title: variant.label.clone(),
        detail: variant.server_version.clone(),
        open,
        inner: command.with_some(content),
    })
}

/// Every second that a node was held.
fn nodes_held(report: &Report) -> Section {
    let section = Section::new(Depth::Long, "What nodes were held for");
    let Some(account) = &report.nodes_held else {
        return section;
    };
    let rows = node_account::rows(account).into_iter();
    let rows = rows.map(|(name, seconds)| (name.to_owned(), format!("{seconds} s")));
    let section = section
        .with(Block::Note(format!(
            "{}, {:.0} % of the seconds under load in duels that count.",
            number::count(account.workers, "worker"),
            100.0 * account.seconds.share_of_load()
        )))
        .with_some(Facts::short(rows.collect()));
    match node_account::troubles(account) {
        none if none.is_empty() => section,
        troubles => section.with(Block::List(troubles)),
    }
}

fn events(report: &Report) -> Section {
    let heading = "Other events";
    let section = Section::new(Depth::Page, heading);
    let columns = ["When", "What", "Details"].map(|name| (name, Column::Words));
    let mut table = Table::of(heading, &columns);
    let is_told = Sides::of(report).is_some_and(|sides| sides.start.is_some());
    for EventRecord { unix_ms, event } in &report.events {
        if is_told && matches!(event, Event::StartSettings { .. }) {
            continue;
        }
        if let Some((what, details)) = event.words() {
            table
                .rows
                .push(vec![number::moment(*unix_ms), what.to_owned(), details]);
        }
    }
    match table.rows.is_empty() {
        true => section,
        false => section.with(Block::Table(table)),
    }
}

/// JSON of any shape, flat: `cpu › model  Xeon …`.
fn tree(value: &Value) -> Block {
    let nothing = || Block::Note("Nothing recorded.".to_owned());
    Facts::short(flat(value)).unwrap_or_else(nothing)
}
