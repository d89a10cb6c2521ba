//! Two studies on one page.

use maud::html as markup;

use super::common::Common;
use super::picture::two_studies;
use super::sections::{Extent, facts, grids};
use super::studies::SideBySide;
use crate::{html, number};

/// Most figures in the chart: all are in the tables.
const MAX_DRAWN: usize = 24;

/// The page: nothing from elsewhere, no script.
pub fn side_by_side_html(both: &SideBySide) -> String {
    let mut drawn: Vec<&Common> = both.total.iter().chain(&both.parts).collect();
    drawn.truncate(MAX_DRAWN);
    let grids = grids(both, Extent::Whole);
    let body = markup! {
        header {
            p.masthead { span { "Niagara report of two studies" } span { "Niagara " (env!("CARGO_PKG_VERSION")) } }
            h1 { (number::unbroken(&both.headline)) }
            (html::warnings(&both.warnings))
        }
        @for (index, grid) in grids.iter().enumerate() {
            @if index == 2 && drawn.len() > 1 {
                section {
                    h2 { "Both at a glance" }
                    figure {
                        @if let Some(picture) = two_studies(&drawn) { (picture) }
                        figcaption {
                            "B over A with its interval in each study: rings are the first, discs the second."
                        }
                    }
                }
            }
            (html::table(grid))
        }
        section {
            details {
                summary { "What does not differ" }
                (html::table(&facts("Facts that are the same in both", both, false)))
            }
        }
    };
    html::document(
        &both.headline,
        env!("CARGO_PKG_VERSION"),
        body,
        "from the results of these two studies alone",
    )
}
