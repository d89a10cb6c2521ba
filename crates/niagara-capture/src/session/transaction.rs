//! Which statements of a session belong to one transaction.

use crate::file::Transaction;
use crate::sql::Class;

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionState {
    open: bool,
    autocommit: bool,
}

impl Default for TransactionState {
    fn default() -> TransactionState {
        TransactionState {
            open: false,
            autocommit: true,
        }
    }
}

impl TransactionState {
    /// The next statement, which may set `autocommit`.
    pub fn statement(&mut self, class: Class, autocommit: Option<bool>) -> Transaction {
        if let Some(on) = autocommit {
            // Switching it on commits.
            let last = self.open && on && !self.autocommit;
            let inside = self.open;
            self.autocommit = on;
            self.open &= !last;
            return Transaction {
                inside,
                first: false,
                last,
            };
        }
        match class {
            Class::Begin => {
                self.open = true;
                Transaction {
                    inside: true,
                    first: true,
                    last: false,
                }
            }
            // Changes of the schema commit what is open before they begin.
            Class::Commit | Class::Rollback | Class::Ddl | Class::Lock => {
                let inside = self.open;
                self.open = false;
                Transaction {
                    inside,
                    first: false,
                    last: inside,
                }
            }
            Class::Read | Class::Write | Class::Call if !self.autocommit && !self.open => {
                self.open = true;
                Transaction {
                    inside: true,
                    first: true,
                    last: false,
                }
            }
            _ => Transaction {
                inside: self.open,
                first: false,
                last: false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_followed() {
        let mut state = TransactionState::default();
        let mut step = |class, autocommit| {
            let transaction = state.statement(class, autocommit);
            (transaction.inside, transaction.first, transaction.last)
        };
        let (alone, first, inside, last) = (
            (false, false, false),
            (true, true, false),
            (true, false, false),
            (true, false, true),
        );
        for (class, autocommit, expected) in [
            (Class::Read, None, alone),
            (Class::Commit, None, alone),
            (Class::Begin, None, first),
            (Class::Write, None, inside),
            (Class::Set, None, inside),
            (Class::Commit, None, last),
            (Class::Begin, None, first),
            (Class::Ddl, None, last),
            (Class::Set, Some(false), alone),
            (Class::Read, None, first),
            (Class::Write, None, inside),
            (Class::Rollback, None, last),
            (Class::Read, None, first),
            (Class::Set, Some(true), last),
            (Class::Write, None, alone),
        ] {
            assert_eq!(step(class, autocommit), expected, "{class:?}");
        }
    }
}
