//! `niagara capture import`: logs into a capture.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::Result;
use jiff::tz::TimeZone;
use niagara_capture::client::{ClientsOfUser, LoginCharset};
use niagara_capture::file::{ServerCounts, Summary};
use niagara_capture::log::ReadOptions;
use niagara_capture::sql::SqlMode;
use niagara_capture::{CaptureError, Import, Progress, StoredCode, import};
use niagara_error::{Explanation, problem};
use niagara_load::counted;
use niagara_origin::data::read_stored_code;

use super::args::{ImportArgs, NewFile, ReadingArgs};
use super::stop_flag::{interrupted, stop_flag};
use super::summary;
use crate::clock::clock;
use crate::json::{self, Document, Printed};
use crate::progress::living_line;

/// Without a terminal, a line at most this often.
const QUIET: Duration = Duration::from_secs(30);
/// On a terminal, so often.
const LIVELY: Duration = Duration::from_millis(200);

impl Printed for Summary {
    const DOCUMENT: Document = Document::CaptureImport;
}

pub fn run(args: &ImportArgs) -> Result<ExitCode> {
    let stop = stop_flag("stopping: no capture is written")?;
    let asked = Asked {
        stored: stored(&args.routines)?,
        ..Asked::default()
    };
    match make(&args.logs, &args.output, &args.reading, &asked, &stop) {
        Ok(summary) => {
            if args.json {
                json::print(&summary)?;
            } else {
                summary::say_summary(&args.output.output, &summary);
            }
            Ok(judge(&summary, args.reading.max_loss))
        }
        Err(CaptureError::Stopped) => {
            tell!("niagara: {}", CaptureError::Stopped);
            Ok(interrupted())
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether the capture has statements, and all that its source says.
fn judge(summary: &Summary, max_loss: f64) -> ExitCode {
    if summary.statements == 0 {
        // The remedy stands in the summary.
        tell!("niagara: there is no statement in the capture");
        return ExitCode::FAILURE;
    }
    loss_code(summary, max_loss)
}

/// Whether the capture has what its source says, but for a share that is allowed to be lost, in percent; says so where not.
pub fn loss_code(summary: &Summary, max_loss: f64) -> ExitCode {
    let loss = summary.loss();
    if loss.share * 100.0 <= max_loss {
        return ExitCode::SUCCESS;
    }
    let first = loss.first.map_or(String::new(), |place| {
        format!(" at {place}, the first of them")
    });
    let told = problem!(
        "not all of the source was understood: {} lost ({:.3} % of it); the capture has the rest",
        counted(loss.pieces, "piece"),
        loss.share * 100.0;
        remedy: "look{first}; --max-loss {:.3} takes such a loss for none",
        (loss.share * 100_000.0).ceil() / 1000.0
    );
    tell!("niagara: {}", Explanation::from(told));
    ExitCode::FAILURE
}

/// What a server said of itself whose log is imported.
#[derive(Debug, Default)]
pub struct Asked {
    /// What it counted meanwhile.
    pub counted: Option<ServerCounts>,
    /// What its sessions show of their clients.
    pub clients: Vec<ClientsOfUser>,
    /// The modes of its new sessions; what the command line says comes first.
    pub mode: SqlMode,
    /// The code that its databases have.
    pub stored: Option<StoredCode>,
}

/// The functions, triggers and views of dumps; none where none is named.
fn stored(dumps: &[PathBuf]) -> Result<Option<StoredCode>> {
    if dumps.is_empty() {
        return Ok(None);
    }
    let mut stored = StoredCode::default();
    for dump in dumps {
        read_stored_code(dump, &mut stored)?;
    }
    if stored.is_empty() {
        let names: Vec<String> = dumps
            .iter()
            .map(|dump| dump.display().to_string())
            .collect();
        tell!(
            "niagara: {}: no stored function, trigger or view; a dump has functions with --routines only",
            names.join(", ")
        );
    }
    Ok(Some(stored))
}

/// Makes a capture from logs and what their server said, with a line of progress on standard error.
///
/// # Errors
/// As [`import`].
pub fn make(
    logs: &[PathBuf],
    output: &NewFile,
    reading: &ReadingArgs,
    asked: &Asked,
    stop: &AtomicBool,
) -> Result<Summary, CaptureError> {
    let job = Import {
        files: logs.to_vec(),
        read: ReadOptions {
            zone: reading.time_zone.clone().unwrap_or_else(TimeZone::system),
            mode: mode(reading, asked.mode),
            ..ReadOptions::default()
        },
        output: output.output.clone(),
        replace: output.force,
        counted: asked.counted,
        stored: asked.stored.clone(),
        clients: [reading.clients(), asked.clients.clone()].concat(),
    };
    let mut line = Line::new();
    let made = import(&job, stop, |progress| line.show(progress));
    line.bar.finish_and_clear();
    made
}

/// The settings by which statements of new sessions are read.
fn mode(reading: &ReadingArgs, asked: SqlMode) -> SqlMode {
    let mode = reading.sql_mode.unwrap_or(asked);
    let of_all = reading.charset.iter().find(|one| one.user.is_none());
    let charset = of_all.and_then(|one| one.settings.charset);
    match charset.and_then(LoginCharset::name) {
        Some(name) => mode.with_character_set(name.as_bytes()),
        None => mode,
    }
}

/// A line that lives on a terminal.
struct Line {
    bar: indicatif::ProgressBar,
    live: bool,
    began: Instant,
    last: Instant,
}

impl Line {
    fn new() -> Line {
        let (bar, live) = living_line();
        let now = Instant::now();
        Line {
            bar,
            live,
            began: now,
            last: now,
        }
    }

    fn show(&mut self, progress: Progress<'_>) {
        let pause = if self.live { LIVELY } else { QUIET };
        if self.last.elapsed() < pause {
            return;
        }
        self.last = Instant::now();
        let text = text(progress, self.began.elapsed());
        if self.live {
            self.bar.set_message(text);
        } else {
            tell!("{text}");
        }
    }
}

/// `slow.log.1 · 41 % of 1.2 GB, 0:07 left · 1200000 entries`.
fn text(progress: Progress<'_>, used: Duration) -> String {
    let name = progress.file.file_name().map_or(progress.file, Path::new);
    let mut text = format!("{}", name.display());
    // Pipes have no length.
    if progress.total > 0 && progress.read > 0 {
        let share = (progress.read as f64 / progress.total as f64).min(1.0);
        let left = used.mul_f64((1.0 - share) / share);
        text += &format!(
            " · {:.0} % of {:.1} MB, {} left",
            share * 100.0,
            progress.total as f64 / 1e6,
            clock(left)
        );
    }
    text + &format!(" · {} entries", progress.entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_tells_the_time_left() {
        let progress = Progress {
            file: Path::new("/var/log/slow.log"),
            read: 25_000_000,
            total: 100_000_000,
            entries: 7,
        };
        assert_eq!(
            text(progress, Duration::from_secs(20)),
            "slow.log · 25 % of 100.0 MB, 1:00 left · 7 entries"
        );
    }
}
