//! A study on the terminal: one line that lives, and the lines worth keeping.
//! Everything goes to standard error, so that standard output holds the result alone.

use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

use console::{Term, measure_text_width};
use indicatif::{ProgressBar, ProgressStyle};
use niagara_lab::{Event, Observer, Protocol};
use niagara_model::{DuelRecord, Ending, SliceRecord};
use niagara_report::wrapped;

use crate::announcement::{announcement, to_build};
use crate::live::{Frame, Glyphs, State, lines, one_line, outcome, plain, words};
use crate::say::unicode;

/// Without a terminal, a line at most this often.
const QUIET_INTERVAL: Duration = Duration::from_secs(30);
/// On a terminal the picture is drawn at most this often: it costs time of the CPUs that are measured.
const REDRAW_INTERVAL: Duration = Duration::from_millis(250);
/// Columns before the picture: the spinner's, and as many on the lines beneath.
const MARGIN: usize = 2;

/// What a line of progress is about: the same for every position of one piece of work. Digits are positions, and so is all
/// that follows a percentage ("checking: same answers, 12 %: joins").
fn without_position(text: &str) -> String {
    let subject = text.split_once(" %").map_or(text, |(subject, _)| subject);
    subject.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Shows a study's events.
pub struct Terminal {
    bar: ProgressBar,
    live: bool,
    began: Option<Instant>,
    used_before: Duration,
    state: State,
    drawn: Option<Instant>,
    last_line: Instant,
    last_setting_up: String,
    told: Instant,
}

/// Whatever way it ends, the living line is gone before anything else is printed.
impl Drop for Terminal {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Terminal {
    /// `budget` is the time that the whole study may take, excluding setup.
    pub fn new(budget: Duration) -> Self {
        let (bar, live) = living_lines();
        Self {
            bar,
            live,
            began: None,
            used_before: Duration::ZERO,
            state: State::new(budget),
            drawn: None,
            last_line: Instant::now(),
            last_setting_up: String::new(),
            told: Instant::now(),
        }
    }

    /// Another study begins, with a time of its own.
    pub fn begin(&mut self, budget: Duration) {
        self.began = None;
        self.used_before = Duration::ZERO;
        self.state = State::new(budget);
    }

    /// A line that stays.
    pub fn line(&mut self, text: &str) {
        if self.live {
            let text = in_columns(text, size().1.saturating_sub(1));
            self.bar.suspend(|| tell!("{text}"));
        } else {
            tell!("{text}");
        }
    }

    /// Says that a study is continued, and counts the time it used before.
    fn resumed(&mut self, folder: &Path, used_seconds: f64) {
        self.line(&format!("continuing the study in {}", folder.display()));
        self.used_before = Duration::from_secs_f64(used_seconds);
    }

    /// Takes the living line off the screen.
    pub fn finish(&mut self) {
        self.bar.finish_and_clear();
    }

    /// Time of the budget that is used.
    fn used(&self) -> Duration {
        self.used_before + self.began.map_or(Duration::ZERO, |began| began.elapsed())
    }

    fn show(&mut self) {
        if self.live {
            if self
                .drawn
                .is_none_or(|drawn| drawn.elapsed() >= REDRAW_INTERVAL)
            {
                self.drawn = Some(Instant::now());
                let picture = lines(&self.state, self.used(), &frame());
                let indent = format!("\n{}", " ".repeat(MARGIN));
                self.say(&picture.join(&indent));
            }
        } else if self.last_line.elapsed() >= QUIET_INTERVAL {
            self.last_line = Instant::now();
            tell!("{}", one_line(&self.state, self.used()));
        }
    }

    /// Puts `text` into the living lines.
    fn say(&self, text: &str) {
        self.bar.set_message(match unicode() {
            true => text.to_owned(),
            false => plain(text),
        });
    }

    /// What the part that ends came to stays on the screen.
    fn leave_stage(&mut self) {
        if let Some(text) = outcome(&self.state) {
            self.line(&text);
        }
    }

    fn setting_up(&mut self, text: &str) {
        if self.live {
            self.say(&console::truncate_str(
                text,
                frame().columns,
                frame().glyphs.cut,
            ));
        } else {
            // Every step would fill a log file: a line when something else begins, and a sign of life.
            let step = without_position(text);
            if step != self.last_setting_up || self.told.elapsed() >= QUIET_INTERVAL {
                tell!("{text}");
                self.last_setting_up = step;
                self.told = Instant::now();
            }
        }
    }

    fn slice(&mut self, slice: &SliceRecord) {
        let tps = match slice.seconds > 0.0 {
            true => slice.transactions as f64 / slice.seconds,
            false => 0.0,
        };
        self.state.slice(usize::from(slice.side), tps, slice.taken);
        self.show();
    }

    fn duel(&mut self, duel: &DuelRecord, protocol: Protocol) {
        self.state.unit = protocol.unit();
        self.state.duel();
        match &duel.ending {
            Ending::Scored => {}
            Ending::Disturbed => self.line(disturbed(protocol)),
            Ending::Failed { side, reason } => {
                let side = ["A", "B"][usize::from(*side).min(1)];
                let unit = self.state.unit;
                self.line(&format!("  side {side} of a {unit} failed: {reason}"));
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
            Event::ToBuild { builds, seconds } => self.line(&to_build(builds, seconds)),
            Event::Resumed {
                folder,
                used_seconds,
            } => self.resumed(folder, used_seconds),
            Event::Announced(plan) => {
                self.line(&announcement(plan));
            }
            Event::Stage { name, .. } => {
                if self.began.is_none() {
                    self.began = Some(Instant::now());
                }
                self.leave_stage();
                self.state.stage(name);
                if !self.live {
                    tell!("{}", words(&self.state.stage));
                }
                self.drawn = None;
                self.show();
            }
            Event::LeftOut(time) => self.began = self.began.map(|began| began + time),
            Event::Slice(slice) => self.slice(slice),
            Event::Duel { record, protocol } => self.duel(record, protocol),
            Event::Screened { levers, from } => {
                self.state.screened(levers.to_vec(), from);
                self.drawn = None;
                self.show();
            }
            Event::Judged(judgement, goal) => {
                self.state.goal = goal;
                self.state.judged(judgement);
                self.drawn = None;
                self.show();
            }
        }
    }
}

/// What disturbed a duel, and what to do. Where both variants are alive, CPU time that others take is allowed for; a variant that
/// is measured alone cannot.
fn disturbed(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Duel => {
            "  disturbed: in more than half of its couples the machine waited for memory, or neither side answered anything. It is \
             repeated; end what takes the memory"
        }
        Protocol::Pair | Protocol::Trimmed | Protocol::Solo => {
            "  disturbed: in more than half of its slices others took the CPUs, or the machine waited for memory. It is repeated; end \
             what takes them, or allow more: --disturbance"
        }
    }
}

/// Lines that fit stay as they are; what is longer is broken between words, at the line's own indent.
pub fn in_columns(text: &str, columns: usize) -> String {
    let lines = text.lines().map(|line| {
        if measure_text_width(line) <= columns {
            return line.to_owned();
        }
        let words = line.trim_start();
        wrapped(&line[..line.len() - words.len()], words, columns)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Rows and columns of the terminal that standard error is.
fn size() -> (usize, usize) {
    let (rows, columns) = Term::stderr().size_checked().unwrap_or((24, 80));
    (usize::from(rows), usize::from(columns))
}

/// The place for the picture on standard error.
fn frame() -> Frame {
    let (rows, columns) = size();
    Frame {
        // The last column stays free: some terminals break the line after it.
        columns: columns.saturating_sub(MARGIN + 1).max(20),
        rows,
        colour: console::colors_enabled_stderr() && std::env::var_os("NO_COLOR").is_none(),
        glyphs: match unicode() {
            true => Glyphs::UNICODE,
            false => Glyphs::ASCII,
        },
    }
}

/// A line on standard error that lives, and whether it does: hidden where that is no terminal.
pub fn living_line() -> (ProgressBar, bool) {
    living("{spinner} {wide_msg}")
}

/// The same for several lines, which their writer cuts to the terminal's width.
fn living_lines() -> (ProgressBar, bool) {
    living("{spinner} {msg}")
}

fn living(template: &str) -> (ProgressBar, bool) {
    // On a terminal that cannot go back in a line nothing would be drawn.
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    let live = std::io::stderr().is_terminal() && !is_dumb;
    let bar = if live {
        ProgressBar::new_spinner()
    } else {
        ProgressBar::hidden()
    };
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
    bar.set_style(match unicode() {
        true => style,
        false => style.tick_chars("|/-\\+"),
    });
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
    fn long_lines_are_broken_between_words_at_their_indent() {
        let text = "short  as it is\n  a remark that is longer than the terminal is wide";
        assert_eq!(
            in_columns(text, 30),
            "short  as it is\n  a remark that is longer than\n  the terminal is wide"
        );
    }

    #[test]
    fn only_what_is_measured_alone_is_told_of_the_share_that_others_may_take() {
        assert!(!disturbed(Protocol::Duel).contains("--disturbance"));
        for alone in [Protocol::Pair, Protocol::Trimmed, Protocol::Solo] {
            assert!(disturbed(alone).contains("--disturbance"));
        }
    }

    #[test]
    fn time_that_is_left_out_is_not_on_the_clock() {
        let mut terminal = Terminal::new(Duration::from_secs(600));
        let hour = Duration::from_secs(3600);
        terminal.see(Event::LeftOut(hour));
        terminal.see(Event::Resumed {
            folder: Path::new("a study"),
            used_seconds: 60.0,
        });
        terminal.see(Event::Stage {
            name: "screening",
            seconds: 300.0,
        });
        // As if the check of a build had begun an hour ago.
        terminal.began = Instant::now().checked_sub(hour);
        terminal.see(Event::LeftOut(hour));
        let used = terminal.used();
        let minute = Duration::from_secs(60);
        assert!(used >= minute && used < hour, "{used:?}");
    }

    #[test]
    fn positions_of_one_piece_of_work_read_alike() {
        assert_eq!(
            without_position("loading 0 of 100000 rows (0 %)"),
            without_position("loading 4500 of 100000 rows (4 %)")
        );
        assert_eq!(
            without_position("checking the final variant: same answers, 2 %: tables"),
            without_position("checking the final variant: same answers, 12 %: joins")
        );
        assert_ne!(
            without_position("checking the final variant: same answers, 2 %: tables"),
            without_position("checking the final variant: crash recovery, 0 %: writing")
        );
        assert_eq!(
            without_position("judging 27 indexes, 0 %: shop.orders(state)"),
            without_position("judging 27 indexes, 74 %: shop.lines(product, price)")
        );
        assert_ne!(
            without_position("starting mariadb-10.11"),
            without_position("starting mariadb-10.11 + transport-unix")
        );
    }
}
