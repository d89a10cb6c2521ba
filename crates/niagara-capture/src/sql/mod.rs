//! Statements as bytes: where a literal ends, what is left without literals, what kind of statement it is.
//!
//! A log holds what clients sent: any character set, NUL, statements that no parser accepts. So nothing here parses;
//! a lexer that knows quotes, comments and the two settings of `sql_mode` that move their ends is all that is needed.

mod account;
mod body;
mod boundary;
mod byte;
mod class;
mod cut;
mod digest;
mod guess;
mod lists;
mod mode;
mod routine;
mod scan;
mod secret;
mod sign;
mod tables;
mod word;

pub use account::Concern;
pub(crate) use body::{digest_has_body, digest_is_several, has_body};
pub use boundary::Boundary;
pub(crate) use byte::is_word;
pub(crate) use class::words;
pub use class::{Class, Traits, classify};
pub(crate) use cut::{COMMENT, LITERAL};
pub use cut::{Cut, restore};
pub use digest::{Digest, digest_text};
pub(crate) use guess::{Guess, guess};
pub use mode::{Charset, SqlMode, UnknownMode};
pub use routine::RoutineMark;
pub(crate) use scan::{Inside, Scanner, find_close};
pub(crate) use sign::takes_sign;
pub(crate) use tables::tables_of;
pub use word::{Effect, effect_of};
