//! Setting variables, and setting them back.

use niagara_error::{Explanation, problem};
use serde::{Deserialize, Serialize};

use super::connection::Connection;
use super::value::same;
use super::wanted::Change;

/// What an account that sets variables needs. Managed servers grant it to nobody.
const MAY_SET: &str = "use an account that may set global variables: GRANT SUPER ON *.* TO it, on MySQL from 8.0 on GRANT \
    SYSTEM_VARIABLES_ADMIN ON *.* TO it; on a managed server set what `niagara capture advise` prints as its parameters";

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
    /// The server did not set it back, and says why.
    Failed(String),
}

impl Outcome {
    /// The variable has the value of before, or somebody else's.
    pub fn is_settled(&self) -> bool {
        !matches!(self, Outcome::Failed(_))
    }
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
        connection.rows(&change.set()).map_err(
            |error| problem!("{} cannot be set: {error}", change.name; remedy: "{MAY_SET}"),
        )?;
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
        Err(error) => return Outcome::Failed(error),
    };
    if same(&current, &change.from) {
        return Outcome::WasSo;
    }
    if !same(&current, &change.to) {
        return Outcome::ChangedByOthers(current);
    }
    match connection.rows(&change.unset()) {
        Ok(_) => Outcome::Restored,
        Err(error) => Outcome::Failed(error),
    }
}
