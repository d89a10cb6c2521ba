//! A part that cannot be checked to its end: what was found before that stands.

use anyhow::Result;
use niagara_error::Explain as _;
use niagara_server::Around;

use super::crash::Timeout;
use super::outcome::{CheckNote, Outcome, PartReport};

/// Ends a part for `error`, which is nothing of the server under test: somebody stopped the check, or killed the server, or left it
/// no time. Where something was found before, the part has failed all the same: that stands, and why it was not checked on is
/// told beside it.
///
/// # Errors
/// `error` itself, where nothing was found; a disk that is full, on which no finding is one; what nobody foresaw.
pub(crate) fn cut_short(report: &mut PartReport, error: anyhow::Error) -> Result<()> {
    let is_nobodys = match Around::of(&error) {
        Some(around) => around != Around::Disk,
        None => error.has::<Timeout>(),
    };
    if report.outcome != Outcome::Failed || !is_nobodys {
        return Err(error);
    }
    report.notes.push(CheckNote::CutShort {
        error: error.explain(),
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;
    use niagara_server::Cancelled;

    use super::super::outcome::{CheckFinding, Part};
    use super::*;

    #[test]
    fn what_was_found_stands_whatever_ends_the_check() {
        let stopped = || anyhow::Error::from(Cancelled).context("after kill 3");
        let undecided = || anyhow::Error::from(Timeout::for_test("no time"));
        let missing = || anyhow::Error::from(std::io::Error::from(std::io::ErrorKind::NotFound));
        for error in [stopped, undecided, missing] {
            // Alone it is an error; beside a fault it is told, and the fault stands.
            let mut report = PartReport::new(Part::Crash, 1);
            assert!(cut_short(&mut report, error()).is_err());
            assert!(report.notes.is_empty());
            report.fail(CheckFinding::NothingAcknowledged);
            cut_short(&mut report, error()).expect("told beside it");
            assert_eq!(report.findings, [CheckFinding::NothingAcknowledged]);
            assert!(matches!(report.notes[..], [CheckNote::CutShort { .. }]));
        }
        let mut report = PartReport::new(Part::Crash, 1);
        report.fail(CheckFinding::NothingAcknowledged);
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        for error in [full.into(), anyhow!("a mistake of Niagara's own")] {
            assert!(cut_short(&mut report, error).is_err());
        }
    }
}
