//! Setting variables, and setting them back.

use niagara_error::{Explanation, problem};
use serde::{Deserialize, Serialize};

use super::connection::{Connection, Refusal};
use super::value::same;
use super::wanted::{Change, LOG_FILE};

/// What an account that sets variables needs. Managed servers grant it to nobody.
const MAY_SET: &str = "use an account that may set global variables: GRANT SUPER ON *.* TO it, on MySQL from 8.0 on GRANT \
    SYSTEM_VARIABLES_ADMIN ON *.* TO it; on a managed server set what `niagara capture advise` prints as its parameters";

/// After a connection that was lost, or an answer that did not come.
const AGAIN: &str = "the same command again; if the server does not answer, look at its error log";

/// What a server needs that does not take the name of the capture's log.
const ANOTHER_FILE: &str = "name another file by --log-file: one that the server may write, whose name ends neither in .cnf nor in .ini";

/// What is left where a server does not take a value.
const OTHER_SOURCE: &str = "set what `niagara capture advise` prints in the server's own way, or use a source that needs no setting: \
    recorded traffic, or a log that is there (`niagara capture import`)";

/// What a server without a file to log to needs.
const A_FILE: &str = "SET GLOBAL slow_query_log_file to a file that the server may write, then the same command; or a source that needs no \
    setting: recorded traffic, or a log that is there (`niagara capture import`)";

/// The account may not: ER_SPECIFIC_ACCESS_DENIED_ERROR.
const DENIED: u16 = 1227;

/// The variable takes no such value: ER_WRONG_VALUE_FOR_VAR.
const WRONG_VALUE: u16 = 1231;

/// What a server says again however often it is asked: also ER_UNKNOWN_SYSTEM_VARIABLE, ER_WRONG_TYPE_FOR_VAR,
/// ER_INCORRECT_GLOBAL_LOCAL_VAR, ER_OPTION_PREVENTS_STATEMENT.
const FINAL: [u16; 6] = [DENIED, WRONG_VALUE, 1193, 1232, 1238, 1290];

/// What became of a variable when it was set back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It has the value of before.
    Restored,
    /// It had the value of before already.
    WasSo,
    /// Somebody else has set it meanwhile, to this: it was left alone.
    ChangedByOthers(String),
    /// It was not set back, for this reason; another time it may be.
    Failed(String),
    /// The server does not take the value of before, whenever it is asked, and says why.
    Refused(String),
}

impl Outcome {
    /// The variable has the value of before, or somebody else's.
    pub fn is_settled(&self) -> bool {
        !matches!(self, Outcome::Failed(_) | Outcome::Refused(_))
    }

    /// Asking again makes no difference.
    pub(super) fn is_final(&self) -> bool {
        !matches!(self, Outcome::Failed(_))
    }
}

/// Whether the log's file of before can be set back: a server takes at its start what it refuses later, as /dev/null, a pipe, or a file in
/// a folder that it may not write. Sets it to its own value.
///
/// # Errors
/// The server refuses its own value; nothing was changed.
pub(super) fn check_way_back(
    connection: &mut dyn Connection,
    changes: &[Change],
) -> Result<(), Explanation> {
    let Some(change) = changes.iter().find(|change| change.name == LOG_FILE) else {
        return Ok(());
    };
    connection.rows("SET SESSION sql_mode = ''")?;
    match connection.rows(&change.unset()) {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.code, None | Some(DENIED)) => Err(cannot_set(change, &error)),
        Err(error) => Err(problem!(
            "the server's own {LOG_FILE}, {}, could not be set back after a capture, and nothing was changed: {error}", change.from;
            remedy: "{A_FILE}"
        )
        .into()),
    }
}

fn cannot_set(change: &Change, error: &Refusal) -> Explanation {
    let remedy = match error.code {
        None => AGAIN,
        Some(DENIED) => MAY_SET,
        Some(WRONG_VALUE) if change.name == LOG_FILE => ANOTHER_FILE,
        Some(_) => OTHER_SOURCE,
    };
    problem!("{} cannot be set: {error}", change.name; remedy: "{remedy}").into()
}

/// Makes the changes in their order, as far as the first that fails.
///
/// # Errors
/// What the server, or the way to it, says about the one that failed; the server may carry that one out all the same.
pub(super) fn apply(
    connection: &mut dyn Connection,
    changes: &[Change],
) -> Result<(), Explanation> {
    connection.rows("SET SESSION sql_mode = ''")?;
    for change in changes {
        let set = connection.rows(&change.set());
        set.map_err(|error| cannot_set(change, &error))?;
    }
    Ok(())
}

/// Undoes the changes, last first: what became of each. A variable that has neither value is somebody else's.
pub fn restore(connection: &mut dyn Connection, changes: &[Change]) -> Vec<(String, Outcome)> {
    // Where this fails, so do the statements below.
    let _ = connection.rows("SET SESSION sql_mode = ''");
    changes
        .iter()
        .rev()
        .map(|change| (change.name.clone(), restore_one(connection, change)))
        .collect()
}

fn restore_one(connection: &mut dyn Connection, change: &Change) -> Outcome {
    let current = match connection.value(&format!("SELECT @@GLOBAL.{}", change.name)) {
        Ok(value) => value.unwrap_or_default(),
        Err(error) => return Outcome::Failed(error.message),
    };
    if same(&current, &change.from) {
        return Outcome::WasSo;
    }
    if !same(&current, &change.to) {
        return Outcome::ChangedByOthers(current);
    }
    match connection.rows(&change.unset()) {
        Ok(_) => Outcome::Restored,
        Err(error) if error.code.is_some_and(|code| FINAL.contains(&code)) => {
            Outcome::Refused(error.message)
        }
        Err(error) => Outcome::Failed(error.message),
    }
}

#[cfg(test)]
mod tests {
    use super::super::wanted::Purpose;
    use super::*;

    #[test]
    fn a_remedy_follows_what_the_server_says() {
        let told = |name: &str, code: Option<u16>| {
            let change = Change {
                name: name.to_owned(),
                from: "/old.log".to_owned(),
                to: "/new.log".to_owned(),
                purpose: Purpose::OwnFile,
            };
            let refusal = Refusal {
                code,
                message: "a message".to_owned(),
            };
            let told = cannot_set(&change, &refusal);
            assert_eq!(told.cause, format!("{name} cannot be set: a message"));
            told.remedies
        };
        assert_eq!(told(LOG_FILE, None), [AGAIN]);
        assert_eq!(told(LOG_FILE, Some(DENIED)), [MAY_SET]);
        assert_eq!(told(LOG_FILE, Some(WRONG_VALUE)), [ANOTHER_FILE]);
        assert_eq!(told("log_output", Some(WRONG_VALUE)), [OTHER_SOURCE]);
    }
}
