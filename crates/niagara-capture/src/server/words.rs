//! The English of what is to be known before a capture, in one place.

use std::fmt::{Display, Formatter, Result};

use super::codes::{Agreement, Miss, Note};
use super::wanted::Purpose;

impl Display for Purpose {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::FewRows => "statements that read few rows",
            Self::WithoutIndex => "drops statements without an index, also where all are logged",
            Self::Sampled => "one statement in this many is logged",
            Self::Administration => "ALTER, ANALYZE, OPTIMIZE and the like",
            Self::FilteredPlans => "plans that are kept out",
            Self::ErrorsAndStarts => "errors and exact starts",
            Self::ConnectedSessions => "sessions that are connected already follow too",
            Self::DisabledKinds => "kinds of statements that are kept out",
            Self::ToFile => "the log goes to a file alone",
            Self::OwnFile => "a file of the capture's own",
            Self::EveryStatement => "every statement, however short",
            Self::LogOn => "the log is written",
        })
    }
}

impl Display for Miss {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::ConnectedSessions => {
                "sessions that are connected already: long_query_time is a session's own once it is connected. They appear in the \
                 capture when they connect again (restart the application's pool, or let it recycle its connections)"
            }
            Self::Logins => {
                "logins and, on MariaDB, ends of sessions: no slow log has them; a general log does (general_log, at a higher cost)"
            }
            Self::SyntaxErrors => {
                "statements with a syntax error, and which statements were prepared: this server's slow log does not say"
            }
        })
    }
}

impl Display for Note {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Sessions { connected } => write!(
                f,
                "sessions connected now: {connected}, this one among them"
            ),
            Self::Rate { statements } => write!(
                f,
                "the server has answered {statements:.1} statements a second on average since its start; the log takes the text of each and \
                 some 300 bytes, some {:.0} kB a second without the texts",
                statements * 0.3
            ),
            Self::FreeSpace { bytes, folder } => write!(
                f,
                "{:.1} GB are free in {} as this machine sees it",
                *bytes as f64 / 1e9,
                folder.display()
            ),
            Self::SlowLogOn { goes_to } => write!(
                f,
                "the slow log is on already and goes to {goes_to}: for the time of the capture its entries go to the capture's file"
            ),
            Self::GeneralLogOn => f.write_str(
                "the general log is on: it costs more than the slow log, and could be imported instead",
            ),
        }
    }
}

impl Display for Agreement {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::ConnectionsKeep { settings, goes_to } => write!(
                f,
                "the slow log is on and goes to {goes_to}: connections that are opened during the capture keep {settings} until they \
                 close, so that after its end every statement of theirs goes there"
            ),
            Self::GeneralLogToFile { log_output, file } => write!(
                f,
                "the general log is on and log_output is {log_output}: for the time of the capture it goes to the file {} alone, which \
                 stays there",
                file.display()
            ),
            Self::SlowTablePauses { log_output } => write!(
                f,
                "the slow log is on and log_output is {log_output}: for the time of the capture the table mysql.slow_log gets no entries"
            ),
        }
    }
}
