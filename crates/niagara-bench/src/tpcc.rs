//! TPC-C beside sysbench: how long five warehouses take to load, and what a transaction costs the client.
//!
//! The other side is `tpcc.lua`, the specification's statements for sysbench as such scripts send them: in text, one row
//! at a time. Niagara is measured with the same statements one by one (prepared), and as it is by default.

use crate::contestant::Contestant;
use crate::ground::endpoint;
use crate::ratio::{ratio, with_interval};
use crate::sample::Sample;
use crate::sysbench::{Sysbench, cpu_time};
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use niagara_load::{
    Admin, Conditions, Driver, DriverOptions, TableOptions, Tpcc, WorkloadSpec, check_tpcc,
    cleanup, prepare_tables, tpcc_schema,
};
use niagara_server::{
    Cache, Catalog, Config, ImageStore, LaunchSpec, ProcessSettings, RunningServer, WorkFolder,
    get, launch,
};
use niagara_stats::median;
use nix::sys::resource::UsageWho;
use rand::seq::SliceRandom;
use std::io::Write;
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Loading.
    Load,
    /// Running.
    Run,
}

const WAREHOUSES: u32 = 5;
const THREADS: u32 = 16;
/// Niagara's loading time over the other's is to be no more than this.
const LOAD_TARGET: f64 = 0.5;
/// Rounds below which an interval cannot be had.
const FEWEST_ROUNDS: usize = 6;

fn spec() -> WorkloadSpec {
    WorkloadSpec::of(Tpcc::of(WAREHOUSES))
}

/// A server and its data, both gone when it is dropped.
struct Stand {
    // In this order: the server ends before its data goes.
    server: RunningServer,
    _clone: WorkFolder,
}

/// Starts the server with room for the data and a log that need not be emptied all the time, on the image of `key`.
fn start(server: &str, key: &str, loads: bool) -> Result<Stand> {
    let cache = Cache::open()?;
    let catalog = Catalog::load(&[])?;
    let install = get(&cache, catalog.get(server)?, &mut |text| {
        eprintln!("{text}")
    })?;
    let image = ImageStore::new(&cache).ensure(
        &install,
        key,
        "InnoDB",
        &mut |server| {
            if loads {
                prepare_tables(
                    &endpoint(server),
                    &spec(),
                    &TableOptions::default(),
                    &mut |_| {},
                )?;
            }
            Ok(())
        },
        &mut |text| eprintln!("{text}"),
    )?;
    let clone = cache.work_folder("clone")?;
    let datadir = clone.path().join("data");
    image.clone_to(&datadir)?;
    let config: Config = [
        ("innodb_buffer_pool_size", "2G"),
        ("innodb_log_file_size", "1G"),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect();
    let server = launch(
        &cache,
        &LaunchSpec {
            install: &install,
            datadir,
            runtime: &ProcessSettings::default(),
            config: &config,
        },
    )?;
    Ok(Stand {
        server,
        _clone: clone,
    })
}

/// Measures a part for about `time` and prints a table.
pub fn compare(part: Part, server: &str, time: Duration, slice: Duration) -> Result<()> {
    let mut script = NamedTempFile::with_suffix(".lua").context("a file for sysbench's script")?;
    script.write_all(include_bytes!("tpcc.lua"))?;
    script.flush()?;
    match part {
        Part::Load => measure_loading(server, time, &script),
        Part::Run => measure_running(server, time, slice, &script),
    }
}

fn consistent(server: &RunningServer, conditions: Conditions) -> Result<()> {
    let findings = check_tpcc(&endpoint(server), &spec(), conditions, &mut |_| {})?;
    match findings.iter().find(|finding| !finding.holds()) {
        Some(broken) => bail!("condition {} is broken: {}", broken.condition, broken.says),
        None => Ok(()),
    }
}

/// Rounds of one loading each, in random order, tables dropped in between.
fn measure_loading(server: &str, time: Duration, script: &NamedTempFile) -> Result<()> {
    let deadline = Instant::now() + time;
    let stand = start(server, "empty", false)?;
    let endpoint = endpoint(&stand.server);
    let spec = spec();
    let threads = std::thread::available_parallelism().map_or(2, usize::from) as u32;
    let mut times = [Vec::new(), Vec::new()];
    let mut cpu = [Vec::new(), Vec::new()];
    let mut round_time = Duration::ZERO;
    // The database is there before either begins.
    prepare_tables(&endpoint, &bare(), &TableOptions::default(), &mut |_| {})?;
    cleanup(&endpoint, &bare(), &TableOptions::default(), &mut |_| {})?;
    while times[0].is_empty() || Instant::now() + round_time <= deadline {
        let began = Instant::now();
        let mut order = [0, 1];
        order.shuffle(&mut rand::rng());
        for who in order {
            let (wall, used) = if who == 0 {
                let before = cpu_time(UsageWho::RUSAGE_SELF)?;
                let began = Instant::now();
                prepare_tables(&endpoint, &spec, &TableOptions::default(), &mut |_| {})?;
                (
                    began.elapsed(),
                    cpu_time(UsageWho::RUSAGE_SELF)?.saturating_sub(before),
                )
            } else {
                // The same tables and indexes, made for the script before and after it fills them.
                let (tables, indexes) = tpcc_schema("InnoDB");
                let mut admin = Admin::connect(&endpoint, Duration::from_secs(600))?;
                admin.rows("USE sbtest")?;
                let mut sysbench = Sysbench::script(&endpoint, &spec, threads, script.path())?;
                let began = Instant::now();
                for sql in tables {
                    admin.rows(&sql)?;
                }
                let (_, used) = sysbench.prepare()?;
                for sql in indexes {
                    admin.rows(&sql)?;
                }
                (began.elapsed(), used)
            };
            consistent(&stand.server, Conditions::Loaded)?;
            cleanup(&endpoint, &spec, &TableOptions::default(), &mut |_| {})?;
            times[who].push(wall.as_secs_f64());
            cpu[who].push(used.as_secs_f64());
            eprintln!(
                "{}: {:.1} s, {:.1} s of CPU in the client",
                ["niagara", "sysbench"][who],
                wall.as_secs_f64(),
                used.as_secs_f64()
            );
        }
        round_time = began.elapsed();
    }
    stand.server.kill();
    println!(
        "\nloading {WAREHOUSES} warehouses, {threads} connections each, {} rounds (seconds; medians)",
        times[0].len()
    );
    for (who, name) in ["niagara", "sysbench"].into_iter().enumerate() {
        println!(
            "{name:<10} {:>8.1} s  {:>8.1} s of CPU in the client",
            median(&times[who]).unwrap_or(f64::NAN),
            median(&cpu[who]).unwrap_or(f64::NAN)
        );
    }
    let ratios: Vec<f64> = times[0].iter().zip(&times[1]).map(|(a, b)| a / b).collect();
    let worst = ratios.iter().copied().fold(0.0, f64::max);
    let list: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.3}")).collect();
    println!(
        "niagara / sysbench, round by round: {} (target: all ≤ {LOAD_TARGET}: {})",
        list.join(", "),
        if worst <= LOAD_TARGET {
            "met"
        } else {
            "missed"
        }
    );
    Ok(())
}

/// A small workload whose tables make the database.
fn bare() -> WorkloadSpec {
    WorkloadSpec::of(niagara_load::Sysbench {
        table_size: 1,
        ..niagara_load::Sysbench::default()
    })
}

/// Rounds of one slice each, in random order.
fn measure_running(
    server: &str,
    time: Duration,
    slice: Duration,
    script: &NamedTempFile,
) -> Result<()> {
    let stand = start(server, &spec().data_key(THREADS), true)?;
    for statement in spec().read_all_statements("sbtest", THREADS) {
        stand.server.query(&statement)?;
    }
    let endpoint = endpoint(&stand.server);
    let niagara = |batch| -> Result<Contestant> {
        let spec = WorkloadSpec::of(Tpcc {
            batch,
            ..Tpcc::of(WAREHOUSES)
        });
        let options = DriverOptions {
            connections: THREADS,
            ..DriverOptions::default()
        };
        let driver = Driver::connect(std::slice::from_ref(&endpoint), &spec, &options)?;
        Ok(Contestant::Niagara(Box::new(driver)))
    };
    let mut contestants = [
        niagara(true)?,
        niagara(false)?,
        Contestant::Sysbench(Sysbench::script(
            &endpoint,
            &spec(),
            THREADS,
            script.path(),
        )?),
    ];
    let mut samples: [Vec<Sample>; 3] = Default::default();
    // A first round warms the server and the buffers, and does not count.
    for contestant in &mut contestants {
        contestant.slice(slice, &stand.server, None)?;
    }
    let deadline = Instant::now() + time;
    let mut order = [0, 1, 2];
    let mut round_time = Duration::ZERO;
    while samples[0].len() < FEWEST_ROUNDS || Instant::now() + round_time <= deadline {
        let began = Instant::now();
        order.shuffle(&mut rand::rng());
        for who in order {
            samples[who].push(contestants[who].slice(slice, &stand.server, None)?);
        }
        round_time = began.elapsed();
        eprint!("\r{} rounds", samples[0].len());
    }
    eprintln!();
    drop(contestants);
    consistent(&stand.server, Conditions::All)?;
    stand.server.kill();
    tell(&samples, slice);
    println!("all consistency conditions hold");
    Ok(())
}

/// The contestants of a run, in the order of their samples.
const NAMES: [&str; 3] = ["niagara", "niagara, rows one by one", "sysbench"];

/// Prints the medians of each contestant, and the ratios to sysbench.
fn tell(samples: &[Vec<Sample>; 3], slice: Duration) {
    println!(
        "\n{WAREHOUSES} warehouses, {THREADS} connections, {} rounds of {:.0} s each (medians, ratios with 95 % intervals)\n\
         {:<28} {:>15} {:>12} {:>20}",
        samples[0].len(),
        slice.as_secs_f64(),
        "",
        "transactions/s",
        "queries/s",
        "CPU µs/transaction"
    );
    let all = |who: usize, value: fn(&Sample) -> f64| -> Vec<f64> {
        samples[who].iter().map(value).collect()
    };
    for (who, name) in NAMES.into_iter().enumerate() {
        let middle = |value| median(&all(who, value)).unwrap_or(f64::NAN);
        println!(
            "{name:<28} {:>15.1} {:>12.0} {:>20.1}",
            middle(|sample| sample.transactions_per_second),
            middle(|sample| sample.queries_per_second),
            middle(|sample| sample.cpu_per_transaction)
        );
    }
    for who in [0, 1] {
        let against = |value| ratio(&all(who, value), &all(2, value));
        let throughput = against(|sample| sample.transactions_per_second);
        let cpu = against(|sample| sample.cpu_per_transaction);
        println!(
            "{} / sysbench: transactions/s {}, client CPU per transaction {} \
             (targets: at least 1, below 1: {})",
            NAMES[who],
            with_interval(&throughput),
            with_interval(&cpu),
            if throughput.ratio >= 1.0 && cpu.ratio < 1.0 {
                "met"
            } else {
                "missed"
            }
        );
    }
}
