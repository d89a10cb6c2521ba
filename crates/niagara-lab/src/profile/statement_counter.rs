//! How many statements a live server answers to others, by its own counters. It is asked by SHOW alone.

use std::collections::BTreeMap;

use anyhow::Result;
use niagara_load::Admin;
use niagara_profile::LiveGap;

/// A connection that asks for counters, as long as there is one.
pub(super) struct StatementCounter {
    connection: Result<Admin, LiveGap>,
}

impl StatementCounter {
    /// By this connection, or nothing for this reason.
    pub(super) fn new(connection: Result<Admin, LiveGap>) -> StatementCounter {
        StatementCounter { connection }
    }

    /// The connection; none where there is none, or it was lost.
    pub(super) fn connection(&mut self) -> Option<&mut Admin> {
        self.connection.as_mut().ok()
    }

    /// Ends the connection, which the server would else count as aborted; why there was none, or none any more.
    pub(super) fn quit(self) -> Option<LiveGap> {
        self.connection.map(Admin::quit).err()
    }

    /// Statements of others so far; where the connection is lost, there are no figures per query from then on.
    pub(super) fn statements(&mut self) -> Option<f64> {
        self.ask(|admin| {
            let rows = admin.rows("SHOW GLOBAL STATUS LIKE 'Questions'")?;
            let all = pairs(rows).remove("Questions");
            // The own ones are among them, this one too.
            Ok(all.map(|all| all - admin.statements() as f64))
        })?
    }

    /// The server's status counters, without what this connection counts of its own; none without a connection.
    pub(super) fn counters(&mut self) -> Option<BTreeMap<String, f64>> {
        self.ask(|admin| {
            let all = pairs(admin.rows("SHOW GLOBAL STATUS")?);
            let own = pairs(admin.rows("SHOW SESSION STATUS")?);
            Ok(without_own(all, &own))
        })
    }

    fn ask<T>(&mut self, ask: impl FnOnce(&mut Admin) -> Result<T>) -> Option<T> {
        match ask(self.connection.as_mut().ok()?) {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.connection = Err(LiveGap::Queries {
                    error: Some((&error).into()),
                });
                None
            }
        }
    }
}

fn pairs(rows: Vec<niagara_load::Row>) -> BTreeMap<String, f64> {
    let pairs = rows.into_iter().filter_map(|row| {
        let mut cells = row.into_iter().flatten();
        Some((cells.next()?, cells.next()?.parse().ok()?))
    });
    pairs.collect()
}

/// Counters of all sessions less those of one, which were read later. A counter that no session has of its own is the same in both,
/// or has grown meanwhile.
fn without_own(all: BTreeMap<String, f64>, own: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let others = all.into_iter().map(|(name, all)| {
        let own = own.get(&name).copied().filter(|own| *own < all);
        (name, all - own.unwrap_or(0.0))
    });
    others.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_counters_are_taken_off() {
        let counters = |pairs: &[(&str, f64)]| -> BTreeMap<String, f64> {
            let pairs = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value));
            pairs.collect()
        };
        let all = counters(&[("Created_tmp_tables", 100.0), ("Innodb_data_reads", 50.0)]);
        let own = counters(&[("Created_tmp_tables", 7.0), ("Innodb_data_reads", 51.0)]);
        let others = without_own(all, &own);
        assert_eq!(others["Created_tmp_tables"], 93.0);
        assert_eq!(others["Innodb_data_reads"], 50.0);
    }
}
