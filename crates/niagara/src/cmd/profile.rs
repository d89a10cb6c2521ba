//! `niagara profile A [B]`: where the time goes, lock by lock and call by call.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use niagara_lab::{Event, Observer, ProfileOptions, View, Workbench, profile};
use niagara_profile::symbols::DebugFolders;
use niagara_profile::{Profile, flame_graph, flame_graph_of_difference};
use niagara_report::{Graph, profile_headline, profile_html, profile_markdown, profile_text};
use serde::Serialize;

use crate::args::{LoadArgs, duration};
use crate::cmd::compare::variant;
use crate::interrupt::{exit_code, on_ctrl_c};
use crate::outdir::{RESULTS, file_name};
use crate::progress::Terminal;
use crate::setting::{Setting, command_line, load, write};

/// The version of the JSON document.
const FORMAT: u32 = 1;

/// Where does the time go? CPU, waiting, system calls, locks, allocations
///
/// Starts a private server as `compare` does, drives load on it and looks at it in one way after another; each view is
/// on in every other slice of load, so that its cost is known. With B, the two are set side by side, and the report says
/// what explains the change. The folder then holds report.html with flame graphs, report.md, profile.json and the stacks.
#[derive(Debug, Args)]
#[command(after_help = "Views:
  cpu          what runs: flame graph, functions, share by layer (perf events; as root with the kernel's part)
  off-cpu      what threads wait for: flame graph, reasons, locks by call site (perf events with the kernel)
  syscalls     system calls per query, with time (tracepoints: root)
  locks        named locks of the server, rows and tables waited for (SQL: any user)
  allocations  calls and bytes per query by call site, pairs within a query (any user)

Examples:
  niagara profile mariadb-10.11 --workload oltp_point_select
  niagara profile base transport=unix --workload oltp_point_select
  niagara profile malloc=jemalloc --views cpu,allocations --seconds 30")]
pub struct ProfileArgs {
    /// What to look at: a server, or changes to one, as in `niagara compare`
    #[arg(value_name = "A", default_value = "base")]
    pub a: String,
    /// What to set beside it
    #[arg(value_name = "B")]
    pub b: Option<String>,
    /// The server that `base` and bare changes speak of
    #[arg(long, default_value = "mariadb-10.11")]
    pub server: String,
    #[command(flatten)]
    pub load: LoadArgs,
    /// What to look at, comma-separated [default: all]
    #[arg(long, value_delimiter = ',', value_name = "VIEW")]
    pub views: Vec<View>,
    /// Load for each view, half of it with the view on
    #[arg(long, default_value = "12s", value_parser = duration)]
    pub seconds: Duration,
    /// Length of a slice of load
    #[arg(long, default_value = "500ms", value_parser = duration)]
    pub slice: Duration,
    /// Load before anything is looked at
    #[arg(long, default_value = "3s", value_parser = duration)]
    pub warm_up: Duration,
    /// Do not fetch symbols from the distribution's debug packages
    #[arg(long)]
    pub no_symbols: bool,
    /// Folder for the report [default: niagara-results/profile-…]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seed of every random choice
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Further folders with levers (`*.toml`)
    #[arg(long, value_name = "DIR")]
    pub levers: Vec<PathBuf>,
    /// Further folders with servers (`*.toml`)
    #[arg(long, value_name = "DIR")]
    pub servers: Vec<PathBuf>,
    /// Print the profile as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// What is printed and kept.
#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    niagara: &'a str,
    command: String,
    headline: String,
    profiles: &'a [Profile],
}

pub fn run(args: ProfileArgs) -> Result<ExitCode> {
    let cancel = on_ctrl_c()?;
    let setting = Setting::open(&args.servers, &args.levers)?;
    let load = load(&args.load)?;
    let folder = folder(&args)?;
    let views = match args.views.is_empty() {
        true => View::ALL.to_vec(),
        false => args.views.clone(),
    };
    let texts: Vec<&String> = std::iter::once(&args.a).chain(&args.b).collect();
    let budget = args.warm_up + args.seconds * views.len() as u32;
    let mut terminal = Terminal::new(budget * texts.len() as u32);
    let mut bench = setting.workbench(load.clone(), cancel.clone());
    let mut variants = Vec::new();
    for text in texts {
        variants.push(variant(
            text,
            &args.server,
            &setting,
            &mut bench,
            &mut terminal,
        )?);
    }
    let mut profiles = Vec::new();
    for variant in &variants {
        let (symbols, missing) = symbols(&args, &setting, &bench, &variant.server, &mut terminal)?;
        let options = ProfileOptions {
            views: views.clone(),
            seconds: args.seconds.as_secs_f64(),
            slice_seconds: args.slice.as_secs_f64(),
            warm_up_seconds: args.warm_up.as_secs_f64(),
            symbols,
            seed: args.seed,
        };
        terminal.line(&format!("{}; {}", variant.label(), load.one_line()));
        let found = profile(&bench, variant, &options, &mut terminal);
        match found {
            Ok(mut found) => {
                found.missing.extend(missing);
                profiles.push(found);
            }
            Err(error) if cancel.is_cancelled() && !profiles.is_empty() => {
                terminal.line(&format!("{error:#}"));
                break;
            }
            Err(error) => {
                terminal.finish();
                return Err(error.context(format!("cannot profile {}", variant.label())));
            }
        }
    }
    terminal.finish();
    let document = Document {
        format: FORMAT,
        niagara: env!("CARGO_PKG_VERSION"),
        command: command_line(),
        headline: profile_headline(&profiles),
        profiles: &profiles,
    };
    let json = serde_json::to_string_pretty(&document)?;
    write_files(&folder, &profiles, &document.command, &json)?;
    if args.json {
        println!("{json}");
    } else {
        print!("{}", profile_text(&profiles));
        println!("\nreport: {}", folder.join("report.html").display());
    }
    Ok(exit_code(
        cancel.is_cancelled(),
        profiles.len() == variants.len(),
    ))
}

/// A folder that is free.
fn folder(args: &ProfileArgs) -> Result<PathBuf> {
    if let Some(path) = &args.out {
        if path.join("report.html").exists() {
            bail!(
                "{} holds a report already\nremedy: name another folder with --out",
                path.display()
            );
        }
        return Ok(path.clone());
    }
    let name = match &args.b {
        Some(b) => format!("profile-{}-vs-{b}", args.a),
        None => format!("profile-{}", args.a),
    };
    let stem = file_name(&name);
    let free = (1..10_000)
        .map(|number| match number {
            1 => Path::new(RESULTS).join(&stem),
            n => Path::new(RESULTS).join(format!("{stem}-{n}")),
        })
        .find(|path| !path.exists());
    free.with_context(|| format!("{RESULTS} is full of profiles: name a folder with --out"))
}

/// Folders with symbols for what is mapped into this server: of a packaged one from its distribution, fetched where not
/// done before; of any other, what the host has.
fn symbols(
    args: &ProfileArgs,
    setting: &Setting,
    bench: &Workbench,
    server: &str,
    terminal: &mut Terminal,
) -> Result<(DebugFolders, Vec<String>)> {
    let mut folders = DebugFolders::default();
    let install = bench.install(server)?;
    let mut missing = Vec::new();
    if !args.no_symbols && !install.packages.is_empty() {
        let description = setting.catalog.get(server)?;
        let found =
            niagara_server::debug_symbols(&setting.cache, install, description, &mut |text| {
                terminal.see(Event::SettingUp(text));
            })?;
        folders.0.insert(0, found.folder);
        missing.extend(found.missing.iter().map(|package| {
            format!(
                "symbols of {package}: functions that are not exported have no name\n\
                 remedy: name an archive of debug packages in NIAGARA_DEBIAN_DEBUG_MIRROR (a URL that ends in /debian-debug)"
            )
        }));
    }
    Ok((folders, missing))
}

fn write_files(folder: &Path, profiles: &[Profile], command: &str, json: &str) -> Result<()> {
    let graphs = graphs(profiles)?;
    write(&folder.join("profile.json"), json)?;
    write(
        &folder.join("report.html"),
        &profile_html(profiles, &graphs, command),
    )?;
    write(
        &folder.join("report.md"),
        &profile_markdown(profiles, command),
    )?;
    for (index, profile) in profiles.iter().enumerate() {
        let mark = ["a", "b"].get(index).copied().unwrap_or("c");
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
