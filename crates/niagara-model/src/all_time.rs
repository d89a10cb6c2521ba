//! Throughput over all time under load, from the slices of the duels.

use std::collections::BTreeMap;

use niagara_stats::{Batch, DuelTotals};

use crate::{DuelRecord, SliceRecord};

/// What the slices of a scored duel come to over all time, beside its score. All couples count of which both slices are there, also those
/// that the score leaves out because the machine waited for memory: whoever brought that about served nothing meanwhile. `None` of a
/// duel without a score, and of one that is a single slice on either side.
pub fn duel_totals<'s>(
    duel: &DuelRecord,
    slices: impl IntoIterator<Item = &'s SliceRecord>,
) -> Option<DuelTotals> {
    let mut couples: BTreeMap<u32, [Option<Batch>; 2]> = BTreeMap::new();
    for slice in slices.into_iter().filter(|slice| slice.duel == duel.seq) {
        let batch = Batch {
            transactions: slice.transactions as f64,
            seconds: slice.seconds,
        };
        couples.entry(slice.couple).or_default()[usize::from(slice.side == 1)] = Some(batch);
    }
    let (a, b): (Vec<Batch>, Vec<Batch>) = couples
        .into_values()
        .filter_map(|[a, b]| Some((a?, b?)))
        .unzip();
    DuelTotals::of(duel.score?, [&a, &b])
}
