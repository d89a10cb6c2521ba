//! Transactions of several statements.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::file::{Event, EventKind};
use crate::sql::Class;

/// Most transactions that are followed at a time.
const MAX_OPEN: usize = 1 << 18;

/// Transactions of several statements.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct Transactions {
    /// Those that ended in the capture.
    pub ended: u64,
    /// Of them, rolled back.
    pub rolled_back: u64,
    /// Those that had not ended when their session, or the capture, did.
    pub open: u64,
    /// Mean number of statements of those that ended, with their BEGIN and COMMIT.
    pub statements_each: f64,
    /// The longest that ended, in seconds.
    pub longest_seconds: f64,
}

#[derive(Debug, Default)]
pub(super) struct TransactionCounter {
    open: HashMap<u64, (i64, u64)>,
    lost: u64,
    statements: u64,
    result: Transactions,
}

impl TransactionCounter {
    pub fn see(&mut self, event: &Event<'_>) {
        let session = event.place.session;
        let transaction = event.transaction;
        if event.kind == EventKind::Disconnect || transaction.first {
            self.lost += u64::from(self.open.remove(&session).is_some());
        }
        if !transaction.inside || !event.kind.is_statement() {
            return;
        }
        if self.open.len() >= MAX_OPEN && !self.open.contains_key(&session) {
            self.lost += 1;
            return;
        }
        let (start, statements) = self
            .open
            .entry(session)
            .or_insert((event.place.start_us, 0));
        *statements += 1;
        if transaction.last {
            let seconds = event.end_us().saturating_sub(*start) as f64 / 1e6;
            self.statements += *statements;
            self.result.ended += 1;
            self.result.rolled_back += u64::from(event.class == Class::Rollback);
            self.result.longest_seconds = self.result.longest_seconds.max(seconds);
            self.open.remove(&session);
        }
    }

    pub fn result(self) -> Transactions {
        Transactions {
            open: self.lost + self.open.len() as u64,
            statements_each: self.statements as f64 / self.result.ended.max(1) as f64,
            ..self.result
        }
    }
}
