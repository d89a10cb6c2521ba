//! The controls of a ladder or a matrix: a lever that changes nothing and one that is known to slow the server, each against
//! the start, by the same duels and the same test as everything else. They come first, so that no short budget drops them.

use anyhow::Result;
use niagara_model::{Control, Finding, Goal, MethodControl, Phase, Reason, Summary};
use niagara_stats::{ErrorBudget, Rule, Verdict, derive_seed};

use crate::answering::comparison::comparison;
use crate::answering::failure_summary::why_unmeasured;
use crate::answering::sequential_test::{
    RunningTest, SequentialTest, TestOutcome, first_look_seconds, share_seconds,
};
use crate::duels::inventory::Inventory;
use crate::duels::lever_context::on_top_of;
use crate::duels::workbench::Workbench;
use crate::lever::{Lever, Role};
use crate::plans::observer::{Event, Observer};
use crate::studies::checkpoint;
use crate::studies::study::Study;
use crate::variants::variant::Variant;

/// The controls, in the order in which they are measured, each with its name.
const CONTROLS: [(Role, Control); 2] = [
    (Role::NegativeControl, Control::Negative),
    (Role::PositiveControl, Control::Positive),
];
/// Most duels of a control, as a multiple of those at its first look: how it does should be known, not how much.
const OF_FIRST_LOOK: usize = 2;

/// The least that the positive control is known to cost, as a ratio (`data/levers/performance-schema-all.toml`; in the published studies it
/// was × 0.66 to 0.90): an interval above it says something, one that reaches below it only that its duels were few or noisy.
const LEAST_COST: f64 = 0.95;

/// Whether a control is called so: nothing else in a study may be.
pub(crate) fn is_control(name: &str) -> bool {
    CONTROLS
        .iter()
        .any(|(_, control)| control.to_string() == name)
}

/// How the controls are measured.
pub(crate) struct ControlOptions<'a> {
    /// Whether the study wants them.
    pub wanted: bool,
    /// What the study starts from.
    pub start: &'a Variant,
    /// Error probability of each, most duels.
    pub errors: ErrorBudget,
    /// Smallest worthwhile gain, futility.
    pub rule: Rule,
    /// Couples of a duel.
    pub couples: u32,
    /// Seed.
    pub seed: u64,
    /// Questions that share the time with them.
    pub questions: usize,
    /// The part of a matrix that they vouch for, from 1.
    pub part: Option<usize>,
    /// The study's summary with these controls.
    pub tell: &'a dyn Fn(&Study, &[MethodControl]) -> Result<Summary>,
}

/// What came of them.
pub(crate) struct Measured {
    pub controls: Vec<MethodControl>,
    /// Stopped on request in the middle of one.
    pub interrupted: bool,
}

/// Measures both controls. One that is not to be had here, or that could not be measured, is there with the reason.
///
/// # Errors
/// The results cannot be written, or the study cannot continue here.
pub(crate) fn measure_controls(
    bench: &Workbench,
    study: &mut Study,
    inventory: &Inventory,
    options: &ControlOptions<'_>,
    observer: &mut dyn Observer,
) -> Result<Measured> {
    let wanted = study.recall_or(&checkpoint::controls(), || Ok(options.wanted))?;
    let mut measured = Measured {
        controls: Vec::new(),
        interrupted: false,
    };
    if !wanted {
        return Ok(measured);
    }
    for (place, (role, kind)) in CONTROLS.into_iter().enumerate() {
        let name = &kind.to_string();
        let Some(lever) = inventory.levers.iter().find(|lever| lever.role() == role) else {
            continue;
        };
        let control = |comparison, reason| MethodControl {
            control: kind,
            title: lever.title().to_owned(),
            comparison,
            reason,
            part: options.part,
        };
        let control = match with_control(bench, inventory, options.start, lever)? {
            Err(reason) => control(None, Some(reason)),
            Ok((variant, _)) => {
                let left = CONTROLS.len() - place;
                let errors = control_errors(options.errors);
                let first_look = first_look_seconds(study, errors, options.couples);
                let share =
                    share_seconds(study.left_seconds(), options.questions + left, first_look);
                observer.see(Event::Stage {
                    name,
                    seconds: share,
                });
                let test = SequentialTest {
                    phase: Phase::Claim,
                    subject: name,
                    goal: Goal::Throughput,
                    a: options.start,
                    b: &variant,
                    errors,
                    rule: options.rule,
                    shape: options.couples.into(),
                    seed: derive_seed(options.seed, "control", place as u64),
                    reserve_seconds: (study.left_seconds() - share).max(0.0),
                    must_answer: false,
                    narrow_to: None,
                    continues: None,
                    best_part: None,
                };
                let of = |study: &Study, outcome: &TestOutcome| -> Result<MethodControl> {
                    if outcome.duels.iter().any(|duel| duel.score.is_some()) {
                        return Ok(control(Some(comparison(study, &test, outcome)?), None));
                    }
                    let reason = why_unmeasured(outcome);
                    let reason = reason.or(Some(Reason::TimeEnded));
                    Ok(control(None, reason))
                };
                let outcome = study.run(
                    bench,
                    RunningTest::begin(study, &test)?,
                    Some(&|study, so_far| {
                        let mut controls = measured.controls.clone();
                        controls.push(of(study, so_far)?);
                        (options.tell)(study, &controls)
                    }),
                    observer,
                )?;
                measured.interrupted = outcome.interrupted;
                of(study, &outcome)?
            }
        };
        measured.controls.push(control);
        if measured.interrupted {
            break;
        }
    }
    Ok(measured)
}

/// How many controls a ladder or a matrix has.
pub const CONTROL_COUNT: usize = CONTROLS.len();

/// The most duels of one control that is judged by these errors.
pub fn control_duels(errors: ErrorBudget) -> usize {
    control_errors(errors).max_duels
}

/// Those of a control: its end is a number of duels, for what a duel takes is hardly known before the first ones.
fn control_errors(errors: ErrorBudget) -> ErrorBudget {
    let most = errors.fewest_duels().map(|fewest| OF_FIRST_LOOK * fewest);
    ErrorBudget {
        max_duels: errors.max_duels.min(most.unwrap_or(errors.max_duels)),
        ..errors
    }
}

/// `start` with a control, and what that changes; the reason where it does not apply here.
fn with_control(
    bench: &Workbench,
    inventory: &Inventory,
    start: &Variant,
    lever: &Lever,
) -> Result<Result<(Variant, String), Reason>> {
    let mut set = inventory
        .levers
        .iter()
        .filter(|other| start.levers.iter().any(|id| id == other.id()));
    if let Some(other) = set.find(|other| other.is_apart_from(lever)) {
        return Ok(Err(Reason::Excludes {
            lever: other.spelling(),
        }));
    }
    let fingerprint = inventory.fingerprint()?;
    // The start's own server: it may be built, and its package not set up.
    let mut context = on_top_of(start, &fingerprint, bench)?;
    context.named = [lever.id().to_owned()].into();
    Ok(lever.applicability(&context).map(|change| {
        let variant = start.with(lever.id(), &change);
        (variant, change.one_line())
    }))
}

/// What a reader must know of the controls before believing the rest.
pub(crate) fn alarms(controls: &[MethodControl]) -> Vec<Finding> {
    let several = controls.iter().any(|one| one.part != controls[0].part);
    controls
        .iter()
        .filter_map(|control| alarm(control, control.part.filter(|_| several)))
        .collect()
}

/// What a reader must know of one; `part` where there are several.
fn alarm(measured: &MethodControl, part: Option<usize>) -> Option<Finding> {
    let control = measured.control;
    let Some(comparison) = &measured.comparison else {
        return Some(Finding::NoControl {
            control,
            part,
            reason: measured.reason.clone(),
        });
    };
    if let Some(failed) = &comparison.failed {
        return Some(Finding::ControlFailed {
            control,
            part,
            failure: failed.failure.clone(),
        });
    }
    let judged = comparison.judged();
    let effect = judged.estimate;
    let is_called = matches!(judged.verdict, Some(Verdict::Faster | Verdict::Slower));
    // No difference could have been called, whatever the duels show.
    if !is_called && (judged.critical.is_none() || judged.confidence.is_some()) {
        return Some(Finding::ControlTooShort {
            control,
            part,
            duels: judged.duels,
        });
    }
    if control == Control::Negative {
        return is_called.then(|| Finding::NegativeControlMoved {
            part,
            effect,
            one_in: judged.alpha.recip(),
        });
    }
    match judged.verdict {
        Some(Verdict::Slower) => None,
        // Its own cost is still within the interval: that it was not seen says how little its few duels can tell, and no more.
        _ => Some(Finding::PositiveControlUnseen {
            part,
            effect,
            too_few: (effect.low < LEAST_COST).then_some(judged.duels),
            least_cost: Some(LEAST_COST),
        }),
    }
}

#[cfg(test)]
mod tests {
    use niagara_build::Recipe;
    use niagara_model::{Comparison, FailedSide, Failure};
    use niagara_server::{Cancel, get};
    use serde_json::json;

    use super::*;
    use crate::plans::observer::Silent;
    use crate::plans::spec::Load;

    /// A study may start from a build though the package of the server is not set up.
    #[test]
    fn a_start_that_is_built_has_its_controls() {
        const SERVER: &str = "mariadb-10.11";
        let inventory = Inventory::open(&[], &[]).expect("the shared cache");
        let load = Load::of_ten_rows();
        let (cache, catalog) = (inventory.cache.clone(), inventory.catalog.clone());
        let server = catalog.get(SERVER).expect("known");
        let install = get(&cache, server, &mut |_| {}).expect("fetched");
        let mut bench = Workbench::new(cache, catalog, load, Cancel::default());
        let mut start = Variant::base(SERVER);
        start.build = Some(Recipe::default());
        bench.give(&start, install).expect("it is here");
        bench.set_up_variant(&start, &mut Silent).expect("set up");
        let controls = inventory.levers.iter();
        let controls: Vec<&Lever> = (controls)
            .filter(|lever| lever.role() != Role::Lever)
            .collect();
        assert_eq!(controls.len(), CONTROL_COUNT);
        for lever in controls {
            let with = with_control(&bench, &inventory, &start, lever).expect("known");
            let (variant, _) = with.expect("it applies");
            assert_eq!(variant.build, start.build);
        }
    }

    #[test]
    fn a_control_ends_after_a_number_of_duels_whatever_they_take() {
        let errors = |max_duels| control_errors(ErrorBudget::two_sided(0.05, max_duels));
        assert_eq!(errors(44).max_duels, 12);
        assert_eq!(errors(8).max_duels, 8);
        // Too few to call anything: as many as there may be.
        assert_eq!(errors(4).max_duels, 4);
    }

    fn control(
        kind: Control,
        duels: usize,
        critical: Option<u32>,
        verdict: Verdict,
    ) -> MethodControl {
        within([0.85, 0.95], kind, duels, critical, verdict)
    }

    fn within(
        [low, high]: [f64; 2],
        kind: Control,
        duels: usize,
        critical: Option<u32>,
        verdict: Verdict,
    ) -> MethodControl {
        let judged = json!({
            "duels": duels, "verdict": verdict,
            "estimate": { "ratio": (low * high).sqrt(), "low": low, "high": high },
            "w": -21.0, "critical": critical, "predictive_power": 0.0, "next_look": null, "alpha": 0.05,
        });
        let comparison: Comparison = serde_json::from_value(json!({
            "a": "a", "b": "b", "goal": "throughput", "throughput": judged, "cpu_per_transaction": null, "latency_p50": null, "latency_p95": null,
            "tps": [1.0, 1.0], "dropped": [0, 0], "couples": 1,
        }))
        .expect("a comparison");
        MethodControl {
            control: kind,
            title: "t".to_owned(),
            comparison: Some(comparison),
            reason: None,
            part: None,
        }
    }

    #[test]
    fn a_control_of_too_few_duels_says_nothing_of_the_method() {
        let alarms = |controls: &[MethodControl]| -> Vec<String> {
            let found = alarms(controls);
            found.iter().map(ToString::to_string).collect()
        };
        let [negative, positive] = CONTROLS.map(|(_, kind)| kind);
        for kind in [negative, positive] {
            let too_few = alarms(&[control(kind, 2, None, Verdict::Undetected)]);
            assert!(too_few[0].contains("only 2 duels"), "{too_few:?}");
        }
        let none = alarms(&[
            control(negative, 12, Some(60), Verdict::Undetected),
            control(positive, 6, Some(21), Verdict::Slower),
        ]);
        assert_eq!(none, Vec::<String>::new());
        let moved = alarms(&[control(negative, 6, Some(21), Verdict::Slower)]);
        assert!(moved[0].contains("changes nothing"), "{moved:?}");
        assert!(
            moved[0].contains("the one control in 20 that chance moves"),
            "{moved:?}"
        );
        let unseen = |range: [f64; 2], verdict: Verdict| {
            alarms(&[within(range, positive, 12, Some(60), verdict)]).remove(0)
        };
        // A loss of 5 % would have been seen: it is not there, or the method is to blame.
        for verdict in [Verdict::Undetected, Verdict::NotWorthwhile] {
            let text = unseen([0.98, 1.004], verdict);
            assert!(text.contains("misses effects"), "{text}");
        }
        // Noise of 8 %: nothing is said against the method.
        let text = unseen([0.87, 1.04], Verdict::Undetected);
        assert!(
            text.contains("by 12 duels: too rough to tell, and so would a loss down to × 0.87 be"),
            "{text}"
        );
        let mut failed = control(positive, 3, None, Verdict::Undetected);
        if let Some(comparison) = &mut failed.comparison {
            comparison.failed = Some(FailedSide {
                side: 1,
                failure: Failure {
                    variant: "base + p".to_owned(),
                    error: "killed".to_owned(),
                },
            });
        }
        let text = alarms(&[failed]).remove(0);
        assert!(
            text.contains("failed") && text.ends_with("killed"),
            "{text}"
        );
    }
}
