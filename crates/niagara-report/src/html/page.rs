//! The page from top to bottom.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use niagara_store::{CompareSummary, Comparison, Goal, Phase, Summary, TuneSummary};

use super::{facts, findings, study};
use crate::applying::{HEADING, applying};
use crate::chart::{self, Latencies};
use crate::{Report, Sides, ladder, number, profile, wording};

const STYLE: &str = include_str!("style.css");

/// The whole study on one page.
pub fn html(report: &Report) -> String {
    let headline = report.headline();
    let body = html! {
        @match &report.summary {
            Some(Summary::Tune(tune)) => (tune_page(report, tune)),
            Some(Summary::Compare(compare)) => (compare_page(report, compare)),
            Some(summary) => (study_page(report, summary)),
            None => (bare_page(report, &headline)),
        }
        (facts::sections(report))
    };
    document(
        &headline,
        &report.study.niagara_version,
        body,
        "from the results of this study alone",
    )
}

/// A page that is one file: no network, no script.
pub fn document(title: &str, version: &str, body: Markup, from: &str) -> String {
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
                footer { p { "Niagara " (version) ", " (from) "." } }
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

fn masthead(report: &Report) -> Markup {
    html! {
        p.masthead {
            span { "Niagara " (report.study.kind) }
            span { (number::moment(report.study.started_unix_ms)) }
        }
    }
}

/// What a manager reads first: one sentence, one chart, what it costs and risks; then what an engineer needs; then all.
fn tune_page(report: &Report, tune: &TuneSummary) -> Markup {
    let summary = Summary::Tune(Box::new(tune.clone()));
    let forest = chart::forest(tune);
    html! {
        header {
            (masthead(report))
            h1 { (number::unbroken(&crate::headline(&summary))) }
            p.lead { (tune.header.server_version) " · " (tune.header.workload) }
            (findings::warnings(&wording::warnings(&summary)))
        }
        @if !tune.rungs.is_empty() { (way(tune)) }
        (costs(&summary))
        (contents(tune, forest.is_some()))
        @if let Some(total) = &tune.total {
            section #figures {
                h2 { "The total, and what else changed" }
                (findings::tiles(total))
            }
            @if let Some(sides) = Sides::of(report) { (study::table(&sides.grid())) }
        }
        @if !tune.rungs.is_empty() {
            section {
                h2 { "The levers of the final variant" }
                (findings::rungs(tune))
            }
        }
        (limits_now(report))
        @if let Some(forest) = forest {
            section #levers {
                h2 { "All levers as screened" }
                figure {
                    (forest)
                    figcaption {
                        "Effect of each lever with its 95 % interval, all from the same screening duels. "
                        "Filled: kept. Ring: not kept. Diamond: the negative control, which changes nothing and must not win. "
                        "Square: the positive control, which is known to slow the server and must lose. "
                        "Screening chooses; it does not prove: effects chosen for being large are on average smaller than they look."
                    }
                }
                (findings::screened(tune))
            }
        }
        @if let Some(total) = &tune.total {
            div #evidence { (evidence(report, total, "The evidence for the total")) }
        }
        (study::tables(&summary))
        (findings::not_tried(&tune.not_tried))
        (findings::method_of_tune(tune))
    }
}

/// What it costs to apply, for whoever decides; nothing of a study that ends with nothing to apply.
fn costs(summary: &Summary) -> Markup {
    html! {
        @if let Some(lines) = applying(summary) {
            section #costs {
                h2 { (HEADING) }
                dl.reasons.costs {
                    @for (name, words) in lines { div { dt { (name) } dd { (words) } } }
                }
            }
        }
    }
}

/// The chart from the start to the final variant.
fn way(tune: &TuneSummary) -> Markup {
    html! {
        section {
            h2 {
                "From the starting point to the final variant"
                @if tune.header.goal != Goal::Throughput {
                    ": " (wording::judged_by(tune.header.goal).replacen('B', "b", 1))
                }
            }
            figure {
                (chart::waterfall(tune))
                figcaption {
                    (ladder::HOW_TO_READ)
                    @let meanings = ladder::meanings(tune);
                    @if !meanings.is_empty() {
                        " Solid bars are proven by fresh duels, hatched ones are not."
                    }
                    @for meaning in meanings { " " (meaning) }
                    " " (ladder::N_MEANS)
                }
            }
        }
    }
}

/// Where the rest is, for those who read further.
fn contents(tune: &TuneSummary, has_levers: bool) -> Markup {
    let parts = [
        ("figures", "The total in figures", tune.total.is_some()),
        ("levers", "All levers", has_levers),
        ("evidence", "The evidence", tune.total.is_some()),
        (
            "not-tried",
            "What could not be tried",
            !tune.not_tried.is_empty(),
        ),
        ("method", "How it was measured", true),
        ("repeat", "To repeat it", true),
    ];
    html! {
        nav.contents aria-label="Contents" {
            span { "For engineers:" }
            @for (id, title, _) in parts.iter().filter(|(_, _, there)| *there) {
                " " a href={ "#" (id) } { (title) }
            }
        }
    }
}

fn compare_page(report: &Report, compare: &CompareSummary) -> Markup {
    let summary = Summary::Compare(Box::new(compare.clone()));
    html! {
        header {
            (masthead(report))
            h1 { (number::unbroken(&crate::headline(&summary))) }
            p.lead { (compare.header.workload) }
            (findings::warnings(&wording::warnings(&summary)))
            (findings::tiles(&compare.comparison))
        }
        @if let Some(figures) = chart::comparison(&compare.comparison) {
            section {
                h2 { "B over A" }
                figure {
                    (figures)
                    figcaption { "Each with its interval; the first is what was decided by. Of CPU and latency lower is better." }
                }
            }
        }
        (costs(&summary))
        @if let Some(sides) = Sides::of(report) { (study::table(&sides.grid())) }
        @if let Some(about) = &compare.header.about { (study::about(about)) }
        (study::tables(&summary))
        (evidence(report, &compare.comparison, "The evidence"))
        (findings::method_of_compare(compare))
    }
}

/// A ladder, a matrix or a sweep.
fn study_page(report: &Report, summary: &Summary) -> Markup {
    let evidence_of = summary.comparison();
    let header = summary.header();
    let lead = format!("{} · {}", header.server_version, header.workload);
    html! {
        header {
            (masthead(report))
            h1 { (number::unbroken(&crate::headline(summary))) }
            p.lead { (lead) }
            (findings::warnings(&wording::warnings(summary)))
            @if let Some(comparison) = evidence_of { (findings::tiles(comparison)) }
        }
        (study::charts(summary))
        (costs(summary))
        @if let Some(about) = &summary.header().about { (study::about(about)) }
        (study::tables(summary))
        (study::method(summary))
        @if let Some(sides) = Sides::of(report) { (study::table(&sides.grid())) }
        (limits_now(report))
        @if let Some(comparison) = evidence_of {
            (evidence(report, comparison, "The evidence from fresh duels"))
        }
    }
}

/// What limits the variants that the study profiled at its end.
fn limits_now(report: &Report) -> Markup {
    html! {
        @for seen in &report.profiles {
            @for section in profile::sections_in_short(seen) { (profile::part(&section)) }
        }
    }
}

/// A study without a summary: the machine's noise, or one that was stopped.
fn bare_page(report: &Report, headline: &str) -> Markup {
    let phase = report.main_phase();
    let over_time = chart::throughput(&report.main_duels(), &report.slices);
    html! {
        header {
            (masthead(report))
            h1 { (headline) }
            @if phase != Phase::Noise {
                p.lead {
                    "What was measured until then is stored. The same command continues from here."
                }
            }
        }
        @if let Some(over_time) = over_time {
            section {
                figure {
                    h2 { "Throughput over time" }
                    (over_time)
                    figcaption { "Transactions per second of every slice; lines are medians of a duel's slices." }
                }
            }
        }
    }
}

/// The duels behind one comparison: scores, throughput over time, latency.
fn evidence(report: &Report, comparison: &Comparison, title: &str) -> Markup {
    let duels = report.main_duels();
    let scores = report.main_scores(comparison);
    let looks = chart::looks(&scores, comparison.judged());
    let over_time = chart::throughput(&duels, &report.slices);
    let latencies = Latencies::of(&duels, &report.slices);
    html! {
        section {
            h2 { (title) }
            dl.sides {
                div { dt { span.key.a { "A" } } dd { (comparison.a) } }
                div { dt { span.key.b { "B" } } dd { (comparison.b) } }
            }
            @if looks.is_none() && over_time.is_none() {
                p.none { "No scored duels are stored." }
            }
            @if let Some(looks) = looks {
                figure {
                    h3 { "Duel by duel" }
                    (looks)
                    figcaption {
                        "Each dot is one duel's score after a fresh start of both: the gain of B over A in " (comparison.goal.title()) "."
                        @if comparison.judged().confidence.is_none() && comparison.judged().estimate.high.is_finite() {
                            " The bars are the interval at each look; they are made wide enough for all looks together ("
                            (wording::error_probability(comparison.judged())) "), so that stopping early does not raise the chance of a false call."
                        }
                    }
                }
            }
            @if let Some(over_time) = over_time {
                figure {
                    h3 { "Throughput over time" }
                    (over_time)
                    figcaption {
                        "Transactions per second of every slice; lines are medians of a duel's slices. "
                        "The machine's wandering hits both sides alike, which is why only the ratio within a duel counts. "
                        "Crosses: slices that were dropped (couples: " (wording::dropped(comparison)) "). The axis need not begin at zero."
                    }
                }
            }
            @if let Some(latencies) = latencies {
                figure {
                    h3 { "Latency of transactions" }
                    (chart::latency(&latencies))
                    figcaption {
                        "Both axes are logarithmic. Bands hold the middle 80 % of the duels. "
                        @if comparison.goal.is_latency() {
                            "Transactions arrive at the same rate on both sides; each is timed from when it was due."
                        } @else if comparison.replay.is_some() {
                            "Of a capture: with --speed each transaction is timed from when it was due, else each session waits for its answer before it goes on."
                        } @else {
                            "The load is closed: each connection waits for its answer before it asks again. "
                            "Latency then follows throughput and carries no information of its own; "
                            "a claim about latency needs open load at equal rates (--goal p99)."
                        }
                    }
                }
                (findings::latencies(&latencies, comparison))
            }
        }
    }
}
