//! What a study is about to do and what it can show, told before it starts.

use std::path::PathBuf;
use std::time::Duration;

use niagara_build::Forecast;
use niagara_fleet::Plan;
use niagara_lab::{
    CONTROL_COUNT, DuelSettings, History, NoiseSource, PartsSoFar, Protocol, Question,
    ServerRecipe, StudyDescription, client_host_remark, control_duels, couples_of, expected_sd,
    recipes_of, rung_errors, sweep_profile_seconds, unit_seconds, warmed_up_unit_seconds,
};
use niagara_model::Goal;
use niagara_report::number;
use niagara_stats::{ErrorBudget, detectable_by, detectable_in, detectable_of_starts};
use schemars::JsonSchema;
use serde::Serialize;

use crate::announcement::words;
use crate::clock::clock;
use crate::cmd::fleet::START_SECONDS;

/// Standard deviation of a pair of runs one after the other, of ln throughput: what it was on a shared 2-core machine
/// (docs/methodology.md).
const ASSUMED_PAIR_SD: f64 = 0.077;
/// Of one fresh start: 1/√2 of that.
const ASSUMED_START_SD: f64 = 0.054;

/// A study's plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunPlan {
    /// `compare`, `ladder`, `matrix`, `sweep`.
    pub kind: String,
    /// For people.
    pub title: String,
    /// `small` or `original`.
    pub size: String,
    /// The loads, a line each.
    pub workloads: Vec<String>,
    /// Connections.
    pub threads: Vec<u32>,
    /// What is judged or measured: rungs and total, cells and confirmation, points.
    pub questions: usize,
    /// What those are: `7 rungs and the total`.
    pub question: String,
    /// Rungs that the file says cannot be tried today.
    pub cannot: usize,
    /// Combinations of a matrix that are not measured this time, nor were.
    pub left: usize,
    /// Of the cells that are asked for, those that earlier parts of the matrix measured.
    pub there: usize,
    /// Where those are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<PathBuf>,
    /// How variants meet: `duel`, `pair`, `trimmed`, `solo`.
    pub protocol: String,
    /// What decides.
    pub goal: Goal,
    /// Whether anything is compared: of one variant that is swept there are levels alone.
    pub compares: bool,
    /// Duels (pairs, fresh starts) of a question at the most.
    pub duels_each: usize,
    /// The fewest by which a question tells a difference; 0 where nothing is tested.
    pub fewest_duels: usize,
    /// What they take; none of jobs, whose length nobody knows before the first.
    #[serde(flatten)]
    pub time: Option<TimePlan>,
    /// Seconds asked for.
    pub budget_seconds: f64,
    /// The host that the load comes from, if not this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_host: Option<String>,
    /// Nodes that it keeps busy nine tenths of the time (`--on slurm`); none of jobs.
    pub nodes_worth_having: Option<usize>,
    /// Servers that have to be there.
    pub builds: Vec<BuildPlan>,
    /// Seconds that there are for building those of a ladder's rungs, where they are limited.
    pub build_seconds: Option<f64>,
    /// Smallest difference that a question shows 4 times in 5 when the time is shared evenly, as a fraction.
    pub detectable: Option<f64>,
    /// Of a ladder and a matrix: the smallest difference that its total, or its confirmation, shows 4 times in 5 should what comes before
    /// it leave it no more than its first look, which is reserved.
    pub detectable_at_last: Option<f64>,
    /// Where the noise that this goes by is from.
    pub noise: NoiseSource,
    /// Smallest gain that is worth the trouble, as a fraction.
    pub min_effect: f64,
}

/// A server that has to be there.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BuildPlan {
    /// Its recipe in one line.
    pub recipe: String,
    /// Whether it is here already, or how long it will take.
    pub forecast: Forecast,
}

/// What a study's duels take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TimePlan {
    /// Duels of all questions that fit into the budget.
    pub duels_in_budget: usize,
    /// Estimated seconds of a duel (pair, start).
    pub duel_seconds: f64,
    /// Seconds when every question takes all of its duels, the controls among them.
    pub seconds_at_most: f64,
    /// Those of the budget that the controls take.
    pub control_seconds: f64,
    /// Those that are kept for profiles of a sweep's variants.
    pub profile_seconds: f64,
}

/// The plan of `study` on a machine with this history, of a matrix after these parts of it; `forecasts` tells what builds take, one after
/// the other.
pub fn plan(
    study: &StudyDescription,
    history: Option<&History>,
    so_far: Option<&PartsSoFar>,
    forecasts: &dyn Fn(&[ServerRecipe]) -> Vec<Forecast>,
) -> RunPlan {
    let duel_settings = duel_settings_of(study, history);
    let (mut cannot, mut left) = (0, 0);
    let (questions, question) = match &study.question {
        Question::Compare { .. } => (1, "1 comparison".to_owned()),
        Question::Ladder { rungs, .. } => {
            cannot = rungs.iter().filter(|rung| rung.cannot.is_some()).count();
            let tried = rungs.len() - cannot;
            let rungs = number::count(tried, "rung");
            (tried + 1, format!("{rungs} and the total"))
        }
        Question::Matrix(matrix) => {
            let sets = matrix.sets();
            left = sets.iter().filter(|set| set.is_left).count();
            let combinations = sets.len() - left - 1;
            let mut cells = combinations * study.workloads.len() * study.threads.len();
            let mut confirms = true;
            if let Some(so_far) = so_far {
                (cells, left, confirms) = (so_far.adds, so_far.rows_left, so_far.confirms);
            }
            match confirms {
                true => {
                    let told = number::count(cells, "cell") + " and the confirmation of the best";
                    (cells + 1, told)
                }
                false => (0, "nothing to measure".to_owned()),
            }
        }
        Question::Sweep { variants } => {
            let lanes = match study.protocol {
                Protocol::Duel => 1,
                _ => variants.len(),
            };
            let points = study.threads.len() * lanes;
            (points, number::count(points, "point"))
        }
        Question::Tune(_) => (1, "1 tuning".to_owned()),
        Question::Noise => (1, "1 server against itself".to_owned()),
    };
    let duels_each = match study.protocol {
        Protocol::Trimmed => 1,
        _ => study.duels,
    };
    let budget_seconds = study.budget.as_secs_f64();
    let is_job = study.workloads[0].load.workload.is_job();
    let time = (!is_job).then(|| {
        let seconds = match study.question {
            // Their loads differ, so that every start is warmed up for the longest time.
            Question::Matrix(_) | Question::Sweep { .. } => warmed_up_unit_seconds,
            _ => unit_seconds,
        };
        let duel_seconds = seconds(study.protocol, &duel_settings, duel_settings.couples);
        let most = questions * duels_each;
        let has_controls = matches!(
            study.question,
            Question::Ladder { .. } | Question::Matrix(_)
        );
        let controls = match has_controls && study.controls && questions > 0 {
            true => CONTROL_COUNT * control_duels(ErrorBudget::two_sided(study.alpha, study.duels)),
            false => 0,
        };
        let controls_at_most = duel_seconds * controls as f64;
        // Each has its share of the time like everything else.
        let of_each = budget_seconds / (questions + CONTROL_COUNT) as f64;
        let control_seconds = controls_at_most.min(CONTROL_COUNT as f64 * of_each);
        let profile_seconds = match &study.question {
            Question::Sweep { variants } if study.profile => {
                sweep_profile_seconds(budget_seconds, variants.len())
            }
            _ => 0.0,
        };
        let open = budget_seconds - control_seconds - profile_seconds;
        TimePlan {
            duels_in_budget: ((open / duel_seconds) as usize).min(most),
            duel_seconds,
            seconds_at_most: duel_seconds * most as f64 + controls_at_most + profile_seconds,
            control_seconds,
            profile_seconds,
        }
    });
    let (sd, noise) = noise_of(study, &duel_settings, history);
    let detectable = time.and_then(|time| detectable_of(study, sd, questions, &time));
    let detectable_at_last = detectable.and_then(|_| detectable_at_last(study, sd));
    let nodes_worth_having = time.map(|time| nodes_of(study, questions, duels_each, &time));
    let recipes = recipes_of(study, &|row| match so_far {
        Some(so_far) => so_far.is_wanted(row),
        None => !row.is_left,
    });
    RunPlan {
        kind: study.question.kind().to_string(),
        title: study.about.title.clone(),
        size: study.about.size.clone(),
        workloads: study
            .workloads
            .iter()
            .map(|workload| workload.load.one_line())
            .collect(),
        threads: study.threads.clone(),
        questions,
        question,
        cannot,
        left,
        there: so_far.map_or(0, |so_far| so_far.there),
        results: so_far.map(|so_far| so_far.folder.clone()),
        protocol: study.protocol.to_string(),
        goal: study.goal,
        compares: !matches!(&study.question, Question::Sweep { variants } if variants.len() < 2),
        duels_each,
        fewest_duels: fewest_duels(study, questions),
        time,
        budget_seconds,
        client_host: study.client_host.clone(),
        nodes_worth_having,
        builds: recipes
            .iter()
            .zip(forecasts(&recipes))
            .map(|(made, forecast)| BuildPlan {
                recipe: made.recipe.one_line(),
                forecast,
            })
            .collect(),
        build_seconds: study.build_budget.map(|budget| budget.as_secs_f64()),
        detectable,
        detectable_at_last,
        noise,
        min_effect: study.min_effect,
    }
}

/// Seconds as a duration: the longest there is of what is longer.
fn length(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// How many nodes the study keeps busy, when all of its time is used.
fn nodes_of(study: &StudyDescription, questions: usize, duels: usize, time: &TimePlan) -> usize {
    let (questions, duels) = match &study.question {
        // A round of points is run side by side, and rounds are one after the other.
        Question::Sweep { .. } => (duels, questions),
        // Screening, search and total are one series of duels after the other.
        Question::Tune(_) => (1, time.duels_in_budget),
        _ => (
            questions,
            duels.min(time.duels_in_budget / questions.max(1)),
        ),
    };
    Plan {
        questions,
        duels,
        seconds: time.duel_seconds,
        start: START_SECONDS,
    }
    .nodes_worth_having()
}

/// Slices and couples as they will be.
fn duel_settings_of(study: &StudyDescription, history: Option<&History>) -> DuelSettings {
    let duel_settings = study.duel_settings();
    match study.question {
        Question::Compare { .. } => DuelSettings {
            couples: couples_of(study, history),
            ..duel_settings
        },
        _ => duel_settings,
    }
}

/// Standard deviation of what one duel (pair, start) says, and where it is from. Of duels the machine's history tells it for
/// the study's first load.
fn noise_of(
    study: &StudyDescription,
    duel_settings: &DuelSettings,
    history: Option<&History>,
) -> (f64, NoiseSource) {
    match study.protocol {
        Protocol::Duel => {
            let load = study.first_load();
            let known = history.and_then(|history| history.components(&load, duel_settings));
            expected_sd(known, duel_settings, duel_settings.couples)
        }
        Protocol::Pair | Protocol::Trimmed => (ASSUMED_PAIR_SD, NoiseSource::Assumed),
        Protocol::Solo => (ASSUMED_START_SD, NoiseSource::Assumed),
    }
}

/// The smallest difference that a question shows 4 times in 5, by the looks that it will be judged at; `None` where
/// its share of the time is too short for a verdict, there is none by this protocol, or nothing is known of the noise of its goal.
fn detectable_of(
    study: &StudyDescription,
    sd: f64,
    questions: usize,
    time: &TimePlan,
) -> Option<f64> {
    // Of the noise of other goals nothing is known before their first duels.
    let is_known = study.goal == Goal::Throughput && study.protocol != Protocol::Trimmed;
    if !is_known || questions == 0 {
        return None;
    }
    // Points have intervals of their own, and nothing is tested before the end. One variant is compared with nothing.
    if let Question::Sweep { variants } = &study.question {
        let starts = time.duels_in_budget / questions;
        let together = study.protocol == Protocol::Duel;
        return (variants.len() > 1)
            .then(|| detectable_of_starts(sd, starts, together, study.alpha))
            .flatten();
    }
    let errors = errors_of(study, questions);
    let share = (study.budget.as_secs_f64() - time.control_seconds) / questions as f64;
    let looks = errors.plan((share / time.duel_seconds) as usize);
    detectable_in(share, time.duel_seconds, sd, &looks)
}

/// The smallest difference that the duels of a first look show, of the question that comes last and has what the others leave.
fn detectable_at_last(study: &StudyDescription, sd: f64) -> Option<f64> {
    if !matches!(
        study.question,
        Question::Ladder { .. } | Question::Matrix(_)
    ) {
        return None;
    }
    let errors = ErrorBudget::two_sided(study.alpha, study.duels);
    detectable_by(errors.fewest_duels()?, sd, &errors)
}

/// The error probability that each of a study's questions has; of a ladder that of a rung, of which there are all but one.
fn errors_of(study: &StudyDescription, questions: usize) -> ErrorBudget {
    match &study.question {
        // The total is one question more.
        Question::Ladder { .. } => {
            rung_errors(study.alpha, questions.saturating_sub(1), study.duels)
        }
        // The total of a tuning claims a gain alone.
        Question::Tune(_) => ErrorBudget::one_sided(study.alpha, study.duels),
        _ => ErrorBudget::two_sided(study.alpha, study.duels),
    }
}

/// The fewest duels by which a question of the study tells a difference, however many it may have; 0 where nothing is tested.
fn fewest_duels(study: &StudyDescription, questions: usize) -> usize {
    if matches!(study.question, Question::Sweep { .. }) || study.protocol == Protocol::Trimmed {
        return 0;
    }
    let without_end = ErrorBudget {
        max_duels: usize::MAX,
        ..errors_of(study, questions)
    };
    without_end.fewest_duels().unwrap_or(0)
}

impl RunPlan {
    /// Whether the time holds not even one duel (pair, series).
    fn is_too_short(&self) -> bool {
        self.time.is_some_and(|time| time.duels_in_budget == 0)
    }

    fn builds_text(&self) -> String {
        if self.builds.is_empty() {
            return "  nothing to build".to_owned();
        }
        let builds = number::count(self.builds.len(), "build");
        let mut text = format!("  {builds}, kept for the next time:");
        for build in &self.builds {
            text += &format!("\n    {} ({})", build.recipe, words(build.forecast));
        }
        let known = self
            .builds
            .iter()
            .filter_map(|build| build.forecast.seconds());
        let seconds: f64 = known.sum();
        if seconds > 0.0 {
            let all = clock(length(seconds));
            let unknown = self
                .builds
                .iter()
                .filter(|build| build.forecast == Forecast::Unknown)
                .count();
            let aside = match unknown {
                0 => String::new(),
                1 => ", without the one that is not known".to_owned(),
                many => format!(", without the {many} that are not known"),
            };
            text += &format!("\n    together about {all}{aside}, beside the measuring");
        }
        if let Some(seconds) = self.build_seconds {
            text += &format!(
                "\n    {} for those of the rungs (--build-budget): a rung is left out, and told, whose build takes longer than what is left",
                clock(length(seconds))
            );
        }
        text
    }

    /// How many nodes are worth having, in words; nothing of jobs.
    pub fn nodes_text(&self) -> Option<String> {
        let nodes = match self.nodes_worth_having? {
            1 => "one node alone".to_owned(),
            nodes => format!("up to {nodes} nodes"),
        };
        Some(format!(
            "  on a cluster (--on slurm) it keeps {nodes} busy for nine tenths of the time"
        ))
    }

    /// For the terminal.
    pub fn text(&self) -> String {
        let seconds = |seconds: f64| clock(length(seconds));
        let threads: Vec<String> = self.threads.iter().map(u32::to_string).collect();
        let mut lines = vec![
            format!("{}: {} ({} size)", self.kind, self.title, self.size),
            format!("  load: {}", self.workloads.join("; ")),
            format!("  threads: {}", threads.join(", ")),
        ];
        let remark = self.client_host.as_deref().map(client_host_remark);
        lines.extend(remark.map(|remark| format!("  {remark}")));
        let unit = match self.protocol.as_str() {
            _ if self.kind == "sweep" => "fresh starts",
            protocol => niagara_model::units(protocol),
        };
        let asked = seconds(self.budget_seconds);
        let questions = format!("  {}, each up to {} {unit}", self.question, self.duels_each);
        lines.push(match &self.time {
            _ if self.questions == 0 => format!("  {}", self.question),
            Some(time) => format!(
                "{questions} of about {:.0} s; {} with every one of them{}, {asked} asked for: room for {} {unit}",
                time.duel_seconds,
                seconds(time.seconds_at_most),
                match time.control_seconds > 0.0 {
                    true => " and the controls",
                    false => "",
                },
                time.duels_in_budget,
            ),
            None => format!(
                "{questions} of jobs, whose length is not known before the first; {asked} asked for"
            ),
        });
        if self.cannot > 0 {
            lines.push(format!(
                "  {} of the original cannot be tried today: the report says why",
                number::count(self.cannot, "rung")
            ));
        }
        if let Some(results) = self.results.as_ref().filter(|_| self.there > 0) {
            lines.push(format!(
                "  {} of the {} cells asked for are there already ({}) and not measured again",
                self.there,
                self.there + self.questions.saturating_sub(1),
                results.display()
            ));
        }
        if self.left > 0 {
            lines.push(format!(
                "  {} neither measured yet nor asked for now: `--level AXIS=LEVEL` measures more, into the same report, which lists the rest",
                number::count(self.left, "combination")
            ));
        }
        lines.push(self.builds_text());
        if self.questions == 0 {
            return lines.join("\n");
        }
        lines.push(match self.detectable {
            Some(effect) if effect > self.min_effect && self.kind != "sweep" => format!(
                "  it finds, with 80 % probability, a difference of {:.1} % or more ({}); a smaller one may go unseen in this time: \
                 a longer --budget sees more",
                effect * 100.0,
                self.noise
            ),
            Some(effect) => format!(
                "  it finds, with 80 % probability, a difference of {:.1} % or more ({})",
                effect * 100.0,
                self.noise
            ),
            None if self.protocol == "trimmed" && self.is_too_short() => {
                "  the time is too short for its ten runs: a longer --budget".to_owned()
            }
            None if self.protocol == "trimmed" => {
                "  no interval and no verdict: the protocol of 2008".to_owned()
            }
            None if !self.compares => {
                "  one variant alone: nothing is compared, each point has its interval".to_owned()
            }
            None if self.goal != Goal::Throughput => format!(
                "  the smallest difference it can show in the {} is not known before its first {unit}",
                self.goal.title().to_lowercase()
            ),
            None if self.time.is_none() => {
                "  the smallest difference it can show is not known before the first jobs".to_owned()
            }
            None if self.fewest_duels > self.duels_each => format!(
                "  {} {unit} each are too few for a verdict, whatever the time: `duels` has to be {} at least",
                self.duels_each, self.fewest_duels
            ),
            None => "  the time is too short for a verdict on each: a longer --budget, or fewer of them".to_owned(),
        });
        if let Some(effect) = self.detectable_at_last {
            let last = match self.kind.as_str() {
                "ladder" => "the total",
                _ => "the confirmation",
            };
            lines.push(format!(
                "  {last} has what the others leave of the time, {unit} for a first look at the least, which show {:.1} % or more",
                effect * 100.0
            ));
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use niagara_lab::StudySize;
    use niagara_lab::study_file::{Known, read_study};
    use niagara_server::Cache;

    use super::*;

    /// The plan of a study with these lines, without the line of words.
    fn plan_of(lines: &str) -> RunPlan {
        plan_with(lines, None)
    }

    fn plan_with(lines: &str, history: Option<&History>) -> RunPlan {
        let text =
            format!("title = \"t\"\nasked = \"a\"\nchanged = \"c\"\nmeasured = \"m\"\n{lines}");
        let known = Known {
            levers: &[],
            servers: &[],
            folder: Path::new(""),
        };
        let file = read_study("x.toml", &text, &known).expect("valid");
        plan(file.in_size(StudySize::Small), history, None, &|recipes| {
            vec![Forecast::Unknown; recipes.len()]
        })
    }

    fn ladder(rungs: usize, minutes: usize) -> RunPlan {
        let mut text = format!(
            "kind = \"ladder\"\nduels = 16\ncouples = 20\nslice = \"500ms\"\nbudget = \"{minutes}m\"\n"
        );
        for rung in 0..rungs {
            text += &format!("[[rungs]]\ntitle = \"{rung}\"\nconfig = {{ x = {rung} }}\n");
        }
        plan_of(&text)
    }

    #[test]
    fn rungs_share_the_error_probability_in_the_plan_as_in_the_ladder() {
        // Time for all duels of every question.
        let [one, ten] = [ladder(1, 100), ladder(10, 500)];
        for plan in [&one, &ten] {
            let time = plan.time.expect("duels");
            assert_eq!(time.duels_in_budget, plan.questions * 16);
        }
        let shown = |plan: &RunPlan| plan.detectable.expect("time enough");
        let looks = rung_errors(0.05, 10, 16).plan(16);
        let seconds = ten.time.expect("duels").duel_seconds;
        let share = 500.0 * 60.0 / 11.0;
        let duel_settings = DuelSettings {
            couples: 20,
            slice_seconds: 0.5,
            ramp_seconds: 0.0,
            warm_up_seconds: 4.0,
            disturbance: 0.05,
        };
        let (sd, _) = expected_sd(None, &duel_settings, 20);
        assert_eq!(ten.detectable, detectable_in(share, seconds, sd, &looks));
        assert!(shown(&ten) > 1.1 * shown(&one), "{one:?} {ten:?}");
        // The total's first look is all that is kept for it: six duels, at 5 % two-sided.
        let errors = ErrorBudget::two_sided(0.05, 16);
        assert_eq!(ten.detectable_at_last, detectable_by(6, sd, &errors));
        assert!(ten.detectable_at_last > one.detectable, "{ten:?}");
        let text = ten.text();
        assert!(
            text.contains("the total has what the others leave"),
            "{text}"
        );
        // Too few duels for an error probability of 0.5 % each.
        assert_eq!(ladder(10, 30).detectable, None);
    }

    #[test]
    fn the_controls_take_their_share_of_a_short_time_and_are_told() {
        let long = ladder(1, 100);
        assert!(
            long.text()
                .contains("with every one of them and the controls")
        );
        let time = ladder(10, 30).time.expect("duels");
        // Ten rungs, the total and two controls share half an hour.
        assert!((time.control_seconds - 2.0 * 1800.0 / 13.0).abs() < 1e-6);
        assert!(time.duels_in_budget > 0, "{time:?}");
        let without = plan_of(
            "kind = \"ladder\"\nduels = 16\ncontrols = false\nbudget = \"30m\"\n[[rungs]]\ntitle = \"r\"\nconfig = { x = 1 }\n",
        );
        assert_eq!(without.time.expect("duels").control_seconds, 0.0);
    }

    #[test]
    fn too_few_duels_are_not_blamed_on_the_time() {
        let text = plan_of(
            "kind = \"ladder\"\nduels = 4\nbudget = \"2h\"\n[[rungs]]\ntitle = \"r\"\nconfig = { x = 1 }\n",
        )
        .text();
        assert!(
            text.contains("4 duels each are too few for a verdict, whatever the time: `duels` has to be 5 at least"),
            "{text}"
        );
        let text = ladder(10, 2).text();
        assert!(
            text.contains("the time is too short for a verdict"),
            "{text}"
        );
    }

    #[test]
    fn a_sweep_of_one_variant_compares_nothing() {
        let sweep = |variants: &str| {
            plan_of(&format!(
                "kind = \"sweep\"\nsweep = [{variants}]\nthreads = [1, 8]\nduels = 6\nbudget = \"30m\"\n\
                 [variants.a]\nconfig = {{ x = 1 }}\n[variants.b]\nconfig = {{ x = 2 }}\n"
            ))
        };
        let one = sweep("\"a\"");
        assert_eq!(one.detectable, None);
        assert!(
            one.text()
                .contains("one variant alone: nothing is compared")
        );
        // Three are measured each alone, two together.
        let [two, three] = [sweep("\"a\", \"b\""), sweep("\"base\", \"a\", \"b\"")];
        assert!(two.detectable < three.detectable, "{two:?} {three:?}");
        // Six starts of each in six rounds: six ratios, with five degrees of freedom.
        let time = three.time.expect("starts");
        assert_eq!(time.duels_in_budget, 36);
        let ratio_sd = 2f64.sqrt() * ASSUMED_START_SD;
        let shown = three.detectable.expect("time enough");
        assert!(
            (shown / (3.514 * ratio_sd / 6f64.sqrt()) - 1.0).abs() < 0.002,
            "{shown}"
        );
    }

    /// Every start of a sweep and of a matrix is warmed up for the longest time, and profiles come behind a sweep.
    #[test]
    fn a_plan_counts_the_warm_up_and_the_profiles_that_there_will_be() {
        let lines = |kind: &str| format!("kind = \"{kind}\"\nwarm_up = \"3s\"\nbudget = \"30m\"\n");
        let sweep = |variants: &str| {
            plan_of(&format!(
                "{}sweep = [{variants}]\nthreads = [1, 8]\nduels = 6\n\
                 [variants.a]\nconfig = {{ x = 1 }}\n[variants.b]\nconfig = {{ x = 2 }}\n",
                lines("sweep")
            ))
            .time
            .expect("starts")
        };
        let compare = plan_of(&format!("{}a = \"base\"\nb = \"base\"\n", lines("compare")));
        let learned = unit_seconds(Protocol::Duel, &settings(), 40);
        let two = sweep("\"a\", \"b\"");
        assert!((two.duel_seconds - learned - 4.5).abs() < 1e-9, "{two:?}");
        assert!(compare.time.expect("duels").duel_seconds >= learned);
        assert_eq!(two.profile_seconds, 40.0);
        assert_eq!(sweep("\"base\", \"a\", \"b\"").profile_seconds, 60.0);
    }

    #[test]
    fn nothing_is_promised_of_a_goal_whose_noise_nobody_knows() {
        let plan = plan_of(
            "kind = \"compare\"\na = \"base\"\nb = \"base\"\ngoal = \"cpu\"\nbudget = \"30m\"\n",
        );
        assert_eq!(plan.detectable, None);
        assert!(
            plan.text().contains("is not known before its first duels"),
            "{}",
            plan.text()
        );
    }

    /// Of duels of a read-only load, by the defaults.
    fn settings() -> DuelSettings {
        DuelSettings {
            couples: 40,
            slice_seconds: 0.1,
            ramp_seconds: 0.0,
            warm_up_seconds: 3.0,
            disturbance: 0.05,
        }
    }

    #[test]
    fn what_a_plan_shows_goes_by_this_machines_noise_or_says_that_it_is_assumed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::at(folder.path()).expect("a cache");
        // Twenty duels of a quiet machine: couples that spread by 1 %, starts that hardly differ.
        let duels: Vec<String> = (0..20)
            .map(|duel| {
                let score = 0.002 * f64::from(duel % 5 - 2);
                format!("{{\"score\":{score},\"couple_sd\":0.01,\"used\":20}}")
            })
            .collect();
        let line = format!(
            "{{\"workload\":\"oltp_read_only\",\"threads\":32,\"slice_seconds\":0.5,\"duels\":[{}]}}\n",
            duels.join(",")
        );
        std::fs::write(folder.path().join("noise-history.jsonl"), line).expect("room");
        let history = History::of(&cache);
        let with = |history: Option<&History>, threads: u32| {
            let lines = format!(
                "kind = \"ladder\"\nduels = 16\ncouples = 20\nslice = \"500ms\"\nbudget = \"60m\"\nthreads = {threads}\n\
                 [[rungs]]\ntitle = \"r\"\nconfig = {{ x = 1 }}\n"
            );
            plan_with(&lines, history)
        };
        let known = with(Some(&history), 32);
        let assumed = with(None, 32);
        assert_eq!(known.noise, NoiseSource::History);
        assert!(known.detectable < assumed.detectable, "{known:?}");
        assert!(
            known.text().contains("earlier comparisons here"),
            "{}",
            known.text()
        );
        assert_eq!(assumed.noise, NoiseSource::Assumed);
        assert!(
            assumed.text().contains("assuming the noise"),
            "{}",
            assumed.text()
        );
        // Another load's noise is not this one's.
        assert_eq!(with(Some(&history), 8).noise, NoiseSource::Assumed);
    }

    #[test]
    fn a_job_is_as_long_as_it_is() {
        let plan = plan_of(
            "kind = \"compare\"\na = \"base\"\nb = \"base\"\n[workload]\nname = \"report\"\noptions = { pool_factor = 2 }\n",
        );
        assert_eq!((plan.protocol.as_str(), plan.time), ("pair", None));
        assert!(
            plan.text().contains("up to 44 pairs of jobs"),
            "{}",
            plan.text()
        );
    }
    #[test]
    fn a_plan_says_where_the_load_comes_from_if_not_from_here() {
        let compare = "kind = \"compare\"\na = \"base\"\nb = \"base\"\n";
        let away = plan_of(&format!("{compare}client_host = \"db-client\"\n")).text();
        assert!(
            away.contains("db-client") && away.contains("not observed"),
            "{away}"
        );
        assert!(!plan_of(compare).text().contains("not observed"));
    }
}
