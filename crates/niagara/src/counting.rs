//! What the statements of a capture need, counted on a private server with a copy of the data.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use niagara_lab::{Data, Event, Observer, Origin, lever, looks_like_path};
use niagara_origin::configuration::StartConfiguration;
use niagara_origin::data::{MadeBy, database_of, image_of};
use niagara_queries::{Advice, Limits, PlanSetting, Request, advise};
use niagara_server::machine::Fingerprint;
use niagara_server::{
    Cache, Cancel, Catalog, Config, Install, LaunchSpec, ProcessSettings, get, hold_server, launch,
    layout_of,
};

/// The server when none is named and the data do not say theirs.
const DEFAULT_SERVER: &str = "mariadb-10.11";
/// Share of the machine's memory that the server may take.
const MEMORY: f64 = 0.25;
/// A larger buffer pool is of no use: what is counted does not depend on it.
const MOST_MEMORY: u64 = 2 << 30;

/// What is counted, and where.
pub struct QueryCount<'a> {
    /// The capture.
    pub capture: &'a Path,
    /// The server that the copy runs on, by its name or path; none: that of the data.
    pub server: Option<&'a str>,
    /// Further folders with servers.
    pub servers: &'a [PathBuf],
    /// The user's configuration.
    pub origin: &'a Origin,
    /// The user's data.
    pub data: &'a Data,
    /// How long counting may take.
    pub budget: Duration,
    /// How long it may take while no index is found that pays; not below `budget`.
    pub none_pays: Duration,
    /// What the set of indexes may be.
    pub limits: Limits,
    /// Further folders with levers, whose settings of the optimizer are counted with.
    pub levers: &'a [PathBuf],
    /// Whether those are counted with the set of indexes there.
    pub settings_with_set: bool,
}

/// What counting found, on which server, in which database.
pub struct QueryFindings {
    /// What was found.
    pub advice: Advice,
    /// The server's name or path.
    pub server: String,
    /// The database; empty where the data have several.
    pub database: String,
}

impl QueryCount<'_> {
    /// Starts the server on a copy, and counts there.
    ///
    /// # Errors
    /// A server or data that cannot be had; the capture cannot be read; stopped.
    pub fn count(
        &self,
        (cache, cancel): (&Cache, &Cancel),
        observer: &mut dyn Observer,
    ) -> Result<QueryFindings> {
        let (origin, data) = (self.origin, self.data);
        let mut tell = |text: &str| observer.see(Event::SettingUp(text));
        let catalog = Catalog::load(self.servers)?;
        let name = match self.server {
            Some(name) => name.to_owned(),
            None => server_of(data.source.made_by, &catalog),
        };
        let (install, _held) = match looks_like_path(&name) {
            true => (Install::from_path(Path::new(&name))?, None),
            false => {
                let install = get(cache, catalog.get(&name)?, &mut tell)?;
                (install, Some(hold_server(cache, &name)?))
            }
        };
        let machine = Fingerprint::read(&cache.work()?);
        let config = config(origin, &install, &machine, cache)?;
        let mut layout = layout_of(&config);
        let plugins = config.get_key_value("plugin_load_add");
        layout.extend(plugins.map(|(name, value)| (name.clone(), value.clone())));
        let image = image_of(cache, &install, &data.source, &layout, cancel, &mut tell)?;
        let databases = image.record()?.databases;
        let database = database_of(data.database.as_deref(), &databases)?.unwrap_or_default();
        let clone = cache.work_folder("clone")?;
        let datadir = clone.path().join("data");
        image.clone_until(&datadir, cancel)?;
        tell("starting a server on a copy of the data");
        let runtime = ProcessSettings::default();
        let server = launch(
            cache,
            &LaunchSpec {
                install: &install,
                datadir,
                runtime: &runtime,
                config: &config,
            },
        )?;
        let settings = plan_settings(self.levers, &install, machine)?;
        let request = Request {
            settings: &settings,
            settings_with_set: self.settings_with_set,
            capture: self.capture,
            database,
            budget: self.budget,
            none_pays: self.none_pays,
            limits: self.limits,
        };
        let advice = advise(&server, &install, &request, &mut |text| {
            cancel.check()?;
            tell(text);
            Ok(())
        })?;
        Ok(QueryFindings {
            advice,
            server: name,
            database: database.to_owned(),
        })
    }
}

/// The levers that change plans alone, by variables that a session may set.
///
/// # Errors
/// A folder of levers cannot be read.
fn plan_settings(
    folders: &[PathBuf],
    install: &Install,
    machine: Fingerprint,
) -> Result<Vec<PlanSetting>> {
    let levers = lever::load(folders)?;
    let here = lever::Context {
        named: levers.iter().map(|lever| lever.id().to_owned()).collect(),
        ..lever::Context::new(install.family, install.version, machine)
    };
    let settings = levers.iter().filter_map(|lever| {
        Some(PlanSetting {
            lever: lever.id().to_owned(),
            variables: lever.plan_variables(&here)?,
        })
    });
    Ok(settings.collect())
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
fn config(
    origin: &Origin,
    install: &Install,
    machine: &Fingerprint,
    cache: &Cache,
) -> Result<Config> {
    let memory = machine.usable_memory();
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
