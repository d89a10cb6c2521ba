//! Every screened lever with its interval, the controls among them.

use maud::Markup;
use niagara_model::{Rung, Screened, TuneSummary};

use super::row_chart::{Mark, Row, interval, rows_in_both_sizes};
use crate::handover::is_only_tried;
use crate::number;
use crate::wording::Standing;

/// All levers that screening measured, best first; `None` when there are none.
pub(crate) fn forest(tune: &TuneSummary) -> Option<Markup> {
    // One that the search alone brought in was screened with a number that was not kept.
    let (added, kept): (Vec<&Rung>, Vec<&Rung>) =
        tune.rungs.iter().partition(|rung| tune.is_added(rung));
    let is_only_tried = is_only_tried(tune);
    let kept = kept.into_iter().map(|rung| {
        let standing = match is_only_tried {
            true => Standing::of(rung).word(),
            false => "kept",
        };
        (&rung.screened, Mark::Disc, "kept", standing)
    });
    let added = added.into_iter().map(|rung| &rung.screened);
    let dropped = added
        .chain(&tune.not_helped)
        .map(|s| (s, Mark::Ring, "dropped", ""));
    let negative = tune
        .negative_control
        .iter()
        .map(|s| (s, Mark::Diamond, "negative-control", "negative control"));
    let positive = tune
        .positive_control
        .iter()
        .map(|s| (s, Mark::Square, "positive-control", "positive control"));
    let mut levers: Vec<(&Screened, Mark, &'static str, &str)> = kept
        .chain(dropped)
        .chain(negative)
        .chain(positive)
        .collect();
    if levers.is_empty() {
        return None;
    }
    levers.sort_by(|a, b| b.0.effect.ratio.total_cmp(&a.0.effect.ratio));

    // The positive control may be very slow: it must not squeeze the levers, an arrow will do.
    let mut domain = (-0.01f64, 0.01f64);
    for (lever, _, class, _) in &levers {
        for value in [lever.effect.low, lever.effect.ratio, lever.effect.high] {
            let log = value.ln();
            if log.is_finite()
                && (*class != "positive-control" || log.abs() < 0.15)
                && log.abs() < 1.5
            {
                domain = (domain.0.min(log), domain.1.max(log));
            }
        }
    }
    let room = (domain.1 - domain.0) * 0.03;
    let domain = (domain.0 - room, domain.1 + room);
    let rows: Vec<Row> = levers
        .iter()
        .map(|(lever, mark, class, standing)| Row {
            title: lever.title.clone(),
            detail: format!("{}: {}", lever.lever, lever.change),
            numbers: number::estimate(&lever.effect),
            standing: (*standing).to_owned(),
            interval: interval(&lever.effect),
            mark: *mark,
            class,
        })
        .collect();
    Some(rows_in_both_sizes(
        &rows,
        domain,
        "Forest plot of all screened levers",
    ))
}
