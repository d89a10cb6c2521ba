//! The pages of ladders, matrices and sweeps.

use maud::{Markup, html};
use niagara_store::{About, Summary};

use crate::grid::Grid;
use crate::scroll::scroll;
use crate::study::{facts, grids, opening};
use crate::{chart, ladder};

/// The words that open a study.
pub fn about(about: &About) -> Markup {
    html! {
        section {
            h2 { (about.title) }
            @for (heading, text) in opening(about) {
                h3 { (heading) }
                p { (text) }
            }
            @if let Some(published) = &about.published {
                h3 { "What was published" }
                pre { (published) }
            }
            @if let Some(source) = &about.source { p.small { "Source: " (source) } }
        }
    }
}

/// The charts.
pub fn charts(summary: &Summary) -> Markup {
    html! {
        @match summary {
            Summary::Ladder(ladder) => {
                @let steps = crate::study::ladder_steps(ladder);
                @if !steps.is_empty() {
                    section {
                        h2 { "From the starting point to the final variant" }
                        figure {
                            (chart::waterfall_of(&steps))
                            figcaption {
                                (ladder::HOW_TO_READ)
                                " A rung is one change, tried on top of those kept before it. Solid bars are kept; hatched ones were measured and not kept, and the next rung starts without them."
                            }
                        }
                    }
                }
            }
            Summary::Matrix(matrix) => {
                @for (index, workload) in matrix.workloads.iter().enumerate() {
                    @if let Some(cells) = chart::cells(matrix, index) {
                        section {
                            h2 {
                                (workload.name)
                                (crate::study::kind_of_load(matrix, index))
                            }
                            figure {
                                (cells)
                                figcaption { "Gain over the baseline. Filled: a difference was called; ring: none was." }
                            }
                        }
                    }
                }
            }
            Summary::Sweep(sweep) => {
                @if let Some(curves) = chart::sweep(sweep) {
                    section {
                        h2 { "Throughput over threads" }
                        figure {
                            (curves)
                            figcaption {
                                "Points are geometric means over fresh starts with their intervals; lines are the fitted "
                                "scalability law; the ring is the knee. The axis of threads is logarithmic."
                            }
                        }
                    }
                }
            }
            Summary::Tune(_) | Summary::Compare(_) => {}
        }
    }
}

/// How it was measured.
pub fn method(summary: &Summary) -> Markup {
    html! {
        section {
            h2 { "How it was measured" }
            dl.facts {
                @for (name, value) in facts(summary) { div { dt { (name) } dd { (value) } } }
            }
        }
    }
}

/// All tables of a summary, of its replay among them.
pub fn tables(summary: &Summary) -> Markup {
    html! {
        @for grid in grids(summary) { (table(&grid)) }
    }
}

/// Columns that fit on a telephone's screen.
const MAX_FEW: usize = 3;

/// A table of any form of the report.
pub fn table(grid: &Grid) -> Markup {
    html! {
        section {
            h2 { (grid.heading) }
            @if !grid.rows.is_empty() {
                (scroll(&grid.heading, html! { table class=[(grid.columns.len() <= MAX_FEW).then_some("few")] {
                    thead { tr {
                        @for (name, number) in &grid.columns {
                            // A heading without words would be read out as one.
                            @if name.is_empty() { td {} }
                            @else if *number { th.number scope="col" { (name) } }
                            @else { th scope="col" { (name) } }
                        }
                    } }
                    tbody {
                        @for (index, row) in grid.rows.iter().enumerate() {
                            tr class=[grid.strong.contains(&index).then_some("strong")] {
                                @for (cell, (_, number)) in row.iter().zip(&grid.columns) {
                                    @if *number { td.number { (cell) } } @else { td { (cell) } }
                                }
                            }
                        }
                    }
                } }))
            }
            @for note in &grid.notes { p.small { (note) } }
        }
    }
}
