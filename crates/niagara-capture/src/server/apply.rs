//! Setting variables, and setting them back.

use niagara_error::{Explanation, problem};
use serde::{Deserialize, Serialize};

use super::connection::{Connection, Refusal};
use super::value::same;
use super::wanted::{Change, LOG_FILE};

/// What an account that sets variables needs. Managed servers grant it to nobody.
const MAY_SET: &str = "use an account that may set global variables: GRANT SUPER ON *.* TO it, on MySQL from 8.0 on GRANT \
    SYSTEM_VARIABLES_ADMIN ON *.* TO it; on a managed server set what `niagara capture advise` prints as its parameters";

/// What a server without a file to log to needs.
const A_FILE: &str = "SET GLOBAL slow_query_log_file to a file that the server may write, then the same command; or a source that needs no \
    setting: recorded traffic, or a log that is there (`niagara capture import`)";

/// The account may not: ER_SPECIFIC_ACCESS_DENIED_ERROR.
const DENIED: u16 = 1227;

/// What a server says again however often it is asked: ER_UNKNOWN_SYSTEM_VARIABLE, ER_WRONG_VALUE_FOR_VAR, ER_WRONG_TYPE_FOR_VAR,
/// ER_INCORRECT_GLOBAL_LOCAL_VAR, ER_OPTION_PREVENTS_STATEMENT.
const FINAL: [u16; 6] = [DENIED, 1193, 1231, 1232, 1238, 1290];

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
    problem!("{} cannot be set: {error}", change.name; remedy: "{MAY_SET}").into()
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
