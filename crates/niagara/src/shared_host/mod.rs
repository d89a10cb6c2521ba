//! Tuning on the host of a live server: within a share of the host, and only while that server is no busier for it.

mod rule;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use niagara_error::{Explain as _, bail};
use niagara_lab::quantity::share as percent;
use niagara_load::counted;
use niagara_model::Finding;
use niagara_server::machine::{Fingerprint, format_cpu_list};
use niagara_server::{Cache, Cancel, Cancelled, HostBounds, HostShare, lower_priority};

use crate::agreement::agreed;
use crate::cmd::bench::args::connect_args;
use crate::cmd::bench::connect::connect_within;
use crate::cmd::bench::naming::Naming;
use crate::origin::at_address;
use crate::shared_args::{OriginArgs, Where};
use rule::{LoadRule, WINDOW};
use watch::{MIN_FREE, TIMEOUT, Watch};

/// The part of a host that is left to its live server, at least.
const MAX_SHARE: f64 = 0.5;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Your own server (docs/own-server.md)")]
pub struct SharedHostArgs {
    /// Run on the production host, using at most half of it
    ///
    /// ADDRESS is the live server's socket or HOST:PORT. All processes have nice 19, idle I/O, and a share of the CPUs and of the memory,
    /// by control groups where they can be made. The live server is watched once a second by SHOW GLOBAL STATUS; any account may
    /// send that. The run stops, as after Ctrl-C but with exit code 1, when that server is clearly busier or cannot be reached.
    #[arg(long, value_name = "ADDRESS")]
    pub share_host_with: Option<String>,
    /// With --share-host-with: part of the CPUs and of the available memory, up to 50% [default: 50%]
    #[arg(
        long,
        value_name = "SHARE",
        value_parser = up_to_half,
        requires = "share_host_with",
        hide_short_help = true,
    )]
    pub share: Option<f64>,
    /// With --share-host-with: the account [default: the name of the user who runs this]
    ///
    /// The password is NIAGARA_PASSWORD or MYSQL_PWD, or is asked for.
    #[arg(
        long,
        value_name = "USER",
        requires = "share_host_with",
        hide_short_help = true
    )]
    pub user: Option<String>,
    /// With --share-host-with: file whose first line is the password [default: NIAGARA_PASSWORD or MYSQL_PWD, else asked for]
    #[arg(
        long,
        value_name = "FILE",
        requires = "share_host_with",
        hide_short_help = true
    )]
    pub password_file: Option<PathBuf>,
    /// With --share-host-with: begin without asking
    #[arg(long, requires = "share_host_with", hide_short_help = true)]
    pub yes: bool,
}

fn up_to_half(text: &str) -> Result<f64, String> {
    percent(text)
        .ok()
        .filter(|share| (0.01..=MAX_SHARE).contains(share))
        .ok_or_else(|| "expected a share from 1% to 50%".to_owned())
}

/// A run that shares its host, until it ends.
pub struct SharedHost {
    bounds: HostBounds,
    watch: Watch,
}

impl SharedHost {
    /// Bounds this process, asks whether to begin, and watches the live server from then on; nothing without one. To be called before
    /// anything else is started: what that is bound to, it has from this thread.
    ///
    /// # Errors
    /// The server cannot be reached; the host is too small to be shared; nobody agreed.
    pub fn begin(args: &SharedHostArgs, place: &Where) -> Result<Option<Self>> {
        let Some(address) = &args.share_host_with else {
            return Ok(None);
        };
        if *place != Where::Local {
            bail!(
                "--share-host-with is for a run on the live server's own host, and --on {place} has it elsewhere";
                remedy: "leave out one of them"
            );
        }
        let mut at = connect_args();
        at.user.clone_from(&args.user);
        at.password_file.clone_from(&args.password_file);
        let at = at_address(address, at)?;
        let (_, admin) = connect_within(&at, Naming::ShareHostWith, TIMEOUT)?;
        let cache = Cache::open()?;
        let disks = vec![cache.root().to_owned(), cache.work()?];
        let host = Fingerprint::read(&cache.work()?);
        let share = HostShare::of_host(args.share.unwrap_or(MAX_SHARE), &host)?;
        let bounds = HostBounds::enter(share)?;
        tell_risks(address, &bounds);
        agreed(args.yes)?;
        tell!("watching the live server for {WINDOW} s before anything is started");
        let (watch, rule) = Watch::begin(admin, disks)?;
        tell!("{}", limits(&rule));
        // The watch's own thread keeps its priority: it has to see in time what the others do.
        lower_priority()?;
        Ok(Some(Self { bounds, watch }))
    }

    /// Has a part of the run end when the live server wants it.
    pub fn ends(&self, part: &Cancel) {
        self.watch.ends(part);
    }

    /// The host as the machine that the results are for, where nothing else is named.
    pub fn adopt(&self, origin: &mut OriginArgs) {
        let share = self.bounds.share();
        origin.memory.get_or_insert(share.host_memory);
        let cpus = u32::try_from(share.host_cpus).unwrap_or(u32::MAX);
        origin.cpus.get_or_insert(cpus);
    }

    /// What a reader of the results must know.
    pub fn finding(&self) -> Finding {
        let share = self.bounds.share();
        Finding::SharedHost {
            cpus: share.cpus.len(),
            of: share.host_cpus,
            memory: share.memory,
        }
    }

    /// Leaves the bounds, and says how a run ends that would have ended like this: a failure where the live server ended it.
    ///
    /// # Errors
    /// Those of the run.
    pub fn end(self, ended: Result<ExitCode>) -> Result<ExitCode> {
        let Some(reason) = self.watch.end() else {
            return ended;
        };
        match ended {
            // It was at its end already.
            Ok(code) if code == ExitCode::SUCCESS => Ok(code),
            Err(error) if !error.has::<Cancelled>() => Err(error),
            _ => {
                tell!("stopped: {reason}. The same command continues, at a quieter hour");
                Ok(ExitCode::FAILURE)
            }
        }
    }
}

/// What may happen to the live server, what bounds it, and when it ends.
fn tell_risks(address: &str, bounds: &HostBounds) {
    let share = bounds.share();
    tell!(
        "sharing the host of {address}: caches of the CPUs, memory bandwidth, page cache and disk are its, too; figures are less sure"
    );
    tell!(
        "bounds: CPU {} of {}, {} MB of memory, nice 19, idle I/O, first to go when memory ends; {}",
        format_cpu_list(&share.cpus),
        counted(share.host_cpus as u64, "CPU"),
        share.memory >> 20,
        held(bounds.group_holds_cpus(), bounds.group_holds_memory())
    );
    tell!(
        "it stops when, over {WINDOW} s, Threads_running is above 4 and twice as many as before, or Slow_queries above 0.5 a second \
         and twice as many;"
    );
    tell!(
        "and when that server takes {} s for an answer, or fewer than {} MB are free on a disk of Niagara's",
        TIMEOUT.as_secs(),
        MIN_FREE >> 20
    );
}

/// What enforces the bounds.
fn held(cpus: bool, memory: bool) -> &'static str {
    match (cpus, memory) {
        (true, true) => "control groups limit both",
        (true, false) => {
            "a control group limits the CPUs; nothing limits the memory, which can run out"
        }
        (false, true) => "affinity limits the CPUs, a control group the memory",
        (false, false) => {
            "no control group can be made: affinity limits the CPUs; nothing limits the memory, which can run out"
        }
    }
}

/// What the live server does, and may.
fn limits(rule: &LoadRule) -> String {
    let limits = rule
        .limits()
        .map(|(gauge, before, limit)| format!("{gauge} {before:.1}, limit {limit:.1}"));
    format!("the live server: {}", limits.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_live_server_keeps_half_of_its_host() {
        assert_eq!(up_to_half("25%"), Ok(0.25));
        assert_eq!(up_to_half("50%"), Ok(0.5));
        for text in ["51%", "100%", "0%", "half"] {
            assert!(up_to_half(text).is_err(), "{text}");
        }
    }
}
