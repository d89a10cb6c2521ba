//! What the folder of a profile holds, made from its results alone: it can be done again at any time.

use std::path::Path;

use anyhow::{Result, bail};
use niagara_model::ProfileRecord;
use niagara_profile::{Profile, StoredProfile, flame_graph, flame_graph_of_difference};
use niagara_report::{
    DiagnosedProfile, Graph, Profiles, Source, Subject, diagnosed_profiles, profile_headline,
};
use niagara_store::Store;
use schemars::JsonSchema;
use serde::Serialize;

use crate::json::{self, Document, Printed};
use crate::report_output::{print_written, write_pages};
use crate::shared_args::Output;
use crate::whole_file::write;

/// What the results of a profile call themselves.
pub const KIND: &str = "profile";
/// What stands for a profile in the names of its files.
const MARKS: [&str; 2] = ["a", "b"];

/// What is printed and kept as JSON.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProfileDocument<'a> {
    /// Niagara's version.
    niagara: &'a str,
    /// The command as typed.
    command: &'a str,
    /// The sentence that a reader takes home.
    headline: String,
    /// One, or two of the same load.
    profiles: &'a [Profile],
}

impl Printed for ProfileDocument<'_> {
    const DOCUMENT: Document = Document::Profile;
}

/// The `number`th profile (from 1) as it is stored.
///
/// # Errors
/// It cannot be written as JSON.
pub fn record(number: usize, profile: &Profile) -> Result<ProfileRecord> {
    Ok(ProfileRecord {
        // The two may be of the same variant.
        subject: format!("{number}: {}", profile.variant),
        content: serde_json::to_value(StoredProfile::from(profile))?,
    })
}

/// Prints the profiles, or writes their files into `folder` again.
///
/// # Errors
/// Results that cannot be read, a folder that cannot be written to; a form that profiles do not have.
pub fn report(store: &Store, folder: &Path, output: Output) -> Result<()> {
    let study = store.study()?;
    let all = diagnosed_profiles(store)?.into_iter();
    let profiles: Vec<Profile> = all
        .map(|DiagnosedProfile { profile, .. }| profile)
        .collect();
    if profiles.is_empty() {
        bail!(
            "{} was stopped before the first profile was whole: the command to take it again is\n  {}",
            folder.display(),
            study.command
        );
    }
    let json = json::text(&ProfileDocument {
        niagara: &study.niagara_version,
        command: &study.command,
        headline: profile_headline(&profiles),
        profiles: &profiles,
    })?;
    let (graphs, page) = (graphs(&profiles)?, folder.join("report.html"));
    let subject = Subject::Profiles(Profiles {
        profiles: &profiles,
        graphs: &graphs,
        command: &study.command,
        page: Some(&page),
    });
    match output {
        Output::Printed(format) => {
            let source = Source::of(subject).with_json(json + "\n");
            print_written(&source, format, false)
        }
        Output::Files => {
            write(&folder.join("profile.json"), &json)?;
            write_pages(folder, &Source::of(subject))?;
            write_stacks(folder, &profiles)
        }
    }
}

fn write_stacks(folder: &Path, profiles: &[Profile]) -> Result<()> {
    for (index, profile) in profiles.iter().enumerate() {
        let mark = MARKS.get(index).copied().unwrap_or("c");
        let lines = |name: &str, folded: &niagara_profile::Folded, scale: f64| {
            let text: String = folded
                .lines(scale)
                .iter()
                .map(|line| format!("{line}\n"))
                .collect();
            match text.is_empty() {
                true => Ok(()),
                false => write(&folder.join(format!("{name}-{mark}.folded")), &text),
            }
        };
        lines("cpu", &profile.cpu_stacks, 1.0)?;
        lines("off-cpu-us", &profile.off_cpu_stacks, 1e6)?;
    }
    Ok(())
}

/// The flame graphs of everything that has stacks.
fn graphs(profiles: &[Profile]) -> Result<Vec<Graph>> {
    let mut graphs = Vec::new();
    for (index, profile) in profiles.iter().enumerate() {
        let of = match (profiles.len(), index) {
            (1, _) => String::new(),
            (_, 0) => format!(", A: {}", profile.variant),
            _ => format!(", B: {}", profile.variant),
        };
        if !profile.cpu_stacks.is_empty() {
            let title = format!("On CPU{of}");
            graphs.push(Graph {
                svg: flame_graph(&profile.cpu_stacks, &title, "samples")?,
                title,
                caption: "What runs: the wider a frame, the more of the server's CPU time is in it and in what it calls. Orange is the kernel.".to_owned(),
            });
        }
        if !profile.off_cpu_stacks.is_empty() {
            let title = format!("Off CPU{of}");
            graphs.push(Graph {
                svg: flame_graph(&profile.off_cpu_stacks.scaled(1e3), &title, "ms")?,
                title,
                caption: "What the threads that serve the load wait for: the wider a frame, the more time passes in it.".to_owned(),
            });
        }
    }
    if let [a, b] = profiles
        && !a.cpu_stacks.is_empty()
        && !b.cpu_stacks.is_empty()
    {
        graphs.insert(0, Graph {
                title: "On CPU, B against A".to_owned(),
                caption: "B's stacks; red frames have a larger share of the CPU time than in A, blue ones a smaller.".to_owned(),
                svg: flame_graph_of_difference(&a.cpu_stacks, &b.cpu_stacks, "On CPU, B against A", "samples")?,
            });
    }
    Ok(graphs)
}
