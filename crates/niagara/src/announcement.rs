//! What is about to happen, told before it starts.

use std::time::Duration;

use niagara_build::Forecast;
use niagara_lab::{Announced, BuildAhead, ComparePlan, Protocol, TunePlan};
use niagara_report::number;

use crate::clock::clock;

/// What a duel is, where the word comes first.
const A_DUEL: &str = "\n  a duel: both servers started afresh on identical data, the load switched between them every 0.1 s \
                      (1 s for writes); it gives one figure";

/// What is about to happen, in words.
pub fn announcement(plan: Announced<'_>) -> String {
    match plan {
        Announced::Compare(plan) => of_compare(plan),
        Announced::Tune {
            server,
            load,
            budget_seconds,
            plan,
        } => of_tune(plan, server, load, Duration::from_secs_f64(budget_seconds)),
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
        Protocol::Duel => A_DUEL,
        Protocol::Pair | Protocol::Trimmed | Protocol::Solo => "",
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
            "\nwhat {} can show, 4 times in 5: a difference of {:.1} % or more ({})",
            number::count(plan.duels, "duel"),
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

fn of_tune(plan: &TunePlan, server: &str, load: &str, budget: Duration) -> String {
    let shows = |detectable: Option<f64>, what: &str| match detectable {
        Some(detectable) => format!(": {what} {:.1} % or more shows", detectable * 100.0),
        None => String::new(),
    };
    let mut text = format!(
        "tuning {server} for {load}; time: {}, excluding set-up\n  \
         screening: {} (changes to try), all at once, in {} of about {:.0} s{}\n  \
         proof: which of those that help earn their place, and their total against the start, in fresh duels of about {:.0} s{}{A_DUEL}",
        clock(budget),
        number::count(plan.levers.len(), "lever"),
        number::count(plan.screening_duels, "duel"),
        plan.screening_duel_seconds,
        if plan.levers.len() >= plan.screening_duels {
            ", fewer duels than levers: only the strongest show".to_owned()
        } else {
            shows(plan.detectable_lever, "a lever that changes throughput by")
        },
        plan.duel_seconds,
        shows(plan.detectable_total, "a difference of"),
    );
    if plan.detectable_lever.or(plan.detectable_total).is_some() {
        text += &format!("\n  what shows: {}", plan.noise);
    }
    if !plan.left_out.is_empty() {
        text += &format!(
            "\n  left out, the time being too short for them: {} (the report names them; a longer --budget tries them)",
            number::count(plan.left_out.len(), "lever")
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
            duel_seconds,
            budget_seconds: 600.0,
            duels: 12,
            detectable: None,
            noise: NoiseSource::Assumed,
            min_effect: 0.005,
        })
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
