//! `niagara advise`: what the queries of a capture need.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use niagara_capture::file::CaptureReader;
use niagara_lab::quantity::bytes;
use niagara_lab::{Data, Event, Observer, Origin, looks_like_path};
use niagara_origin::configuration::StartConfiguration;
use niagara_origin::data::{MadeBy, image_of};
use niagara_queries::{Advice, Limits, Request, advise, report, schema};
use niagara_server::machine::Fingerprint;
use niagara_server::{
    Cache, Cancel, Catalog, Config, Install, LaunchSpec, Runtime, get, hold_server, launch,
    layout_of, sweep_stale,
};

use crate::interrupt::on_ctrl_c;
use crate::origin::origin;
use crate::progress::Terminal;
use crate::shared_args::{EXIT_CODES, OriginArgs, budget};
use crate::whole_file;

/// The server when none is named and the data do not say theirs.
const DEFAULT_SERVER: &str = "mariadb-10.11";
/// Share of the machine's memory that the server may take.
const MEMORY: f64 = 0.25;
/// A larger buffer pool is of no use: what is counted does not depend on it.
const MOST_MEMORY: u64 = 2 << 30;

/// What the queries need: indexes, statistics, other statements; counted on a private copy of your data
///
/// Statements that make up 95 % of the captured time are executed on a private server with a copy of the data. Rows and pages that
/// they read are counted: figures that are the same on a busy machine. Candidates for indexes are built there and judged by what
/// they save and what they cost to write; schema.sql has those that pay. Nothing is applied, and the set is counted, not
/// yet proven by duels. docs/slow.md has a walk from a slow log to an index.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
#[command(before_help = "Examples:
  niagara advise --capture shop.capture --data /backup/shop.sql.gz
  niagara advise --capture shop.capture --data /backup/shop --config /etc/mysql/my.cnf --budget 30m
  niagara advise --capture shop.capture --data shop.sql --max-indexes 3 --json")]
pub struct AdviseArgs {
    /// Captured traffic (`niagara capture`)
    #[arg(long, value_name = "CAPTURE")]
    pub capture: PathBuf,
    /// The server that the copy runs on: a name of `niagara server list`, or a path [default: that of the data, else mariadb-10.11]
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Time for looking at statements and judging indexes, excluding set-up
    #[arg(long, default_value = "10m", value_parser = budget)]
    pub budget: Duration,
    /// Indexes at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub max_indexes: usize,
    /// Space of all new indexes at most, as in 2G [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub max_index_space: Option<u64>,
    /// Folder for schema.sql and the other files [default: niagara-advice/CAPTURE]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Further folders with servers (`*.toml`)
    #[arg(long, value_name = "DIR")]
    pub servers: Vec<PathBuf>,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub origin: OriginArgs,
}

pub fn run(args: AdviseArgs) -> Result<ExitCode> {
    let origin = origin(&args.origin)?;
    let Some(data) = &origin.data else {
        bail!(
            "statements are counted on a copy of the data, and none are named\nremedy: --data with a dump, a prepared backup or a cold data directory"
        );
    };
    CaptureReader::open(&args.capture)?;
    let cancel = on_ctrl_c()?;
    let cache = Cache::open()?.stopping_with(cancel.clone());
    sweep_stale(&cache)?;
    let mut terminal = Terminal::new(Duration::ZERO);
    let advice = on_a_copy(&args, &origin, data, (&cache, &cancel), &mut terminal);
    terminal.finish();
    let advice = advice.map_err(|error| match cancel.is_cancelled() {
        true => niagara_server::Cancelled.into(),
        false => error,
    })?;
    let folder = write(&args, &advice)?;
    match args.json {
        true => say!("{}", serde_json::to_string_pretty(&advice)?),
        false => say_text!("{}", report::text(&advice, folder.as_deref())),
    }
    Ok(ExitCode::SUCCESS)
}

/// The server on a copy, and what it finds.
fn on_a_copy(
    args: &AdviseArgs,
    origin: &Origin,
    data: &Data,
    (cache, cancel): (&Cache, &Cancel),
    terminal: &mut Terminal,
) -> Result<Advice> {
    let mut tell = |text: &str| terminal.see(Event::SettingUp(text));
    let catalog = Catalog::load(&args.servers)?;
    let name = match &args.server {
        Some(name) => name.clone(),
        None => server_of(data.source.made_by, &catalog),
    };
    let (install, _held) = match looks_like_path(&name) {
        true => (Install::from_path(Path::new(&name))?, None),
        false => {
            let install = get(cache, catalog.get(&name)?, &mut tell)?;
            (install, Some(hold_server(cache, &name)?))
        }
    };
    let config = config(origin, &install, cache)?;
    let mut layout = layout_of(&config);
    let plugins = config.get_key_value("plugin_load_add");
    layout.extend(plugins.map(|(name, value)| (name.clone(), value.clone())));
    let image = image_of(cache, &install, &data.source, &layout, cancel, &mut tell)?;
    let databases = image.record()?.databases;
    let database = match (&data.database, &databases[..]) {
        (Some(asked), _) if databases.contains(asked) => asked.clone(),
        (Some(asked), _) => bail!(
            "the data have no database {asked}; there are: {}\nremedy: name one of these by --schema",
            databases.join(", ")
        ),
        (None, [only]) => only.clone(),
        (None, _) => String::new(),
    };
    let clone = cache.work_folder("clone")?;
    let datadir = clone.path().join("data");
    image.clone_until(&datadir, cancel)?;
    tell("starting a server on a copy of the data");
    let runtime = Runtime::default();
    let server = launch(
        cache,
        &LaunchSpec {
            install: &install,
            datadir,
            runtime: &runtime,
            config: &config,
        },
    )?;
    let request = Request {
        capture: &args.capture,
        database: &database,
        budget: args.budget,
        limits: Limits {
            indexes: args.max_indexes,
            bytes: args.max_index_space,
        },
    };
    advise(&server, &install, &request, &mut |text| {
        cancel.check()?;
        tell(text);
        Ok(())
    })
}

/// The server in the catalogue that the data are of.
fn server_of(made_by: Option<MadeBy>, catalog: &Catalog) -> String {
    let of_data = made_by.map(|made_by| {
        let family = match made_by.family.is_mariadb() {
            true => "mariadb",
            false => "mysql",
        };
        format!("{family}-{}", made_by.version.series())
    });
    let known = of_data.filter(|name| catalog.get(name).is_ok());
    known.unwrap_or_else(|| DEFAULT_SERVER.to_owned())
}

/// The user's configuration, with what counting needs.
fn config(origin: &Origin, install: &Install, cache: &Cache) -> Result<Config> {
    let memory = Fingerprint::read(&cache.work()?).usable_memory();
    let room = (memory as f64 * MEMORY) as u64;
    let mut config = Config::new();
    let pool = room.min(MOST_MEMORY) >> 20;
    config.insert(
        "innodb_buffer_pool_size".to_owned(),
        format!("{}M", pool.max(64)),
    );
    if let Some(source) = &origin.config {
        let scratch = cache.work_folder("config")?;
        let data = origin.data.as_ref().map(|data| &data.source);
        config.extend(StartConfiguration::of(source, data, install, room, scratch.path())?.config);
    }
    config.retain(|name, _| name != "log_bin");
    config.insert("skip_log_bin".to_owned(), String::new());
    Ok(config)
}

/// Writes the files; their folder, where there is something to hand over.
fn write(args: &AdviseArgs, advice: &Advice) -> Result<Option<String>> {
    let name = args.capture.file_stem().unwrap_or_default();
    let folder = args
        .out
        .clone()
        .unwrap_or_else(|| Path::new("niagara-advice").join(name));
    let deploy = folder.join("deploy");
    std::fs::create_dir_all(&deploy)
        .with_context(|| format!("cannot make {}", deploy.display()))?;
    let json = serde_json::to_string_pretty(advice)?;
    whole_file::write(&folder.join("advice.json"), &json)?;
    let nothing = schema::is_empty(advice);
    for (file, text) in schema::files(advice) {
        let path = deploy.join(file);
        if nothing {
            // Of an earlier run: nothing is handed over now.
            if path.exists() {
                std::fs::remove_file(&path)
                    .with_context(|| format!("cannot remove {}", path.display()))?;
            }
            continue;
        }
        whole_file::write(&path, &text)?;
    }
    Ok((!nothing).then(|| folder.display().to_string()))
}
