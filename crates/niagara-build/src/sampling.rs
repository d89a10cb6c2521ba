//! perf beside a server that is trained: BOLT's profile of a binary without counters.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use niagara_error::{Remedy as _, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::recipe::BoltProfile;
use niagara_server::Helper;
use niagara_server::machine::in_path;

/// What perf counts: cycles of the program itself, or time where the machine does not count those.
const EVENT: [&str; 2] = ["-e", "cycles:u"];
/// With every sample the branches taken last, which BOLT makes its counts from.
const BRANCHES: [&str; 2] = ["-j", "any,u"];

/// How BOLT's profile is taken: as `asked`, else by branch records where this machine has them, else by counters.
///
/// # Errors
/// This machine cannot take it as `asked`.
pub(crate) fn way(asked: Option<BoltProfile>) -> Result<BoltProfile> {
    if asked == Some(BoltProfile::Counters) {
        return Ok(BoltProfile::Counters);
    }
    let by_perf = in_path("perf")
        .context("BOLT's profile takes perf here, which is missing")
        .remedy("apt install linux-perf")
        .and_then(|perf| match asked {
            Some(BoltProfile::Samples) => Ok(BoltProfile::Samples),
            _ => branch_records(&perf).map(|()| BoltProfile::Branches),
        });
    match asked {
        None => Ok(by_perf.unwrap_or(BoltProfile::Counters)),
        Some(_) => by_perf,
    }
}

/// Whether perf can record branches here; virtual machines mostly cannot.
fn branch_records(perf: &Path) -> Result<()> {
    let output = Command::new(perf)
        .arg("record")
        .args(EVENT)
        .args(BRANCHES)
        .args(["-o", "/dev/null", "--", "true"])
        .output()?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        let line = told
            .lines()
            .find(|line| !line.trim().is_empty() && !line.starts_with("Error"));
        bail!(
            "this machine has no branch records for BOLT's profile: {}",
            line.unwrap_or("perf does not say why").trim();
            remedy: "leave bolt_profile out, or counters"
        );
    }
    Ok(())
}

/// Samples that a training leaves.
#[derive(Debug)]
pub struct Sampling {
    branches: bool,
    folder: PathBuf,
}

impl Sampling {
    /// Samples into `folder`; none where the binary counts by itself.
    pub(crate) fn new(way: BoltProfile, folder: &Path) -> Option<Sampling> {
        let branches = match way {
            BoltProfile::Counters => return None,
            BoltProfile::Branches => true,
            BoltProfile::Samples => false,
        };
        Some(Sampling {
            branches,
            folder: folder.to_owned(),
        })
    }

    /// Begins to sample process `pid`.
    ///
    /// # Errors
    /// perf cannot be started.
    pub(crate) fn begin(&self, pid: i32) -> Result<Sampler> {
        let data = self.folder.join(format!("{pid}.data"));
        let told = self.folder.join(format!("{pid}.log"));
        let mut command = Command::new("perf");
        command.env("LC_ALL", "C").arg("record");
        // Without a copy of the binary in perf's own cache.
        command.arg("-N").args(EVENT);
        if self.branches {
            command.args(BRANCHES);
        }
        command
            .arg("-o")
            .arg(&data)
            .arg("-p")
            .arg(pid.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&told)?);
        let perf = Helper::spawn(command).context("cannot run perf")?;
        Ok(Sampler { perf, data, told })
    }

    /// How `perf2bolt` reads these samples.
    pub(crate) fn reading(&self) -> &'static [&'static str] {
        match self.branches {
            true => &[],
            false => &["-nl"],
        }
    }
}

/// perf at work; ended without samples when dropped.
#[derive(Debug)]
pub struct Sampler {
    perf: Helper,
    data: PathBuf,
    told: PathBuf,
}

impl Sampler {
    /// Ends the sampling, with the samples on disk.
    ///
    /// # Errors
    /// perf failed, by its own words.
    pub fn end(mut self) -> Result<()> {
        if !self.perf.has_ended()? {
            let pid = Pid::from_raw(self.perf.child().id() as i32);
            // It may end by itself meanwhile: with the process it samples.
            let _ = kill(pid, Signal::SIGINT);
        }
        let status = self.perf.wait()?;
        let interrupted = status.signal() == Some(Signal::SIGINT as i32);
        if !(status.success() || interrupted) || !self.data.is_file() {
            let told = fs::read_to_string(&self.told).unwrap_or_default();
            bail!("perf record ended with {status}: {}", told.trim());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn counters_are_for_machines_without_branch_records() {
        assert_eq!(
            way(Some(BoltProfile::Counters)).expect("everywhere"),
            BoltProfile::Counters
        );
        match (
            way(None).expect("everywhere"),
            way(Some(BoltProfile::Branches)),
        ) {
            (BoltProfile::Branches, Ok(BoltProfile::Branches)) => {}
            (BoltProfile::Counters, Err(error)) => {
                assert!(error.explain().to_string().contains("remedy: "), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
}
