//! Stored functions, triggers and views: what of a general log they have executed. Such a log has their statements behind that of
//! the client which called them, and nothing in it tells them apart. Who knows the bodies can: what they may execute is a
//! pattern, and what fits it behind their caller is theirs.
//!
//! Servers keep statements of procedures out of a general log.

mod body;
mod calls;
mod code;
mod follow;
mod program;
mod suspects;
mod token;

pub(crate) use body::Seen;
pub use code::StoredCode;
pub(crate) use follow::{FollowOutcome, Follower};
pub(crate) use suspects::{Suspects, may_call};
