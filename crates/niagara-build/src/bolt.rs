//! BOLT: a finished binary is trained, by counters in a copy of it or under perf, and laid out again.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use niagara_error::bail;

use crate::builder::{Builder, Built, fresh};
use crate::compiler_profile::{ProfileSummary, files};
use crate::flags::Stage;
use crate::order::Order;
use crate::prefix::copy_folder;
use crate::recipe::BoltProfile;
use crate::sampling::Sampling;
use crate::step::run;
use crate::store::{self, BuildKind, BuildStore, StoredBuild};
use crate::trainer::TrainingJob;
use crate::training::Training;
use niagara_server::Install;
use niagara_server::file_digest;

/// How the code is laid out: blocks by the best known heuristic, functions by who calls whom, what never ran apart.
pub(crate) const LAYOUT: [&str; 7] = [
    "-reorder-blocks=ext-tsp",
    "-reorder-functions=hfsort",
    "-split-functions",
    "-split-all-cold",
    "-split-eh",
    "-icf=1",
    "-dyno-stats",
];

/// Makes the build of `key` from `base`, which was linked so that its relocations are in the file.
pub(crate) fn lay_out(
    builder: &mut Builder<'_>,
    order: &Order,
    base: &Built,
    training: &Training,
    key: &str,
) -> Result<StoredBuild> {
    let folder = BuildStore::new(builder.cache).folder(key);
    let mut record = order.record(key, BuildKind::Server, &Stage::Plain);
    record.cmake.clone_from(&base.build.record.cmake);
    store::begin(&folder, &mut record)?;
    let began = Instant::now();
    let summary = lay_out_in(builder, order, base, training, &folder);
    *record.seconds.entry("bolt".to_owned()).or_default() += began.elapsed().as_secs_f64();
    // On disk, too: the time of an attempt that was interrupted or failed counts.
    store::note_down(&folder, &record)?;
    record.profile = Some(summary?);
    record.version = order
        .install(builder.cache, &folder)
        .context("the binary that BOLT laid out does not run")?
        .version_string;
    store::finish(&folder, &record)
}

/// Trains the binary of `base`, and puts what BOLT makes of it, with all that goes with it, into a build's `folder`.
fn lay_out_in(
    builder: &mut Builder<'_>,
    order: &Order,
    base: &Built,
    training: &Training,
    folder: &Path,
) -> Result<ProfileSummary> {
    let Some((bolt, _)) = &order.tools.bolt else {
        bail!("BOLT was not looked for");
    };
    let log = folder.join("log");
    let title = format!("{} ({})", order.server, order.recipe.one_line());
    let data = folder.join("bolt.fdata");
    let name = order.binary_name();

    let raw = folder.join("raw");
    let taking = Taking {
        base,
        training,
        bolt,
        raw: &raw,
        log: &log,
        title: &title,
    };
    taking.take(builder, order, folder, &data)?;

    let usr = folder.join("prefix/usr");
    if usr.exists() {
        fs::remove_dir_all(&usr)?;
    }
    for part in ["share", "lib"] {
        copy_folder(&base.install.basedir.join(part), &usr.join(part))?;
    }
    fs::create_dir_all(usr.join("sbin"))?;
    let mut command = builder.command(&bolt.display().to_string());
    let server = usr.join("sbin").join(name);
    command.arg(&base.install.server).arg("-o").arg(&server);
    command
        .arg(format!("-data={}", data.display()))
        .args(LAYOUT);
    let told = format!("{title}: BOLT lays the code out");
    let output = run(command, "llvm-bolt", &log, builder.cancelled, &mut |_| {
        (builder.progress)(&told)
    })?;
    let output = output.join("\n");
    let summary = functions_with_profile(&output)
        .check("the binary trained for BOLT")
        .and_then(|summary| check_stale(&output, &log).map(|()| summary));
    if summary.is_err() {
        // The next attempt trains again.
        let _ = fs::remove_file(&data);
    }
    summary
}

/// How a profile is taken.
struct Taking<'a> {
    base: &'a Built,
    training: &'a Training,
    bolt: &'a Path,
    /// Where the training leaves what becomes the profile.
    raw: &'a Path,
    log: &'a Path,
    title: &'a str,
}

impl Taking<'_> {
    /// Makes sure that the file `data` is the profile of this very base: taken where none is there yet.
    fn take(
        &self,
        builder: &mut Builder<'_>,
        order: &Order,
        folder: &Path,
        data: &Path,
    ) -> Result<()> {
        // A profile that an attempt before this one left is of the binary that was there then.
        let trained = folder.join("bolt.base");
        let digest = file_digest(&self.base.install.server)?;
        if data.is_file() && fs::read_to_string(&trained).ok().as_ref() != Some(&digest) {
            fs::remove_file(data)?;
        }
        if data.is_file() {
            return Ok(());
        }
        // First, so that no profile is ever beside the digest of another binary.
        fs::write(&trained, &digest)
            .with_context(|| format!("cannot write {}", trained.display()))?;
        fresh(self.raw)?;
        let way = order.tools.bolt_profile.unwrap_or(BoltProfile::Counters);
        match Sampling::new(way, self.raw) {
            Some(sampling) => self.sampled(builder, &sampling)?,
            None => self.counted(builder, &folder.join("instrumented"), order.binary_name())?,
        }
        merge(self.bolt, self.raw, data)?;
        builder.tidy(self.raw);
        Ok(())
    }

    /// By counters, in a binary made for it in the folder `work`.
    fn counted(&self, builder: &mut Builder<'_>, work: &Path, name: &OsStr) -> Result<()> {
        fresh(work)?;
        // Where the server looks for libraries of its own build: beside itself.
        copy_folder(&self.base.install.basedir.join("lib"), &work.join("lib"))?;
        fs::create_dir(work.join("sbin"))?;
        let binary = work.join("sbin").join(name);
        let mut command = builder.command(&self.bolt.display().to_string());
        command
            .arg(&self.base.install.server)
            .arg("-instrument")
            .arg("-o")
            .arg(&binary)
            .arg(format!(
                "--instrumentation-file={}",
                self.raw.join("counts").display()
            ))
            .arg("--instrumentation-file-append-pid");
        let told = format!("{}: BOLT puts its counters in", self.title);
        run(
            command,
            "llvm-bolt -instrument",
            self.log,
            builder.cancelled,
            &mut |_| (builder.progress)(&told),
        )?;
        let install = Install {
            server: binary,
            ..self.base.install.clone()
        };
        self.train(builder, &install, None)?;
        builder.tidy(work);
        Ok(())
    }

    /// By perf, beside the base itself.
    fn sampled(&self, builder: &mut Builder<'_>, sampling: &Sampling) -> Result<()> {
        self.train(builder, &self.base.install, Some(sampling))?;
        let told = format!("{}: perf's samples become BOLT's profile", self.title);
        for data in files(self.raw, ".data")? {
            let samples = self.raw.join(data);
            let perf2bolt = self.bolt.with_file_name("perf2bolt");
            let mut command = builder.command(&perf2bolt.display().to_string());
            command
                .args(sampling.reading())
                .arg("-p")
                .arg(&samples)
                .arg("-o")
                .arg(samples.with_extension("fdata"))
                .arg(&self.base.install.server);
            run(
                command,
                "perf2bolt",
                self.log,
                builder.cancelled,
                &mut |_| (builder.progress)(&told),
            )?;
        }
        Ok(())
    }

    fn train(
        &self,
        builder: &mut Builder<'_>,
        install: &Install,
        sampling: Option<&Sampling>,
    ) -> Result<()> {
        let job = TrainingJob {
            install,
            loader: Some(&self.base.install),
            training: self.training,
            environment: BTreeMap::new(),
            sampling,
        };
        builder
            .trainer
            .train(&job, builder.progress)
            .context("the training for BOLT failed")
    }
}

/// One profile from those that the training's processes wrote, there whole or not at all.
fn merge(bolt: &Path, raw: &Path, to: &Path) -> Result<()> {
    let inputs = files(raw, ".fdata")?;
    let part = to.with_extension("part");
    match &inputs[..] {
        [] => bail!(
            "the training for BOLT left no profile in {}: did the server end cleanly?", raw.display();
            remedy: "the same command once more, or another way to take it: --bolt-profile samples"
        ),
        [one] => fs::copy(raw.join(one), &part).map(drop)?,
        several => {
            let read = |input: &PathBuf| fs::read_to_string(raw.join(input));
            let texts: Vec<String> = several.iter().map(read).collect::<Result<_, _>>()?;
            if let Some(sum) = sum_of_samples(&texts) {
                fs::write(&part, sum)?;
                return Ok(fs::rename(&part, to)?);
            }
            let output = Command::new(bolt.with_file_name("merge-fdata"))
                .args(several.iter().map(|input| raw.join(input)))
                .output()
                .context("cannot run merge-fdata")?;
            if !output.status.success() {
                bail!(
                    "merge-fdata failed: {}",
                    String::from_utf8_lossy(&output.stderr).trim()
                );
            }
            fs::write(&part, output.stdout)?;
        }
    }
    fs::rename(&part, to)?;
    Ok(())
}

/// Profiles of samples without branches as one, which merge-fdata 19 refuses: a line `no_lbr cycles:u:`, then counts at
/// the ends of lines. None where one of them is of another kind.
fn sum_of_samples(texts: &[String]) -> Option<String> {
    let mut head = None;
    let mut counts = BTreeMap::<&str, u64>::new();
    for text in texts {
        let mut lines = text.lines();
        head = Some(lines.next().filter(|line| line.starts_with("no_lbr"))?);
        for line in lines {
            let (place, count) = line.rsplit_once(' ')?;
            *counts.entry(place).or_default() += count.parse::<u64>().ok()?;
        }
    }
    let lines = counts
        .iter()
        .map(|(place, count)| format!("{place} {count}\n"));
    Some(format!("{}\n{}", head?, lines.collect::<String>()))
}

/// Refuses a profile that BOLT takes for another binary's.
fn check_stale(output: &str, log: &Path) -> Result<()> {
    // Of a binary's own profile BOLT cannot follow a function here and there; another binary's it follows nowhere.
    const MAX_PERCENT: f64 = 5.0;
    let Some(percent) = stale_percent(output) else {
        return Ok(());
    };
    if percent > MAX_PERCENT {
        bail!(
            "the profile for BOLT is stale: {percent} % of its functions are not those of this binary\nlog: {}",
            log.display();
            remedy: "the same command trains again; should that not help, take the profile another way (bolt_profile)"
        );
    }
    Ok(())
}

/// `BOLT-WARNING: 12 (8.3% of all profiled) functions have invalid (possibly stale) profile. Use -report-stale …`
fn stale_percent(output: &str) -> Option<f64> {
    let line = output
        .lines()
        .find(|line| line.contains("have invalid (possibly stale) profile"))?;
    let (before, _) = line.split_once("% of all profiled")?;
    before.rsplit('(').next()?.trim().parse().ok()
}

/// `BOLT-INFO: 5323 out of 45613 functions in the binary (11.7%) have non-empty execution profile`
fn functions_with_profile(output: &str) -> ProfileSummary {
    let line = output
        .lines()
        .find(|line| line.contains("have non-empty execution profile"))
        .unwrap_or("");
    let mut numbers = line
        .split_whitespace()
        .filter_map(|word| word.parse::<u64>().ok());
    let executed = numbers.next().unwrap_or(0);
    ProfileSummary {
        known: numbers.next().unwrap_or(0),
        executed,
        unit: "functions".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn samples_without_branches_are_summed() {
        let texts = [
            "no_lbr cycles:u:\n1 main/1 8 1\n1 f 0 2\n",
            "no_lbr cycles:u:\n1 f 0 3\n",
        ];
        assert_eq!(
            sum_of_samples(&texts.map(str::to_owned)).as_deref(),
            Some("no_lbr cycles:u:\n1 f 0 5\n1 main/1 8 1\n")
        );
        let branches = ["1 main 8 1 f 0 0 1\n".to_owned()];
        assert_eq!(sum_of_samples(&branches), None);
    }

    #[test]
    fn a_stale_profile_is_refused() {
        let check = |share: &str| {
            let said = format!(
                "BOLT-INFO: 7 out of 9 functions in the binary (77.8%) have non-empty execution profile\n\
                 BOLT-WARNING: 12 ({share}% of all profiled) functions have invalid (possibly stale) profile. Use \
                 -report-stale to see the list."
            );
            check_stale(&said, Path::new("/the/log"))
        };
        let error = check("85.7").expect_err("stale").explain().to_string();
        assert!(
            error.contains("85.7 %") && error.contains("/the/log") && error.contains("remedy"),
            "{error}"
        );
        check("0.4").expect("its own");
        check_stale("BOLT-INFO: nothing of the kind", Path::new("/l")).expect("nothing said");
    }

    #[test]
    fn bolts_progress_count_is_parsed() {
        let line = "BOLT-INFO: 5323 out of 45613 functions in the binary (11.7%) have non-empty execution profile";
        assert_eq!(
            functions_with_profile(line).to_string(),
            "5323 of 45613 functions were run"
        );
        assert!(
            functions_with_profile("BOLT-INFO: nothing")
                .check("x")
                .is_err()
        );
    }
}
