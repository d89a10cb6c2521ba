//! What is handed over of a matrix: the combination that fresh duels proved faster, once it was checked.

use anyhow::Result;
use niagara_model::{
    BuildNote, Confirmed, Deployment, FinalCheck, Finding, Reason, SameAnswers, Warning,
};

use super::{Combination, MatrixRun};
use crate::answering::build_note::{Noted, build_notes, check_build};
use crate::answering::confirmation::is_proven;
use crate::answering::deployment::{Part, deployment, of_transport};
use crate::answering::final_check::{check_final, touches_recovery};
use crate::answering::same_answers::{AnswersBeside, are_compared, other_answers, take_answers};
use crate::answering::target_sizes::{sizes_of_parts, with_sizes};
use crate::duels::lever_context::on_top_of;
use crate::duels::workbench::Workbench;
use crate::plans::observer::Observer;
use crate::studies::study::Study;
use crate::variants::variant::Variant;

/// What is known of the answers of a confirmed combination to a capture.
pub(super) fn known_answers(confirmed: &Confirmed) -> Option<SameAnswers> {
    confirmed.comparison.replay.as_ref()?.same_answers.clone()
}

impl<'a> MatrixRun<'a> {
    /// What there is to know of the confirmed combination's server, where it was built.
    pub(super) fn builds(&self) -> Result<Vec<BuildNote>> {
        let options = self.options;
        if !self.is_ours {
            return Ok(options.part.earlier().builds.clone());
        }
        let best = self.confirmed.as_ref().and_then(|confirmed| {
            let place = (confirmed.workload, confirmed.threads);
            let [before, best] = self.sides_of(confirmed);
            let best = Noted {
                of: BuildNote::BEST,
                variant: best?,
                beside: before,
            };
            Some((options.benches.get(&place)?, best))
        });
        best.map_or(Ok(Vec::new()), |(bench, best)| build_notes(bench, &[best]))
    }

    /// What this part checks and hands over: what fresh duels proved faster, in this part or in an earlier one that ended before its
    /// check.
    fn to_check(&self) -> Option<&Confirmed> {
        let confirmed = self.confirmed.as_ref().filter(|_| self.is_ours)?;
        let may_be = is_proven(confirmed) && confirmed.comparison.may_be_recommended();
        may_be.then_some(confirmed)
    }

    /// That combination and where it was measured: workbench, baseline, it.
    fn proven(&self) -> Option<(&Confirmed, &'a Workbench, [&'a Variant; 2])> {
        let confirmed = self.to_check()?;
        let [before, best] = self.sides_of(confirmed);
        let options = self.options;
        let bench = options
            .benches
            .get(&(confirmed.workload, confirmed.threads))?;
        Some((confirmed, bench, [before?, best?]))
    }

    fn row(&self, title: &str) -> Option<&'a Combination> {
        let options = self.options;
        let mut rows = options.combinations.iter();
        rows.find(|combination| combination.title == title)
    }

    /// The baseline and the confirmed combination where it was confirmed, as far as they are to be had.
    fn sides_of(&self, confirmed: &Confirmed) -> [Option<&'a Variant>; 2] {
        let of = |row: Option<&'a Combination>| {
            let variant = row?.variants.get(confirmed.workload)?;
            variant.as_ref().ok()
        };
        let options = self.options;
        [
            of(options.combinations.first()),
            of(self.row(&confirmed.title)),
        ]
    }

    /// Checks the best combination, which is handed over: its build, what it answers a capture, the whole. Whether all of that could
    /// be done; what could not is tried again by the same command.
    ///
    /// # Errors
    /// [`Cancelled`](niagara_server::Cancelled) when stopped; a disk is full; the results cannot be written.
    pub(super) fn check_best(
        &mut self,
        study: &mut Study,
        observer: &mut dyn Observer,
    ) -> Result<bool> {
        let Some((_, bench, [baseline, best])) = self.proven() else {
            let why = self.why_unchecked();
            let is_over = why.is_none();
            self.warnings.extend(why.map(Warning::from));
            return Ok(is_over);
        };
        let undone = study.aside(observer, |observer| check_build(bench, best, observer))?;
        let is_built_right = undone.is_none();
        self.warnings.extend(undone.map(Warning::from));
        let sides = [baseline, best];
        self.compare_answers(bench, study, sides, observer)?;
        if other_answers(self.answers.as_ref()).is_some() {
            return Ok(is_built_right && are_compared(bench, self.answers.as_ref()));
        }
        let recovery = touches_recovery(best, &self.options.inventory.levers);
        self.checks = check_final(bench, study, sides, recovery, observer)?;
        Ok(is_built_right && FinalCheck::none_broken(&self.checks))
    }

    /// Why what was proven cannot be checked: an earlier part proved it, and it is not to be had now.
    fn why_unchecked(&self) -> Option<Finding> {
        let confirmed = self.to_check()?;
        let row = self.row(&confirmed.title);
        let variant = row.and_then(|row| row.variants.get(confirmed.workload));
        let reason = match variant {
            Some(Err(reason)) => reason.clone(),
            _ => Reason::NoLoad,
        };
        Some(Finding::ProvenNotChecked {
            title: confirmed.title.clone(),
            reason,
        })
    }

    /// Whether the best combination answers a capture as the baseline does, unless an earlier part knows it.
    fn compare_answers(
        &mut self,
        bench: &Workbench,
        study: &mut Study,
        sides: [&Variant; 2],
        observer: &mut dyn Observer,
    ) -> Result<()> {
        self.answers = self.confirmed.as_ref().and_then(known_answers);
        if self.answers.is_some() {
            return Ok(());
        }
        self.answers = AnswersBeside::of_last().compare(bench, study, sides, observer)?;
        // One that an error broke is done again: nothing of it stays with the comparison.
        let done = self
            .answers
            .as_ref()
            .filter(|answers| answers.failure.is_none());
        if let Some(confirmed) = &mut self.confirmed {
            take_answers(&mut confirmed.comparison, done);
        }
        Ok(())
    }

    /// What installing the best combination takes; `None` unless fresh duels proved it faster and it was checked.
    pub(super) fn deployment(&self) -> Result<Option<Deployment>> {
        let options = self.options;
        if !self.is_ours {
            return Ok(options.part.earlier().deployment.clone());
        }
        let checked = self
            .proven()
            .filter(|(_, bench, _)| are_compared(bench, self.answers.as_ref()))
            .filter(|_| FinalCheck::may_be_handed_over(&self.checks));
        let Some((confirmed, bench, [before, best])) = checked else {
            return Ok(None);
        };
        let inventory = options.inventory;
        let parts = [Part::between(
            &confirmed.title,
            before,
            best,
            &inventory.levers,
        )];
        let start = bench.start(&best.server);
        let found = deployment(
            [bench.install_of(best)?, bench.install_of(before)?],
            best,
            &parts,
            &options.machine,
            start,
        )?;
        let here = inventory.fingerprint()?;
        let sizes = sizes_of_parts(&parts, &on_top_of(best, &here, bench)?);
        let found = with_sizes(found, sizes.iter(), here.usable_cpus());
        Ok(Some(of_transport(found, before)))
    }
}
