//! Which statements of a session belong to one transaction.

use crate::file::Transaction;
use crate::log::Standing;
use crate::sql::{Boundary, Class};

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionState {
    open: bool,
    autocommit: bool,
    /// The end of the one before has begun the one that is open: the next statement is its first.
    chained: bool,
}

/// What is known of a statement.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Its kind.
    pub class: Class,
    /// What it does to a transaction beside that.
    pub boundary: Boundary,
    /// It sets `autocommit` to this.
    pub autocommit: Option<bool>,
    /// How the session stands afterwards, where the server has said it.
    pub standing: Option<Standing>,
}

impl Default for TransactionState {
    fn default() -> TransactionState {
        TransactionState {
            open: false,
            autocommit: true,
            chained: false,
        }
    }
}

impl TransactionState {
    /// The next statement.
    pub fn statement(&mut self, known: &Known) -> Transaction {
        let before = self.open;
        let chained = std::mem::take(&mut self.chained);
        let ends = matches!(known.class, Class::Commit | Class::Rollback);
        self.open = match known.standing {
            Some(standing) => standing.in_transaction,
            None => self.is_open_after(known),
        };
        if let Some(on) = known.autocommit {
            self.autocommit = on;
        }
        if let Some(standing) = known.standing {
            self.autocommit = standing.autocommit;
        }
        self.chained = ends && self.open;
        let (first, last) = match (before, self.open) {
            (false, false) => return Transaction::default(),
            (false, true) if ends => return Transaction::default(),
            (false, true) => (true, false),
            (true, true) if known.class == Class::Begin => (true, false),
            (true, true) => (chained, ends),
            (true, false) => (chained, true),
        };
        Transaction {
            inside: true,
            first,
            last,
        }
    }

    /// Of a command that is no statement: whether it is inside of one.
    pub fn around(&self) -> Transaction {
        Transaction {
            inside: self.open && !self.chained,
            ..Transaction::default()
        }
    }

    /// A statement that is not kept has left the session so.
    pub fn stands(&mut self, standing: Option<Standing>) {
        if let Some(standing) = standing {
            self.open = standing.in_transaction;
            self.autocommit = standing.autocommit;
        }
    }

    /// Whether a transaction is open after a statement, by what it is.
    fn is_open_after(&self, known: &Known) -> bool {
        if let Some(on) = known.autocommit {
            // Switching it on commits.
            return self.open && (self.autocommit || !on);
        }
        match known.class {
            Class::Begin => true,
            Class::Commit | Class::Rollback => known.boundary.chains,
            // What changes the schema commits what is open before it begins.
            _ if known.boundary.commits => false,
            Class::Read | Class::Write | Class::Call => self.open || !self.autocommit,
            _ => self.open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::classify;

    const ALONE: (bool, bool, bool) = (false, false, false);
    const FIRST: (bool, bool, bool) = (true, true, false);
    const INSIDE: (bool, bool, bool) = (true, false, false);
    const LAST: (bool, bool, bool) = (true, false, true);

    fn step(
        state: &mut TransactionState,
        digest: &str,
        standing: Option<Standing>,
    ) -> (bool, bool, bool) {
        let class = classify(digest.as_bytes()).class;
        let transaction = state.statement(&Known {
            class,
            boundary: Boundary::of(class, digest.as_bytes()),
            autocommit: digest
                .strip_prefix("set autocommit = ")
                .map(|value| value == "1"),
            standing,
        });
        (transaction.inside, transaction.first, transaction.last)
    }

    #[test]
    fn transactions_are_followed() {
        let mut state = TransactionState::default();
        for (digest, expected) in [
            ("select ?", ALONE),
            ("commit", ALONE),
            ("begin", FIRST),
            ("insert into t values(...)", INSIDE),
            ("set @a = ?", INSIDE),
            ("create temporary table x(a int)", INSIDE),
            ("commit", LAST),
            ("begin", FIRST),
            ("create table x(a int)", LAST),
            ("set autocommit = 0", ALONE),
            ("select ?", FIRST),
            ("insert into t values(...)", INSIDE),
            ("rollback", LAST),
            ("select ?", FIRST),
            ("set autocommit = 1", LAST),
            ("insert into t values(...)", ALONE),
            ("begin", FIRST),
            ("insert into t values(...)", INSIDE),
            ("begin", FIRST),
            ("commit and chain", LAST),
            ("insert into t values(...)", FIRST),
            ("rollback", LAST),
            ("commit and chain", ALONE),
            ("insert into t values(...)", FIRST),
            ("flush tables", LAST),
        ] {
            assert_eq!(step(&mut state, digest, None), expected, "{digest}");
        }
    }

    #[test]
    fn what_the_server_says_of_it_counts() {
        let says = |in_transaction, autocommit| {
            Some(Standing {
                in_transaction,
                autocommit,
            })
        };
        let mut state = TransactionState::default();
        for (digest, standing, expected) in [
            // Switched off by the server's configuration.
            ("insert into t values(...)", says(true, false), FIRST),
            ("select ?", says(true, false), INSIDE),
            ("commit", says(false, false), LAST),
            // A procedure that commits what its caller has begun.
            ("begin", says(true, true), FIRST),
            ("call p()", says(false, true), LAST),
            ("select ?", says(false, true), ALONE),
            // One that was rolled back by an error, which says nothing of it.
            ("begin", says(true, true), FIRST),
            ("insert into t values(...)", None, INSIDE),
            ("rollback", says(false, true), LAST),
            // Of which the beginning was lost.
            ("insert into t values(...)", says(true, true), FIRST),
            ("commit", says(false, true), LAST),
        ] {
            assert_eq!(step(&mut state, digest, standing), expected, "{digest}");
        }
        state.stands(says(true, true));
        assert_eq!(step(&mut state, "select ?", says(true, true)), INSIDE);
    }
}
