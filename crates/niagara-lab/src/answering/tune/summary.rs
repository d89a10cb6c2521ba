//! What a tuning has found, as it is kept: all that the report and deploy/ are made from.

use anyhow::Result;
use niagara_model::{BuildNote, NotTried, Screened, Setup, StudyHeader, TuneSummary, Warning};

use crate::answering::build_note::{Noted, build_notes, not_recommended};
use crate::answering::final_check::failed_checks;
use crate::answering::tune::options::TuneOptions;
use crate::answering::tune::recommendation::{conclusion, next_step, recommendation};
use crate::answering::tune::tuned::TuneResult;
use crate::duels::workbench::Workbench;
use crate::lever::Role;
use crate::plans::spec::Protocol;
use crate::studies::study::Study;

impl TuneResult {
    /// With all that the report and deploy/ are made from: whatever happens from here on, they can be made again.
    ///
    /// # Errors
    /// A server that was not set up; what checks of builds are kept cannot be read.
    pub(crate) fn summary(
        &self,
        bench: &Workbench,
        study: &Study,
        options: &TuneOptions,
    ) -> Result<TuneSummary> {
        let install = bench.install_of(&options.base)?;
        let in_ladder = |lever: &str| self.rungs.iter().any(|rung| rung.screened.lever == lever);
        let mut not_helped: Vec<Screened> = self
            .screened(Role::Lever)
            .filter(|(_, screened)| !in_ladder(&screened.lever))
            .map(|(_, screened)| screened.clone())
            .collect();
        not_helped.sort_by(|x, y| y.effect.ratio.total_cmp(&x.effect.ratio));
        let mut not_tried = self.not_tried.clone();
        for (index, candidate) in self.candidates.iter().enumerate() {
            let lever = &candidate.lever;
            let known = self.effect(index).is_some()
                || not_tried.iter().any(|other| other.lever == lever.id());
            if !known && lever.role() == Role::Lever {
                not_tried.push(NotTried {
                    lever: lever.id().to_owned(),
                    title: lever.title().to_owned(),
                    reason: self.unknown(),
                });
            }
        }
        let mut warnings = self.alarms();
        let last = Noted {
            of: BuildNote::FINAL,
            variant: &self.last,
            beside: Some(&options.base),
        };
        let builds = build_notes(bench, &[last])?;
        let not_recommended = not_recommended(&builds).or_else(|| failed_checks(&self.checks));
        let deployment = match &not_recommended {
            None => self.deployment(bench, options)?,
            Some(_) => None,
        };
        let setting = Setup {
            server: options.base.server.clone(),
            workload: bench.load().one_line(),
            threads: bench.load().threads,
            remote_application: options.remote_application,
            on_socket: options.base.runtime.is_on_socket(),
            benchmark: bench.load().workload.kind().is_some(),
            slice_seconds: (self.total_slice_seconds)
                .or_else(|| options.slice_seconds_under(bench.load())),
            lever_slice_seconds: (self.total_slice_seconds).map(|_| options.slice_seconds),
        };
        let recommendation = recommendation(self, options, setting, not_recommended.is_none());
        if self.is_proven() {
            warnings.extend(not_recommended.map(Warning::from));
        }
        warnings.extend(self.warnings.clone());
        warnings.extend(bench.client().map(|host| Warning::from(host.remark())));
        Ok(TuneSummary {
            header: StudyHeader {
                about: None,
                server: options.base.server.clone(),
                server_version: install.version_string.clone(),
                workload: bench.load().one_line(),
                goal: options.goal,
                rate: study.rate(),
                protocol: Protocol::Duel.to_string(),
                seed: options.seed,
                alpha: options.alpha,
                budget_seconds: Some(options.budget_seconds),
                elapsed_seconds: study.used_seconds(),
                load_seconds: study.load_seconds(),
                complete: self.complete,
                sd_duel: self.screening.as_ref().and_then(|s| s.residual_sd),
                builds,
                checks: self.checks.clone(),
                deployment,
                warnings,
            },
            threads: bench.load().threads,
            total: self.total.clone(),
            total_failure: self.total_failure.clone(),
            total_of: self.total_of.clone(),
            recommendation,
            next: next_step(self, options),
            conclusion: conclusion(self),
            guard: options.guard,
            dropped: self.dropped.clone(),
            alternatives: self.alternatives.clone(),
            negative_control: self
                .screened(Role::NegativeControl)
                .next()
                .map(|(_, s)| s.clone()),
            positive_control: self
                .screened(Role::PositiveControl)
                .next()
                .map(|(_, s)| s.clone()),
            rungs: self.rungs.clone(),
            not_helped,
            together: self.together().iter().map(|(_, t)| t.clone()).collect(),
            searched: self.searched.clone(),
            not_tried,
        })
    }
}
