//! `niagara server build`: servers from source, and the store that keeps them.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use niagara_build::{
    BuildKind, BuildRecord, BuildStore, Built, Recipe, StoredBuild, Unreadable, check_build_setting,
};
use niagara_error::{bail, remedy_line};
use niagara_lab::{
    BuildOptions, BuiltOnNodes, Event, FleetOptions, Inventory, Observer, ServerRecipe, build,
    build_on_nodes,
};
use niagara_report::number;
use niagara_server::Cancel;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::{BuildArgs, BuildVerb};
use crate::clock::clock;
use crate::cmd::package_files;
use crate::interrupt::on_ctrl_c;
use crate::json::{self, Document, Listed, Printed};
use crate::progress::Terminal;

pub fn run(
    inventory: &Inventory,
    args: BuildArgs,
    fleet: Option<&FleetOptions>,
) -> Result<ExitCode> {
    let store = BuildStore::new(&inventory.cache);
    match &args.verb {
        None => return make(inventory, &args, fleet),
        Some(BuildVerb::List { json }) => list(&store, *json)?,
        Some(BuildVerb::Package { key, to }) => package_files::write(&store, key, to)?,
        Some(BuildVerb::Remove { keys }) => {
            for key in keys {
                say!("{key}: removed, {} freed", megabytes(store.remove(key)?));
            }
        }
        Some(BuildVerb::Gc { unused_for, all }) => {
            let unused_for = if *all { Duration::ZERO } else { *unused_for };
            collect(&store, unused_for, *all)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Removes what was not used for this long, and with `all` what ccache keeps.
fn collect(store: &BuildStore, unused_for: Duration, all: bool) -> Result<()> {
    let collected = store.gc(unused_for)?;
    let ccache = match all {
        true => store.clear_ccache()?,
        false => Some(0),
    };
    say!(
        "removed {} and {}, {} freed",
        number::count(collected.builds, "build"),
        number::count(collected.sources, "source tree"),
        megabytes(collected.bytes + ccache.unwrap_or(0))
    );
    if collected.in_use > 0 {
        say!(
            "in use by a command right now, and kept: {}",
            number::count(collected.in_use, "build")
        );
    }
    if ccache.is_none() {
        say!("what ccache keeps stays: something is being built");
    }
    Ok(())
}

/// The recipe that the options describe.
fn recipe(args: &BuildArgs) -> Result<Recipe> {
    let mut recipe = Recipe {
        source: args.source.clone(),
        ..Recipe::default()
    };
    let mut set = |key: &str, value: &str| recipe.set(key, value);
    for (key, value) in [
        ("compiler", &args.compiler),
        ("linker", &args.linker),
        ("lto", &args.lto),
        ("bolt_profile", &args.bolt_profile),
    ] {
        if let Some(value) = value {
            set(key, value)?;
        }
    }
    for (key, values) in [
        ("flags", &args.flags),
        ("c_flags", &args.c_flags),
        ("cxx_flags", &args.cxx_flags),
        ("link_flags", &args.link_flags),
        ("patches", &args.patch),
        ("static_libraries", &args.static_libraries),
        // One list, however often it is written.
        ("pgo", &joined(&args.pgo)),
        ("bolt", &joined(&args.bolt)),
    ] {
        for value in values {
            set(key, value)?;
        }
    }
    for (name, value) in &args.cmake {
        set(&format!("cmake.{name}"), value)?;
    }
    for key in ["pgo", "bolt"] {
        let is_trained = match key {
            "pgo" => recipe.pgo.is_some(),
            _ => recipe.bolt.is_some(),
        };
        for (part, value) in training_settings(args).into_iter().filter(|_| is_trained) {
            let name = format!("{key}.{part}");
            check_build_setting(&name, &value, Path::new(""))?;
            recipe.set(&name, &value)?;
        }
    }
    if args.pgo_contexts {
        recipe.set("pgo.contexts", "yes")?;
    }
    for (key, workloads) in [("pgo", joined(&args.pgo)), ("bolt", joined(&args.bolt))] {
        for list in &workloads {
            check_build_setting(key, list, Path::new(""))?;
        }
    }
    Ok(recipe)
}

/// Lists of workloads as one; nothing where there is none.
fn joined(lists: &[String]) -> Vec<String> {
    match lists {
        [] => Vec::new(),
        lists => vec![lists.join(",")],
    }
}

/// How it is trained, by the parts of a training.
fn training_settings(args: &BuildArgs) -> Vec<(String, String)> {
    let text = |number: Option<u64>| number.map(|number| number.to_string());
    let here = args.train_here.then(|| "yes".to_owned());
    let one = [
        ("threads", text(args.train_threads.map(u64::from))),
        ("seconds", text(args.train_seconds.map(u64::from))),
        ("tables", text(args.train_tables.map(u64::from))),
        ("table_size", text(args.train_table_size)),
        ("here", here),
        ("part", args.train_part.clone()),
        ("tables_of", args.tables_of.clone()),
        ("data", args.data.clone()),
        ("schema", args.schema.clone()),
    ];
    let one = one
        .into_iter()
        .filter_map(|(part, value)| Some((part.to_owned(), value?)));
    let set = args.train_set.iter();
    one.chain(set.map(|(name, value)| (format!("set.{name}"), value.clone())))
        .collect()
}

fn make(inventory: &Inventory, args: &BuildArgs, fleet: Option<&FleetOptions>) -> Result<ExitCode> {
    if args.keep && fleet.is_some() {
        bail!(
            "--keep keeps the folders of builds that are made here, and --on has nodes build";
            remedy: "leave one of them out"
        );
    }
    let recipe = recipe(args)?;
    let cancel = on_ctrl_c()?;
    let mut terminal = Terminal::new(Duration::ZERO);
    let began = Instant::now();
    let options = BuildOptions {
        jobs: args.jobs,
        keep: args.keep,
        refresh_source: args.refresh_source,
    };
    let wanted = ServerRecipe {
        server: args.server.clone(),
        recipe,
    };
    let built = made(inventory, &wanted, options, fleet, &cancel, &mut terminal);
    terminal.finish();
    let (built, on_nodes) = built?;
    if args.json {
        json::print(&BuildLine::of(&built.build))?;
        return Ok(ExitCode::SUCCESS);
    }
    let record = &built.build.record;
    say!(
        "{} {} ({})",
        args.server,
        built.install.version_string,
        record.recipe.one_line()
    );
    say!("  {}", built.install.server.display());
    say!(
        "  key {}, from {}, {}",
        record.key,
        record.source,
        record.toolchain.compiler
    );
    let trained = record.recipe.trained_on_in_words();
    if !trained.is_empty() {
        let trained: Vec<String> = trained.into_iter().collect();
        say!("  trained on {}", trained.join(", "));
    }
    if let Some(profile) = &record.profile {
        match &record.shipped {
            Some(source) => {
                say!("  profile: comes with the program, counted on {source}: {profile}")
            }
            None => say!("  profile: {profile}"),
        }
    }
    if let Some(line) = on_nodes.first() {
        say!("  {line}");
        return Ok(ExitCode::SUCCESS);
    }
    match built.was_there {
        true => say!("  was there already"),
        false => say!("  took {}", clock(began.elapsed())),
    }
    Ok(ExitCode::SUCCESS)
}

/// The build, made here or by nodes; what those say of it.
fn made(
    inventory: &Inventory,
    wanted: &ServerRecipe,
    options: BuildOptions,
    fleet: Option<&FleetOptions>,
    cancel: &Cancel,
    terminal: &mut Terminal,
) -> Result<(Built, Vec<String>)> {
    let on_nodes = match fleet {
        Some(fleet) => build_on_nodes(
            fleet,
            inventory,
            std::slice::from_ref(wanted),
            options,
            cancel,
            terminal,
        )?,
        None => BuiltOnNodes::default(),
    };
    if let Some((what, why)) = on_nodes.failed.first() {
        let told = why.clone().with_cause(|cause| format!("{what}: {cause}"));
        return Err(told.into());
    }
    let mut show = |text: &str| terminal.see(Event::SettingUp(text));
    let built = build(
        &inventory.cache,
        &inventory.catalog,
        &wanted.server,
        &wanted.recipe,
        options,
        cancel,
        &mut show,
    )?;
    Ok((built, on_nodes.built))
}

/// A build and what it takes.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BuildLine<'a> {
    #[serde(flatten)]
    record: &'a BuildRecord,
    /// Where it is.
    folder: &'a Path,
    /// Whether it was made to its end: else the same command continues it.
    finished: bool,
    /// What it takes on disk.
    bytes: u64,
}

impl Printed for BuildLine<'_> {
    const DOCUMENT: Document = Document::Build;
}

/// A folder without a record that can be read, as JSON.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UnreadableBuild<'a> {
    /// The name of its folder.
    key: &'a str,
    /// Where it is.
    folder: &'a Path,
    /// What it takes on disk.
    bytes: u64,
    /// Why it cannot be read.
    unreadable: &'a str,
}

/// A folder of the store of builds.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum KeptBuild<'a> {
    /// With its record.
    Readable(&'a BuildLine<'a>),
    /// Without.
    Unreadable(&'a UnreadableBuild<'a>),
}

impl Listed for KeptBuild<'_> {
    const DOCUMENT: Document = Document::Builds;
}

impl<'a> UnreadableBuild<'a> {
    fn of(found: &'a Unreadable) -> Self {
        Self {
            key: &found.key,
            folder: &found.folder,
            bytes: found.bytes(),
            unreadable: &found.cause,
        }
    }
}

impl<'a> BuildLine<'a> {
    fn of(build: &'a StoredBuild) -> Self {
        Self {
            record: &build.record,
            folder: &build.folder,
            finished: build.finished,
            bytes: build.bytes(),
        }
    }
}

fn list(store: &BuildStore, json: bool) -> Result<()> {
    let builds = store.list()?;
    let unreadable = store.unreadable();
    let lines: Vec<BuildLine> = builds.iter().map(BuildLine::of).collect();
    let broken: Vec<UnreadableBuild> = unreadable.iter().map(UnreadableBuild::of).collect();
    if json {
        let readable = lines.iter().map(KeptBuild::Readable);
        let unreadable = broken.iter().map(KeptBuild::Unreadable);
        let all: Vec<KeptBuild> = readable.chain(unreadable).collect();
        json::print_list(&all)?;
        return Ok(());
    }
    for line in &lines {
        let record = line.record;
        let what = match record.kind {
            BuildKind::Server => record.recipe.one_line(),
            BuildKind::Instrumented => {
                format!("instrumented server of {}", record.recipe.one_line())
            }
            BuildKind::Profile => format!("profile of {}", record.recipe.one_line()),
        };
        // A tree of the user's is a part of the recipe.
        let package = match record.recipe.source {
            Some(_) => String::new(),
            None => format!(", from {}", record.source),
        };
        let state = match line.finished {
            true => spent(record),
            false => "half-finished: the same command continues it".to_owned(),
        };
        say!(
            "{}  {:<14} {}, {state}\n                  {what}{package}",
            record.key,
            record.server,
            megabytes(line.bytes)
        );
    }
    for it in &broken {
        say!(
            "{}  {}, unreadable: {}\n                  {}",
            it.key,
            megabytes(it.bytes),
            it.unreadable,
            remedy_line(format_args!("niagara server build remove {}", it.key))
        );
    }
    let builds = lines.iter().map(|line| line.bytes);
    let builds: u64 = builds.chain(broken.iter().map(|it| it.bytes)).sum();
    say!(
        "\n{}, {}; sources {}; ccache {}; in {}\n`niagara server build remove KEY` and `gc` free parts of it",
        number::count(lines.len(), "build"),
        megabytes(builds),
        megabytes(store.source_bytes()),
        megabytes(store.ccache_bytes()),
        store.root().display()
    );
    Ok(())
}

/// What a build took: `18:20 (34:05 of CPU time)`.
fn spent(record: &BuildRecord) -> String {
    let text = |seconds: f64| clock(Duration::from_secs_f64(seconds));
    let wall = text(record.all_seconds());
    let cpu: f64 = record.cpu_seconds.values().sum();
    match cpu > 0.0 {
        true => format!("{wall} ({} of CPU time)", text(cpu)),
        false => wall,
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use niagara_build::StaticLibrary;

    use super::*;
    use crate::args::{Cli, Command, ServerVerb};

    /// The recipe of this command line.
    fn asked(arguments: &[&str]) -> Recipe {
        let line = ["niagara", "server", "build"].iter().chain(arguments);
        let Some(Command::Server(args)) = Cli::try_parse_from(line).expect("valid").command else {
            panic!("a server");
        };
        let ServerVerb::Build(args) = args.verb else {
            panic!("a build");
        };
        recipe(&args).expect("a recipe")
    }

    #[test]
    fn two_rounds_are_of_the_compilers_profile_alone() {
        let clang = [
            "--compiler",
            "clang",
            "--pgo",
            "oltp_insert",
            "--bolt",
            "tpcc",
        ];
        let one = asked(&clang);
        let two = asked(&[&clang[..], &["--pgo-contexts"]].concat());
        let contexts = |recipe: &Recipe| {
            let trainings = [&recipe.pgo, &recipe.bolt];
            trainings.map(|training| training.as_ref().is_some_and(|it| it.contexts))
        };
        assert_eq!(contexts(&one), [false, false]);
        assert_eq!(contexts(&two), [true, false]);
        let alone = [
            "niagara",
            "server",
            "build",
            "--bolt",
            "tpcc",
            "--pgo-contexts",
        ];
        assert!(Cli::try_parse_from(alone).is_err(), "two rounds of what?");
    }

    #[test]
    fn help_names_every_library_that_can_be_linked_in() {
        let error = Cli::try_parse_from(["niagara", "server", "build", "--help"]);
        let help = error.expect_err("help").to_string();
        for library in StaticLibrary::WORDS {
            assert!(help.contains(library), "{library}: {help}");
        }
    }
}
