//! A checkup as a page: one file, no network, light and dark, readable on a phone.

use maud::{Markup, html as markup};
use niagara_report::number::{grouped, percent};

use crate::finding::Level;
use crate::proof::{Proof, pack, tune};
use crate::report::{Checkup, Line};
use crate::words;

/// The page.
pub fn html(checkup: &Checkup, version: &str) -> String {
    let title = words::busy(&checkup.time);
    let (worst, rest): (Vec<_>, Vec<_>) = checkup
        .findings
        .iter()
        .partition(|line| line.level <= Level::Fault);
    let body = markup! {
        header {
            p.masthead { span { "Niagara checkup" } span { (checkup.address) } }
            h1 { (title) }
            p.lead { (words::server(&checkup.server, checkup.host.as_ref())) ". " (words::busy_figures(&checkup.time)) "." }
            @if !worst.is_empty() {
                div.warnings {
                    h2 { "At risk or failing" }
                    ul { @for line in &worst { li { (line.text) } } }
                }
            }
        }
        section {
            h2 { "Findings" }
            @if checkup.findings.is_empty() { p { "No finding." } }
            dl.reasons { @for line in worst.iter().chain(&rest) { (finding(line)) } }
        }
        (statements(checkup))
        @if !checkup.gaps.is_empty() {
            section {
                h2 { "Not read" }
                ul { @for gap in &checkup.gaps { li { (words::gap(gap)) } } }
            }
        }
        section {
            details {
                summary { "Settings: " (words::levers(&checkup.levers)) }
                dl.facts {
                    @for lever in &checkup.levers {
                        div { dt { (lever.lever) } dd { (words::lever_state(&lever.state)) } }
                    }
                }
            }
        }
        section {
            h2 { "To prove a line" }
            p { (words::HOW_TO_PROVE) }
            pre { code { (pack(&checkup.ground)) "\n" (Proof::Advise.command(&checkup.ground)) "\n" (tune(&checkup.ground)) } }
        }
    };
    niagara_report::html_page(&title, version, &body, "from what the server showed")
}

fn finding(line: &Line) -> Markup {
    markup! {
        div {
            dt { strong { (words::level(line.level)) } " " (line.text) }
            dd {
                p { (line.why) " " span.small { "(" (line.evidence) ")" } }
                @if let Some(remedy) = &line.remedy { p { "To fix it: " (words::remedy(remedy)) } }
                p { (words::shows_on_page(line.shows)) }
                pre { code { (line.proof) } }
            }
        }
    }
}

fn statements(checkup: &Checkup) -> Markup {
    markup! {
        @if let Some(statements) = &checkup.statements {
            section {
                h2 { "Statements by time, since the start" }
                dl.reasons {
                    @for digest in &statements.digests {
                        div {
                            dt { code { (words::shortened(&digest.text, 200)) } }
                            dd {
                                (percent(digest.seconds / statements.seconds)) " of the time, "
                                (grouped(digest.count)) " executions of "
                                (format!("{:.1}", digest.seconds * 1000.0 / digest.count.max(1.0))) " ms, "
                                (grouped(words::rows_each(digest))) " rows read for each that is returned"
                            }
                        }
                    }
                }
            }
        }
    }
}
