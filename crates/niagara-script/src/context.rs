//! What an interpreter and its thread share: the mailbox that scripts see, and what belongs to it.

use crate::random::{Random, Unique};
use niagara_load::{Answer, AnswerValue, Counts, Refusal, Reply, Server, Want};
use std::collections::BTreeMap;
use std::ffi::c_char;
use std::fmt::Write;
use std::ptr::null;
use std::sync::Arc;

/// As `boot.lua` declares it: keep them alike.
#[repr(C)]
pub struct Mailbox {
    pub status: i32,
    pub link: u32,
    pub number: u32,
    pub parameters: u32,
    pub nfields: u32,
    pub nrows: u32,
    pub ignorable: i32,
    pub message_len: u32,
    pub message: *const u8,
    pub values: *const Value,
    pub state: [c_char; 8],
}

impl Mailbox {
    /// What a statement that was waited for returns: how it went, its rows, its columns.
    pub fn answer(&self) -> [i64; 3] {
        [self.status.into(), self.nrows.into(), self.nfields.into()]
    }
}

/// A column's value; null for NULL.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Value {
    pub len: u32,
    pub ptr: *const u8,
}

/// What `boot.lua` knows an answer by.
mod status {
    pub const DONE: i32 = 0;
    pub const ROWS: i32 = 1;
    pub const PREPARED: i32 = 2;
    pub const FAILED: i32 = 3;
    pub const LOST: i32 = 4;
    pub const LINKED: i32 = 5;
    pub const REFUSED: i32 = 6;
    pub const GO_ON: i32 = 7;
    pub const STOP: i32 = 8;
}

/// The mailbox first: a pointer to one is a pointer to the other.
#[repr(C)]
pub struct Context {
    pub mailbox: Mailbox,
    pub own: Own,
}

/// What is the thread's own.
pub struct Own {
    /// What the script waits for.
    pub want: Option<Want>,
    /// The command of a [`Want::Answer`], with its packets' headers.
    pub command: Vec<u8>,
    /// The task is over.
    pub task_over: bool,
    /// Why it failed.
    pub failure: Option<String>,
    /// What is known of the script, field by field.
    pub said: Vec<String>,
    /// Files that came with the script, and those that were read.
    pub files: BTreeMap<String, String>,
    pub random: Random,
    pub unique: Arc<Unique>,
    pub counts: Counts,
    pub closed: Vec<usize>,
    /// By link: statements that the server may forget.
    pub forgotten: Vec<(u32, u32)>,
    pub answers: Vec<Cursor>,
    /// While the script runs: who answers what is asked from within a call of C.
    pub server: Option<*mut dyn Server>,
    message: Vec<u8>,
    values: Vec<Value>,
    scratch: Vec<u8>,
}

/// The rows of a link's last answer, and the next of them.
pub struct Cursor {
    pub answer: Answer,
    next: usize,
}

impl Context {
    pub fn new(random: Random, unique: Arc<Unique>, files: BTreeMap<String, String>) -> Self {
        Context {
            mailbox: Mailbox {
                status: status::DONE,
                link: 0,
                number: 0,
                parameters: 0,
                nfields: 0,
                nrows: 0,
                ignorable: 0,
                message_len: 0,
                message: null(),
                values: null(),
                state: [0; 8],
            },
            own: Own {
                want: None,
                command: Vec::new(),
                task_over: false,
                failure: None,
                said: Vec::new(),
                files,
                random,
                unique,
                counts: Counts::default(),
                closed: Vec::new(),
                forgotten: Vec::new(),
                answers: Vec::new(),
                server: None,
                message: Vec::new(),
                values: Vec::new(),
                scratch: Vec::new(),
            },
        }
    }

    /// Puts a text where the script reads it.
    pub fn set_message(&mut self, text: &[u8]) {
        self.own.message.clear();
        self.own.message.extend_from_slice(text);
        self.mailbox.message = self.own.message.as_ptr();
        self.mailbox.message_len = self.own.message.len() as u32;
    }

    fn refuse(&mut self, status: i32, refusal: &Refusal) {
        let mailbox = &mut self.mailbox;
        mailbox.status = status;
        mailbox.number = u32::from(refusal.code);
        mailbox.ignorable = i32::from(refusal.ignorable);
        mailbox.state = [0; 8];
        for (to, from) in mailbox.state[..5].iter_mut().zip(refusal.state.bytes()) {
            *to = from as c_char;
        }
        self.set_message(refusal.message.as_bytes());
    }

    /// Puts a reply where the script reads it.
    pub fn put(&mut self, reply: &Reply, link: usize) {
        let mailbox = &mut self.mailbox;
        match reply {
            Reply::Go => mailbox.status = status::DONE,
            Reply::Linked(number) => {
                mailbox.status = status::LINKED;
                mailbox.link = *number as u32;
            }
            Reply::Done(rows) => {
                mailbox.status = status::DONE;
                (mailbox.nrows, mailbox.nfields) = (*rows as u32, 0);
            }
            Reply::Rows => {
                mailbox.status = status::ROWS;
                let cursor = self.own.cursor(link);
                cursor.next = 0;
                let (rows, columns) = (cursor.answer.rows(), cursor.answer.width());
                (self.mailbox.nrows, self.mailbox.nfields) = (rows as u32, columns as u32);
            }
            Reply::Prepared {
                statement,
                parameters,
                columns,
            } => {
                mailbox.status = status::PREPARED;
                mailbox.number = *statement;
                mailbox.parameters = u32::from(*parameters);
                mailbox.nfields = u32::from(*columns);
            }
            Reply::Failed(refusal) => self.refuse(status::FAILED, refusal),
            Reply::Refused(refusal) => self.refuse(status::REFUSED, refusal),
            Reply::Lost(cause) => {
                mailbox.status = status::LOST;
                self.set_message(cause.as_bytes());
            }
            Reply::Event(true) => mailbox.status = status::GO_ON,
            Reply::Event(false) | Reply::Goodbye => mailbox.status = status::STOP,
        }
    }

    /// The next row's values; false: there are no more.
    pub fn fetch(&mut self, link: usize) -> bool {
        let own = &mut self.own;
        let Some(cursor) = own.answers.get_mut(link) else {
            return false;
        };
        let Some(mut row) = cursor.answer.row(cursor.next) else {
            return false;
        };
        cursor.next += 1;
        own.values.clear();
        own.scratch.clear();
        // Texts that are made here move while there are more of them: their places first.
        let mut made = Vec::new();
        for place in 0..cursor.answer.width() {
            let start = own.scratch.len();
            match row.next_value() {
                Some(AnswerValue::Bytes(bytes)) => {
                    own.values.push(Value {
                        len: bytes.len() as u32,
                        ptr: if bytes.is_empty() {
                            c"".as_ptr().cast()
                        } else {
                            bytes.as_ptr()
                        },
                    });
                    continue;
                }
                Some(AnswerValue::Int(number)) => append(&mut own.scratch, number),
                Some(AnswerValue::Large(number)) => append(&mut own.scratch, number),
                Some(AnswerValue::Float(number)) => append(&mut own.scratch, number),
                Some(AnswerValue::Time(bytes)) => append(&mut own.scratch, time_in_words(bytes)),
                Some(AnswerValue::Null) | None => {
                    own.values.push(Value {
                        len: 0,
                        ptr: null(),
                    });
                    continue;
                }
            }
            made.push((place, start));
            own.values.push(Value {
                len: (own.scratch.len() - start) as u32,
                ptr: null(),
            });
        }
        for (place, start) in made {
            own.values[place].ptr = own.scratch[start..].as_ptr();
        }
        self.mailbox.values = own.values.as_ptr();
        true
    }
}

fn append(to: &mut Vec<u8>, value: impl std::fmt::Display) {
    // Writing to memory does not fail.
    let _ = std::io::Write::write_fmt(to, format_args!("{value}"));
}

/// A date or time of the binary protocol as the server would write it.
fn time_in_words(bytes: &[u8]) -> String {
    let micros = |at: usize| {
        let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
        four.map_or(0, u32::from_le_bytes)
    };
    let mut text = String::new();
    // Writing to a string does not fail, here and below.
    match bytes.len() {
        8 | 12 => {
            let days = micros(1);
            let hours = days * 24 + u32::from(bytes[5]);
            let sign = if bytes[0] == 1 { "-" } else { "" };
            let _ = write!(text, "{sign}{hours:02}:{:02}:{:02}", bytes[6], bytes[7]);
        }
        4 | 7 | 11 => {
            let year = u16::from_le_bytes([bytes[0], bytes[1]]);
            let _ = write!(text, "{year:04}-{:02}-{:02}", bytes[2], bytes[3]);
            if bytes.len() > 4 {
                let _ = write!(text, " {:02}:{:02}:{:02}", bytes[4], bytes[5], bytes[6]);
            }
        }
        _ => text.push_str("0000-00-00"),
    }
    if let 11 | 12 = bytes.len() {
        let _ = write!(text, ".{:06}", micros(bytes.len() - 4));
    }
    text
}

impl Own {
    /// Where the rows of a link's answers are.
    pub fn cursor(&mut self, link: usize) -> &mut Cursor {
        while self.answers.len() <= link {
            self.answers.push(Cursor {
                answer: Answer::of_script(),
                next: 0,
            });
        }
        &mut self.answers[link]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_the_server_writes_them() {
        assert_eq!(time_in_words(&[0xe9, 7, 11, 21]), "2025-11-21");
        assert_eq!(
            time_in_words(&[0xe9, 7, 11, 21, 8, 5, 9]),
            "2025-11-21 08:05:09"
        );
        assert_eq!(
            time_in_words(&[1, 1, 0, 0, 0, 2, 3, 4, 5, 0, 0, 0]),
            "-26:03:04.000005"
        );
        assert_eq!(time_in_words(&[]), "0000-00-00");
    }
}
