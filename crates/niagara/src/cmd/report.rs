//! `niagara report`: text, Markdown, HTML, CSV, JSON from what was measured.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use niagara_check::fault_of;
use niagara_error::bail;
use niagara_lab::quantity::bytes;
use niagara_lab::{RESULTS, RESULTS_FILE};
use niagara_model::{
    DeployBuild, Deployment, Follows, NodeAccount, Summary, TargetMachine, Warning,
};
use niagara_report::{
    DEPLOY_ARCHIVE, DeployInput, DeployPlace, Files, Format, InWords, Report, Source, Subject,
    deploy_elsewhere, deploy_files, limits_in_short, may_deploy, number,
};
use niagara_server::{Cache, file_digest};
use niagara_store::Store;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cmd::build_elsewhere::build_elsewhere;
use crate::cmd::{profile, side_by_side};
use crate::command_line::{command_of_advice, command_of_another_tuning};
use crate::fail_if::FailIf;
use crate::json::{self, Document, Printed};
use crate::report_output::{print_written, write_pages};
use crate::shared_args::{Output, StudyArgs, output};
use crate::whole_file::write;

/// Text, Markdown, HTML, CSV or JSON from what was measured
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  niagara report --verbose
  niagara report niagara-results/tune-mariadb-10.11-oltp_read_only --format markdown
  niagara report niagara-results/before niagara-results/after --format html > both.html")]
pub struct ReportArgs {
    /// Folder of a study [default: the newest in niagara-results], or of two, which are put side by side
    #[arg(value_name = "DIR", num_args = 0..=2)]
    pub folders: Vec<PathBuf>,
    /// What to print; `files` writes report.html, report.md and deploy/ into the folder again
    #[arg(long, value_parser = output(), default_value = Format::Text.name())]
    pub format: Output,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// As text: everything, and why levers were not tried; of two studies, also what does not differ
    #[arg(long)]
    pub verbose: bool,
    /// With --format files: CPUs of the machine that deploy/ goes to
    ///
    /// Counts that follow the CPUs are written for it, in place of those that were measured. Lists of CPUs are left out where it has
    /// others. It is refused where nothing follows them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,
    /// With --format files: memory that the server may have there, as in 64G
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory: Option<u64>,
    /// With --format files: also what a server elsewhere is configured with
    #[arg(long = "for", value_name = "PLACE", value_enum)]
    pub place: Option<Place>,
}

/// Where a server runs that no option file on a host configures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Place {
    /// Amazon RDS or Aurora: rds.sh makes a parameter group
    Rds,
    /// ansible.yml, a playbook
    Ansible,
    /// A ConfigMap, and a patch for mariadb-operator or Percona's
    Kubernetes,
}

impl From<Place> for DeployPlace {
    fn from(place: Place) -> DeployPlace {
        match place {
            Place::Rds => DeployPlace::Rds,
            Place::Ansible => DeployPlace::Ansible,
            Place::Kubernetes => DeployPlace::Kubernetes,
        }
    }
}

/// Where deploy/ goes to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Target {
    /// The machine.
    pub machine: TargetMachine,
    /// What configures the server there; none: a file on its host.
    pub place: Option<DeployPlace>,
}

impl ReportArgs {
    /// What is to be made.
    pub fn output(&self) -> Output {
        match self.json {
            true => Output::Printed(Format::Json),
            false => self.format,
        }
    }

    /// Where deploy/ goes to.
    ///
    /// # Errors
    /// It is told, and no deploy/ is written.
    fn target(&self) -> Result<Target> {
        let target = Target {
            machine: TargetMachine {
                cpus: self.cpus,
                memory: self.memory,
            },
            place: self.place.map(DeployPlace::from),
        };
        if target != Target::default() && self.output() != Output::Files {
            bail!(
                "--cpus, --memory and --for are for deploy/, which is not written";
                remedy: "add --format files"
            );
        }
        Ok(target)
    }
}

pub fn run(args: ReportArgs) -> Result<ExitCode> {
    let output = args.output();
    let target = args.target()?;
    if let [first, second] = args.folders.as_slice() {
        let both = [
            (first.as_path(), opened(first)?),
            (second.as_path(), opened(second)?),
        ];
        for (folder, store) in &both {
            if store.study()?.kind == profile::kept::KIND {
                bail!(
                    "{} holds a profile, not a study: `niagara profile A B` profiles two variants side by side",
                    folder.display()
                );
            }
        }
        let Output::Printed(format) = output else {
            bail!(
                "--format files is for one study";
                remedy: "of two there are text, markdown, html and json, as in\n  \
                 niagara report {} {} --format html > both.html",
                first.display(),
                second.display()
            );
        };
        side_by_side::print(both, format, args.verbose)?;
        return Ok(ExitCode::SUCCESS);
    }
    let folder = match args.folders.into_iter().next() {
        Some(folder) => folder,
        None => newest()?,
    };
    let store = opened(&folder)?;
    if store.study()?.kind == profile::kept::KIND {
        profile::kept::report(&store, &folder, output)?;
        return Ok(ExitCode::SUCCESS);
    }
    let takes_summary = match output {
        Output::Printed(format) => format.takes_summary(),
        Output::Files => true,
    };
    if takes_summary && store.summary()?.is_none() {
        let (kept, command) = (store.duels()?.len(), store.study()?.command);
        let folder = folder.display();
        match kept {
            0 => bail!(
                "{folder}: nothing was measured: the study ended before its first duel";
                remedy: "begin again, which tells why where it cannot be measured:\n  {command}"
            ),
            kept => bail!(
                "{folder} was stopped before there was anything to sum up ({} kept)", number::count(kept, "duel");
                remedy: "continue it:\n  {command}"
            ),
        }
    }
    match output {
        Output::Printed(format) => {
            let shown = Shown {
                format,
                verbose: args.verbose,
                failed: None,
            };
            print_result(&store, &folder, shown)?;
        }
        Output::Files => write_files(&folder, &store, &target)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The results in a study's folder.
fn opened(folder: &Path) -> Result<Store> {
    let file = folder.join(RESULTS_FILE);
    if !file.exists() {
        bail!(
            "{} holds no study: {RESULTS_FILE} is not there",
            folder.display();
            remedy: "name a folder that `niagara tune` or `niagara compare` wrote"
        );
    }
    Ok(Store::open_read_only(&file)?)
}

/// Writes report.html and report.md into the study's folder, and deploy/ where something was proven. All of it comes
/// from the results alone, so that it can be done again at any time, and for another `target`.
pub fn write_files(folder: &Path, store: &Store, target: &Target) -> Result<()> {
    let mut report = Report::load(store)?;
    if let Some(summary) = &mut report.summary {
        let header = summary.header_mut();
        let deployment = header.deployment.take();
        follows(deployment.as_ref(), &target.machine)?;
        header.deployment = deployment.map(|found| found.for_machine(&target.machine));
    }
    write_pages(folder, &Source::from(&report))?;
    let Some(summary) = report.summary.as_ref().filter(|s| may_deploy(s)) else {
        return nothing_for(target.place);
    };
    let deploy = folder.join("deploy");
    match DeployInput::of(summary) {
        Some(input) => {
            // A check that was made by itself since then may have found what those before the hand-over did not.
            let sha256 = input
                .variant
                .built
                .as_ref()
                .and_then(|it| it.sha256.as_ref());
            if let Some(sha256) = sha256
                && let Some(finding) = fault_of(&Cache::open()?, sha256)
            {
                write_deploy(&deploy, &[], None)?;
                bail!(
                    "the built server failed a check since it was handed over ({finding}), so {} was taken away",
                    deploy.display();
                    remedy: "leave that build out (--without), or build and check it anew; where it was already put to use, go back as \
                     its README.md said"
                );
            }
            // What was packed before stays until it is packed anew, if it is of the same build: that may not be here any more.
            let recipe = std::fs::read_to_string(deploy.join(niagara_report::DEPLOY_RECIPE));
            let built = input.variant.built.as_ref();
            let packed = built
                .filter(|built| recipe.is_ok_and(|packed| packed == built.recipe))
                .map(|_| DEPLOY_ARCHIVE);
            let mut files = niagara_report::deploy(&input);
            for place in DeployPlace::ALL {
                let elsewhere = deploy_elsewhere(&input, place);
                let is_wanted = target.place == Some(place);
                if is_wanted && elsewhere.is_empty() {
                    nothing_for(target.place)?;
                }
                // What was made for another place before is made again: it stays, and is of this result.
                let is_there = |(name, _): &(String, String)| deploy.join(name).exists();
                if is_wanted || elsewhere.iter().any(is_there) {
                    files.extend(elsewhere);
                }
            }
            write_deploy(&deploy, &files, packed)?;
            write_text_library(&deploy, &input)?;
            write_archive(&deploy, &input)
        }
        None => {
            write_deploy(&deploy, &[], None)?;
            nothing_for(target.place)
        }
    }
}

/// Refuses a machine's size that would change nothing: who names it takes the files for that machine's.
fn follows(found: Option<&Deployment>, machine: &TargetMachine) -> Result<()> {
    let told = [
        (machine.cpus.is_some(), Follows::Cpus, "--cpus", "CPUs"),
        (
            machine.memory.is_some(),
            Follows::Memory,
            "--memory",
            "memory",
        ),
    ];
    for (_, what, option, name) in told.into_iter().filter(|(is_told, ..)| *is_told) {
        if !found.is_some_and(|found| found.follows(what)) {
            bail!(
                "{option}: nothing that was proven here is known to follow the machine's {name}";
                remedy: "leave out {option}, and compare each value in deploy/ with the one that the server has"
            );
        }
    }
    Ok(())
}

/// Says that there is nothing to write for a place, where one was named.
fn nothing_for(place: Option<DeployPlace>) -> Result<()> {
    if place.is_some() {
        bail!(
            "--for: nothing that was proven here can be set there";
            remedy: "leave out --for; `niagara report` shows what was found"
        );
    }
    Ok(())
}

/// Puts the library beside the other files, where it is part of what is handed over.
fn write_text_library(deploy: &Path, input: &DeployInput) -> Result<()> {
    if !input.variant.runtime.has_huge_text() {
        return Ok(());
    }
    let path = deploy.join(niagara_server::TEXT_LIBRARY_NAME);
    std::fs::write(&path, niagara_server::TEXT_LIBRARY)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Packs the built server, where one was built and still is here, the one that was measured and checked; else the archive that
/// was packed before stays.
fn write_archive(deploy: &Path, input: &DeployInput) -> Result<()> {
    let Some(built) = &input.variant.built else {
        return Ok(());
    };
    let archive = deploy.join(DEPLOY_ARCHIVE);
    if let Some(why) = cannot_be_packed(built)? {
        if archive.exists() {
            return Ok(());
        }
        bail!(
            "{why}, so it cannot be packed into {}", archive.display();
            remedy: "niagara server build makes it again from {}; measure and check that one",
            deploy.join("recipe.json").display()
        );
    }
    // A stop while it is packed leaves the one that was there.
    let unfinished = deploy.join(format!("{DEPLOY_ARCHIVE}.unfinished"));
    let output = std::process::Command::new("tar")
        .arg("-C")
        .arg(&built.prefix)
        .arg("--owner=0")
        .arg("--group=0")
        .arg("-czf")
        .arg(&unfinished)
        .arg("usr")
        .output()
        .context("cannot run tar")?;
    if !output.status.success() {
        let _ = std::fs::remove_file(&unfinished);
        bail!(
            "cannot pack the built server into {}: {}",
            archive.display(),
            String::from_utf8_lossy(&output.stderr).trim();
            remedy: "mend that (make room, say), then: niagara report {} --format files",
            deploy.parent().unwrap_or(deploy).display()
        );
    }
    std::fs::rename(&unfinished, &archive)
        .with_context(|| format!("cannot write {}", archive.display()))
}

/// Why the build in its folder is not the one that was measured and checked: it is gone, or was made again since, which gives another
/// binary where it was trained anew.
fn cannot_be_packed(built: &DeployBuild) -> Result<Option<String>> {
    let prefix = built.prefix.display();
    let binary = built.prefix.join(&built.binary);
    if !binary.is_file() {
        return Ok(Some(format!(
            "the built server is not in {prefix} any more"
        )));
    }
    let Some(checked) = &built.sha256 else {
        return Ok(None);
    };
    let is_another = file_digest(&binary)? != *checked;
    Ok(is_another.then(|| {
        format!("the server in {prefix} was built again and is not the binary that was measured and checked")
    }))
}

/// Writes `files` and removes what an earlier sitting made beside them, but for `kept`: nothing that was not proven is handed
/// over. What the user put there stays.
fn write_deploy(folder: &Path, files: &[(String, String)], kept: Option<&str>) -> Result<()> {
    for (name, content) in files {
        write(&folder.join(name), content)?;
    }
    for name in deploy_files() {
        if kept == Some(name) || files.iter().any(|(written, _)| written == name) {
            continue;
        }
        let path = folder.join(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", path.display()));
            }
            _ => {}
        }
    }
    // Only an empty folder goes.
    let _ = std::fs::remove_dir(folder);
    Ok(())
}

/// How a result is printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shown {
    /// In this format.
    pub format: Format,
    /// On a terminal: everything; else one screen.
    pub verbose: bool,
    /// The condition at which the command fails, where it holds.
    pub failed: Option<FailIf>,
}

impl Shown {
    /// As the options of a study ask for it.
    pub fn asked(args: &StudyArgs) -> Self {
        Self {
            format: match args.json {
                true => Format::Json,
                false => Format::Text,
            },
            verbose: args.verbose,
            failed: None,
        }
    }
}

/// A warning with its code and fields, and in words.
#[derive(Serialize, JsonSchema)]
struct WarningInWords {
    #[serde(flatten)]
    warning: Warning,
    /// It in words.
    text: String,
}

impl From<Warning> for WarningInWords {
    fn from(warning: Warning) -> Self {
        Self {
            text: warning.to_string(),
            warning,
        }
    }
}

/// The summary as other programs read it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Study {
    /// The one sentence that a reader takes home.
    headline: String,
    /// Without its warnings.
    #[serde(flatten)]
    summary: Summary,
    /// What a reader must know before believing the figures: the warnings of the summary, and those that follow from it.
    warnings: Vec<WarningInWords>,
    /// What the summary has as codes and figures, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_words: Option<InWords>,
    /// What nodes were held for, where there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes_held: Option<NodeAccount>,
}

impl Printed for Study {
    const DOCUMENT: Document = Document::Report;
}

/// How this program was called, so that a command that is printed can be typed: `target/quick/niagara` after `make tune`.
fn called() -> String {
    let name = std::env::args_os().next().map(PathBuf::from);
    match name {
        Some(path) if path.components().count() > 1 => path.display().to_string(),
        _ => env!("CARGO_PKG_NAME").to_owned(),
    }
}

/// The summary as other programs read it.
fn json_of(summary: &Summary, report: &Report) -> Result<String> {
    let mut alone = summary.clone();
    alone.header_mut().warnings.clear();
    let study = Study {
        headline: niagara_report::headline(summary),
        summary: alone,
        warnings: niagara_report::warnings(summary)
            .into_iter()
            .map(WarningInWords::from)
            .collect(),
        in_words: InWords::of(summary),
        nodes_held: report.nodes_held.clone(),
    };
    Ok(json::text(&study)? + "\n")
}

/// Where the files of a study are.
fn files_of(summary: &Summary, store: &Store, folder: &Path) -> Result<Files> {
    let deploy = folder.join("deploy");
    let builds = match summary {
        Summary::Tune(tune) => build_elsewhere(tune, &niagara_lab::lever::load(&[])?),
        _ => None,
    };
    let command = match summary {
        Summary::Tune(_) => command_of_another_tuning(&store.study()?.command, &called()),
        _ => None,
    };
    let advice = match summary {
        Summary::Tune(tune) => {
            command_of_advice(&store.study()?.command, &called(), &tune.header.server)
        }
        _ => None,
    };
    Ok(Files {
        report: folder.join("report.html"),
        deploy: deploy.is_dir().then_some(deploy),
        results: folder.join(RESULTS_FILE),
        program: called(),
        named: (!newest().is_ok_and(|newest| newest == folder))
            .then(|| folder.display().to_string()),
        builds,
        command,
        advice,
    })
}

/// A result on standard output; on a terminal also where the files are.
pub fn print_result(store: &Store, folder: &Path, shown: Shown) -> Result<()> {
    let report = Report::load(store)?;
    let limits = limits_in_short(&report.profiles, shown.verbose);
    let summary = report.summary.as_ref();
    let files = summary.map(|summary| files_of(summary, store, folder));
    let files = files.transpose()?;
    let study = niagara_report::Study::of(&report).with_files(files.as_ref(), &limits);
    let failed = shown.failed.map(|condition| condition.to_string());
    let mut source = Source::of(Subject::Study(study)).with_failed(failed);
    if let Some(summary) = summary {
        source = source.with_json(json_of(summary, &report)?);
    }
    print_written(&source, shown.format, shown.verbose)
}

/// The folder under `niagara-results` that was written last.
pub fn newest() -> Result<PathBuf> {
    let entries = std::fs::read_dir(RESULTS).with_context(|| {
        format!("there is no folder {RESULTS} here: name the folder of a study")
    })?;
    entries
        .flatten()
        .filter_map(|entry| {
            let changed = std::fs::metadata(entry.path().join(RESULTS_FILE))
                .and_then(|metadata| metadata.modified())
                .ok()?;
            Some((changed, entry.path()))
        })
        .max()
        .map(|(_, path)| path)
        .with_context(|| format!("no study in {RESULTS}: name the folder of one"))
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;
    use niagara_model::TargetSize;

    use super::*;

    /// Whoever names a machine takes the files for its own.
    #[test]
    fn a_machine_that_nothing_follows_is_refused() {
        let cpus = TargetMachine {
            cpus: Some(64),
            memory: None,
        };
        let memory = TargetMachine {
            cpus: None,
            memory: Some(64 << 30),
        };
        let mut found = Deployment::default();
        for (machine, option) in [(&cpus, "--cpus: "), (&memory, "--memory: ")] {
            for found in [None, Some(&found)] {
                let refused = follows(found, machine).expect_err("nothing follows it");
                let told = refused.explain().to_string();
                assert!(told.contains(option) && told.contains("remedy: "), "{told}");
            }
        }
        assert!(follows(None, &TargetMachine::default()).is_ok());
        found.sizes.push(TargetSize {
            variable: "thread_pool_size".to_owned(),
            follows: Follows::Cpus,
            measured: "4".to_owned(),
            here: 2,
            at: Vec::new(),
            target: None,
        });
        assert!(follows(Some(&found), &cpus).is_ok());
        assert!(follows(Some(&found), &memory).is_err());
    }

    #[test]
    fn an_archive_outlives_the_build_that_it_was_packed_from() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let (prefix, deploy) = (folder.path().join("prefix"), folder.path().join("deploy"));
        std::fs::create_dir_all(prefix.join("usr/sbin"))?;
        std::fs::write(prefix.join("usr/sbin/mariadbd"), "program")?;
        std::fs::create_dir(&deploy)?;
        let input = DeployInput {
            variant: Deployment {
                built: Some(DeployBuild {
                    prefix: prefix.clone(),
                    binary: "usr/sbin/mariadbd".into(),
                    one_line: "gcc".into(),
                    recipe: "{}".into(),
                    releases: None,
                    sha256: Some(file_digest(&prefix.join("usr/sbin/mariadbd"))?),
                }),
                ..Deployment::default()
            },
            ..DeployInput::default()
        };
        write_archive(&deploy, &input)?;
        let archive = deploy.join(DEPLOY_ARCHIVE);
        let packed = std::fs::read(&archive)?;
        // Built again, it is another binary, which nobody checked.
        std::fs::write(prefix.join("usr/sbin/mariadbd"), "another program")?;
        write_archive(&deploy, &input)?;
        assert_eq!(std::fs::read(&archive)?, packed);
        std::fs::remove_file(&archive)?;
        let another = write_archive(&deploy, &input).expect_err("another binary");
        assert!(
            another.explain().to_string().contains("remedy: "),
            "{another}"
        );
        std::fs::write(&archive, &packed)?;
        std::fs::remove_dir_all(&prefix)?;
        write_deploy(
            &deploy,
            &niagara_report::deploy(&input),
            Some(DEPLOY_ARCHIVE),
        )?;
        write_archive(&deploy, &input)?;
        assert_eq!(std::fs::read(&archive)?, packed);
        // Nothing proven any more: nothing is handed over.
        write_deploy(&deploy, &[], None)?;
        assert!(!archive.exists());
        std::fs::create_dir_all(&deploy)?;
        let gone = write_archive(&deploy, &input).expect_err("no build and no archive");
        assert!(gone.explain().to_string().contains("remedy: "), "{gone}");
        Ok(())
    }
}
