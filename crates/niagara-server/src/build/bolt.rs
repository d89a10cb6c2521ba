//! BOLT: a finished binary is instrumented, trained, and laid out anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::builder::{Builder, Built, Order, TrainingJob, fresh};
use super::flags::Stage;
use super::prefix::copy_folder;
use super::profile::{ProfileSummary, files};
use super::run::run;
use super::store::{self, BuildKind, BuildStore, StoredBuild};
use super::training::Training;
use crate::install::Install;

/// How the code is laid out: blocks by the best known heuristic, functions by who calls whom, what never ran apart.
const LAYOUT: [&str; 7] = [
    "-reorder-blocks=ext-tsp",
    "-reorder-functions=hfsort",
    "-split-functions",
    "-split-all-cold",
    "-split-eh",
    "-icf=1",
    "-dyno-stats",
];

/// Makes the build of `key` from `base`, which was linked so that its relocations are in the file.
pub(super) fn lay_out(
    builder: &mut Builder<'_>,
    order: &Order,
    base: &Built,
    training: &Training,
    key: &str,
) -> Result<StoredBuild> {
    let Some((bolt, _)) = &order.tools.bolt else {
        bail!("BOLT was not looked for");
    };
    let folder = BuildStore::new(builder.cache).folder(key);
    let mut record = order.record(key, BuildKind::Server, &Stage::Plain);
    record.cmake.clone_from(&base.build.record.cmake);
    store::begin(&folder, &record)?;
    let log = folder.join("log");
    let began = Instant::now();
    let title = format!("{} ({})", order.server, order.recipe.one_line());
    let data = folder.join("bolt.fdata");
    let name = order.binary_name();
    store::go_on(&folder, &mut record);

    if !data.is_file() {
        let work = folder.join("instrumented");
        let raw = folder.join("raw");
        fresh(&work)?;
        fresh(&raw)?;
        let binary = work.join(name);
        let mut command = builder.command(&bolt.display().to_string());
        command
            .arg(&base.install.server)
            .arg("-instrument")
            .arg("-o")
            .arg(&binary);
        command.arg(format!(
            "--instrumentation-file={}",
            raw.join("counts").display()
        ));
        command.arg("--instrumentation-file-append-pid");
        let told = format!("{title}: BOLT puts its counters in");
        run(
            command,
            "llvm-bolt -instrument",
            &log,
            builder.cancelled,
            &mut |_| (builder.progress)(&told),
        )?;
        let install = Install {
            server: binary,
            ..base.install.clone()
        };
        let job = TrainingJob {
            install: &install,
            loader: Some(&base.install),
            training,
            environment: BTreeMap::new(),
        };
        builder
            .trainer
            .train(&job, builder.progress)
            .context("the training of the instrumented server failed")?;
        merge(bolt, &raw, &data)?;
        builder.tidy(&work);
        builder.tidy(&raw);
    }

    let usr = folder.join("prefix/usr");
    if usr.exists() {
        fs::remove_dir_all(&usr)?;
    }
    copy_folder(&base.install.basedir.join("share"), &usr.join("share"))?;
    for part in ["sbin", "lib/mysql/plugin"] {
        fs::create_dir_all(usr.join(part))?;
    }
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
    let summary =
        functions_with_profile(&output.join("\n")).check("the binary that BOLT instrumented");
    if summary.is_err() {
        // The next attempt trains anew.
        let _ = fs::remove_file(&data);
    }
    record.profile = Some(summary?);
    *record.seconds.entry("bolt".to_owned()).or_default() += began.elapsed().as_secs_f64();
    record.version = order
        .install(builder.cache, &folder)
        .context("the binary that BOLT laid out does not run")?
        .version_string;
    store::finish(&folder, &record)
}

/// One profile from those that the training's processes wrote, there whole or not at all.
fn merge(bolt: &Path, raw: &Path, to: &Path) -> Result<()> {
    let inputs = files(raw, ".fdata")?;
    let part = to.with_extension("part");
    match &inputs[..] {
        [] => bail!(
            "the server that BOLT instrumented wrote no profile into {}: did it end cleanly?",
            raw.display()
        ),
        [one] => fs::copy(raw.join(one), &part).map(drop)?,
        several => {
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
    use super::*;

    #[test]
    fn bolts_own_count_is_read() {
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
