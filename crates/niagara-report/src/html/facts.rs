//! What a colleague needs to check and to repeat it: command, machine, variants, events.

use maud::{Markup, html};
use niagara_store::VariantRecord;
use serde_json::Value;

use crate::Report;

pub fn sections(report: &Report) -> Markup {
    html! {
        section {
            h2 { "To repeat it" }
            pre { code { (report.study.command) } }
            p.small {
                "Seed " (report.study.seed) ", Niagara " (report.study.niagara_version)
                ", begun " (moment(report.study.started_unix_ms)) "."
            }
        }
        (variants(report))
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
                        summary { (screened.len()) " variants of the screening" }
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

fn events(report: &Report) -> Markup {
    html! {
        @if !report.events.is_empty() {
            section {
                h2 { "What happened besides" }
                div.scroll { table {
                    thead { tr { th { "When" } th { "What" } th { "" } } }
                    tbody {
                        @for event in &report.events {
                            tr {
                                td.time { (moment(event.unix_ms)) }
                                td { (event.kind) }
                                td { (event.text) }
                            }
                        }
                    }
                } }
            }
        }
    }
}

/// JSON of any shape, flat: `cpu.model  Xeon …`.
fn tree(value: &Value) -> Markup {
    let mut rows = Vec::new();
    flatten(String::new(), value, &mut rows);
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

fn flatten(key: String, value: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::Object(map) => {
            for (name, inner) in map {
                let path = if key.is_empty() {
                    name.clone()
                } else {
                    format!("{key} › {name}")
                };
                flatten(path, inner, rows);
            }
        }
        Value::Array(items) if items.iter().any(|i| i.is_object() || i.is_array()) => {
            for (i, item) in items.iter().enumerate() {
                flatten(format!("{key} {}", i + 1), item, rows);
            }
        }
        Value::Array(items) => {
            if !items.is_empty() {
                let texts: Vec<String> = items.iter().map(scalar).collect();
                rows.push((key, texts.join(", ")));
            }
        }
        other => rows.push((key, scalar(other))),
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        other => other.to_string(),
    }
}

/// `2026-09-21 14:13 UTC`.
pub fn moment(unix_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(unix_ms)
        .map(|time| time.strftime("%Y-%m-%d %H:%M UTC").to_string())
        .unwrap_or_default()
}
