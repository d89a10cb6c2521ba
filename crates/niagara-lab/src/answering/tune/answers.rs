//! Of a capture: levers that change what is answered are left out before anything is proven.

use anyhow::Result;
use niagara_model::{DifferingDigest, Finding, SameAnswers};

use super::TuneRun;
use crate::answering::same_answers::AnswersBeside;
use crate::plans::observer::Observer;
use crate::studies::study::Study;
use crate::variants::candidate::with_all;

impl TuneRun<'_> {
    /// A lever that changes what the capture is answered is no gain, whatever its speed: it is named, and left out before
    /// anything is proven. What remains is what comes back; where nothing does, what would have been promoted without it.
    pub(super) fn keep_answers(
        &mut self,
        study: &mut Study,
        mut promoted: Vec<usize>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<usize>> {
        let mut beside = AnswersBeside::default();
        loop {
            let kept = self.keep_answering(study, &promoted, &mut beside, observer)?;
            if !kept.is_empty() || promoted.is_empty() {
                return Ok(kept);
            }
            promoted = self.found.newly_promoted(self.options, &self.left_out);
        }
    }

    /// The levers that answer as the start does, among these: without those that change answers alone, and of those that do so
    /// only together without the last ones, which bring the least.
    fn keep_answering(
        &mut self,
        study: &mut Study,
        promoted: &[usize],
        beside: &mut AnswersBeside,
        observer: &mut dyn Observer,
    ) -> Result<Vec<usize>> {
        if promoted.is_empty() {
            return Ok(Vec::new());
        }
        let (bench, base) = (self.bench, &self.options.base);
        let candidates = self.found.candidates.clone();
        let mut with = |levers: &[usize], study: &mut Study, observer: &mut dyn Observer| {
            let variant = with_all(base, &candidates, levers);
            beside.compare(bench, study, [base, &variant], observer)
        };
        let differs =
            |answers: &Option<SameAnswers>| answers.as_ref().is_some_and(SameAnswers::differ);
        let mut together = with(promoted, study, observer)?;
        let mut kept = promoted.to_vec();
        if differs(&together) {
            kept.clear();
            for &index in promoted {
                let alone = with(&[index], study, observer)?;
                let differences: Vec<DifferingDigest> = alone
                    .iter()
                    .flat_map(SameAnswers::differences)
                    .cloned()
                    .collect();
                if differences.is_empty() {
                    kept.push(index);
                } else {
                    self.left_out.push(index);
                    let finding = Finding::ChangesAnswers {
                        title: candidates[index].lever.title().to_owned(),
                        together: false,
                        differences,
                    };
                    self.found.warnings.push(finding.into());
                }
            }
        }
        if kept.is_empty() {
            self.found.answers = None;
            return Ok(kept);
        }
        if kept.len() < promoted.len() {
            together = with(&kept, study, observer)?;
        }
        while kept.len() > 1 && differs(&together) {
            let Some(last) = kept.pop() else { break };
            let differences = together.iter().flat_map(SameAnswers::differences);
            let finding = Finding::ChangesAnswers {
                title: candidates[last].lever.title().to_owned(),
                together: true,
                differences: differences.cloned().collect(),
            };
            self.left_out.push(last);
            self.found.warnings.push(finding.into());
            together = with(&kept, study, observer)?;
        }
        self.found.answers = together;
        Ok(kept)
    }
}
