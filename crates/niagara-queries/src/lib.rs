//! What the statements of a capture need: indexes, statistics, other statements; counted on a private copy of the data.
//!
//! The walk is [`advise`]: `observe` executes samples of the digests that make up most of the time on a [`DataCopy`], where a `statement` is
//! taken apart, its `plan` is read, its `work` is counted, and a `cause` is found; `candidate` proposes indexes, `screen` builds
//! them and keeps those that counting shows to pay; `count_settings` counts how much settings of the optimizer add; `schema` writes the files. `words` has all sentences.
//!
//! Only a server that Niagara has started is ever asked: a copy is made of a [`RunningServer`](niagara_server::RunningServer).

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod advice;
mod candidate;
mod canonical;
mod catalog;
mod cause;
mod copy;
mod count_settings;
mod executable;
mod fate;
mod observe;
mod plan;
mod proof;
pub mod report;
mod request;
mod sampled_digest;
pub mod schema;
mod screen;
mod setting;
mod statement;
pub mod words;
mod work;
mod writes;

pub use advice::{Advice, Caution, DigestAdvice, advise};
pub use copy::DataCopy;
pub use fate::Fate;
pub use observe::{Deadline, PlannedDigest, Selection, observe, plans, refresh_statistics};
pub use plan::{Access, Plan, TableAccess};
pub use proof::{DigestTrial, IndexTrial, Proof, Trial};
pub use request::{Limits, Request};
pub use sampled_digest::{Effect, MENDED};
pub use screen::Judged;
pub use setting::{PlanSetting, SettingEffect};
pub use work::Work;
