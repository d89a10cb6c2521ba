//! One client that writes until its server is gone, and remembers what it was told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use niagara_load::{Admin, CONFLICTS, Endpoint, LoadError};
use niagara_model::{ClientFault, CommitOutcome};

use super::ledger::deed;
use crate::server::connect;

/// A client's part.
pub struct Writer {
    pub endpoint: Endpoint,
    pub seed: u64,
    pub connection: usize,
    pub first: u64,
    /// Set when the client is to stop after the transaction in hand.
    pub stop: Arc<AtomicBool>,
    /// Set before the server is killed: a connection that is lost earlier is the server's fault.
    pub dying: Arc<AtomicBool>,
    /// Commits acknowledged to all clients together.
    pub acknowledged: Arc<AtomicU64>,
}

/// What a client was told.
pub struct Told {
    /// Of every transaction, from `first`.
    pub fates: Vec<CommitOutcome>,
    /// A statement that the server refused though nothing was wrong with it, or a connection that it lost though it was alive.
    pub refused: Option<ClientFault>,
}

/// How far a transaction came.
enum Step {
    Answered(CommitOutcome),
    Lost(CommitOutcome, String),
    Refused(String),
}

impl Writer {
    /// Writes until the server is gone or `stop` is set.
    pub fn run(self) -> Told {
        let mut told = Told {
            fates: Vec::new(),
            refused: None,
        };
        let mut admin = match connect(&self.endpoint) {
            Ok(admin) => admin,
            // The server was killed before this client came.
            Err(_) if self.is_dying() => return told,
            Err(error) => {
                let error = error.explanation();
                told.refused = Some(ClientFault::NoConnection { error });
                return told;
            }
        };
        while !self.stop.load(Ordering::Relaxed) {
            let sequence = self.first + told.fates.len() as u64;
            match self.transaction(&mut admin, sequence) {
                Step::Answered(fate) => {
                    if fate == CommitOutcome::Acknowledged {
                        self.acknowledged.fetch_add(1, Ordering::Relaxed);
                    }
                    told.fates.push(fate);
                }
                Step::Lost(fate, error) => {
                    told.fates.push(fate);
                    if !self.is_dying() {
                        told.refused = Some(ClientFault::LostConnection {
                            error: error.into(),
                        });
                    }
                    break;
                }
                Step::Refused(error) => {
                    told.fates.push(CommitOutcome::Undone);
                    told.refused = Some(ClientFault::Refused {
                        error: error.into(),
                    });
                    break;
                }
            }
        }
        told
    }

    fn is_dying(&self) -> bool {
        self.dying.load(Ordering::Acquire)
    }

    fn transaction(&self, admin: &mut Admin, sequence: u64) -> Step {
        let connection = self.connection;
        let deed = deed(self.seed, connection, sequence);
        let statements = [
            "BEGIN".to_owned(),
            format!(
                "INSERT INTO niagara_check.deeds VALUES ({connection}, {sequence}, 1, '{}')",
                deed.text
            ),
            // Always in this order, payer or not, so that two transactions wait for each other and seldom deadlock.
            balance(deed.from.min(deed.to), &deed),
            balance(deed.from.max(deed.to), &deed),
            format!(
                "INSERT INTO niagara_check.deeds VALUES ({connection}, {sequence}, 2, '{}!')",
                deed.text
            ),
            format!(
                "UPDATE niagara_check.last SET sequence = {sequence} WHERE connection = {connection}"
            ),
        ];
        for statement in &statements {
            match admin.rows(statement) {
                Ok(_) => {}
                Err(LoadError::Query { code, .. }) if CONFLICTS.contains(&code) => {
                    return match admin.rows("ROLLBACK") {
                        Ok(_) => Step::Answered(CommitOutcome::Undone),
                        Err(error) => Step::Lost(CommitOutcome::Undone, error.to_string()),
                    };
                }
                Err(error @ LoadError::Query { .. }) if !is_shutdown(&error) => {
                    return Step::Refused(error.to_string());
                }
                Err(error) => return Step::Lost(CommitOutcome::Undone, error.to_string()),
            }
        }
        if deed.rolls_back {
            return match admin.rows("ROLLBACK") {
                Ok(_) => Step::Answered(CommitOutcome::Undone),
                Err(error) => Step::Lost(CommitOutcome::Undone, error.to_string()),
            };
        }
        match admin.rows("COMMIT") {
            Ok(_) => Step::Answered(CommitOutcome::Acknowledged),
            Err(LoadError::Query { code, .. }) if CONFLICTS.contains(&code) => {
                Step::Answered(CommitOutcome::Undone)
            }
            Err(error @ LoadError::Query { .. }) if !is_shutdown(&error) => {
                Step::Refused(error.to_string())
            }
            Err(error) => Step::Lost(CommitOutcome::Unanswered, error.to_string()),
        }
    }
}

/// ER_SERVER_SHUTDOWN.
fn is_shutdown(error: &LoadError) -> bool {
    matches!(error, LoadError::Query { code: 1053, .. })
}

fn balance(account: u64, deed: &super::ledger::Deed) -> String {
    let sign = if account == deed.from { '-' } else { '+' };
    format!(
        "UPDATE niagara_check.accounts SET balance = balance {sign} {} WHERE id = {account}",
        deed.amount
    )
}
