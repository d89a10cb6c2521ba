//! Many executions in one command, with one answer (MariaDB's COM_STMT_BULK_EXECUTE).

use super::{Conversation, Heard};
use crate::dropped::Cause;

impl Conversation {
    /// Tells of each of the executions that `heard` has the values of: the time is shared out evenly, and rows where they come
    /// out even. One that failed has undone them all, or nobody knows which: it is told once.
    pub(super) fn tell_bulk(&mut self, heard: Heard) {
        // Only now, so that nobody holds them who waits for an answer.
        let statements = match self.statements.execute_all(&heard.text, heard.mode) {
            Ok(statements) => statements,
            Err(cause) => {
                self.dropped.push((cause, heard.length));
                return;
            }
        };
        if statements.is_empty() {
            self.dropped.push((Cause::UnknownPrepared, heard.length));
        }
        let count = statements.len() as u64;
        let failed = heard.error.is_some_and(|error| error != 0);
        let each_us = heard.duration_us.map(|duration| duration / count.max(1));
        // What they sent (RETURNING) nobody can share out.
        let sent = heard.rows_sent.filter(|&rows| rows == 0);
        let affected = sent
            .and(heard.rows_affected)
            .filter(|rows| rows.is_multiple_of(count.max(1)))
            .map(|rows| rows / count.max(1));
        let told = if failed { 1 } else { statements.len() };
        for (place, text) in statements.into_iter().take(told).enumerate() {
            let step = i64::try_from(each_us.unwrap_or(0)).unwrap_or(0);
            self.heard.push(Heard {
                text,
                user: heard.user.clone(),
                start_us: heard.start_us.saturating_add(step * place as i64),
                duration_us: if failed { heard.duration_us } else { each_us },
                rows_sent: sent,
                rows_affected: if failed {
                    heard.rows_affected
                } else {
                    affected
                },
                length: if place == 0 { heard.length } else { 0 },
                ..heard
            });
        }
    }
}
