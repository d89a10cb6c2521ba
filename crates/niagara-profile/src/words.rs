//! What a profile of a live server lacks, in English.

use niagara_error::{Explanation, problem};

use crate::live::{LiveGap, LockGap};

/// The load of a live server.
pub const OWN_LOAD: &str = "its own load";

impl From<&LiveGap> for Explanation {
    fn from(gap: &LiveGap) -> Explanation {
        let problem = match gap {
            LiveGap::Repetition => problem!(
                "this load again: it was the server's own, and changes by the hour";
                remedy: "record it (`niagara capture start`), then profile a private server (`--workload FILE.capture`)"
            ),
            LiveGap::ObservationCost => problem!(
                "what observing costs: a live server's load differs from slice to slice, with a view or without; each view was on for half \
                 of its time at most"
            ),
            LiveGap::Allocations => problem!(
                "allocations: a library counts them, which a server loads when it starts";
                remedy: "profile a private server: `niagara profile SERVER --views allocations`"
            ),
            LiveGap::Release { error } => {
                return error
                    .clone()
                    .with_cause(|cause| format!("the server's release: {cause}"));
            }
            LiveGap::Queries { error: Some(error) } => {
                return error
                    .clone()
                    .with_cause(|cause| format!("figures per query: {cause}"));
            }
            LiveGap::Queries { error: None } => problem!(
                "figures per query: nobody asked the server how many statements it answers";
                remedy: "name an account with --user"
            ),
            LiveGap::Locks { cause } => return locks(*cause).into(),
            LiveGap::FunctionNames => problem!(
                "names of functions that the server does not export";
                remedy: "install the debug symbols of its package (on Debian …-dbgsym); they are found in /usr/lib/debug"
            ),
            LiveGap::LeversInUse => problem!(
                "which levers are in use already: they are named by the server's release alone";
                remedy: "`niagara checkup --levers` shows how the server is set"
            ),
        };
        problem.into()
    }
}

fn locks(cause: LockGap) -> niagara_error::Problem {
    match cause {
        LockGap::NoConnection => problem!(
            "the server's own account of its locks: nobody asked it";
            remedy: "name an account with --user"
        ),
        LockGap::SchemaOff => problem!(
            "named locks: performance_schema is off in this server, and nothing is switched on in it";
            remedy: "profile a private server: `niagara profile SERVER --views locks`"
        ),
        LockGap::InstrumentsOff => problem!(
            "named locks: this server does not time waits for its locks (wait/synch/%), and nothing is switched on in it";
            remedy: "profile a private server: `niagara profile SERVER --views locks`"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_told_with_their_cause() {
        let told = |gap: &LiveGap| Explanation::from(gap).to_string();
        let refused = LiveGap::Queries {
            error: Some(Explanation::new("Access denied").remedy("check --user")),
        };
        assert_eq!(
            told(&refused),
            "figures per query: Access denied\nremedy: check --user"
        );
        let cause = LockGap::SchemaOff;
        assert!(told(&LiveGap::Locks { cause }).contains("performance_schema is off"));
    }

    #[test]
    fn gaps_are_read_as_they_were_stored() {
        for gap in [
            LiveGap::ObservationCost,
            LiveGap::Queries { error: None },
            LiveGap::Locks {
                cause: LockGap::InstrumentsOff,
            },
        ] {
            let text = toml::to_string(&gap).unwrap();
            assert_eq!(toml::from_str::<LiveGap>(&text).unwrap(), gap, "{text}");
        }
    }
}
