//! The load generator on another host: an agent there drives connections, this process says when.
//!
//! Both ends are the same binary. They talk in [frames](frame) of JSON over two streams, which are a remote shell's standard
//! input and output: a request, then its answer, and while a run lasts an answer for each of its intervals. Slices are
//! timed where they are driven, so the way between the hosts is in no figure.

mod agent;
mod frame;
mod link;
mod message;

pub use agent::serve;
pub use link::{RemoteAgent, RemoteDriver};
pub use message::Greeting;
