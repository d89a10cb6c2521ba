//! How a workload is driven: loops that begin transactions, send their statements, take the answers and count.
//!
//! A driver ([`driver`]) gives every loop an order ([`order`]); a loop ([`event_loop`]) has its connections
//! ([`connection`], each with a [`link`]) follow it ([`running`]) and reports what they did ([`recorder`]), which the driver
//! puts together ([`collecting`], [`intervals`], [`stats`]).

pub mod collecting;
pub mod connection;
pub mod driver;
pub mod event_loop;
pub mod histogram;
pub mod histogram_text;
pub mod intervals;
pub mod link;
pub mod options;
pub mod order;
pub mod pacing;
pub mod reconnect;
pub mod recorder;
pub mod running;
pub mod stats;
