//! Jobs as tables: one job's steps, and pairs of jobs step by step, as the study printed them.

use anyhow::Result;
use niagara_lab::Study;
use niagara_load::StepTime;
use niagara_model::number;
use niagara_stats::{LookPlan, interval_once, median};

use crate::whole_file::write;

/// Writes the table of a comparison's pairs beside its results, and prints it unless JSON is printed.
///
/// # Errors
/// The results cannot be read, the table cannot be written.
pub fn hand_over(study: &Study, alpha: f64, json: bool) -> Result<()> {
    let table = pairs(&study.steps()?, alpha);
    if !json {
        say_text!("\n{table}");
    }
    write(&study.folder().join("steps.txt"), &table)
}

/// One job.
pub fn one(steps: &[StepTime]) -> String {
    let width = width(steps);
    let total: f64 = steps.iter().map(|step| step.seconds).sum();
    let mut text = format!(
        "{:>4}  {:<width$}  {:>10}  {:>6}\n",
        "", "step", "seconds", "share"
    );
    for (number, step) in (1..).zip(steps) {
        text += &format!(
            "{number:>4}  {:<width$}  {:>10.3}  {:>5.1}%\n",
            step.name,
            step.seconds,
            100.0 * step.seconds / total
        );
    }
    text += &format!("{:>4}  {:<width$}  {total:>10.3}\n", "", "in all");
    text
}

/// Pairs of jobs: medians of A and B, and the ratio of their times, with its interval where there are enough pairs. All
/// intervals together hold at 1 − `alpha` (Bonferroni, over the steps and their sum).
pub fn pairs(pairs: &[[Vec<StepTime>; 2]], alpha: f64) -> String {
    // A job that was cut short has fewer steps than the others.
    let Some(names) = pairs.iter().map(|[a, _]| a).max_by_key(|steps| steps.len()) else {
        return String::new();
    };
    let width = width(names);
    let mut text = format!(
        "{:>4}  {:<width$}  {:>10}  {:>10}  {:>8}\n",
        "", "step", "A, s", "B, s", "A / B"
    );
    let alpha_each = alpha / (names.len() + 1) as f64;
    let row = |number: &str, name: &str, times: [Vec<f64>; 2]| {
        let middle = |side: usize| median(&times[side]).unwrap_or(f64::NAN);
        let scores: Vec<f64> = times[0]
            .iter()
            .zip(&times[1])
            .map(|(a, b)| (a / b).ln())
            .collect();
        let ratio = match interval_once(&scores, alpha_each) {
            Some(found) => format!("{:>8.3}  {}", found.ratio, number::interval_in(&found, 3)),
            None => format!("{:>8.3}", middle(0) / middle(1)),
        };
        format!(
            "{number:>4}  {name:<width$}  {:>10.3}  {:>10.3}  {ratio}\n",
            middle(0),
            middle(1)
        )
    };
    for (place, step) in names.iter().enumerate() {
        let of_side = |side: usize| -> Vec<f64> {
            let all = pairs
                .iter()
                .filter(|pair| pair.iter().all(|one| one.len() > place));
            all.map(|pair| pair[side][place].seconds).collect()
        };
        text += &row(
            &(place + 1).to_string(),
            &step.name,
            [of_side(0), of_side(1)],
        );
    }
    let total = |side: usize| -> Vec<f64> {
        let sum = |steps: &Vec<StepTime>| steps.iter().map(|step| step.seconds).sum();
        pairs.iter().map(|pair| sum(&pair[side])).collect()
    };
    text += &row("", "in all", [total(0), total(1)]);
    let count = pairs.len();
    let percent = 100.0 * (1.0 - alpha);
    // All pairs on one side have the probability 2/2ⁿ without a difference.
    let fewest = LookPlan::fewest_duels(alpha_each).unwrap_or(usize::MAX);
    text += &if count < fewest {
        format!("medians of {count} pairs; ratios have intervals from {fewest} pairs on\n")
    } else {
        format!(
            "medians of {count} pairs; the intervals of all {} ratios hold together at {percent:.0} %, as if {count} pairs had been fixed beforehand\n",
            names.len() + 1
        )
    };
    text
}

fn width(steps: &[StepTime]) -> usize {
    let names = steps.iter().map(|step| step.name.chars().count());
    names.max().unwrap_or(0).max(6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(factor: f64) -> Vec<StepTime> {
        [("copy", 2.0), ("sum", 1.0)]
            .map(|(name, seconds)| StepTime {
                name: name.into(),
                seconds: seconds * factor,
            })
            .into()
    }

    #[test]
    fn a_job_by_step_and_in_all() {
        let text = one(&job(1.0));
        assert!(text.contains("   1  copy         2.000   66.7%"), "{text}");
        assert!(text.contains("      in all       3.000"), "{text}");
    }

    #[test]
    fn pairs_have_intervals_when_there_are_enough() {
        let pair = |n: u32| [job(1.0 + f64::from(n) * 0.01), job(0.8)];
        let few = pairs(&(0..2).map(pair).collect::<Vec<_>>(), 0.05);
        assert!(
            few.contains("medians of 2 pairs; ratios have intervals from 7"),
            "{few}"
        );
        assert!(!few.contains('['), "{few}");
        let many = pairs(&(0..8).map(pair).collect::<Vec<_>>(), 0.05);
        assert!(many.contains("1.293  ["), "{many}");
        assert_eq!(pairs(&[], 0.05), "");
        // A stricter level wants more pairs.
        let strict = pairs(&(0..8).map(pair).collect::<Vec<_>>(), 0.01);
        assert!(!strict.contains('['), "{strict}");
    }
}
