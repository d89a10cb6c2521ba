//! What a colleague needs to check and to repeat it: command, machine, variants, events.

use maud::{Markup, html};
use niagara_store::VariantRecord;
use serde_json::Value;

use crate::flat::flat;
use crate::scroll::scroll;
use crate::{Report, node_account, number};

pub fn sections(report: &Report) -> Markup {
    html! {
        section #repeat {
            h2 { "To repeat it" }
            pre { code { (report.study.command) } }
            p.small {
                "Seed " (report.study.seed) ", Niagara " (report.study.niagara_version)
                ", begun " (number::moment(report.study.started_unix_ms)) "."
            }
        }
        (variants(report))
        (nodes_held(report))
        section {
            h2 { "The machine" }
            (tree(&report.study.machine))
        }
        section {
            details {
                summary { "The plan" }
                (tree(&report.study.plan))
            }
        }
        (events(report))
    }
}

fn variants(report: &Report) -> Markup {
    let (judged, screened) = report.judged_and_screened();
    html! {
        @if !report.variants.is_empty() {
            section {
                h2 { "Variants as launched" }
                @for variant in &judged { (launched(variant, judged.len() <= 2)) }
                @if !screened.is_empty() {
                    details {
                        summary { (number::count(screened.len(), "variant")) " of the screening" }
                        @for variant in &screened { (launched(variant, false)) }
                    }
                }
            }
        }
    }
}

fn launched(variant: &VariantRecord, open: bool) -> Markup {
    html! {
        details open[open] {
            summary { (variant.label) " " span.small { (variant.server_version) } }
            pre { code { (variant.command) } }
            (tree(&variant.content))
        }
    }
}

/// Every second that a node was held.
fn nodes_held(report: &Report) -> Markup {
    html! {
        @if let Some(account) = &report.nodes_held {
            section {
                h2 { "What nodes were held for" }
                p.small {
                    (number::count(account.workers, "worker")) ", "
                    (format!("{:.0} %", 100.0 * account.seconds.share_of_load()))
                    " of the seconds under load in duels that count."
                }
                dl.facts {
                    @for (name, seconds) in node_account::rows(account) {
                        div { dt { (name) } dd { (seconds) " s" } }
                    }
                }
                @for line in node_account::troubles(account) { p.small { (line) } }
            }
        }
    }
}

fn events(report: &Report) -> Markup {
    html! {
        @if !report.events.is_empty() {
            section {
                h2 { "What happened besides" }
                (scroll("What happened besides", html! { table {
                    thead { tr { th scope="col" { "When" } th scope="col" { "What" } th scope="col" { "Details" } } }
                    tbody {
                        @for event in &report.events {
                            tr {
                                td.time { (number::moment(event.unix_ms)) }
                                td { (event.kind) }
                                td { (event.text) }
                            }
                        }
                    }
                } }))
            }
        }
    }
}

/// JSON of any shape, flat: `cpu.model  Xeon …`.
fn tree(value: &Value) -> Markup {
    let rows = flat(value);
    html! {
        @if rows.is_empty() {
            p.none { "Nothing recorded." }
        } @else {
            dl.facts {
                @for (key, text) in rows {
                    div { dt { (key) } dd { (text) } }
                }
            }
        }
    }
}
