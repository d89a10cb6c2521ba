//! From the command line to a study: catalogue, levers, workbench, results folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use niagara_lab::lever::{self, Lever};
use niagara_lab::study_file::{load_of, own_workload};
use niagara_lab::{
    ClientHost, Lengths, Load, Protocol, Study, StudyOptions, Workbench, looks_like_path,
};
use niagara_load::{WorkloadBuilder, WorkloadSpec};
use niagara_server::Cancel;
use niagara_server::machine::Fingerprint;
use niagara_server::{Cache, Catalog};
use niagara_store::Goal;
use niagara_store::StudyRecord;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::args::{JudgeArgs, LengthArgs, LoadArgs, StudyArgs, WorkloadArg};
use crate::outdir;

/// Couples of a duel that nobody gave a number for. Of short slices there can be many in a duel, and they are what averages
/// the machine's wandering out (docs/methodology.md); of long ones, as many as make a duel of a minute.
#[derive(Debug, Clone, Copy)]
pub struct DefaultCouples {
    short: u32,
    long: u32,
}

impl DefaultCouples {
    /// A duel that judges one question.
    pub const JUDGING: Self = Self {
        short: 40,
        long: 20,
    };
    /// A duel that judges the total or a rung of a tuning: more duels have to fit beside the screening.
    pub const LADDER: Self = Self {
        short: 30,
        long: 12,
    };
    /// A duel of the screening: what counts is how many duels there are.
    pub const SCREENING: Self = Self { short: 10, long: 4 };

    /// The number for slices of this length.
    pub fn of(self, slice_seconds: f64) -> u32 {
        if slice_seconds <= SHORT_SLICE_SECONDS {
            self.short
        } else {
            self.long
        }
    }
}

/// Up to here slices are short, in the sense of [`DefaultCouples`].
const SHORT_SLICE_SECONDS: f64 = 0.25;

/// A read-only transaction of sysbench takes about 1.2 ms of two CPUs; so much of a slice for each connection lets it
/// do two of them.
const MS_A_THREAD: Duration = Duration::from_millis(3);

/// What a study is judged by, as far as that is not throughput: a part of what makes it the same study.
#[derive(Serialize)]
pub struct Aim {
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<Goal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<String>,
}

impl Aim {
    /// Of the arguments; nothing for throughput, so that studies begun before there were goals go on.
    pub fn of(args: &JudgeArgs) -> Self {
        Self {
            goal: Some(args.goal).filter(|goal| *goal != Goal::Throughput),
            rate: args.rate.map(|rate| rate.to_string()),
        }
    }
}

/// What every command that measures begins with.
pub struct Setting {
    /// Where servers, images and clones live.
    pub cache: Cache,
    /// Servers known.
    pub catalog: Catalog,
    /// Levers known.
    pub levers: Vec<Lever>,
    /// Where the load comes from, if not from here.
    pub client: Option<Arc<ClientHost>>,
}

impl Setting {
    /// Opens the cache, ends what an earlier Niagara left behind, reads the data files.
    pub fn open(servers: &[PathBuf], levers: &[PathBuf]) -> Result<Self> {
        let cache = Cache::open()?;
        niagara_server::sweep_stale(&cache)?;
        Ok(Self {
            cache,
            catalog: Catalog::load(servers)?,
            levers: lever::load(levers)?,
            client: None,
        })
    }

    /// A workbench for `load`.
    pub fn workbench(&self, load: Load, cancel: Cancel) -> Workbench {
        Workbench::new(self.cache.clone(), self.catalog.clone(), load, cancel)
            .loaded_from(self.client.clone())
    }
}

/// The server that the command line speaks of: a name of the catalogue, or a path, made absolute so that a study means
/// the same server from any folder. The binary's own name stays even where it is a link, its folder loses its detours.
pub fn server_name(text: &str) -> Result<String> {
    if !looks_like_path(text) {
        return Ok(text.to_owned());
    }
    let path = std::path::absolute(text)?;
    let direct = path
        .parent()
        .zip(path.file_name())
        .and_then(|(folder, name)| Some(folder.canonicalize().ok()?.join(name)));
    Ok(direct.unwrap_or(path).display().to_string())
}

/// The workload that the command line names, nothing set yet.
pub fn workload(arg: &WorkloadArg) -> Result<WorkloadSpec> {
    match arg {
        WorkloadArg::Named(kind) => Ok(WorkloadSpec::of(*kind)),
        WorkloadArg::File(path) => own_workload(path),
    }
}

/// The load that the options describe; --set has the last word.
pub fn load(args: &LoadArgs) -> Result<Load> {
    let mut base = WorkloadBuilder::from(workload(&args.workload)?);
    // Not every workload has each of these; its own defaults are not the command line's.
    base.set("tables", &args.tables.to_string())?;
    base.set("table_size", &args.table_size.to_string())?;
    base.set("warehouses", &args.warehouses.to_string())?;
    let set = args.set.iter();
    let options = set.map(|(name, value)| (name.as_str(), value.as_str()));
    load_of(base.build()?, options, &args.engine, args.threads)
}

/// The lengths that the options and the defaults of the protocol give.
pub fn lengths(args: &LengthArgs, load: &Load, protocol: Protocol, goal: Goal) -> Lengths {
    let writes = load.workload.writes();
    // Room for some transactions of each connection: on few CPUs a connection waits for the turn of all others.
    let some_transactions = MS_A_THREAD * load.threads;
    let slice = args.slice.unwrap_or(match protocol {
        // Background flushing needs its share of a slice, so writers get longer ones; and so does a percentile, which
        // is made of the few slowest.
        Protocol::Duel if writes || goal.is_latency() => {
            some_transactions.max(Duration::from_secs(1))
        }
        // The machine's speed wanders: the sooner the other side's turn, the more alike what both get of it.
        Protocol::Duel => some_transactions.max(Duration::from_millis(100)),
        Protocol::Solo if writes => Duration::from_secs(2),
        Protocol::Solo => Duration::from_secs(1),
        Protocol::Pair => Duration::from_secs(5),
        Protocol::Trimmed => Duration::from_secs(10),
    });
    let slice_seconds = slice.as_secs_f64();
    Lengths {
        couples: args.couples.unwrap_or(match protocol {
            Protocol::Duel => DefaultCouples::JUDGING.of(slice_seconds),
            Protocol::Pair | Protocol::Trimmed => 6,
            Protocol::Solo => 5,
        }),
        slice_seconds,
        ramp_seconds: match protocol {
            // All of a duel's slice counts, from the first statement to the last answer.
            Protocol::Duel => 0.0,
            _ => (slice_seconds / 10.0).min(0.25),
        },
        warm_up_seconds: args.warm_up.as_secs_f64(),
        disturbance: args.disturbance,
    }
}

/// What a study is opened from.
pub struct Opening<'a, T: Serialize> {
    /// `tune`, `compare`, `ladder`, `matrix`, `sweep`, `noise`.
    pub kind: &'a str,
    /// What the results folder is named after.
    pub name: &'a str,
    /// Everything that decides what is measured.
    pub plan: &'a T,
    /// Slices and warm-up.
    pub lengths: Lengths,
    /// How variants meet.
    pub protocol: Protocol,
    /// Time for it.
    pub budget: Duration,
    /// Folder and seed asked for.
    pub args: &'a StudyArgs,
    /// The machine.
    pub machine: &'a Fingerprint,
    /// Where the load comes from, if not from here.
    pub client: Option<&'a ClientHost>,
}

/// Begins a study or goes on with the unfinished one; its seed comes with it.
pub fn open_study<T: Serialize>(opening: &Opening<'_, T>) -> Result<(Study, u64)> {
    let plan = serde_json::to_value(opening.plan)?;
    let key = key(&(
        opening.kind,
        &plan,
        opening.lengths,
        opening.protocol,
        opening.budget,
        opening.args.seed,
    ))?;
    let folder = outdir::choose(
        opening.args.out.as_deref(),
        opening.kind,
        opening.name,
        &key,
    )?;
    let mut machine = serde_json::to_value(opening.machine)?;
    if let Some(client) = opening.client {
        machine["client_host"] = serde_json::to_value(client.record())?;
    }
    let now = since_epoch();
    let seed = folder
        .seed
        .or(opening.args.seed)
        // Kept below 2^31: easy to type after --seed.
        .unwrap_or((now.as_nanos() as u64 ^ u64::from(std::process::id())) & 0x7fff_ffff);
    let record = StudyRecord {
        kind: opening.kind.to_owned(),
        command: command_line(),
        key,
        seed,
        started_unix_ms: unix_ms(),
        plan,
        machine,
        niagara_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let study = Study::open(
        &record,
        StudyOptions {
            folder: folder.path,
            budget_seconds: opening.budget.as_secs_f64(),
            lengths: opening.lengths,
            protocol: opening.protocol,
        },
    )?;
    let seed = study.seed();
    Ok((study, seed))
}

fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// This moment, milliseconds since the Unix epoch.
pub fn unix_ms() -> i64 {
    since_epoch().as_millis() as i64
}

/// The hash that stands for everything that decides what is measured.
pub fn key(content: &impl Serialize) -> Result<String> {
    let digest = Sha256::digest(serde_json::to_vec(content)?);
    Ok(niagara_server::hex(&digest[..16]))
}

/// The command as typed, quoted where a shell would need it.
pub fn command_line() -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,/:+%@".contains(c);
    std::env::args()
        .enumerate()
        .map(|(index, word)| match index {
            0 => "niagara".to_owned(),
            _ if !word.is_empty() && word.chars().all(plain) => word,
            _ => format!("'{}'", word.replace('\'', r"'\''")),
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// Writes `content` to `path`, whole or not at all.
pub fn write(path: &Path, content: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = folder.join(format!(".{name}.part"));
    std::fs::write(&part, content)
        .and_then(|()| std::fs::rename(&part, path))
        .with_context(|| format!("cannot write {}", path.display()))
}
