//! A load in words.

use crate::number;

/// The workload's name and the connections: `oltp_read_only, 32 threads`.
pub fn load(workload: &str, threads: u32) -> String {
    let threads = number::count(threads as usize, "thread");
    format!("{}, {threads}", niagara_model::load_name(workload))
}
