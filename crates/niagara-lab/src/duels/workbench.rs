//! Everything that is set up once per study: servers fetched, dataset images loaded, a place to work.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use niagara_build::{BuildStore, Forecast, InUse, Recipe, kept_as};
use niagara_capture::rewrite::RewrittenTexts;
use niagara_error::{Explain as _, anyhow, bail};
use niagara_load::{Admin, Endpoint, TableEvent, TableOptions};
use niagara_model::OriginNote;
use niagara_origin::configuration::{ServerOptions, StartConfiguration};
use niagara_origin::data::image_of;
use niagara_server::{
    Cache, Catalog, Image, ImageBounds, ImageStore, Install, LOAD_DATABASE, LaunchSpec,
    RemoteAccess, RunningServer, ServerInUse, StartingServer, TransportKind, WorkFolder,
    hold_server, layout_of, mallocs_of_this_release, with_engine,
};

use crate::client_host::ClientHost;
use crate::duels::data_change::{ChangedData, changed_image, read_changed};
use crate::duels::data_image::{check_tables, image_behind, load_database};
use crate::duels::data_notes::DataNotes;
use crate::plans::observer::{Event, Observer};
use crate::plans::spec::Load;
use crate::variants::build_time::BuildAllowance;
use crate::variants::origin::{Data, Origin};
use crate::variants::server_build::{self, BuildOptions};
use crate::variants::variant::Variant;
use niagara_build::stopped;
use niagara_server::machine::Fingerprint;
use niagara_server::{Cancel, Cancelled, FULL_BELOW};

/// Share of the memory that one of two servers may reserve at its start: the rest is for what they use besides, the load
/// generator, and the page cache.
const ROOM_OF_ONE: f64 = 0.4;

/// Memory allocators that levers bring in place of the C library's.
const OTHER_MALLOCS: [&str; 3] = ["jemalloc", "tcmalloc", "mimalloc"];

/// How long the connection may take that reads tables.
const READ_CONNECT: Duration = Duration::from_secs(60);
/// How long one table or index may: a hundred gigabytes, in no order, from a disk that turns.
const READ_STATEMENT: Duration = Duration::from_secs(6 * 3600);

/// A server that can be launched, with the data it is launched on.
struct PreparedServer {
    install: Install,
    image: Image,
    /// The database that the load is in.
    database: String,
    /// A build stays as long as the study may launch it.
    _in_use: Option<InUse>,
}

/// The servers and images of a study, and where its clones live.
pub struct Workbench {
    cache: Cache,
    catalog: Catalog,
    load: Load,
    cancel: Cancel,
    /// Where the load comes from, if not from here.
    client: Option<Arc<ClientHost>>,
    /// What of the user's own server variants start from.
    origin: Origin,
    /// By server: its configuration as that server takes it.
    starts: BTreeMap<String, StartConfiguration>,
    /// What was told of the data, by all benches of a study.
    data_notes: DataNotes,
    /// By server and build: what differs in runtime or configuration only shares one.
    prepared_servers: BTreeMap<String, PreparedServer>,
    /// By server and build: servers that another machine has set up and this one runs as they are.
    given: BTreeMap<String, Install>,
    /// By variant: what is sent in place of captured statements.
    rewritten: BTreeMap<String, Arc<RewrittenTexts>>,
    /// By name: servers that may be launched, which nobody removes meanwhile.
    in_use: BTreeMap<String, ServerInUse>,
    /// The time that there is for building; none where it is not limited.
    build_time: Option<BuildAllowance>,
}

impl Workbench {
    /// A workbench with nothing on it yet.
    pub fn new(cache: Cache, catalog: Catalog, load: Load, cancel: Cancel) -> Self {
        Self {
            cache: cache.stopping_with(cancel.clone()),
            catalog,
            load,
            cancel,
            client: None,
            origin: Origin::default(),
            starts: BTreeMap::new(),
            data_notes: DataNotes::default(),
            prepared_servers: BTreeMap::new(),
            given: BTreeMap::new(),
            rewritten: BTreeMap::new(),
            in_use: BTreeMap::new(),
            build_time: None,
        }
    }

    /// From here on servers are built for this long: one that takes longer than what is left is not to be had.
    pub(crate) fn build_within(&mut self, budget: Duration) {
        self.build_time = Some(BuildAllowance::new(budget));
    }

    /// The same with its load coming from `client`.
    #[must_use]
    pub(crate) fn loaded_from(self, client: Option<Arc<ClientHost>>) -> Self {
        Self { client, ..self }
    }

    /// The same with what of the user's own server variants start from.
    #[must_use]
    pub fn starting_from(self, origin: &Origin) -> Self {
        Self {
            origin: origin.clone(),
            ..self
        }
    }

    /// The same with what another one knows of the start.
    #[must_use]
    pub(crate) fn knowing(self, starts: &BTreeMap<String, StartConfiguration>) -> Self {
        Self {
            starts: starts.clone(),
            ..self
        }
    }

    /// The same with what others tell of the data, too.
    #[must_use]
    pub(crate) fn telling(self, data_notes: &DataNotes) -> Self {
        Self {
            data_notes: data_notes.clone(),
            ..self
        }
    }

    /// What is known of the start, by server.
    pub(crate) fn starts(&self) -> &BTreeMap<String, StartConfiguration> {
        &self.starts
    }

    /// What of the user's own server variants start from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The start's configuration as `server` takes it, once [`base`](Self::base) was asked for; none without one.
    pub(crate) fn start(&self, server: &str) -> Option<&StartConfiguration> {
        self.starts.get(server)
    }

    /// The variant that levers are applied to: `server` with the start's configuration. The server is fetched where that
    /// was not done before: it reads the configuration.
    ///
    /// # Errors
    /// Unknown server, nothing to fetch it from; a configuration that cannot be read.
    pub(crate) fn base(&mut self, server: &str, observer: &mut dyn Observer) -> Result<Variant> {
        if let (Some(source), None) = (self.origin.config.clone(), self.starts.get(server)) {
            let (install, _) = self.obtain(&Variant::base(server), observer)?;
            let scratch = self.cache.work_folder("config")?;
            let data = self.origin.data.as_ref().map(|data| &data.source);
            let mut start =
                StartConfiguration::of(&source, data, &install, self.room()?, scratch.path())?;
            observer.see(Event::SettingUp(
                "private copy: starting it with your configuration",
            ));
            start.try_out(&self.cache, &install)?;
            for note in start.notes() {
                observer.see(Event::Note(&note.to_string()));
            }
            self.starts.insert(server.to_owned(), start);
        }
        Ok(self.known_base(server))
    }

    /// The same, of a server that was asked for before.
    fn known_base(&self, server: &str) -> Variant {
        let mut base = Variant::base(server);
        if let Some(start) = self.start(server) {
            base.config.clone_from(&start.config);
            base.runtime.malloc.clone_from(&start.malloc);
        }
        base
    }

    /// Bytes that one of two servers may reserve at its start.
    fn room(&self) -> Result<u64> {
        let machine = Fingerprint::read(&self.cache.work()?);
        Ok((machine.usable_memory() as f64 * ROOM_OF_ONE) as u64)
    }

    /// From here on another flag stops what is done here.
    pub(crate) fn stopped_by(&mut self, cancel: Cancel) {
        self.cache = self.cache.clone().stopping_with(cancel.clone());
        self.cancel = cancel;
    }

    /// The folders below the cache that launching `variant` takes: its server, what that borrows from others, its image.
    ///
    /// # Errors
    /// Neither it nor one with the same server and build was set up.
    pub(crate) fn parts(&self, variant: &Variant) -> Result<Vec<String>> {
        let prepared = self.prepared(variant)?;
        let install = &prepared.install;
        let mut parts: Vec<String> = [
            install.basedir.as_path(),
            &install.server,
            prepared.image.path(),
        ]
        .into_iter()
        .chain(install.mallocs.values().map(PathBuf::as_path))
        .filter_map(|path| {
            let mut below = path.strip_prefix(self.cache.root()).ok()?.components();
            // servers/NAME, builds/KEY, images/NAME.
            let (kind, name) = (below.next()?, below.next()?);
            Some(format!(
                "{}/{}",
                kind.as_os_str().to_str()?,
                name.as_os_str().to_str()?
            ))
        })
        .collect();
        parts.sort();
        parts.dedup();
        Ok(parts)
    }

    /// The server of `variant`, for nodes to run as it is; none of one that is named by its path, which they have there themselves.
    ///
    /// # Errors
    /// Neither it nor one with the same server and build was set up.
    pub(crate) fn install_for_nodes(&self, variant: &Variant) -> Result<Option<Install>> {
        let install = self.install_of(variant)?;
        let is_staged = install.server.starts_with(self.cache.root());
        Ok(is_staged.then(|| install.clone()))
    }

    /// From here on `variant` runs the server that another machine has set up for it: what would be found or built here by the
    /// same name may be another version.
    ///
    /// # Errors
    /// It is not at its place here.
    pub(crate) fn give(&mut self, variant: &Variant, install: Install) -> Result<()> {
        if !install.server.is_file() {
            bail!(
                "there is no {} on this machine, where the study has its server\n\
                 cause: servers lie at the same path on all machines; here they are kept in {}",
                install.server.display(),
                self.cache.root().display();
                remedy: "start the worker with the study's --node-dir"
            );
        }
        let mut install = install;
        // Those of the other machine's system need not be here.
        install.mallocs.retain(|_, library| library.is_file());
        self.given.insert(station_name(variant), install);
        Ok(())
    }

    /// The host that the load comes from, if not this one.
    pub fn client(&self) -> Option<&ClientHost> {
        self.client.as_deref()
    }

    /// The flag that stops the study.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Where everything is kept.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// The servers that can be fetched or built.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The load that the images were made for.
    pub fn load(&self) -> &Load {
        &self.load
    }

    /// Fetches `server` (a catalogue name or a path) and loads its dataset image, where not done before.
    ///
    /// # Errors
    /// Unknown server, nothing to fetch it from, disk full, a load that fails.
    pub fn set_up(&mut self, server: &str, observer: &mut dyn Observer) -> Result<()> {
        let base = self.base(server, observer)?;
        self.set_up_variant(&base, observer)
    }

    /// Fetches or builds the server of `variant` and loads its dataset image, where not done before: a variant that
    /// differs in runtime or configuration only is there already.
    ///
    /// # Errors
    /// As with [`Workbench::set_up`]; a build that fails.
    pub(crate) fn set_up_variant(
        &mut self,
        variant: &Variant,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        if let Some(client) = &self.client {
            client.check(variant)?;
        }
        self.rewrite_for(variant)?;
        let prepared = station_name(variant);
        if self.prepared_servers.contains_key(&prepared) {
            return Ok(());
        }
        let given = self.given.get(&prepared).cloned();
        let is_given = given.is_some();
        let (install, in_use) = match given {
            Some(install) => (install, None),
            None => self.obtain(variant, observer)?,
        };
        self.cancel.check()?;
        if !self.in_use.contains_key(&variant.server) {
            let held = hold_server(&self.cache, &variant.server)?;
            self.in_use.insert(variant.server.clone(), held);
        }
        let load = &self.load;
        let cancel = &self.cancel;
        let key = load.dataset_key();
        if let Some(data) = &self.origin.data {
            let prepared_of = self.station_on_data(data, variant, install, in_use, observer)?;
            self.remove_unused_images(&prepared_of.image, observer);
            self.prepared_servers.insert(prepared, prepared_of);
            return Ok(());
        }
        let engine = load.engine_of(variant);
        let install = match is_given {
            true => install,
            false => with_engine(&self.cache, &self.catalog, install, engine, &mut |text| {
                observer.see(Event::SettingUp(text));
            })?,
        };
        let seen = std::cell::RefCell::new(observer);
        let mut workload = load.workload.clone();
        workload.common.mysql_storage_engine = engine.to_owned();
        let mut loaded = |tell: &mut dyn FnMut(&str)| {
            let store = ImageStore::new(&self.cache).laid_out(&variant.config);
            store.ensure(
                &install,
                &key,
                engine,
                &mut |server| {
                    niagara_load::prepare_tables(
                        &server.over_socket(LOAD_DATABASE),
                        &workload,
                        &TableOptions {
                            threads: load.threads,
                            cancel: cancel.flag(),
                            ..TableOptions::default()
                        },
                        &mut |event| match event {
                            TableEvent::Rows(done, total) if total > 0 => {
                                let percent = done * 100 / total;
                                seen.borrow_mut().see(Event::SettingUp(&format!(
                                    "loading {done} of {total} rows ({percent} %)"
                                )));
                            }
                            TableEvent::Step(what) => {
                                seen.borrow_mut().see(Event::SettingUp(what));
                            }
                            _ => {}
                        },
                    )
                    .map_err(stopped)?;
                    cancel.check()?;
                    Ok(())
                },
                tell,
            )
        };
        let mut tell = |text: &str| seen.borrow_mut().see(Event::SettingUp(text));
        let image = match &variant.sql[..] {
            [] => loaded(&mut tell)?,
            statements => changed_image(
                &self.cache,
                &ChangedData {
                    install: &install,
                    layout: &layout_of(&variant.config),
                    key: &key,
                    engine,
                    database: LOAD_DATABASE,
                    statements,
                },
                &mut loaded,
                cancel,
                &mut tell,
            )?,
        };
        self.remove_unused_images(&image, &mut **seen.borrow_mut());
        let prepared_of = PreparedServer {
            install,
            image,
            database: LOAD_DATABASE.to_owned(),
            _in_use: in_use,
        };
        self.prepared_servers.insert(prepared, prepared_of);
        Ok(())
    }

    /// Makes room for `image`, where it is new, by removing others that nobody uses.
    fn remove_unused_images(&self, image: &Image, observer: &mut dyn Observer) {
        if !image.is_new() {
            return;
        }
        match ImageStore::new(&self.cache).remove_unused(ImageBounds::default()) {
            Ok(None) => {}
            Ok(Some(removed)) => observer.see(Event::Note(&removed.to_string())),
            Err(error) => {
                let told = error.explain();
                observer.see(Event::Note(&format!("images stay in the cache: {told}")));
            }
        }
    }

    /// Makes the statements ready that `variant` sends in place of captured ones.
    fn rewrite_for(&mut self, variant: &Variant) -> Result<()> {
        if variant.rewrite.is_empty() || self.rewritten.contains_key(&variant.id()) {
            return Ok(());
        }
        let Some(capture) = self.load.workload.capture() else {
            bail!(
                "a rewrite takes the place of captured statements, and the load is {}",
                self.load.workload.name();
                remedy: "name a capture as the workload, or leave out rewrite="
            );
        };
        let texts = RewrittenTexts::of(&*capture.trace()?, &variant.rewrite)
            .map_err(|mistake| anyhow!("{mistake}"; remedy: "{}", mistake.remedy()))?;
        self.rewritten.insert(variant.id(), Arc::new(texts));
        Ok(())
    }

    /// What `variant` sends in place of captured statements, once it was set up.
    pub(crate) fn rewritten(&self, variant: &Variant) -> Option<Arc<RewrittenTexts>> {
        self.rewritten.get(&variant.id()).cloned()
    }

    /// The same, of a server that is here already instead of one that is built, on the data of `like`.
    #[cfg(test)]
    pub(crate) fn put(&mut self, variant: &Variant, install: Install, like: &Variant) {
        let prepared = self.prepared(like).expect("set up before");
        let prepared = PreparedServer {
            install,
            image: prepared.image.clone(),
            database: prepared.database.clone(),
            _in_use: None,
        };
        self.prepared_servers
            .insert(station_name(variant), prepared);
    }

    /// The server of `variant` on the user's data.
    fn station_on_data(
        &self,
        data: &Data,
        variant: &Variant,
        install: Install,
        in_use: Option<InUse>,
        observer: &mut dyn Observer,
    ) -> Result<PreparedServer> {
        if variant.engine.is_some() {
            bail!(
                "the tables of your data are in the engines that they are in";
                remedy: "leave out engine=, or --data"
            );
        }
        let mut tell = |text: &str| observer.see(Event::SettingUp(text));
        let mut layout = layout_of(&variant.config);
        // Tables may be of a plugin's engine.
        let plugins = variant.config.get_key_value("plugin_load_add");
        layout.extend(plugins.map(|(name, value)| (name.clone(), value.clone())));
        let stopped_or = |error| match self.cancel.is_cancelled() {
            true => Cancelled.into(),
            false => error,
        };
        let image = image_of(
            &self.cache,
            &install,
            &data.source,
            &layout,
            &self.cancel,
            &mut tell,
        )
        .map_err(stopped_or)?;
        let database = load_database(data, &image)?;
        let image = image_behind(
            &self.cache,
            (&install, &layout),
            (data, &database, image),
            &self.load,
            &self.cancel,
            &mut tell,
        )
        .map_err(stopped_or)?;
        check_tables(&self.load, &image, &database)?;
        let image = match &variant.sql[..] {
            [] => image,
            statements => {
                let mut layout = layout.clone();
                layout.extend(data.source.layout.clone());
                changed_image(
                    &self.cache,
                    &ChangedData {
                        install: &install,
                        layout: &layout,
                        key: &image.record()?.key,
                        engine: &self.load.engine,
                        database: &database,
                        statements,
                    },
                    &mut |_| Ok(image.clone()),
                    &self.cancel,
                    &mut tell,
                )
                .map_err(stopped_or)?
            }
        };
        let mut notes = vec![OriginNote::Data {
            data: data.source.title(),
            database: database.clone(),
        }];
        let without = image.record()?.without.into_iter();
        notes.extend(without.map(|said| OriginNote::DataWithout { said }));
        if let (None, Some(persisted)) = (&self.origin.config, &data.source.persisted) {
            notes.push(OriginNote::WithoutPersisted {
                file: persisted.file.display().to_string(),
                settings: persisted.settings.keys().cloned().collect(),
            });
        }
        for note in notes {
            observer.see(Event::Note(&note.to_string()));
            self.data_notes.add(note);
        }
        Ok(PreparedServer {
            install,
            image,
            database,
            _in_use: in_use,
        })
    }

    /// The server of a variant: packaged, found at its path, or built.
    fn obtain(
        &mut self,
        variant: &Variant,
        observer: &mut dyn Observer,
    ) -> Result<(Install, Option<InUse>)> {
        let server = variant.server.as_str();
        if let Some(recipe) = &variant.build {
            if let Some(time) = &self.build_time {
                time.check(self.build_forecast(server, recipe))?;
            }
            let begun = Instant::now();
            let mut show = |text: &str| observer.see(Event::SettingUp(text));
            let built = server_build::build(
                &self.cache,
                &self.catalog,
                server,
                recipe,
                BuildOptions::default(),
                &self.cancel,
                &mut show,
            );
            if let Some(time) = &mut self.build_time {
                time.spend(begun.elapsed().as_secs_f64());
            }
            let built = built?;
            return Ok((built.install, Some(built.in_use)));
        }
        if looks_like_path(server) {
            let mut install = Install::from_path(Path::new(server))?;
            self.add_mallocs(&mut install, observer);
            return Ok((install, None));
        }
        let description = self.catalog.get(server)?;
        let install = niagara_server::get(&self.cache, description, &mut |text| {
            observer.see(Event::SettingUp(text));
        })?;
        Ok((install, None))
    }

    /// Gives a server that is here the memory allocators of this machine's release, which those of the catalogue bring along.
    /// Without them it is tuned all the same.
    fn add_mallocs(&self, install: &mut Install, observer: &mut dyn Observer) {
        let has_all = OTHER_MALLOCS
            .iter()
            .all(|name| install.own_malloc == *name || install.mallocs.contains_key(*name));
        if has_all || install.has_fixed_malloc() {
            return;
        }
        let mut tell = |text: &str| observer.see(Event::SettingUp(text));
        match mallocs_of_this_release(&self.cache, &self.catalog, &mut tell) {
            Ok(found) => install.add_mallocs(found),
            Err(error) => observer.see(Event::Note(&format!(
                "memory allocators that are not installed here are not tried: {}",
                error.explain()
            ))),
        }
    }

    /// What building this takes here.
    fn build_forecast(&self, server: &str, recipe: &Recipe) -> Forecast {
        let store = BuildStore::new(&self.cache);
        let beside = kept_as(&self.catalog, server);
        let forecasts = store.forecasts(&self.catalog, beside, &[recipe]);
        forecasts.first().copied().unwrap_or(Forecast::Unknown)
    }

    fn prepared(&self, variant: &Variant) -> Result<&PreparedServer> {
        self.prepared_servers
            .get(&station_name(variant))
            .with_context(|| format!("{} was not set up for this study", variant.label()))
    }

    /// The install of a server, as packaged, that was set up.
    ///
    /// # Errors
    /// The server was not set up.
    pub fn install(&self, server: &str) -> Result<&Install> {
        self.install_of(&self.known_base(server))
    }

    /// The install of a variant that was set up.
    ///
    /// # Errors
    /// Neither it nor one with the same server and build was set up.
    pub(crate) fn install_of(&self, variant: &Variant) -> Result<&Install> {
        Ok(&self.prepared(variant)?.install)
    }

    /// Bytes of the tables and indexes in a server's dataset image.
    ///
    /// # Errors
    /// The server was not set up.
    pub(crate) fn data_bytes(&self, server: &str) -> Result<u64> {
        self.data_bytes_of(&self.known_base(server))
    }

    /// Bytes of the tables and indexes in the dataset image that a variant is launched on.
    ///
    /// # Errors
    /// Neither it nor one with the same server and build was set up.
    pub(crate) fn data_bytes_of(&self, variant: &Variant) -> Result<u64> {
        Ok(self.prepared(variant)?.image.table_bytes())
    }

    /// An error when the disk of the clones is full: then no failure of a server is the server's own.
    ///
    /// # Errors
    /// The disk is full.
    pub(crate) fn check_disk(&self) -> Result<()> {
        self.cache.work_disk_has(FULL_BELOW)
    }

    /// An error when the disk of the cache is full: then no build that fails does so for a cause of its own.
    ///
    /// # Errors
    /// The disk is full.
    pub(crate) fn check_cache_disk(&self) -> Result<()> {
        self.cache.kept_disk_has(FULL_BELOW)
    }

    /// A fresh clone of the image for `variant`; it goes when the folder is dropped.
    ///
    /// # Errors
    /// [`Cancelled`]; disk full, image gone.
    pub fn clone_for(&self, variant: &Variant) -> Result<WorkFolder> {
        let prepared = self.prepared(variant)?;
        let folder = self.cache.work_folder("clone")?;
        prepared
            .image
            .clone_until(&data_of(&folder), &self.cancel)?;
        Ok(folder)
    }

    /// An empty private folder beside the clones; it goes when it is dropped.
    ///
    /// # Errors
    /// Disk full.
    pub(crate) fn scratch(&self, kind: &str) -> Result<WorkFolder> {
        self.cache.work_folder(kind)
    }

    /// What the binary of `install` says of its options.
    ///
    /// # Errors
    /// It does not run, or says nothing of options.
    pub(crate) fn options_of(&self, install: &Install) -> Result<Arc<ServerOptions>> {
        ServerOptions::of(install, self.scratch("help")?.path())
    }

    /// Starts `variant` on a fresh clone with nothing of its data in memory: the buffer pool is new and is told nothing of
    /// the one before, and the clone's files are out of the kernel's page cache.
    ///
    /// # Errors
    /// As [`clone_for`](Self::clone_for) and [`spawn`](Self::spawn); a server that does not start.
    pub fn start_cold(&self, variant: &Variant) -> Result<(RunningServer, WorkFolder)> {
        let clone = self.clone_for(variant)?;
        // Which pages the pool held at the shutdown, for loading them again.
        let list = data_of(&clone).join("ib_buffer_pool");
        if list.exists() {
            std::fs::remove_file(&list)
                .with_context(|| format!("cannot remove {}", list.display()))?;
        }
        niagara_server::drop_cached(&data_of(&clone))?;
        let server = self.spawn(variant, &clone)?.wait_ready()?;
        Ok((server, clone))
    }

    /// Has servers that are different programs lie in memory alike, and elsewhere than in the duel before: that a file was
    /// unpacked, copied or linked decides otherwise how its pages lie, through every restart, and no number of duels averages
    /// that out. One alone may be compared with another's start.
    ///
    /// # Errors
    /// A variant that was not set up.
    pub(crate) fn read_programs_anew(&self, variants: &[&Variant]) -> Result<()> {
        let programs = variants.iter().map(|variant| {
            let install = self.install_of(variant)?;
            Ok(install.server.as_path())
        });
        let programs: BTreeSet<&Path> = programs.collect::<Result<_>>()?;
        if programs.len() > 1 || variants.len() == 1 {
            programs.into_iter().for_each(niagara_server::read_anew);
        }
        Ok(())
    }

    /// Starts `variant` on `clone` without waiting for it.
    ///
    /// # Errors
    /// Something that the variant asks for is not to be had here.
    pub fn spawn(&self, variant: &Variant, clone: &WorkFolder) -> Result<StartingServer> {
        let prepared = self.prepared(variant)?;
        let access = self.client.as_ref().map(|client| RemoteAccess {
            database: prepared.database.clone(),
            ..client.access().clone()
        });
        niagara_server::spawn_for_remote(
            &self.cache,
            &LaunchSpec {
                install: &prepared.install,
                datadir: data_of(clone),
                runtime: &variant.runtime,
                config: &variant.config,
            },
            access.as_ref(),
        )
    }

    /// The database that the load of a variant is in.
    pub(crate) fn database(&self, variant: &Variant) -> &str {
        let prepared = self.prepared_servers.get(&station_name(variant));
        prepared.map_or(LOAD_DATABASE, |prepared| &prepared.database)
    }

    /// Reads every table and index once, so that the buffer pool holds what fits into it.
    pub fn read_tables(
        &self,
        server: &RunningServer,
        variant: &Variant,
        load: &Load,
    ) -> Result<()> {
        // A connection of its own: one that the server was started with waits as long as a start may take.
        let mut connection = Admin::connect(&server.over_socket(""), READ_CONNECT)?;
        connection.set_timeout(READ_STATEMENT);
        let database = self.database(variant);
        for statement in load.read_all_statements(database) {
            self.cancel.check()?;
            match connection.rows(&statement) {
                // The variant's statements may have dropped what the workload has.
                Err(error) if !variant.sql.is_empty() && error.server_code().is_some() => {}
                read => drop(read?),
            }
        }
        if variant.sql.is_empty() {
            return Ok(());
        }
        for statement in read_changed(&mut connection, database, &variant.sql)? {
            self.cancel.check()?;
            match connection.rows(&statement) {
                // The server may have a use for an index that nobody can force.
                Err(error) if error.server_code().is_some() => {}
                read => drop(read?),
            }
        }
        Ok(())
    }

    /// Where what is done beside the load reaches `server`, wherever that comes from.
    pub(crate) fn endpoint_here(&self, server: &RunningServer, variant: &Variant) -> Endpoint {
        match self.client {
            None => self.endpoint(server, variant),
            Some(_) => server.over_socket(self.database(variant)),
        }
    }

    /// Where the load generator reaches `server`, by the variant's transport.
    pub fn endpoint(&self, server: &RunningServer, variant: &Variant) -> Endpoint {
        match variant.runtime.transport.unwrap_or_default() {
            TransportKind::Tcp => server.over_tcp(self.database(variant)),
            TransportKind::Unix => server.over_socket(self.database(variant)),
            TransportKind::Tls => server.over_tls(self.database(variant)),
        }
    }
}

/// What decides which binary a variant runs, and on which data.
fn station_name(variant: &Variant) -> String {
    let engine = variant.engine.as_deref().unwrap_or_default();
    let binary = match &variant.build {
        None => variant.server.clone(),
        // A recipe is plain data; its one line stands for it should it not serialise.
        Some(recipe) => format!(
            "{} {}",
            variant.server,
            serde_json::to_string(&recipe.normal()).unwrap_or_else(|_| recipe.one_line())
        ),
    };
    let layout: Vec<String> = layout_of(&variant.config)
        .iter()
        .map(|(name, value)| format!(" {name}={value}"))
        .collect();
    let sql: Vec<String> = variant
        .sql
        .iter()
        .map(|statement| format!("\n{}", statement.text))
        .collect();
    format!("{binary} {engine}{}{}", layout.concat(), sql.concat())
}

fn data_of(clone: &WorkFolder) -> PathBuf {
    clone.path().join("data")
}

/// Whether a server was named by its path rather than by its name in the catalogue.
pub fn looks_like_path(server: &str) -> bool {
    server.contains('/')
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::plans::observer::Silent;

    /// The distribution's server, which `scripts/setup test` installs.
    const SERVER: &str = "/usr/sbin/mariadbd";

    #[test]
    fn a_server_that_does_not_answer_is_ended_by_a_stop() {
        let load = Load::of_ten_rows();
        let cache = Cache::open().expect("the shared cache");
        let catalog = Catalog::load(&[]).expect("the built-in catalogue");
        let cancel = Cancel::default();
        let mut bench = Workbench::new(cache, catalog, load, cancel.clone());
        bench.set_up(SERVER, &mut Silent).expect("set up");
        let variant = Variant::base(SERVER);
        let clone = bench.clone_for(&variant).expect("room");
        let starting = bench.spawn(&variant, &clone).expect("spawned");
        let pid = starting.pid().to_string();
        // As one that recovers its data for as long as it may.
        let frozen = Command::new("kill").args(["-STOP", &pid]).status();
        assert!(frozen.expect("kill").success());
        cancel.cancel();
        let error = starting.wait_ready().expect_err("stopped");
        assert!(error.has::<Cancelled>(), "{error:#}");
        assert!(!Path::new("/proc").join(&pid).exists(), "it still runs");
        // Nor is anything copied any more.
        let error = bench.clone_for(&variant).expect_err("stopped");
        assert!(error.has::<Cancelled>(), "{error:#}");
    }
}
