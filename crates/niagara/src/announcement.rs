//! What is about to happen, told before it starts.

use std::time::Duration;

use niagara_build::Forecast;
use niagara_lab::{Announced, BuildAhead, ComparePlan, Protocol, TunePlan};
use niagara_report::number;

use crate::clock::clock;

/// What a duel is, where the word comes first.
fn a_duel(slice_seconds: f64) -> String {
    format!(
        "\n  a duel: both servers started afresh on identical data, the load switched between them about every {slice_seconds} s; \
         it gives one figure"
    )
}

/// What is about to happen, in words.
pub fn announcement(plan: Announced<'_>) -> String {
    match plan {
        Announced::Compare(plan) => of_compare(plan),
        Announced::Tune {
            server,
            load,
            budget_seconds,
            plan,
            controls,
        } => of_tune(
            plan,
            controls,
            server,
            load,
            Duration::from_secs_f64(budget_seconds),
        ),
    }
}

/// The servers that are built first, each with how long that takes, and how long all may take: without a limit where a tuning
/// is continued that has them among its levers.
pub fn to_build(builds: &[BuildAhead], seconds: Option<f64>) -> String {
    let told: Vec<String> = builds
        .iter()
        .map(|build| {
            let takes = words(build.forecast);
            format!("\n  {} ({takes}): {}", build.lever, build.recipe)
        })
        .collect();
    let within = match seconds {
        Some(seconds) => format!(
            "in about {} (--build-budget; after each it is worked out again what fits)",
            clock(Duration::from_secs_f64(seconds))
        ),
        None => "which this tuning was begun with".to_owned(),
    };
    format!(
        "servers to build first, while nothing is measured, {within}:{}",
        told.concat()
    )
}

fn of_compare(plan: &ComparePlan) -> String {
    let duel = match plan.protocol {
        Protocol::Duel => a_duel(plan.slice_seconds),
        Protocol::Pair | Protocol::Trimmed | Protocol::Solo => String::new(),
    };
    let units = match plan.protocol {
        Protocol::Duel => "duels",
        Protocol::Pair => "pairs",
        Protocol::Trimmed => "series of runs",
        Protocol::Solo => "runs",
    };
    let each = match plan.duel_seconds {
        Some(seconds) => format!("of about {seconds:.0} s"),
        None => "of jobs, whose time is not known before the first,".to_owned(),
    };
    let mut text = format!(
        "A: {}\nB: {}\n{}; {units} {each} for {} at most{duel}",
        plan.a,
        plan.b,
        plan.load,
        clock(Duration::from_secs_f64(plan.budget_seconds)),
    );
    if let Some(visible) = plan.detectable {
        text += &format!(
            "\n{} find, with 80 % probability, a difference of {:.1} % or more ({})",
            number::count(plan.duels, plan.protocol.unit()),
            visible * 100.0,
            plan.noise
        );
        if visible > plan.min_effect {
            text += &format!(
                "\n  a gain of {:.1} % (--min-effect) may go unseen in this time: a longer --budget sees more",
                plan.min_effect * 100.0
            );
        }
    }
    text
}

/// Levers that the time is too short for are named up to this many.
const MAX_NAMED: usize = 12;

fn of_tune(plan: &TunePlan, controls: usize, server: &str, load: &str, budget: Duration) -> String {
    let levers = plan.levers.len().saturating_sub(controls);
    let mut text = format!(
        "tuning {server} for {load}; time: {}, excluding set-up\n  \
         screening: {} (changes to try) and {}, all at once, in about {} of about {:.0} s, more if they are quick{}\n  \
         proof: fresh duels of about {:.0} s for each that may help, then for their total against the start{}",
        clock(budget),
        number::count(levers, "lever"),
        number::count(controls, "control"),
        number::count(plan.screening_duels, "duel"),
        plan.screening_duel_seconds,
        // To tell all apart takes a duel for each, and some more.
        match plan.levers.len() >= plan.screening_duels {
            true => ": too few to tell all of them apart, so only the strongest are seen",
            false => "",
        },
        plan.duel_seconds,
        a_duel(plan.slice_seconds),
    );
    // One figure is enough: the smaller one, where both are known.
    let picked =
        (plan.detectable_lever).map(|detectable| ("the screening picks", "a lever", detectable));
    let found =
        (plan.detectable_total).map(|detectable| ("this run finds", "a total gain", detectable));
    if let Some((does, what, detectable)) = picked.or(found) {
        text += &format!(
            "\n  {does}, with 80 % probability, {what} of {:.1} % or more ({}; a quieter run sees more)",
            detectable * 100.0,
            plan.noise
        );
    }
    let left_out = plan.left_out.len();
    if left_out > 0 {
        let named = match left_out <= MAX_NAMED {
            true => plan.left_out.join(", "),
            false => format!(
                "{} (the report names them)",
                number::count(left_out, "lever")
            ),
        };
        text += &format!(
            "\n  left out, the time being too short: {named}; a longer --budget tries them"
        );
    }
    text
}

/// How long a build takes, for people.
pub fn words(forecast: Forecast) -> String {
    match forecast {
        Forecast::There => "here already".to_owned(),
        Forecast::Seconds(seconds) => format!("about {}", clock(Duration::from_secs_f64(seconds))),
        // MariaDB 10.11 as packaged takes 2946 s of CPU time.
        Forecast::Elsewhere(seconds) => format!(
            "about {} by the CPU time that it took elsewhere",
            clock(Duration::from_secs_f64(seconds))
        ),
        Forecast::Unknown => "some 25 minutes on 2 CPUs, 2.3 times that with PGO".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use niagara_lab::NoiseSource;

    use super::*;

    fn told(protocol: Protocol, duel_seconds: Option<f64>) -> String {
        of_compare(&ComparePlan {
            a: "a".to_owned(),
            b: "b".to_owned(),
            load: "report".to_owned(),
            protocol,
            couples: 4,
            slice_seconds: 0.2,
            duel_seconds,
            budget_seconds: 600.0,
            duels: 12,
            detectable: None,
            noise: NoiseSource::Assumed,
            min_effect: 0.005,
        })
    }

    fn tune_plan(levers: usize, duels: usize) -> TunePlan {
        let named = |prefix: &str, count: usize| {
            let ids = (0..count).map(|place| format!("{prefix}{place}"));
            ids.collect()
        };
        TunePlan {
            levers: named("lever", levers),
            left_out: named("late", 2),
            screening_duels: duels,
            screening_duel_seconds: 4.0,
            duel_seconds: 5.0,
            screening_until: 90.0,
            detectable_lever: None,
            detectable_total: Some(0.154),
            noise: NoiseSource::History,
            screen_couples: 10,
            couples: 20,
            slice_seconds: 0.2,
        }
    }

    #[test]
    fn a_tuning_says_what_it_counts_and_what_it_can_show() {
        let told = |plan: &TunePlan| of_tune(plan, 2, "s", "l", Duration::from_secs(180));
        let even = told(&tune_plan(34, 34));
        for words in [
            "screening: 32 levers (changes to try) and 2 controls, all at once, in about 34 duels of about 4 s, more if they are quick: too few to tell all",
            "this run finds, with 80 % probability, a total gain of 15.4 % or more (by the noise of earlier comparisons here; a quieter",
            "left out, the time being too short: late0, late1; a longer --budget",
            "the load switched between them about every 0.2 s; it",
        ] {
            assert!(even.contains(words), "{words}\n{even}");
        }
        let mut plan = tune_plan(34, 48);
        plan.detectable_lever = Some(0.015);
        plan.left_out.clear();
        let enough = told(&plan);
        assert!(
            !enough.contains("too few") && !enough.contains("left out"),
            "{enough}"
        );
        let words = "a lever of 1.5 % or more (";
        assert!(enough.contains(words), "{enough}");
        plan.left_out = vec!["late".to_owned(); MAX_NAMED + 1];
        let many = told(&plan);
        assert!(many.contains("13 levers (the report names them)"), "{many}");
    }

    #[test]
    fn nobody_is_told_how_long_a_job_takes_before_it_is_known() {
        let job = told(Protocol::Pair, None);
        assert!(
            job.contains("pairs of jobs, whose time is not known") && !job.contains("about"),
            "{job}"
        );
        let pair = told(Protocol::Pair, Some(33.4));
        assert!(pair.contains("pairs of about 33 s for "), "{pair}");
    }
}
