//! A load in words.

use niagara_model::Comparison;

use crate::number;

/// The load of a comparison: `oltp_read_only, 32 threads`; of a capture, whose sessions take turns, `shop, 5 connections`.
pub fn load_of(workload: &str, threads: u32, comparison: Option<&Comparison>) -> String {
    let is_capture = comparison.is_some_and(|comparison| comparison.replay.is_some());
    match is_capture {
        true => format!(
            "{}, {}",
            niagara_model::load_name(workload),
            number::count(threads as usize, "connection")
        ),
        false => load(workload, threads),
    }
}

/// The workload's name and the connections: `oltp_read_only, 32 threads`.
pub fn load(workload: &str, threads: u32) -> String {
    let threads = number::count(threads as usize, "thread");
    format!("{}, {threads}", niagara_model::load_name(workload))
}
