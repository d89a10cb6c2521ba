//! What was found: warnings, tiles, tables of levers, the method in a few words.

use maud::{Markup, html};
use niagara_stats::{Estimate, Verdict};
use niagara_store::{BuildNote, CompareSummary, Comparison, NotTried, Screened, TuneSummary};

use crate::chart::{Latencies, PERCENTILES};
use crate::ladder::is_added;
use crate::scroll::scroll;
use crate::{number, wording};

pub fn warnings(warnings: &[impl std::fmt::Display]) -> Markup {
    html! {
        @if !warnings.is_empty() {
            aside.warnings role="note" {
                h2 { "Before you believe the rest" }
                ul { @for warning in warnings { li { (warning.to_string()) } } }
            }
        }
    }
}

/// The claims of one comparison, the one on throughput first and largest.
pub(crate) fn tiles(comparison: &Comparison) -> Markup {
    let judgement = comparison.judged();
    html! {
        div.tiles {
            @let verdict = match judgement.verdict {
                Some(Verdict::Faster) if judgement.estimate.low > 1.0 => "faster",
                Some(Verdict::Slower) if judgement.estimate.high < 1.0 => "slower",
                _ => "open",
            };
            div class={ "tile main " (verdict) } {
                p.name { (comparison.goal.title()) }
                (big(&comparison.goal.figure(&judgement.estimate)))
                p {
                    strong { (wording::verdict_on_goal(comparison)) }
                    ", " (number::count(judgement.duels, "duel")) ", " (wording::error_probability(judgement))
                    @if let (None, Some(next)) = (judgement.verdict, judgement.next_look) {
                        "; judged next after " (number::count(next, "duel"))
                    }
                }
            }
            @for claim in wording::lesser_claims(comparison) {
                div.tile {
                    p.name { (claim.title) }
                    (big(&claim.estimate))
                    p { (claim.note) }
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

pub fn rungs(tune: &TuneSummary) -> Markup {
    html! {
        details open[tune.rungs.len() <= 12] {
            summary { "What each changes, and why" }
            (scroll("The levers of the final variant", html! { table {
                thead { tr {
                    th scope="col" { "Lever" } th scope="col" { "Change" } th.number scope="col" { "Screened" } th.number scope="col" { "Fresh duels" } th scope="col" { "Risk" }
                } }
                tbody {
                    @for rung in &tune.rungs {
                        tr {
                            td { (rung.screened.title) @if !rung.why.is_empty() { p.small { (rung.why) } } }
                            td {
                                @match &rung.chosen {
                                    Some(chosen) => {
                                        code { (chosen) }
                                        p.small { "screened with " code { (rung.screened.change) } }
                                    }
                                    None => code { (rung.screened.change) },
                                }
                            }
                            td.number { (number::estimate(&rung.screened.effect)) }
                            td.number {
                                @match &rung.claim {
                                    Some(claim) => {
                                        (number::estimate(&claim.judged().estimate))
                                        p.small {
                                            (wording::verdict_on_goal(claim)) ", "
                                            (number::count(claim.judged().duels, "duel"))
                                        }
                                    }
                                    None => (number::NOTHING),
                                }
                            }
                            td { (rung.risk) }
                        }
                    }
                }
            } }))
        }
    }
}

pub fn screened(tune: &TuneSummary) -> Markup {
    let row = |lever: &Screened, role: &str| {
        html! {
            tr {
                td { (lever.title) }
                td { code { (lever.change) } }
                td.number { (number::estimate(&lever.effect)) }
                td.number { (number::percent(lever.std_err)) }
                td.number { (lever.duels) }
                td { (role) }
            }
        }
    };
    html! {
        details {
            summary { "All screened levers in numbers" }
            @if let Some(note) = wording::many_intervals(tune.not_helped.len() + tune.rungs.len()) { p { (note) } }
            @if let Some(searched) = &tune.searched {
                p { "Ranges searched:" }
                ul { @for line in wording::searched(searched, tune.total.is_some()) { li { (line) } } }
            }
            @if !tune.together.is_empty() {
                p { "Levers that act on each other:" }
                ul { @for pair in &tune.together { li { (wording::together(pair)) } } }
            }
            (scroll("All screened levers", html! { table {
                thead { tr {
                    th scope="col" { "Lever" } th scope="col" { "Change" } th.number scope="col" { "Effect, 95 %" }
                    th.number scope="col" { "Std. error" } th.number scope="col" { "Duels" } th scope="col" { "Role" }
                } }
                tbody {
                    @for rung in &tune.rungs {
                        @if is_added(tune, rung) {
                            (row(&rung.screened, "in the final variant, with the number of the search"))
                        } @else {
                            (row(&rung.screened, "in the final variant"))
                        }
                    }
                    @for lever in &tune.not_helped { (row(lever, "not kept")) }
                    @if let Some(lever) = &tune.negative_control { (row(lever, "negative control")) }
                    @if let Some(lever) = &tune.positive_control { (row(lever, "positive control")) }
                }
            } }))
        }
    }
}

pub fn not_tried(not_tried: &[NotTried]) -> Markup {
    html! {
        @if !not_tried.is_empty() {
            section #not-tried {
                h2 { "What could not be tried" }
                dl.reasons {
                    @for (reason, levers) in wording::by_reason(not_tried) {
                        div {
                            dt { (reason.to_string()) }
                            dd {
                                @for (i, lever) in levers.iter().enumerate() {
                                    @if i > 0 { ", " }
                                    span title=(lever.lever) { (lever.title) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

pub fn latencies(latencies: &Latencies, comparison: &Comparison) -> Markup {
    let judged = |percentile: f64| {
        let estimate = match percentile {
            50.0 => comparison.latency_p50,
            95.0 => comparison.latency_p95,
            99.0 => comparison.latency_p99,
            _ => None,
        };
        estimate.map_or(number::NOTHING.to_owned(), |e| number::estimate(&e))
    };
    html! {
        (scroll("Latencies", html! { table.compact {
            thead { tr {
                th scope="col" { "Percentile" } th.number scope="col" { "A, ms" } th.number scope="col" { "B, ms" } th.number scope="col" { "B over A, from the duels" }
            } }
            tbody {
                @for (percentile, name) in PERCENTILES {
                    tr {
                        td { (name) }
                        td.number { (format!("{:.2}", latencies.at(0, percentile))) }
                        td.number { (format!("{:.2}", latencies.at(1, percentile))) }
                        td.number { (judged(percentile)) }
                    }
                }
            }
        } }))
    }
}

fn builds(notes: &[BuildNote]) -> Markup {
    html! {
        @for (name, value) in wording::builds(notes) { div { dt { (name) } dd { (value) } } }
    }
}

pub(crate) fn method_of_tune(tune: &TuneSummary) -> Markup {
    html! {
        section #method {
            h2 { "How it was measured" }
            p {
                "Two servers with identical data are alive at once; the load moves between them in short slices, "
                "in random order, while the idle one is frozen. Two neighbouring slices, one of each, are a " em { "couple" }
                "; some dozens of couples after a fresh start of both servers are a " em { "duel" } ", which gives one figure. "
                "Screening duels set every lever at once, in a balanced design, and estimate all effects together. "
                "What is called proven, and the total, come from fresh duels that the screening never saw. "
                "On identical variants the chance of calling a difference is at most " (tune.header.alpha)
                ". All of it holds for this machine and this workload."
            }
            dl.facts {
                (builds(&tune.header.builds))
                div { dt { "Time" } dd { (wording::time(&tune.header)) } }
                @if let Some(sd) = tune.header.sd_duel {
                    div { dt { "Noise" } dd { (wording::noise(sd, true)) } }
                }
                @if let Some(total) = &tune.total {
                    div { dt { "Couples of the total" } dd { (wording::dropped(total)) } }
                    @if let Some(nodes) = wording::nodes(total) {
                        div { dt { "Nodes" } dd { (nodes) } }
                    }
                }
                div { dt { "Error probability" } dd { "α = " (tune.header.alpha) " for the total; as much again is shared by the single levers" } }
                div { dt { "Seed" } dd { (tune.header.seed) } }
            }
        }
    }
}

pub(crate) fn method_of_compare(compare: &CompareSummary) -> Markup {
    let comparison = &compare.comparison;
    html! {
        section #method {
            h2 { "How it was measured" }
            @if compare.header.protocol == "duel" {
                p {
                    "A and B are alive at once on identical data; the load moves between them in short slices, in random order, "
                    "while the idle one is frozen. Two neighbouring slices, one of each, are a couple; some dozens of couples after "
                    "a fresh start of both servers are a duel. A duel gives one figure, and duels are what the interval is made from. "
                    "It holds for this machine and this workload."
                }
            }
            dl.facts {
                (builds(&compare.header.builds))
                div { dt { "Protocol" } dd { (compare.header.protocol) } }
                div { dt { "Time" } dd { (wording::time(&compare.header)) } }
                @if let Some(sd) = compare.header.sd_duel {
                    div { dt { "Noise" } dd { (wording::noise(sd, false)) } }
                }
                div { dt { "Couples" } dd { (wording::dropped(comparison)) } }
                @if let Some(nodes) = wording::nodes(comparison) {
                    div { dt { "Nodes" } dd { (nodes) } }
                }
                div { dt { "Error probability" } dd { (wording::error_probability(comparison.judged())) ", over all looks" } }
                div { dt { "Seed" } dd { (compare.header.seed) } }
            }
        }
    }
}
