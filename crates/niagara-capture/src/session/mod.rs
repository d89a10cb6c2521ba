//! Sessions: who is who in a log, what state each is in, and when what it does began.

mod clock;
mod login;
mod sessions;
mod transaction;

pub use clock::Clock;
pub use login::Login;
pub use sessions::Sessions;
pub use transaction::Known;
