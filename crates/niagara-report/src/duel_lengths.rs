//! How long the parts of duels took, as they were measured.

use niagara_model::DuelRecord;
use niagara_stats::median;

use crate::Report;

/// Of a duel that is neither long nor short among those that carry the headline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DuelLengths {
    /// Couples of slices.
    pub couples: usize,
    /// Seconds of a slice.
    pub slice: f64,
    /// Seconds of load on each server before its first slice.
    pub warm_up: f64,
}

impl DuelLengths {
    /// `None` where no duel or none of its slices is stored.
    pub(crate) fn of(report: &Report) -> Option<Self> {
        let duels = report.main_duels();
        let of_duel = |duel: &&DuelRecord| -> Vec<f64> {
            let slices = report.slices.iter();
            let own = slices.filter(|slice| slice.duel == duel.seq);
            own.map(|slice| slice.seconds).collect()
        };
        let slices: Vec<Vec<f64>> = duels.iter().map(of_duel).collect();
        let both = duels.iter().zip(&slices);
        let warm_ups: Vec<f64> = both
            .map(|(duel, slices)| (duel.load_seconds - slices.iter().sum::<f64>()).max(0.0) / 2.0)
            .collect();
        let couples: Vec<f64> = duels.iter().map(|duel| f64::from(duel.couples)).collect();
        Some(Self {
            couples: median(&couples)?.round() as usize,
            slice: median(&slices.concat())?,
            warm_up: median(&warm_ups)?,
        })
    }
}
