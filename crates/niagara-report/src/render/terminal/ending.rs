//! The end of a result: what limits now, where the files are, what to do next.

use niagara_model::{Follows, NextStep, NotTried, Reason, Summary, TargetSize, TuneSummary};

use super::screen::{Paint, Screen};
use crate::applying::is_socket_alone;
use crate::handover::{has_deployment, is_proven, is_unchecked, may_deploy};
use crate::number;
use crate::source::{Files, Study};
use crate::wording::{self, is_stopped_in_screening};

/// What stands before the first step that is left to do, and before those behind it.
const LEADS: [&str; 2] = ["next:    ", "then:    "];
/// Before a step that takes the place of those above it.
const INSTEAD: &str = "or:      ";

impl Screen {
    /// Limits and files; on one screen also where the rest is.
    pub(super) fn ending(&mut self, summary: &Summary, study: &Study<'_>, verbose: bool) {
        if !study.limits.is_empty() {
            self.line("");
        }
        for limit in study.limits {
            self.wrapped("", limit, Paint::Plain);
        }
        let Some(files) = study.files else {
            return;
        };
        if study.limits.is_empty() || verbose {
            self.line("");
        }
        self.line(&format!("report:  {}", files.report.display()));
        let mut next = None;
        if let Some(deploy) = &files.deploy {
            self.line(&format!("deploy:  {}", deploy.display()));
            if let Some([words, command]) = sizes_elsewhere(summary, files) {
                self.wrapped("sizes:   ", &words, Paint::Plain);
                // Broken into lines it could not be copied.
                self.line(&format!("         {command}"));
            }
            let deployment = summary.header().deployment.as_ref();
            next = Some(match deployment.is_some_and(is_socket_alone) {
                true => {
                    "read deploy/README.md: what to change in the application, how to check and undo it; first in a test copy"
                }
                false => {
                    "read deploy/README.md: how to apply, check and undo it; first on a replica or a test server"
                }
            });
        } else if is_unchecked(summary) {
            let text = "not yet: what was proven to be better is checked before it is handed over; the same command continues";
            self.wrapped("deploy:  ", text, Paint::Plain);
        } else if has_deployment(summary) {
            let text = "not in this folder any more: `niagara report FOLDER --format files` writes it again";
            self.wrapped("deploy:  ", text, Paint::Plain);
        } else if is_proven(summary) {
            let text = "none: see above why what was proven to be better is not handed over";
            self.wrapped("deploy:  ", text, Paint::Plain);
        } else if may_deploy(summary) {
            let has_proven = |tune: &TuneSummary| {
                let mut rungs = tune.rungs.iter().map(wording::Standing::of);
                rungs.any(|standing| standing == wording::Standing::Proven)
            };
            let text = match summary {
                Summary::Tune(tune) if has_proven(tune) => {
                    "none: the final variant was not proven to be better, though levers of it were"
                }
                _ => "none, since no gain was proven",
            };
            self.wrapped("deploy:  ", text, Paint::Plain);
            if let Summary::Tune(tune) = summary {
                next = next_step(tune);
            }
        }
        if let Summary::Matrix(matrix) = summary
            && let Some(left) = crate::build::left(matrix)
        {
            self.wrapped("left:    ", &left, Paint::Plain);
        }
        let step = match summary {
            Summary::Tune(tune) => tune.next.as_ref().map(|step| (tune, step)),
            _ => None,
        };
        let advise = step.filter(|(_, step)| matches!(step, NextStep::Advise { .. }));
        // Nobody builds a server while its statements come first.
        if let Some(builds) = files.builds.as_ref().filter(|_| advise.is_none()) {
            self.wrapped("builds:  ", builds, Paint::Plain);
        }
        if verbose {
            self.line(&format!("results: {}", files.results.display()));
        }
        let mut steps: Vec<(Option<String>, String)> = Vec::new();
        if let Some((_, step)) = advise {
            steps.push((files.advice.clone(), step.to_string()));
        }
        // What a benchmark proved is worth less than what one's own traffic does.
        if step.is_some_and(|(tune, _)| advise.is_none() && tune.is_on_test_tables()) {
            steps.push((None, OWN_TRAFFIC.to_owned()));
            next = next.map(|_| AFTER_OWN_TRAFFIC);
        }
        steps.extend(next.map(|next| (None, next.to_owned())));
        if let (Some((tune, step)), None) = (step, advise) {
            // Builds have their line already.
            let is_told = matches!(step, NextStep::TryLever { .. }) && files.builds.is_some();
            if !is_told {
                steps.push((continued(tune, step, files), step.to_string()));
            }
        }
        for (place, (command, words)) in steps.iter().enumerate() {
            let mut lead = match (place, command) {
                (1.., Some(_)) => INSTEAD,
                _ => LEADS[place.min(1)],
            };
            if let Some(command) = command {
                // Broken into lines it could not be copied.
                self.line(&format!("{lead}{command}"));
                lead = "         ";
            }
            self.wrapped(lead, words, Paint::Plain);
        }
        if !verbose {
            let rest = format!(
                "{} --verbose, or the page: {}",
                files.report_command(),
                rest(summary)
            );
            self.wrapped("more:    ", &rest, Paint::Plain);
        }
    }
}

/// What comes after a tuning under a benchmark that is built in.
const OWN_TRAFFIC: &str = "measure your own traffic first: `niagara pack` on your server; then here `niagara advise FILE.niagara` for \
                           indexes (apply its schema.sql, then pack again) and `niagara tune FILE.niagara` for settings (application on another \
                           host: --app remote)";

/// What comes behind that, in place of the benchmark's own files.
const AFTER_OWN_TRAFFIC: &str = "apply the deploy/ of that tuning, by its README.md, first on a replica or a test server; the one above is a \
                                 benchmark's";

/// Minutes that another tuning gets at the least: enough for the duels of a few levers.
const LEAST_MINUTES: f64 = 30.0;

/// The command that decides what the time left undecided: the same tuning of these levers alone, for twice the time at the least.
fn continued(tune: &TuneSummary, step: &NextStep, files: &Files) -> Option<String> {
    let NextStep::MoreTime { ids, .. } = step else {
        return None;
    };
    let command = files.command.as_ref().filter(|_| !ids.is_empty())?;
    let minutes = tune.header.budget_seconds.unwrap_or_default() / 60.0;
    let minutes = (2.0 * minutes).max(LEAST_MINUTES).ceil();
    Some(format!(
        "{command} --only {} --budget {minutes:.0}m",
        ids.join(",")
    ))
}

/// Reasons why levers were not tried that are told on one screen.
const MAX_REASONS: usize = 3;

/// What one screen left out.
fn rest(summary: &Summary) -> String {
    let tune = match summary {
        Summary::Tune(tune) => tune,
        Summary::Sweep(_) => {
            return "where the time goes at every thread count, and the scalability law".to_owned();
        }
        _ => return "how it was measured, and how to read it".to_owned(),
    };
    let mut parts = Vec::new();
    let undecided = tune.dropped.iter();
    let undecided = undecided
        .filter(|lever| lever.because.is_undecided())
        .count();
    // Undecided levers were measured, too.
    let not_kept = tune.not_helped.len().saturating_sub(undecided);
    if not_kept > 0 {
        let levers = number::count(not_kept, "lever");
        parts.push(match is_stopped_in_screening(tune) {
            true => format!("{levers} under way, none of them judged"),
            false => format!("{levers} measured and not kept"),
        });
    }
    if undecided > 0 {
        parts.push(match parts.is_empty() {
            true => format!("{} undecided", number::count(undecided, "lever")),
            false => format!("{undecided} undecided"),
        });
    }
    if !tune.not_tried.is_empty() {
        let levers = match parts.is_empty() {
            true => number::count(tune.not_tried.len(), "lever"),
            false => tune.not_tried.len().to_string(),
        };
        parts.push(format!("{levers} not tried ({})", reasons(&tune.not_tried)));
    }
    match parts.is_empty() {
        true => "how it was measured, and how to read it".to_owned(),
        false => parts.join(", "),
    }
}

/// `not for this server: 17, other reasons: 52`. What more time would try is always told.
fn reasons(not_tried: &[NotTried]) -> String {
    let of_time = Reason::BudgetTooShort.heading();
    let counted = wording::counted(not_tried);
    let (late, others): (Vec<_>, Vec<_>) = counted
        .into_iter()
        .partition(|(heading, _)| *heading == of_time);
    let (first, rest) = others.split_at(others.len().min(MAX_REASONS - late.len()));
    let told = first.iter().chain(&late);
    let mut told: Vec<String> = told
        .map(|(heading, count)| format!("{heading}: {count}"))
        .collect();
    let others: usize = rest.iter().map(|(_, count)| count).sum();
    if others > 0 {
        told.push(format!("other reasons: {others}"));
    }
    told.join(", ")
}

/// What to do after a tuning that proved nothing; nothing where it was stopped, for it says itself how it continues.
fn next_step(tune: &TuneSummary) -> Option<&'static str> {
    if !tune.header.complete || tune.next.is_some() {
        return None;
    }
    let blind = tune
        .positive_control
        .as_ref()
        .is_some_and(|control| control.effect.high >= 1.0);
    Some(match blind {
        true => {
            "the positive control was not seen: too much noise or too little time; `niagara doctor --noise` says what can be \
             seen here, and a longer --budget sees more"
        }
        false => {
            "a longer --budget sees smaller gains; `niagara report --verbose` lists what was not tried; another --workload may \
             have more to gain"
        }
    })
}

/// Which values of what is handed over follow the machine, and the command that writes them for another one.
fn sizes_elsewhere(summary: &Summary, files: &Files) -> Option<[String; 2]> {
    let deployment = summary.header().deployment.as_ref()?;
    let open: Vec<&TargetSize> = (deployment.sizes.iter())
        .filter(|size| size.target.is_none())
        .collect();
    let option = |follows, text| {
        let mut of = open.iter();
        of.any(|size| size.follows == follows).then_some(text)
    };
    let options: Vec<&str> = [
        option(Follows::Cpus, "--cpus N"),
        option(Follows::Memory, "--memory SIZE"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let names: Vec<&str> = open.iter().map(|size| size.variable.as_str()).collect();
    (!open.is_empty()).then(|| {
        [
            match summary {
                Summary::Tune(tune) if tune.searched.is_none() => format!(
                    "{} by a rule, not searched (a longer --budget does); for another machine:",
                    names.join(", ")
                ),
                _ => format!("{} for this machine; for another one:", names.join(", ")),
            },
            format!(
                "{} --format files {}",
                files.report_command(),
                options.join(" ")
            ),
        ]
    })
}

#[cfg(test)]
mod tests {
    use niagara_error::Explanation;

    use super::*;

    #[test]
    fn a_reason_is_counted_by_its_heading() {
        let left = NotTried {
            lever: "build-lto".to_owned(),
            title: String::new(),
            reason: Reason::CannotBuild {
                error: Box::new(
                    Explanation::new("dpkg-source is not here").remedy("apt install dpkg-dev"),
                ),
                together: Vec::new(),
            },
        };
        assert_eq!(reasons(&[left]), "cannot be built here: 1");
    }

    #[test]
    fn what_more_time_would_try_is_among_the_reasons_that_are_told() {
        let of = |reason: Reason, count: usize| {
            let left = NotTried {
                lever: String::new(),
                title: String::new(),
                reason,
            };
            vec![left; count]
        };
        let all = [
            of(Reason::NoWrites, 5),
            of(Reason::NeedsRoot, 4),
            of(Reason::OneNumaNode, 3),
            of(Reason::NoLoad, 2),
            of(Reason::BudgetTooShort, 1),
        ];
        assert_eq!(
            reasons(&all.concat()),
            "the workload does not write: 5, needs root: 4, the budget is too short: 1, other reasons: 5"
        );
    }
}
