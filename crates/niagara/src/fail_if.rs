//! `--fail-if`: the result of a comparison at which a pipeline is to fail.

use std::fmt;
use std::process::ExitCode;
use std::str::FromStr;

use niagara_lab::quantity::share;
use niagara_model::Comparison;
use niagara_stats::Verdict;

/// Exit code of a comparison at whose result the command was to fail.
const FAILED: u8 = 3;

/// A result at which the command is to fail.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FailIf {
    /// Whether it is enough that B may be slower by that much.
    maybe: bool,
    /// By what share.
    share: f64,
}

impl FailIf {
    /// Whether the result is such: B is called slower and its whole interval lies below the share, with `maybe` its lower end
    /// alone; or B failed. An interval of too few duels excludes nothing.
    pub fn holds(&self, comparison: &Comparison) -> bool {
        let judged = comparison.judged();
        let limit = 1.0 - self.share;
        let is_slower = match self.maybe {
            true => judged.confidence.is_some() || judged.estimate.low < limit,
            false => judged.verdict == Some(Verdict::Slower) && judged.estimate.high < limit,
        };
        let failed = comparison.failed.as_ref();
        is_slower || failed.is_some_and(|failed| failed.side == 1)
    }

    /// How the command ends then.
    pub fn exit_code() -> ExitCode {
        ExitCode::from(FAILED)
    }
}

impl FromStr for FailIf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let expected = || "expected slower>2% or maybe-slower>2%".to_owned();
        let (what, by) = text.split_once('>').ok_or_else(expected)?;
        let maybe = match what.trim() {
            "slower" => false,
            "maybe-slower" => true,
            _ => return Err(expected()),
        };
        let share = share(by.trim())?;
        Ok(Self { maybe, share })
    }
}

impl fmt::Display for FailIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let maybe = if self.maybe { "maybe-" } else { "" };
        write!(f, "{maybe}slower>{}%", self.share * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_written() {
        for text in ["slower>2%", "maybe-slower>0.5%"] {
            assert_eq!(text.parse::<FailIf>().unwrap().to_string(), text);
        }
        for wrong in ["slower", "faster>2%", "slower>x", ""] {
            assert!(wrong.parse::<FailIf>().is_err(), "{wrong}");
        }
    }
}
