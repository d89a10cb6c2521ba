//! `niagara capture filter` and `export`: a part of a capture, and a capture as JSON.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use niagara_capture::file::CaptureReader;
use niagara_capture::{CaptureError, Filter};

use super::args::{ExportArgs, FilterArgs};
use super::stop_flag::{interrupted, stop_flag};
use super::summary::say_summary;
use crate::shared_args::duration;

pub fn filter(args: &FilterArgs) -> Result<ExitCode> {
    let first = CaptureReader::open(&args.capture)?
        .summary()
        .first_us
        .unwrap_or(0);
    let time = |text: &Option<String>, name| {
        text.as_deref()
            .map(|text| moment(text, first, name))
            .transpose()
    };
    let wanted = Filter {
        from_us: time(&args.from, "--from")?,
        to_us: time(&args.to, "--to")?,
        databases: args.database.clone(),
        without_database: false,
        users: args.user.clone(),
        digests: args.digest.clone(),
        read_only: args.read_only,
        without_dumps: false,
    };
    let stop = stop_flag("stopping: no capture is written")?;
    match niagara_capture::filter(&args.capture, &args.output, args.force, &wanted, &stop) {
        Ok(summary) => {
            say_summary(&args.output, &summary);
            Ok(ExitCode::SUCCESS)
        }
        Err(CaptureError::Stopped) => {
            tell!("niagara: {}", CaptureError::Stopped);
            Ok(interrupted())
        }
        Err(error) => Err(error.into()),
    }
}

/// A time in microseconds since 1970: a moment, or `+10m` from `first`.
fn moment(text: &str, first: i64, name: &str) -> Result<i64> {
    if let Some(rest) = text.strip_prefix('+') {
        let after =
            duration(rest).map_err(|expected| anyhow::anyhow!("{name} {text}: {expected}"))?;
        return Ok(first.saturating_add(i64::try_from(after.as_micros()).unwrap_or(i64::MAX)));
    }
    match text.parse::<Timestamp>() {
        Ok(time) => Ok(time.as_microsecond()),
        Err(_) => bail!(
            "{name} {text}: expected a time such as 2026-11-22T20:00:00Z, or +10m from the beginning"
        ),
    }
}

pub fn export(args: &ExportArgs) -> Result<ExitCode> {
    let Some(path) = &args.output else {
        let to = Path::new("standard output");
        let mut out = BufWriter::new(io::stdout().lock());
        return match niagara_capture::export(&args.capture, &mut out, args.literals, to) {
            Err(CaptureError::File {
                action: "write",
                cause,
                ..
            }) if cause.kind() == io::ErrorKind::BrokenPipe => {
                Ok(ExitCode::from(crate::say::READER_GONE))
            }
            exported => exported.map(|_| ExitCode::SUCCESS).map_err(Into::into),
        };
    };
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("cannot make {}", path.display()))?;
    let mut out = BufWriter::new(file);
    let events = niagara_capture::export(&args.capture, &mut out, args.literals, path)?;
    out.flush()
        .with_context(|| format!("cannot write {}", path.display()))?;
    say!("{}: {events} events", path.display());
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_moments_or_offsets() {
        assert_eq!(moment("+10m", 5, "--from").expect("a time"), 600_000_005);
        assert_eq!(
            moment("1970-01-01T00:00:01Z", 5, "--from").expect("a time"),
            1_000_000
        );
        let error = moment("noon", 5, "--to").expect_err("no time").to_string();
        assert!(error.contains("--to noon"), "{error}");
    }
}
