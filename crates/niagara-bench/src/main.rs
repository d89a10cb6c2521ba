//! What the load generator costs: its CPU time per query and the throughput it reaches, beside sysbench and beside a
//! bare loop that only sends and drains, on one server, in short slices of random order.
//!
//! One walk: [`case::CASES`] → server → contestants → rounds of slices → ratios with intervals → table and JSON.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod case;
mod contestant;
mod ground;
mod memory;
mod ratio;
mod replay;
mod report;
mod sample;
mod script;
mod sysbench;
mod tpcc;

use crate::case::Case;
use crate::ground::Ground;
use anyhow::{Result, bail};
use clap::Parser;
use niagara_error::Explain as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Measures what the load generator costs, beside sysbench and beside a bare loop.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Seconds for all cases together.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// Counted seconds of a slice.
    #[arg(long, default_value_t = 2.0)]
    slice: f64,
    /// Only the cases whose names contain this.
    #[arg(long)]
    only: Option<String>,
    /// Scripts instead: Niagara and sysbench run the same one.
    #[arg(long, conflicts_with = "tpcc")]
    scripts: bool,
    /// A replayed capture instead: beside sysbench sending the same statements, and the memory of a large one.
    #[arg(long, conflicts_with_all = ["tpcc", "scripts"])]
    replay: bool,
    /// Captures oltp_read_write into this file instead, for --seconds: a captured workload that writes.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tpcc", "scripts", "replay"])]
    capture_writes: Option<PathBuf>,
    /// TPC-C instead: five warehouses loaded, or run, beside a script of sysbench's.
    #[arg(long, value_enum, value_name = "PART")]
    tpcc: Option<tpcc::Part>,
    /// The server, a name of the catalogue.
    #[arg(long, default_value = "mariadb-10.11")]
    server: String,
    /// Threads of the load generator; its own choice if not given.
    #[arg(long)]
    loops: Option<usize>,
    /// Also writes everything that was measured to this file, as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("niagara-bench: {}", error.explain());
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    niagara_script::install();
    if std::env::args().nth(1).as_deref() == Some(memory::HOLD) {
        return memory::hold();
    }
    if std::env::args().nth(1).as_deref() == Some(replay::REPLAY) {
        return replay::replay();
    }
    let arguments = Arguments::parse();
    if !(0.2..=60.0).contains(&arguments.slice) {
        bail!("--slice {}: must be from 0.2 to 60 s", arguments.slice);
    }
    if let Some(part) = arguments.tpcc {
        let time = Duration::from_secs(arguments.seconds);
        let slice = Duration::from_secs_f64(arguments.slice);
        return tpcc::compare(part, &arguments.server, time, slice);
    }
    if let Some(output) = &arguments.capture_writes {
        let time = Duration::from_secs(arguments.seconds);
        return replay::capture_writes(&arguments.server, time, output);
    }
    if arguments.replay {
        let time = Duration::from_secs(arguments.seconds);
        let slice = Duration::from_secs_f64(arguments.slice);
        return replay::compare(&arguments.server, time, slice, arguments.json.as_deref());
    }
    let wanted = |case: &&Case| {
        arguments
            .only
            .as_ref()
            .is_none_or(|part| case.name.contains(part.as_str()))
    };
    let all: &[Case] = match arguments.scripts {
        true => &case::SCRIPT_CASES,
        false => &case::CASES,
    };
    let cases: Vec<&Case> = all.iter().filter(wanted).collect();
    if cases.is_empty() {
        let names: Vec<_> = all.iter().map(|case| case.name).collect();
        bail!("no such case; there are {}", names.join(", "));
    }
    let ground = Ground::prepare(&arguments.server)?;
    let each = Duration::from_secs(arguments.seconds) / cases.len() as u32;
    let slice = Duration::from_secs_f64(arguments.slice);
    let mut results = Vec::new();
    for case in cases {
        let result = case.measure(&ground, each, slice, arguments.loops)?;
        print!("{}", report::table(&result));
        results.push(result);
    }
    if let Some(path) = &arguments.json {
        report::write_json(path, &arguments.server, &results)?;
    }
    Ok(())
}
