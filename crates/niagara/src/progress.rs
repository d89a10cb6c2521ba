//! A study on the terminal: one line that lives, and the lines worth keeping.
//! Everything goes to standard error, so that standard output holds the result alone.

use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use niagara_lab::{Event, Observer};
use niagara_report::number::rate;
use niagara_stats::Judgement;
use niagara_store::{DuelRecord, Ending, SliceRecord};

use crate::announcement::{announcement, to_build};
use crate::clock::clock;

/// Slices over which the share that others take is averaged.
const LAST_SLICES: f64 = 20.0;
/// Share of the CPUs taken by others from which on it is told: it widens intervals.
const WORTH_TELLING: f64 = 0.03;

/// Without a terminal, a line at most this often.
const QUIET_INTERVAL: Duration = Duration::from_secs(30);

/// Shows a study's events.
pub struct Terminal {
    bar: ProgressBar,
    live: bool,
    budget: Duration,
    began: Option<Instant>,
    used_before: Duration,
    stage: String,
    duels: u32,
    tps: [f64; 2],
    /// Share of the CPUs, 0 to 1, that the hypervisor and other processes took from the last slices.
    taken: f64,
    estimate: String,
    last_line: Instant,
    last_setting_up: String,
    told: Instant,
}

impl Terminal {
    /// `budget` is the time that the whole study may take, set-up aside.
    pub fn new(budget: Duration) -> Self {
        let (bar, live) = living_line();
        Self {
            bar,
            live,
            budget,
            began: None,
            used_before: Duration::ZERO,
            stage: String::new(),
            duels: 0,
            tps: [0.0; 2],
            taken: 0.0,
            estimate: String::new(),
            last_line: Instant::now(),
            last_setting_up: String::new(),
            told: Instant::now(),
        }
    }

    /// A line that stays.
    pub fn line(&mut self, text: &str) {
        if self.live {
            self.bar.suspend(|| tell!("{text}"));
        } else {
            tell!("{text}");
        }
    }

    /// Says that a study is continued, and counts the time it used before.
    fn resumed(&mut self, folder: &Path, used_seconds: f64) {
        self.line(&format!("going on with the study in {}", folder.display()));
        self.used_before = Duration::from_secs_f64(used_seconds);
    }

    /// Takes the living line off the screen.
    pub fn finish(&mut self) {
        self.bar.finish_and_clear();
    }

    fn show(&mut self) {
        let used = self.used_before + self.began.map_or(Duration::ZERO, |began| began.elapsed());
        let left = self.budget.saturating_sub(used);
        let mut text = format!(
            "{} · {} of {}, {} left",
            self.stage,
            clock(used),
            clock(self.budget),
            clock(left)
        );
        if self.duels > 0 {
            text += &format!(" · duel {}", self.duels);
        }
        if self.tps[0] > 0.0 && self.tps[1] > 0.0 {
            let [a, b] = self.tps.map(rate);
            let [first, second] = sides(&self.stage);
            text += &format!(" · {first} {a}, {second} {b} transactions/s");
        }
        if self.taken >= WORTH_TELLING {
            text += &format!(" · others take {:.0} % of the CPUs", self.taken * 100.0);
        }
        if !self.estimate.is_empty() {
            text += " · ";
            text += &self.estimate;
        }
        if self.live {
            self.bar.set_message(text);
        } else if self.last_line.elapsed() >= QUIET_INTERVAL {
            self.last_line = Instant::now();
            tell!("{text}");
        }
    }

    fn setting_up(&mut self, text: &str) {
        if self.live {
            self.bar.set_message(text.to_owned());
        } else {
            // Percentages would fill a log file: only what differs in words, and a sign of life.
            let words: String = text.chars().filter(|c| !c.is_ascii_digit()).collect();
            if words != self.last_setting_up || self.told.elapsed() >= QUIET_INTERVAL {
                tell!("{text}");
                self.last_setting_up = words;
                self.told = Instant::now();
            }
        }
    }

    fn slice(&mut self, slice: &SliceRecord) {
        if slice.seconds > 0.0 {
            self.tps[usize::from(slice.side.min(1))] = slice.transactions as f64 / slice.seconds;
        }
        self.taken += (slice.taken - self.taken) / LAST_SLICES;
        self.show();
    }

    fn duel(&mut self, duel: &DuelRecord) {
        self.duels += 1;
        match &duel.ending {
            Ending::Scored => {}
            Ending::Disturbed => self.line(
                "  everything waited for memory in more than half of a duel's couples: repeated; end what uses the memory",
            ),
            Ending::Failed { side, reason } => {
                let side = ["A", "B"][usize::from(*side).min(1)];
                self.line(&format!("  side {side} of a duel failed: {reason}"));
            }
        }
        self.show();
    }
}

impl Observer for Terminal {
    fn see(&mut self, event: Event<'_>) {
        match event {
            Event::SettingUp(text) => self.setting_up(text),
            Event::Note(text) => self.line(&format!("  {text}")),
            Event::ToBuild(builds) => self.line(&to_build(builds)),
            Event::Resumed {
                folder,
                used_seconds,
            } => self.resumed(folder, used_seconds),
            Event::Announced(plan) => self.line(&announcement(plan)),
            Event::Stage { name, .. } => {
                if self.began.is_none() {
                    self.began = Some(Instant::now());
                }
                self.stage = match name.strip_prefix("claim: ") {
                    Some(lever) => format!("confirming: {lever}"),
                    None => name.to_owned(),
                };
                self.duels = 0;
                self.estimate.clear();
                if !self.live {
                    tell!("{}", self.stage);
                }
                self.show();
            }
            Event::Slice(slice) => self.slice(slice),
            Event::Duel(duel) => self.duel(duel),
            Event::Judged(judgement) => {
                self.estimate = running(judgement);
                self.show();
            }
        }
    }
}

/// What A and B are in a stage of this name: in a tuning B is the one with more levers, in a comparison they are what the
/// command names.
fn sides(stage: &str) -> [&'static str; 2] {
    if stage == "screening" {
        ["half of the levers", "the other half"]
    } else if stage == "total" {
        ["start (A)", "final (B)"]
    } else if stage.starts_with("confirming: ") || stage.starts_with("rung: ") {
        ["without it (A)", "with it (B)"]
    } else {
        ["A", "B"]
    }
}

/// `× 1.173 [1.158, 1.189] after 9 duels`; the interval only where there is one.
fn running(judgement: &Judgement) -> String {
    let estimate = judgement.estimate;
    let interval = if estimate.low > 0.0 && estimate.high.is_finite() {
        format!(" [{:.3}, {:.3}]", estimate.low, estimate.high)
    } else {
        String::new()
    };
    let next = judgement
        .next_look
        .map_or(String::new(), |next| format!(", next look at {next}"));
    format!(
        "B/A × {:.3}{interval} after {} duels{next}",
        estimate.ratio, judgement.duels
    )
}

/// A line on standard error that lives, and whether it does: hidden where that is no terminal.
pub fn living_line() -> (ProgressBar, bool) {
    let live = std::io::stderr().is_terminal();
    let bar = if live {
        ProgressBar::new_spinner()
    } else {
        ProgressBar::hidden()
    };
    bar.set_style(
        ProgressStyle::with_template("{spinner:.cyan} {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    bar.enable_steady_tick(Duration::from_millis(200));
    (bar, live)
}

/// Whether standard output takes colour: a terminal, and nobody asked for none.
pub fn colour_on_stdout() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Columns of the terminal that standard output is; 100 where it is none.
pub fn columns_of_stdout() -> usize {
    console::Term::stdout()
        .size_checked()
        .map_or(100, |(_, columns)| usize::from(columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_living_line_says_which_side_is_which() {
        assert_eq!(sides("total"), ["start (A)", "final (B)"]);
        assert_eq!(
            sides("confirming: jemalloc"),
            ["without it (A)", "with it (B)"]
        );
        assert_eq!(sides("comparing"), ["A", "B"]);
    }
}
