//! Of what was promoted: whether the server starts with all of it.

use anyhow::Result;
use niagara_model::{Finding, NotTried};

use super::TuneRun;
use crate::answering::tune::probe::failing_levers;
use crate::plans::observer::{Event, Observer};
use crate::studies::checkpoint;
use crate::studies::study::Study;

impl TuneRun<'_> {
    /// What is promoted without the levers with which the server does not start once all of them are in force. A screening has
    /// half of them on one side: the final variant may be the first to have all.
    pub(super) fn keep_what_starts(
        &mut self,
        study: &Study,
        mut promoted: Vec<usize>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<usize>> {
        let key = checkpoint::not_together();
        let left_out = match study.recall(&key)? {
            Some(kept) => kept,
            None => {
                let found = self.not_together(study, &promoted)?;
                study.keep(&key, &found)?;
                found
            }
        };
        for left in left_out {
            let finding = Finding::LeftOut {
                title: left.title,
                reason: left.reason,
            };
            observer.see(Event::Note(&finding.to_string()));
            self.found.warnings.push(finding.into());
            let places = self.found.places(&[left.lever]);
            promoted.retain(|index| !places.contains(index));
            self.left_out.extend(places);
        }
        Ok(promoted)
    }

    /// Levers that are left out until the server starts with the rest of `promoted`, or the time for that is over.
    fn not_together(&self, study: &Study, promoted: &[usize]) -> Result<Vec<NotTried>> {
        // A screening that found nothing sure for long leaves just the duels without which the total has no interval.
        let total = self.options.fewest_total_duels() as f64 * study.duel_seconds(self.couples);
        let may_go_on = || study.left_seconds() > total;
        let mut left = promoted.to_vec();
        let mut found = Vec::new();
        // One alone started before the screening.
        while left.len() > 1 {
            let (base, candidates) = (&self.options.base, &self.found.candidates);
            let failing = failing_levers(self.bench, base, candidates, &left, &may_go_on)?;
            if failing.is_empty() {
                break;
            }
            let ids: Vec<String> = failing.iter().map(|lever| lever.lever.clone()).collect();
            let places = self.found.places(&ids);
            left.retain(|index| !places.contains(index));
            found.extend(failing);
        }
        Ok(found)
    }
}
