//! The size of the redo log, which variables of several names say.

use crate::facts::{Counters, Variables};

/// Its size in bytes; a MySQL from 8.0.30 on has one variable for it, others a size and a number of files.
pub(crate) fn capacity(variables: &Variables) -> Option<f64> {
    variables.number("innodb_redo_log_capacity").or_else(|| {
        let file = variables.number("innodb_log_file_size")?;
        // A MariaDB from 10.5 on has one file, and from 10.6 on no variable that counts them.
        let files = variables.number("innodb_log_files_in_group").unwrap_or(1.0);
        Some(file * files)
    })
}

/// The share of it that is in use at this moment; none of a server that does not say it.
pub(crate) fn in_use(variables: &Variables, now: &Counters) -> Option<f64> {
    let mariadb =
        || Some(now.get("innodb_checkpoint_age")? / now.get("innodb_checkpoint_max_age")?);
    let mysql = || {
        let age =
            now.get("innodb_redo_log_current_lsn")? - now.get("innodb_redo_log_checkpoint_lsn")?;
        Some(age / capacity(variables)?)
    };
    mariadb().or_else(mysql).filter(|share| share.is_finite())
}
