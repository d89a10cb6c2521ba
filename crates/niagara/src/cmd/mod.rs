//! One file per subcommand, each a `run` that reads from top to bottom.

pub mod advise;
pub(crate) mod before_after;
pub mod bench;
pub mod build;
pub mod build_elsewhere;
pub mod capture;
pub mod check;
pub mod checkup;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod first;
pub mod fleet;
pub mod formats;
pub mod levers;
pub mod load_agent;
pub mod man;
pub mod profile;
pub mod report;
pub mod run;
pub mod server;
pub mod session;
pub mod side_by_side;
pub mod study;
pub mod sweep;
pub mod tune;
