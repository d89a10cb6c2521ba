//! What sessions had set before a transaction: said again where one logs in again, because its connection was lost or had to make
//! room.

use niagara_capture::sql::Class;
use niagara_capture::trace::{Action, Step, Trace};
use std::collections::HashSet;

/// Settings of a transaction that is over, not of its session.
const OF_ONE_TRANSACTION: &str = "set transaction";

/// What a step sets.
#[derive(Debug, PartialEq, Eq, Hash)]
enum What {
    /// The database in use, by whatever statement.
    Database,
    /// Variables, by the digest of the statement: the same one with other values sets the same.
    Variables(u32),
    /// All of it, as it was at the login.
    Everything,
}

/// Steps that set something, by session.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Places in the trace, in their order.
    by_session: Vec<Vec<u32>>,
}

impl Settings {
    pub(crate) fn of(trace: &Trace) -> Self {
        let mut by_session = vec![Vec::new(); trace.sessions as usize];
        for unit in &trace.units {
            let set = unit
                .range()
                .filter(|&place| what(trace, &trace.steps[place]).is_some());
            by_session[unit.session as usize].extend(set.map(|place| place as u32));
        }
        Settings { by_session }
    }

    /// What `session` had set before the step at `place`, the last first: what is said twice counts where it was said last.
    pub(crate) fn before(&self, trace: &Trace, session: u32, place: u32) -> Vec<u32> {
        let set = &self.by_session[session as usize];
        let set = &set[..set.partition_point(|&one| one < place)];
        let mut known = HashSet::new();
        let mut again = Vec::new();
        for &one in set.iter().rev() {
            match what(trace, &trace.steps[one as usize]) {
                // The database stays that of before.
                Some(What::Everything) => {
                    if !known.contains(&What::Database) {
                        let mut earlier = set.iter().rev().skip_while(|&&other| other >= one);
                        again.extend(earlier.find(|&&other| {
                            what(trace, &trace.steps[other as usize]) == Some(What::Database)
                        }));
                    }
                    break;
                }
                Some(what) => again.extend(known.insert(what).then_some(one)),
                None => {}
            }
        }
        again
    }
}

fn what(trace: &Trace, step: &Step) -> Option<What> {
    match step.action {
        Action::Reset => return Some(What::Everything),
        Action::Database => return Some(What::Database),
        Action::Query => {}
    }
    let digest = trace.digests.get(step.digest as usize)?;
    match digest.class {
        Class::Use => Some(What::Database),
        Class::Set if !digest.text.starts_with(OF_ONE_TRANSACTION) => {
            Some(What::Variables(step.digest))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::replay::captured::capture;
    use niagara_capture::trace::{CompileOptions, compile};

    fn trace(statements: &[(u64, &str, &str)]) -> Trace {
        let folder = tempfile::tempdir().expect("a folder");
        let path = capture(folder.path(), statements);
        compile(&path, CompileOptions::default()).expect("a trace")
    }

    #[test]
    fn a_session_begins_again_with_what_it_had_set() {
        let trace = trace(&[
            (1, "shop", "SET NAMES utf8mb4"),
            (2, "", "SET @a = 9"),
            (1, "", "SET @a = 1"),
            (1, "", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"),
            (1, "stock", "SELECT 1"),
            (1, "", "SET @a = 2"),
            (1, "", "SELECT @a"),
            (2, "", "SELECT @a"),
        ]);
        let settings = Settings::of(&trace);
        let before = |session: u32, unit: usize| -> Vec<String> {
            let place = trace.units[unit].first_step;
            let mut again = settings.before(&trace, session, place);
            again.reverse();
            let text = |place: u32| trace.text(trace.steps[place as usize].text);
            again
                .into_iter()
                .map(|place| String::from_utf8_lossy(text(place)).into_owned())
                .collect()
        };
        assert_eq!(before(0, 0), [] as [&str; 0]);
        assert_eq!(before(0, 4), ["SET NAMES utf8mb4", "SET @a = 1"]);
        assert_eq!(before(0, 6), ["SET NAMES utf8mb4", "stock", "SET @a = 2"]);
        assert_eq!(before(1, 7), ["SET @a = 9"]);
    }

    #[test]
    fn a_reset_leaves_the_database() {
        let trace = trace(&[
            (1, "shop", "SET @a = 1"),
            (1, "stock", "SELECT 1"),
            (1, "", "# administrator command: Reset Connection"),
            (1, "", "SET @b = 1"),
            (1, "", "SELECT 2"),
        ]);
        let settings = Settings::of(&trace);
        let again = settings.before(&trace, 0, trace.units[4].first_step);
        let texts: Vec<_> = again
            .iter()
            .rev()
            .map(|&place| trace.text(trace.steps[place as usize].text))
            .collect();
        assert_eq!(texts, [&b"stock"[..], b"SET @b = 1"]);
    }
}
