//! The answers of a server to a capture, one transaction at a time, so that two servers on equal data can be compared by
//! what they answer.
//!
//! Under load that is not possible where a trace writes: what a statement finds depends on what ran at the same time. Here
//! nothing does. [`pass`] sends the trace's transactions one after the other in the order of their ends and keeps a few numbers of every
//! answer; the server's clock and its random numbers are set before each, so that NOW() and RAND() are the same on every
//! server. What varies nevertheless (UUID) shows in a second pass on the same server. [`determined`] says which contents follow from
//! the data, [`compare`] puts passes side by side.

mod compare;
mod determined;
mod pass;

pub use compare::{AnswersCompared, DifferingIn, compare_answers};
pub use determined::AGGREGATES;
pub use pass::{AnswerError, Answers, collect_answers};
