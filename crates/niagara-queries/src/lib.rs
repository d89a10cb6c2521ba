//! What the statements of a capture need: indexes, statistics, other statements; counted on a private copy of the data.
//!
//! The walk is [`advise`]: `observe` executes samples of the digests that make up most of the time on a [`copy`], where a `statement` is
//! taken apart, its `plan` is read, its [`work`] is counted, and a `cause` is found; `candidate` proposes indexes, `screen` builds
//! them and keeps those that counting shows to pay; `schema` writes the files. `words` has all sentences.
//!
//! Only a server that Niagara has started is ever asked: a copy is made of a [`RunningServer`](niagara_server::RunningServer).

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod advice;
pub mod candidate;
mod canonical;
pub mod catalog;
pub mod cause;
pub mod copy;
pub mod observe;
pub mod plan;
pub mod report;
pub mod schema;
pub mod screen;
pub mod statement;
pub mod words;
pub mod work;

pub use advice::{
    Advice, Caution, DigestAdvice, Finding, Request, StatisticsAdvice, TableAdvice, advise,
};
