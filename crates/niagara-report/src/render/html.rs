//! A document as one page: no network, no other file, no script; light and dark, screen and paper.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use niagara_stats::Estimate;

use crate::document::{
    Block, Claim, Column, Document, Extent, Facts, Figure, Section, Table, Tone, Way,
};
use crate::{chart, ladder, number};

const STYLE: &str = include_str!("style.css");

/// The whole document.
pub(crate) fn page(document: &Document) -> String {
    let sections: Vec<&Section> = document.sections(Extent::Page).collect();
    let first = sections.iter().position(|section| section.id.is_some());
    let (above, below) = sections.split_at(first.unwrap_or(sections.len()));
    let body = html! {
        header {
            p.masthead { @for part in &document.masthead { span { (part) } } }
            h1 { (number::unbroken(document.introduction.title())) }
            @for paragraph in document.introduction.beneath_title() {
                p.lead { (with_code(paragraph)) }
            }
            @for (depth, lead) in &document.lead {
                @if depth.is_for(Extent::Page) { p.lead { (lead) } }
            }
            (warnings(&document.warnings))
        }
        @for section in above { (part(section)) }
        (contents(below))
        @for section in below { (part(section)) }
    };
    html_page(
        document.introduction.title(),
        &document.version,
        &body,
        document.source,
    )
}

/// A page around `body`, which `source` says the origin of.
pub fn html_page(title: &str, version: &str, body: &Markup, source: &str) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "Niagara " (version) };
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (hatching())
                main { (body) }
                footer { p { "Niagara " (version) ", " (source) "." } }
            }
        }
    }
    .into_string()
}

/// The pattern of bars that are not proven, for all charts.
fn hatching() -> Markup {
    html! {
        svg.patterns width="0" height="0" aria-hidden="true" {
            defs {
                pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    line.hatch x1="0" x2="0" y1="0" y2="6" {}
                }
            }
        }
    }
}

fn warnings(warnings: &[String]) -> Markup {
    html! {
        @if !warnings.is_empty() {
            aside.warnings role="note" {
                h2 { "Before you believe the rest" }
                ul { @for warning in warnings { li { (with_code(warning)) } } }
            }
        }
    }
}

/// Where the rest is, for those who read further.
fn contents(sections: &[&Section]) -> Markup {
    html! {
        @if sections.iter().any(|section| section.id.is_some()) {
            nav.contents aria-label="Contents" {
                span { "For engineers:" }
                @for section in sections {
                    @if let Some(id) = section.id { " " a href={ "#" (id) } { (section.heading) } }
                }
            }
        }
    }
}

fn part(section: &Section) -> Markup {
    html! {
        section id=[section.id] {
            @if !section.heading.is_empty() { h2 { (section.heading) } }
            (blocks(section))
        }
    }
}

fn blocks(section: &Section) -> Markup {
    html! { @for each in section.blocks(Extent::Page) { (block(each)) } }
}

fn block(block: &Block) -> Markup {
    match block {
        Block::Text(text) => html! { p { (with_code(text)) } },
        Block::Note(text) => html! { p.small { (with_code(text)) } },
        Block::List(lines) => html! { ul { @for line in lines { li { (line) } } } },
        Block::Facts(facts) => self::facts(facts),
        Block::Table(table) => self::table(table),
        Block::Way(way) => self::way(way),
        Block::Claims(claims) => tiles(claims),
        Block::Sides([a, b]) => html! {
            dl.sides {
                div { dt { span.key.a { "A" } } dd { (a) } }
                div { dt { span.key.b { "B" } } dd { (b) } }
            }
        },
        Block::Figure(figure) => self::figure(figure),
        Block::Code(code) => html! { pre { code { (unbroken_options(code)) } } },
        Block::Folded(folded) => html! {
            details open[folded.open] {
                summary {
                    (folded.title)
                    @if !folded.detail.is_empty() { " " span.small { (folded.detail) } }
                }
                (blocks(&folded.inner))
            }
        },
    }
}

fn facts(facts: &Facts) -> Markup {
    let class = match (facts.wide, facts.has_long_names()) {
        (false, _) => "facts",
        (true, false) => "reasons costs",
        (true, true) => "reasons",
    };
    html! {
        dl class=(class) {
            @for (name, value) in facts.titled() {
                div { dt { (name) } dd { (lines(value)) } }
            }
        }
    }
}

/// The first line, and a list of those below it.
fn lines(value: &str) -> Markup {
    let mut lines = value.lines();
    let first = lines.next().unwrap_or_default();
    let entries: Vec<&str> = lines.collect();
    html! {
        (with_code(first))
        @if !entries.is_empty() { ul { @for entry in entries { li { (with_code(entry)) } } } }
    }
}

fn way(way: &Way) -> Markup {
    html! {
        figure {
            (chart::waterfall(&way.steps))
            figcaption {
                @for note in &way.notes { (with_code(note)) " " }
                @if way.steps.iter().any(|step| !step.sure) { (ladder::HATCHED) }
            }
        }
    }
}

fn figure(figure: &Figure) -> Markup {
    html! {
        figure {
            @if !figure.title.is_empty() { h3 { (figure.title) } }
            (figure.picture)
            figcaption { (with_code(&figure.caption)) }
        }
    }
}

/// The first claim largest.
fn tiles(claims: &[Claim]) -> Markup {
    html! {
        div.tiles {
            @for claim in claims {
                @let tone = match claim.tone { Tone::Gain => "faster", Tone::Loss => "slower", Tone::Open => "open" };
                @let main = if claim.verdict.is_empty() { "" } else { " main" };
                div class={ "tile " (tone) (main) } {
                    p.name { (claim.title) }
                    (big(&claim.estimate))
                    p {
                        @if !claim.verdict.is_empty() { strong { (claim.verdict) } ", " }
                        (claim.note)
                    }
                }
            }
        }
    }
}

fn big(estimate: &Estimate) -> Markup {
    html! {
        p.figure {
            span.ratio { (number::ratio(estimate)) } " "
            span.interval { (number::interval(estimate)) }
        }
    }
}

fn table(table: &Table) -> Markup {
    html! {
        (scroll(&table.heading, html! { table {
            thead { tr {
                @for (name, column) in &table.columns {
                    // A heading without words would be read out as one.
                    @if name.is_empty() { td {} }
                    @else { th.number[*column == Column::Figures] scope="col" { (name) } }
                }
            } }
            tbody {
                @for (index, row) in table.rows.iter().enumerate() {
                    tr class=[table.strong.contains(&index).then_some("strong")] {
                        @for (text, (name, column)) in row.iter().zip(&table.columns) {
                            td.number[*column == Column::Figures] data-name=(name) { (cell(text, *column)) }
                        }
                    }
                }
            }
        } }))
    }
}

/// An option of at most so many bytes fits into a line of a telephone.
const SHORT_OPTION: usize = 30;

/// Text whose short options stay whole where a line ends: a browser would break `--seed` behind its first hyphen.
fn unbroken_options(text: &str) -> Markup {
    html! {
        @for word in text.split_inclusive([' ', '\n']) {
            @if word.trim_start_matches('(').starts_with("--") && word.len() <= SHORT_OPTION {
                span.option { (word.trim_end()) } (word[word.trim_end().len()..])
            } @else { (word) }
        }
    }
}

/// `content` that scrolls by itself where it is wider than the screen, with the keyboard too; `name` is what a screen reader
/// calls it.
fn scroll(name: &str, content: Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(name) { (content) }
    }
}

/// The first line, and smaller what stands beneath it.
fn cell(text: &str, column: Column) -> Markup {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    html! {
        @if column == Column::Code && !first.is_empty() { code { (with_breaks(first)) } } @else { (first) }
        @for line in lines.filter(|line| !line.is_empty()) { p.small { (with_code(line)) } }
    }
}

/// Letters of a word of code from which on it may be broken within.
const LONG_WORD: usize = 14;

/// Code whose long words may be broken behind their parts: `innodb_adaptive_hash_index_parts=64`.
fn with_breaks(code: &str) -> Markup {
    html! {
        @for word in code.split_inclusive(' ') {
            @if word.trim_end().chars().count() < LONG_WORD { (word) }
            @else {
                @for (place, part) in word.split_inclusive(['_', '=', ',', '/']).enumerate() {
                    @if place > 0 { wbr; }
                    (part)
                }
            }
        }
    }
}

/// Text in which code stands between backticks.
fn with_code(text: &str) -> Markup {
    let text = &number::unbroken(text);
    let is_paired = text.matches('`').count().is_multiple_of(2);
    html! {
        @if is_paired {
            @for (place, part) in text.split('`').enumerate() {
                @if place % 2 == 0 { (unbroken_options(part)) } @else { code { (unbroken_options(part)) } }
            }
        } @else { (unbroken_options(text)) }
    }
}
