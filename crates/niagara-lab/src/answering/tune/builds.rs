//! Of servers built from source: one that is not known to be correct is left out before anything is proven.

use anyhow::Result;
use niagara_model::{Finding, NotTried, Warning};

use super::TuneRun;
use crate::answering::build_note::soundness;
use crate::answering::tune::sound_build::settle;
use crate::plans::observer::{Event, Observer};
use crate::studies::checkpoint::{self, SettledLevers};
use crate::studies::study::Study;
use crate::variants::candidate::with_all;

impl TuneRun<'_> {
    /// What is promoted with a build that is known to be correct, or without one. `promote` says what is promoted without some
    /// candidates; `before` names the part of the tuning that comes next, once for each. A check takes minutes, which do not
    /// count against the budget, and none where the build was checked before.
    pub(super) fn keep_sound(
        &mut self,
        study: &mut Study,
        before: &str,
        promote: &dyn Fn(&Self, &[usize]) -> Vec<usize>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<usize>> {
        let key = checkpoint::settled(before);
        let settled = match study.recall(&key)? {
            Some(kept) => kept,
            None => {
                let settled = self.settled(study, promote, observer)?;
                study.keep(&key, &settled)?;
                settled
            }
        };
        let warnings = settled.left_out.iter().map(|left| {
            Warning::from(Finding::LeftOut {
                title: left.title.clone(),
                reason: left.reason.clone(),
            })
        });
        self.found.warnings.extend(warnings);
        let left_out: Vec<String> = settled
            .left_out
            .iter()
            .map(|left| left.lever.clone())
            .collect();
        self.left_out.extend(self.found.places(&left_out));
        Ok(self.found.places(&settled.promoted))
    }

    fn settled(
        &self,
        study: &mut Study,
        promote: &dyn Fn(&Self, &[usize]) -> Vec<usize>,
        observer: &mut dyn Observer,
    ) -> Result<SettledLevers> {
        let candidates = &self.found.candidates;
        let builds = |index: usize| candidates[index].is_built();
        let settled = settle(
            |without| promote(self, without),
            builds,
            |promoted, may_check| {
                let variant = with_all(&self.options.base, candidates, promoted);
                study.aside(observer, |observer| {
                    soundness(self.bench, &variant, may_check, observer)
                })
            },
        )?;
        let left_out = settled.left_out.into_iter().map(|(index, reason)| {
            let lever = &candidates[index].lever;
            observer.see(Event::Note(&format!(
                "{} is left out: {}",
                lever.title(),
                reason
            )));
            NotTried {
                lever: lever.id().to_owned(),
                title: lever.title().to_owned(),
                reason,
            }
        });
        let left_out = left_out.collect();
        Ok(SettledLevers {
            promoted: self.found.ids(&settled.promoted),
            left_out,
        })
    }
}
