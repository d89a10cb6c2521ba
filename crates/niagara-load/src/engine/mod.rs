//! How a workload is driven: loops that begin transactions, send their statements, take the answers and count.
//!
//! A driver ([`driver`]) gives every loop an order ([`order`]); a loop ([`event_loop`]) has its connections
//! ([`connection`], each with a [`link`]) follow it ([`running`]) and reports what they did ([`recorder`]), which the driver
//! puts together ([`collecting`], [`intervals`], [`stats`]). A capture has a loop of its own kind ([`replay`]), and so has a
//! script ([`script_loop`], whose threads begin and end in [`script_outside`]); how long an order lasts and how much may begin is the
//! same for all ([`counted_time`]).

pub(crate) mod collecting;
pub(crate) mod connection;
pub(crate) mod counted_time;
pub(crate) mod driver;
pub(crate) mod event_loop;
pub(crate) mod histogram;
pub(crate) mod histogram_text;
pub(crate) mod intervals;
pub(crate) mod link;
pub(crate) mod options;
pub(crate) mod order;
pub(crate) mod pacing;
pub(crate) mod placement;
pub(crate) mod reconnect;
pub(crate) mod recorder;
pub(crate) mod replay;
pub(crate) mod running;
pub(crate) mod script_inline;
pub(crate) mod script_loop;
pub(crate) mod script_outside;
pub(crate) mod script_running;
pub(crate) mod script_thread;
pub(crate) mod script_watch;
pub(crate) mod stats;
