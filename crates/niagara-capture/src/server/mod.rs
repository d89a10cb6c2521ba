//! A running server: what to set for the time of a capture, setting it, and setting it back whatever happens.

mod advise;
mod apply;
mod clients;
mod codes;
mod connection;
mod end;
mod guard;
mod identity;
mod left_connections;
mod outlast;
mod product;
mod state;
mod value;
mod wanted;
mod words;

pub use advise::{Advice, advise, general_log_elsewhere};
pub use apply::{Outcome, restore};
pub use clients::clients;
pub use codes::{Agreement, InWords, Miss, Note};
pub use connection::{Connection, Refusal, Row};
pub use end::End;
pub use guard::{CARRIED_OUT, Guard, Limits, Order, Watched, watch};
pub use identity::identity;
pub use left_connections::{Left, left};
pub use outlast::Outlasting;
pub use product::{Family, Product};
pub use state::{Process, State, Status};
pub use wanted::{Change, Purpose, Wanted, wanted};
