//! A capture replayed: the same orders and reports as any load, but what is sent, by whom and when comes from a
//! [trace](niagara_capture::trace::Trace).
//!
//! A [loop](replay_loop) has every server's sessions ([`side`], each a [`slot`]); what may begin next is the
//! [`dispatcher`]'s to say, what happens until then that of [`running`]; [`settings`] are what a session says again that logs in
//! again. [`tally`] counts by digest, [`fidelity`] says
//! whether what was replayed is what was captured.

#[cfg(test)]
mod captured;
pub(crate) mod dispatcher;
pub(crate) mod fidelity;
pub(crate) mod login;
pub(crate) mod replay_loop;
pub(crate) mod running;
pub(crate) mod settings;
pub(crate) mod setup;
pub(crate) mod side;
pub(crate) mod slot;
pub(crate) mod tally;
