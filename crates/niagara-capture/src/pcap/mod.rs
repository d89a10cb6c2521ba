//! Recorded network traffic (pcap, pcapng): what clients sent to servers in clear.
//!
//! A [`packet`] has a segment of TCP, two [`stream`]s put the segments of a connection in order, and a [`conversation`] reads
//! logins, commands and [`answer`]s from them; [`parameters`] makes SQL of the values of prepared statements. Connections
//! that are encrypted or compressed cannot be read, and are counted.

mod answer;
mod conversation;
mod field;
mod framing;
mod packet;
mod parameters;
mod reader;
mod stream;
#[cfg(test)]
mod tests;

pub use reader::PcapReader;

pub(crate) use reader::{first_us, is_pcap};
