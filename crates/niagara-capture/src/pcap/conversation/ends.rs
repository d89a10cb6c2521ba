//! How commands end, and connections: what is told then.

use super::seek::Seeking;
use super::waiting::Waiting;
use super::{Conversation, Cursor, Heard, Pending, State, Statements, Then};
use crate::dropped::Cause;
use crate::log::Command;
use crate::pcap::answer::{Answer, Status};

impl Conversation {
    /// The command under way is over; `is_complete`: its answer is.
    pub(super) fn finish(&mut self, is_complete: bool) {
        let Some(pending) = self.pending.take() else {
            return;
        };
        let Pending {
            mut heard,
            answer,
            last_us,
            then,
        } = pending;
        self.manner.ends_definitions = answer.manner.ends_definitions;
        self.free_us = self.free_us.max(last_us);
        if is_complete {
            heard.duration_us = Some((last_us - heard.start_us).max(0) as u64);
            heard.error = Some(answer.error);
            heard.rows_sent = Some(answer.rows_sent);
            heard.rows_affected = Some(answer.rows_affected);
            heard.status = answer.status;
            self.hear_status(answer.status);
        }
        let failed = answer.error != 0;
        match then {
            Then::Tell => self.heard.push(heard),
            Then::Count(cause) => self.dropped.push((cause, heard.length)),
            Then::Pass => {}
            Then::Prepare => {
                self.statements.prepared(&heard, answer.prepared);
                self.heard.push(heard);
            }
            Then::Execute(statement) if is_complete && answer.has_cursor() => {
                self.cursor = Some(Cursor { statement, heard });
            }
            Then::Execute(_) => self.heard.push(heard),
            Then::Fetch(statement) => self.fetched(statement, &heard, &answer),
            Then::Bulk => self.tell_bulk(heard),
            Then::Reset if failed => self.dropped.push((Cause::Command, heard.length)),
            Then::Reset => {
                self.statements.clear();
                self.heard.push(heard);
            }
            // The server says goodbye then.
            Then::ChangeUser { .. } if failed => {
                self.dropped.push((Cause::RefusedLogin, heard.length));
            }
            Then::ChangeUser { user, fresh } => {
                self.statements.clear();
                self.user = user;
                self.fresh = fresh;
                heard.user = self.user.clone();
                self.heard.push(heard);
            }
        }
    }

    /// Takes what the server says of the session's settings.
    fn hear_status(&mut self, status: Option<Status>) {
        let Some(status) = status else {
            return;
        };
        // Some proxies say nothing of it: only who has said so takes it back.
        if status.no_backslash_escapes() || self.told_backslash {
            self.told_backslash = status.no_backslash_escapes();
            self.mode.no_backslash_escapes = self.told_backslash;
        }
    }

    /// Adds what a fetch has brought to the execution that opened the cursor.
    fn fetched(&mut self, statement: u32, fetch: &Heard, answer: &Answer) {
        let Some(cursor) = &mut self.cursor else {
            return;
        };
        if cursor.statement != statement {
            return;
        }
        let heard = &mut cursor.heard;
        let sum = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
        heard.rows_sent = sum(heard.rows_sent, fetch.rows_sent);
        heard.duration_us = sum(heard.duration_us, fetch.duration_us);
        if answer.error != 0 {
            heard.error = Some(answer.error);
        }
        if answer.error != 0 || answer.has_last_row() {
            let cursor = self.cursor.take();
            self.heard.extend(cursor.map(|cursor| cursor.heard));
        }
    }

    /// Something else is asked for: nobody knows how many rows the cursor has.
    pub(super) fn leave_cursor(&mut self) {
        if let Some(cursor) = self.cursor.take() {
            self.heard.push(Heard {
                rows_sent: None,
                rows_affected: None,
                ..cursor.heard
            });
        }
    }

    /// The recording ends here: what was answered so far is told, and nobody has left.
    pub(in crate::pcap) fn stop(&mut self, now_us: i64) {
        self.tell_rest(now_us);
        self.end_here();
    }

    /// No more will come.
    pub(in crate::pcap) fn end(&mut self, now_us: i64) {
        self.tell_rest(now_us);
        let is_known = self.seeking.as_ref().is_none_or(|one| !one.is_joined);
        if matches!(self.state, State::Commands) && is_known {
            let goodbye = self.heard_of(Command::Quit, Vec::new(), now_us, 0);
            self.heard.push(goodbye);
        }
        self.end_here();
    }

    /// Tells of what was asked for, answered or not.
    fn tell_rest(&mut self, now_us: i64) {
        self.settle(now_us, true);
        while matches!(self.state, State::Commands) {
            self.finish(false);
            if !self.turn() {
                break;
            }
        }
        self.leave_cursor();
        if let (Some(seeking), State::Commands) = (&self.seeking, &self.state) {
            let cause = match seeking {
                Seeking {
                    is_joined: false, ..
                } => Some(Cause::LostPackets),
                Seeking {
                    has_asked: true, ..
                } => Some(Cause::NoProtocol),
                _ => None,
            };
            self.dropped.extend(cause.map(|cause| (cause, 0)));
        }
    }

    /// Nothing is read from here on; what was held is forgotten.
    pub(super) fn end_here(&mut self) {
        self.state = State::Unreadable;
        self.seeking = None;
        self.pending = None;
        self.waiting = Waiting::default();
        self.statements = Statements::default();
        self.cursor = None;
        for framing in &mut self.framing {
            framing.forget();
        }
        self.to_server.forget();
        self.to_client.forget();
    }

    /// Nothing says that it is a client of a server's.
    pub(super) fn leave(&mut self) {
        self.is_foreign = true;
        self.end_here();
    }

    /// It cannot be read from here on.
    pub(in crate::pcap) fn give_up(&mut self, cause: Cause) {
        self.finish(false);
        self.leave_cursor();
        self.dropped.push((cause, 0));
        self.end_here();
    }
}
