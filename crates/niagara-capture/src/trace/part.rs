//! A part of a trace: some of its transactions, each of them whole.
//!
//! What one part is used for (training a build) says little about what it then does on the very same statements, so a trace
//! is divided: one part trains, its [complement](TracePart::complement) judges.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::draft::Draft;
use super::types::{Action, NONE, Step, TraceDigest};
use crate::sql::Class;

/// Which transactions of a capture: a share in per cent, from 1 to 99.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub enum TracePart {
    /// The first ones, in the order of their beginnings.
    First(u8),
    /// Those after the first ones. Sessions that had begun before begin with what they had set.
    After(u8),
    /// Those of a share of the sessions, spread over the whole capture.
    Sessions(u8),
    /// Those of the other sessions.
    OtherSessions(u8),
}

/// How parts are written.
const FORMS: &str = "first:50%, after:50% (by time), sessions:50% or other-sessions:50%, with a share from 1% to 99%";

impl TracePart {
    /// What is left of the capture.
    #[must_use]
    pub fn complement(self) -> TracePart {
        match self {
            TracePart::First(share) => TracePart::After(share),
            TracePart::After(share) => TracePart::First(share),
            TracePart::Sessions(share) => TracePart::OtherSessions(share),
            TracePart::OtherSessions(share) => TracePart::Sessions(share),
        }
    }

    /// For people: `the first 50 % of the transactions`.
    pub fn words(self) -> String {
        match self {
            TracePart::First(share) => format!("the first {share} % of the transactions"),
            TracePart::After(share) => {
                format!("the transactions after the first {share} %")
            }
            TracePart::Sessions(share) => format!("the transactions of {share} % of the sessions"),
            TracePart::OtherSessions(share) => format!(
                "the transactions of the other {} % of the sessions",
                100 - share
            ),
        }
    }

    /// The transactions of this part, with what its sessions had set before. `drafts` are in no order; `digests` loses those
    /// of which no statement is left.
    pub(super) fn take(self, drafts: Vec<Draft>, digests: &mut Vec<TraceDigest>) -> Vec<Draft> {
        let mut drafts = drafts;
        drafts.sort_by_key(|draft| (draft.start_us, draft.session));
        let mut kept = match self {
            TracePart::First(share) => {
                drafts.truncate(first_of(drafts.len(), share));
                drafts
            }
            TracePart::After(share) => {
                let rest = drafts.split_off(first_of(drafts.len(), share));
                continued(&drafts, rest, digests)
            }
            TracePart::Sessions(share) => {
                drafts.retain(|draft| is_among(draft.session, share));
                drafts
            }
            TracePart::OtherSessions(share) => {
                drafts.retain(|draft| !is_among(draft.session, share));
                drafts
            }
        };
        begin_at_once(&mut kept);
        forget_unused(&mut kept, digests);
        kept
    }
}

/// How many of so many transactions are the first `share` per cent.
fn first_of(transactions: usize, share: u8) -> usize {
    transactions * usize::from(share) / 100
}

/// Whether a session is among `share` per cent of them: sessions are numbered in the order of their first statements, so
/// that of every hundred in a row as many are chosen, evenly spread.
fn is_among(session: u32, share: u8) -> bool {
    let at = |session: u32| u64::from(session) * u64::from(share) / 100;
    at(session + 1) > at(session)
}

/// `rest`, where every session that had begun `before` begins with the variables and the database that it had set.
fn continued(before: &[Draft], mut rest: Vec<Draft>, digests: &[TraceDigest]) -> Vec<Draft> {
    let mut set: HashMap<u32, Vec<Step>> = HashMap::new();
    for draft in before {
        for step in &draft.steps {
            let of_session = set.entry(draft.session).or_default();
            let class = digests.get(step.digest as usize).map(|one| one.class);
            match (step.action, class) {
                (Action::Reset, _) => of_session.clear(),
                (Action::Database, _) | (_, Some(Class::Set | Class::Use)) => {
                    // What is said twice counts where it was said last.
                    of_session
                        .retain(|known| (known.action, known.text) != (step.action, step.text));
                    of_session.push(*step);
                }
                _ => {}
            }
        }
    }
    for draft in &mut rest {
        if let Some(steps) = set.remove(&draft.session) {
            let start_us = draft.start_us;
            let steps = steps.into_iter().map(|step| Step { start_us, ..step });
            draft.steps.splice(..0, steps);
        }
    }
    rest
}

/// The part's time begins with its first transaction.
fn begin_at_once(drafts: &mut [Draft]) {
    let first = drafts.iter().map(|draft| draft.start_us).min().unwrap_or(0);
    for draft in drafts {
        draft.start_us -= first;
        draft.end_us -= first;
        for step in &mut draft.steps {
            step.start_us -= first;
        }
    }
}

/// Leaves digests out of which no statement is left.
fn forget_unused(drafts: &mut [Draft], digests: &mut Vec<TraceDigest>) {
    let mut places = vec![NONE; digests.len()];
    let steps = drafts.iter().flat_map(|draft| &draft.steps);
    for step in steps.filter(|step| step.digest != NONE) {
        places[step.digest as usize] = 0;
    }
    let used = places.iter_mut().filter(|place| **place == 0);
    for (number, place) in used.enumerate() {
        *place = number as u32;
    }
    let mut place = places.iter();
    digests.retain(|_| place.next().is_some_and(|place| *place != NONE));
    for step in drafts.iter_mut().flat_map(|draft| &mut draft.steps) {
        if step.digest != NONE {
            step.digest = places[step.digest as usize];
        }
    }
}

impl fmt::Display for TracePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, share) = match self {
            TracePart::First(share) => ("first", share),
            TracePart::After(share) => ("after", share),
            TracePart::Sessions(share) => ("sessions", share),
            TracePart::OtherSessions(share) => ("other-sessions", share),
        };
        write!(f, "{word}:{share}%")
    }
}

impl FromStr for TracePart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no part of a capture: write {FORMS}");
        let (word, share) = text.split_once(':').ok_or_else(wrong)?;
        let share = share.strip_suffix('%').unwrap_or(share);
        let share: u8 = share.parse().map_err(|_| wrong())?;
        if !(1..=99).contains(&share) {
            return Err(wrong());
        }
        match word {
            "first" => Ok(TracePart::First(share)),
            "after" => Ok(TracePart::After(share)),
            "sessions" => Ok(TracePart::Sessions(share)),
            "other-sessions" => Ok(TracePart::OtherSessions(share)),
            _ => Err(wrong()),
        }
    }
}

impl From<TracePart> for String {
    fn from(part: TracePart) -> String {
        part.to_string()
    }
}

impl TryFrom<String> for TracePart {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_written_and_read() {
        for text in [
            "first:50%",
            "after:1%",
            "sessions:99%",
            "other-sessions:30%",
        ] {
            let part: TracePart = text.parse().expect(text);
            assert_eq!(part.to_string(), text);
            assert_eq!(part.complement().complement(), part);
        }
        for text in ["", "first", "first:0%", "first:100%", "last:50%", "first:x"] {
            let error = text.parse::<TracePart>().expect_err(text);
            assert!(error.contains("other-sessions:50%"), "{error}");
        }
    }

    #[test]
    fn sessions_are_spread_evenly() {
        for share in [1, 10, 33, 50, 99] {
            let chosen = (0..1000).filter(|&one| is_among(one, share)).count();
            assert_eq!(chosen, usize::from(share) * 10, "{share} %");
        }
        let chosen: Vec<u32> = (0..8).filter(|&one| is_among(one, 50)).collect();
        assert_eq!(chosen, [1, 3, 5, 7]);
    }
}
