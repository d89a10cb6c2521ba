//! A capture made ready to be replayed: sessions, transactions and statements in arrays, so that nothing is parsed and
//! nothing allocated while servers are under load.
//!
//! [`compile`] reads a capture into a [`Trace`]. Statements that a replay must not send are left out and counted; the
//! starts that the source knows to the second only are spread ([`times`]); statements of one session that belong together
//! become a unit ([`units`]); what has to end before a unit may begin follows from the captured order ([`order`]).
//! [`segments`] cuts a trace into pieces that two servers are compared on.
//!
//! This room knows nothing of servers and connections: the load generator reads a trace, a trace reads nothing of it.

mod compile;
mod leave_out;
mod limits;
mod order;
mod part;
mod retries;
mod segments;
mod times;
mod types;
mod units;

pub use compile::{CompileOptions, compile};
pub use leave_out::{LeftOut, LeftOutCause};
pub use order::CommitOrder;
pub use part::TracePart;
pub use segments::Segment;
pub use types::{Action, Facts, NONE, Step, Trace, TraceDigest, Unit};
