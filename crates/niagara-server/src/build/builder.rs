//! From a recipe to a server: every part of it made once, whatever was interrupted gone on with.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::flags::{LAUNCHERS, Stage, check_options, cmake_options};
use super::forecast::Experience;
use super::ninja_progress::{STATUS, seconds_left, share_done, steps};
use super::patches::Patch;
use super::profile::{self, ProfileSummary};
use super::recipe::{BoltProfile, Lto, Recipe};
use super::run::{run, since_configured};
use super::sampling::{Sampler, Sampling};
use super::source::Source;
use super::stopwatch::Stopwatch;
use super::store::{self, BuildKind, BuildRecord, BuildStore, InUse, StoredBuild};
use super::toolchain::{Toolchain, missing_packages};
use super::training::Training;
use super::{bolt, prefix};
use crate::cache::Cache;
use crate::catalog::{BuildDescription, Catalog, ServerDescription};
use crate::install::Install;

/// How builds are made: part of every key, so that raising it builds anew. To be raised with whatever a recipe comes to
/// (the words for cmake and BOLT, which a test watches) and with what a prefix holds.
const FORM: u32 = 1;
/// Where a build's folder has its source when ccache serves it: a link to the tree, the same beside every build's `ninja`.
const SOURCE: &str = "source";

/// Runs an instrumented server under load. The load generator is another crate's, so this is how it comes in.
pub trait Trainer {
    /// Starts `job.install` on data of its own with `job.environment`, puts `job.training`'s load on it, and shuts it down
    /// cleanly (that is when it writes its profile).
    ///
    /// # Errors
    /// A server that does not start, a load that fails, a stop on request.
    fn train(&mut self, job: &TrainingJob<'_>, progress: &mut dyn FnMut(&str)) -> Result<()>;
}

/// What a [`Trainer`] is asked to do.
#[derive(Debug)]
pub struct TrainingJob<'a> {
    /// The instrumented server.
    pub install: &'a Install,
    /// A server that makes the same data directories and is not instrumented, where there is one.
    pub loader: Option<&'a Install>,
    /// The load.
    pub training: &'a Training,
    /// Tells the server where its profile goes.
    pub environment: BTreeMap<String, String>,
    /// Samples the server while the load is on it, where its profile is to be taken so.
    pub sampling: Option<&'a Sampling>,
}

impl TrainingJob<'_> {
    /// Begins to sample the server of process `pid`, where that is asked for: for as long as the load is on it.
    ///
    /// # Errors
    /// perf cannot be started.
    pub fn sample(&self, pid: i32) -> Result<Option<Sampler>> {
        self.sampling
            .map(|sampling| sampling.begin(pid))
            .transpose()
    }
}

/// What a build takes beside the recipe.
pub struct Builder<'a> {
    /// Where everything is kept.
    pub cache: &'a Cache,
    /// The servers that can be built.
    pub catalog: &'a Catalog,
    /// Runs what is to be trained.
    pub trainer: &'a mut dyn Trainer,
    /// The patches that recipes name; an error where one is not written for the source.
    pub patches: &'a dyn Fn(&str, &Source) -> Result<Patch>,
    /// Whether to stop.
    pub cancelled: &'a dyn Fn() -> bool,
    /// What to show meanwhile.
    pub progress: &'a mut dyn FnMut(&str),
    /// Compilers at the same time; 0 is one per CPU.
    pub jobs: usize,
    /// Keep the build folders of finished builds.
    pub keep: bool,
    /// Ask the archive for the newest source, though one of the server's series is here.
    pub refresh_source: bool,
}

/// A finished build that can be launched.
#[derive(Debug, Clone)]
pub struct Built {
    /// The server.
    pub install: Install,
    /// Its place in the store.
    pub build: StoredBuild,
    /// Whether it was there already.
    pub was_there: bool,
    /// Keeps it from being removed.
    pub in_use: InUse,
}

/// Everything that a recipe comes to on this machine.
pub(super) struct Order {
    pub server: String,
    pub description: BuildDescription,
    pub source: Source,
    pub patches: Vec<Patch>,
    pub recipe: Recipe,
    pub tools: Toolchain,
}

/// Everything that goes into a build, as its key is made from it.
#[derive(Serialize)]
struct Ingredients<'a> {
    form: u32,
    kind: BuildKind,
    server: &'a str,
    source: &'a str,
    patches: Vec<String>,
    description: &'a BuildDescription,
    recipe: &'a Recipe,
    compiler: &'a str,
    linker: Option<&'a str>,
    bolt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bolt_profile: Option<BoltProfile>,
    cpu: Option<String>,
}

impl Order {
    /// The key of what is asked for.
    pub(super) fn key(&self, kind: BuildKind) -> Result<String> {
        let mut recipe = self.recipe.clone();
        // The tree is known by its content.
        recipe.source = None;
        // Whether it was asked for or is this machine's way makes no difference.
        recipe.bolt_profile = None;
        store::digest(&Ingredients {
            form: FORM,
            kind,
            server: &self.server,
            source: &self.source.digest,
            patches: self
                .patches
                .iter()
                .map(|patch| store::hex(&Sha256::digest(&patch.text), 8))
                .collect(),
            description: &self.description,
            recipe: &recipe,
            compiler: &self.tools.compiler,
            linker: self
                .tools
                .linker
                .as_ref()
                .map(|found| found.version.as_str()),
            bolt: self
                .tools
                .bolt
                .as_ref()
                .map(|(_, version)| version.as_str()),
            bolt_profile: self
                .tools
                .bolt_profile
                .filter(|way| *way != BoltProfile::Counters),
            cpu: self.recipe.is_native().then(cpu_features),
        })
    }

    pub(super) fn record(&self, key: &str, kind: BuildKind, stage: &Stage) -> BuildRecord {
        BuildRecord {
            key: key.to_owned(),
            kind,
            server: self.server.clone(),
            source: self.source.name.clone(),
            recipe: self.recipe.clone(),
            toolchain: self.tools.clone(),
            cmake: cmake_options(&self.description, &self.recipe, &self.tools, stage),
            version: String::new(),
            seconds: BTreeMap::new(),
            cpu_seconds: BTreeMap::new(),
            profile: None,
            begun: jiff::Timestamp::now(),
        }
    }

    /// What data directories depend on: the source, patches included; builds of one source share dataset images.
    pub(super) fn made_from(&self) -> BTreeMap<String, String> {
        let mut from = BTreeMap::from([(
            format!("source of {}", self.source.name),
            self.source.digest.clone(),
        )]);
        for patch in &self.patches {
            from.insert(
                format!("with {}", patch.name),
                store::hex(&Sha256::digest(&patch.text), 8),
            );
        }
        from
    }

    /// The server in the prefix of a build's `folder`.
    ///
    /// # Errors
    /// It does not run.
    pub(super) fn install(&self, cache: &Cache, folder: &Path) -> Result<Install> {
        let usr = folder.join("prefix/usr");
        let server = usr.join("sbin").join(self.binary_name());
        Install::built(cache, &self.server, &server, &usr, self.made_from())
    }

    /// The name of the binary.
    pub(super) fn binary_name(&self) -> &std::ffi::OsStr {
        let binary = &self.description.binary;
        binary.file_name().unwrap_or(binary.as_os_str())
    }

    /// The same with another recipe.
    fn with(&self, change: impl FnOnce(&mut Recipe)) -> Result<Order> {
        let mut recipe = self.recipe.clone();
        change(&mut recipe);
        Ok(Order {
            server: self.server.clone(),
            description: self.description.clone(),
            source: self.source.clone(),
            patches: self.patches.clone(),
            tools: Toolchain::find(&recipe)?,
            recipe,
        })
    }
}

impl Builder<'_> {
    /// The server that `recipe` makes beside the catalogue's `server`, built where it is not there yet.
    ///
    /// # Errors
    /// A source, compiler or package that is missing (with the command that installs it), a patch that does not apply,
    /// a build that fails (with its first real error and the log), an empty or stale profile;
    /// [`super::BuildStopped`] when told to stop.
    pub fn ensure(&mut self, server: &str, recipe: &Recipe) -> Result<Built> {
        let order = self.order(server, recipe)?;
        self.fill(&order)
            .with_context(|| format!("cannot build {server} ({})", recipe.one_line()))
    }

    /// Whether the build is there already, and what it is known by.
    ///
    /// # Errors
    /// As with [`Builder::ensure`], as far as can be told beforehand.
    pub fn look(&mut self, server: &str, recipe: &Recipe) -> Result<(String, bool)> {
        let order = self.order(server, recipe)?;
        let key = order.key(BuildKind::Server)?;
        let there = BuildStore::new(self.cache).find(&key).is_some();
        Ok((key, there))
    }

    fn order(&mut self, server: &str, recipe: &Recipe) -> Result<Order> {
        let recipe = recipe.normal();
        check_options(&recipe)?;
        let tools = Toolchain::find(&recipe)?;
        let (description, source) = match &recipe.source {
            Some(path) => {
                let source = Source::from_path(path)?;
                (self.description_for(server, &source)?, source)
            }
            None => {
                let described = self.catalog.get(server)?;
                let build = can_be_built(described)?;
                let source = Source::of_package(
                    self.cache,
                    described,
                    &build,
                    self.refresh_source,
                    self.cancelled,
                    self.progress,
                )?;
                (build, source)
            }
        };
        let patches = recipe
            .patches
            .iter()
            .map(|name| (self.patches)(name, &source))
            .collect::<Result<_>>()?;
        Ok(Order {
            server: server.to_owned(),
            description,
            source,
            patches,
            recipe,
            tools,
        })
    }

    /// How a tree is built: as the catalogue's server of its name, else of its series, else of its branch.
    fn description_for(&self, server: &str, source: &Source) -> Result<BuildDescription> {
        // A build may stand beside a server that is named by its path; every other name is one of the catalogue.
        if !server.contains('/') {
            let described = self.catalog.get(server)?;
            if described.family == source.family {
                return can_be_built(described);
            }
        }
        let of_family = || {
            self.catalog
                .iter()
                .filter(|s| s.family == source.family && s.build.is_some())
        };
        let series = source.version.series();
        let described = of_family()
            .find(|s| s.series == series)
            .or_else(|| of_family().next());
        match described {
            Some(described) => can_be_built(described),
            None => bail!(
                "no server of the catalogue tells how {} {} is built\nremedy: add [build] to a file in servers/",
                source.family,
                source.version
            ),
        }
    }

    fn fill(&mut self, order: &Order) -> Result<Built> {
        let key = order.key(BuildKind::Server)?;
        let store = BuildStore::new(self.cache);
        // Before it is looked for, so that nothing removes it in between.
        let in_use = store.hold(&key)?;
        if let Some(build) = store.find(&key) {
            return self.found(order, build, true, in_use);
        }
        let missing = missing_packages(&order.description.needs);
        if !missing.is_empty() {
            bail!(
                "building takes packages that are not installed: {}\nremedy: apt install {}, or scripts/setup builds",
                missing.join(", "),
                missing.join(" ")
            );
        }
        let _lock = self.cache.lock(&store::lock_name(&key), &mut || {
            (self.progress)("waiting: somebody else makes this build");
        })?;
        if let Some(build) = store.find(&key) {
            return self.found(order, build, true, in_use);
        }
        let build = match &order.recipe.bolt {
            Some(training) => {
                let base = self.fill(&order.with(|recipe| recipe.bolt = None)?)?;
                bolt::lay_out(self, order, &base, training, &key)?
            }
            None => self.compile_server(order, &key)?,
        };
        self.found(order, build, false, in_use)
    }

    fn found(
        &self,
        order: &Order,
        build: StoredBuild,
        was_there: bool,
        in_use: InUse,
    ) -> Result<Built> {
        build.touch();
        let install = order.install(self.cache, &build.folder).map_err(|error| {
            let key = &build.record.key;
            // Its remedy is for servers that are named by their path.
            let told = error.to_string();
            anyhow!(
                "the build {key} does not run (any more): {}\n\
                 remedy: niagara server build remove {key}, and build it anew",
                told.lines().next().unwrap_or_default()
            )
        })?;
        Ok(Built {
            install,
            build,
            was_there,
            in_use,
        })
    }

    fn compile_server(&mut self, order: &Order, key: &str) -> Result<StoredBuild> {
        let folder = BuildStore::new(self.cache).folder(key);
        let (trained, _in_use) = match &order.recipe.pgo {
            Some(training) => {
                let (profile, in_use) = self.profile(order, training)?;
                (Some(profile), Some(in_use))
            }
            None => (None, None),
        };
        let merged = trained
            .as_ref()
            .map(|profile| profile.folder.join("merged.profdata"));
        let gcc = order.recipe.compiler.is_gcc();
        let stage = match &merged {
            None => Stage::Plain,
            Some(_) if gcc => Stage::Optimised(None),
            Some(merged) => Stage::Optimised(Some(merged)),
        };
        let mut record = order.record(key, BuildKind::Server, &stage);
        store::go_on(&folder, &mut record);
        store::begin(&folder, &record)?;
        let ninja = folder.join("ninja");
        match trained.as_ref().filter(|_| gcc) {
            Some(profile) => {
                let counts = profile.folder.join("counts");
                let _lock = self
                    .cache
                    .lock(&store::lock_name(&profile.record.key), &mut || {
                        (self.progress)("waiting: somebody else builds with the same profile");
                    })?;
                let place = profile::stand_in(&profile.folder, &ninja)?;
                if !configured_as(&ninja, &place) {
                    fresh(&ninja)?;
                }
                profile::lay_beside_objects(&counts, &ninja)?;
                let compiled = self.compile(order, &folder, &place, &mut record, "");
                // The link has done its work; one that stays is replaced by the next build.
                let _ = fs::remove_file(&place);
                compiled?;
                profile::check_objects(&counts, &ninja, [&profile.record.key, key])?;
            }
            None => self.compile(order, &folder, &ninja, &mut record, "")?,
        }
        if let Some(profile) = trained.as_ref().filter(|_| !gcc) {
            let log = since_configured(&folder.join("log"))?;
            profile::check_warnings(&log, [&profile.record.key, key])?;
        }
        self.put_together(order, &folder)?;
        record.version = order.install(self.cache, &folder)?.version_string;
        record.profile = trained.and_then(|profile| profile.record.profile);
        let build = store::finish(&folder, &record)?;
        self.tidy(&ninja);
        Ok(build)
    }

    /// The profile that the recipe's training leaves: an instrumented server is built, trained, and thrown away.
    fn profile(&mut self, order: &Order, training: &Training) -> Result<(StoredBuild, InUse)> {
        // Neither LTO nor the linker has a say in what is counted, so builds that differ in them share a profile.
        let order = order.with(|recipe| {
            recipe.lto = Lto::None;
            recipe.linker = None;
            recipe.bolt = None;
            recipe.link_flags.clear();
        })?;
        let store = BuildStore::new(self.cache);
        let key = order.key(BuildKind::Profile)?;
        let in_use = store.hold(&key)?;
        if let Some(profile) = store.find(&key) {
            profile.touch();
            return Ok((profile, in_use));
        }
        let _lock = self.cache.lock(&store::lock_name(&key), &mut || {
            (self.progress)("waiting: somebody else makes this profile");
        })?;
        if let Some(profile) = store.find(&key) {
            return Ok((profile, in_use));
        }
        let folder = store.folder(&key);
        let mut record = order.record(&key, BuildKind::Profile, &Stage::Instrumented);
        store::go_on(&folder, &mut record);
        store::begin(&folder, &record)?;
        let ninja = folder.join("ninja");
        self.compile(&order, &folder, &ninja, &mut record, "instrumented, ")?;
        self.put_together(&order, &folder)?;
        let install = order.install(self.cache, &folder)?;
        record.version.clone_from(&install.version_string);
        let raw = folder.join("raw");
        fresh(&raw)?;
        let environment = profile_environment(order.recipe.compiler.is_gcc(), &raw, &ninja);
        let watch = Stopwatch::start();
        let job = TrainingJob {
            install: &install,
            loader: None,
            training,
            environment,
            sampling: None,
        };
        self.trainer
            .train(&job, self.progress)
            .context("the training of the instrumented server failed")?;
        record.seconds.insert("train".to_owned(), watch.seconds());
        let summary = collect(&order, &raw, &folder)?.check("the instrumented server")?;
        (self.progress)(&format!("profile: {summary}"));
        record.profile = Some(summary);
        let profile = store::finish(&folder, &record)?;
        for done in [&raw, &ninja, &folder.join("prefix")] {
            self.tidy(done);
        }
        Ok((profile, in_use))
    }

    /// cmake, then ninja, each as far as it has not come yet; seconds are added to the record. `ninja` is the path by which
    /// they know the folder of the objects.
    fn compile(
        &mut self,
        order: &Order,
        folder: &Path,
        ninja: &Path,
        record: &mut BuildRecord,
        what: &str,
    ) -> Result<()> {
        let tree = order.source.patched(self.cache, &order.patches)?;
        fs::create_dir_all(folder.join("ninja"))?;
        let log = folder.join("log");
        let title = format!("{} ({what}{})", order.server, order.recipe.one_line());
        let store = BuildStore::new(self.cache);
        let experience = Experience::of(&store, &order.server, self.jobs());
        if !ninja.join("build.ninja").is_file() {
            let source = match record.cmake.contains_key(LAUNCHERS[0]) {
                true => linked(&tree, folder)?,
                // gcc's profile knows functions by the path of their source, so that must be the same in both of its builds.
                false => tree,
            };
            let watch = Stopwatch::start();
            let typical = experience.typical(&order.recipe, "configure");
            let mut cmake = self.command("cmake");
            cmake
                .arg("-G")
                .arg("Ninja")
                .arg("-S")
                .arg(&source)
                .arg("-B")
                .arg(ninja)
                .arg("-Wno-dev");
            cmake.args(
                record
                    .cmake
                    .iter()
                    .map(|(name, value)| format!("-D{name}={value}")),
            );
            let progress = &mut *self.progress;
            let ran = run(cmake, "cmake", &log, self.cancelled, &mut |_| {
                let left = typical.map(|all| (all - watch.seconds()).max(1.0));
                progress(&format!("{title}: configuring{}", about(left)));
            });
            self.spent(folder, record, "configure", &watch)?;
            ran?;
        }
        let watch = Stopwatch::start();
        let before = record.seconds.get("compile").copied().unwrap_or(0.0);
        let typical = experience.typical(&order.recipe, "compile");
        let mut command = self.command("ninja");
        command.env("NINJA_STATUS", STATUS).arg("-C").arg(ninja);
        command
            .arg("-j")
            .arg(self.jobs().to_string())
            .args(&order.description.targets);
        let mut at = (0, 0);
        let lto = order.recipe.lto != Lto::None;
        let progress = &mut *self.progress;
        let ran = run(command, "the build", &log, self.cancelled, &mut |line| {
            if let Some(found) = line.and_then(steps) {
                at = found;
            }
            let (done, all) = at;
            if all > 0 {
                let share = share_done(done, all, lto);
                // A build that is gone on with counts from where it was: what is left of it takes its share.
                let typical = typical.map(|seconds| (seconds - before).max(seconds * 0.05));
                let left = seconds_left(share, watch.seconds(), typical);
                progress(&format!("{title}: {done} of {all} steps{}", about(left)));
            }
        });
        self.spent(folder, record, "compile", &watch)?;
        ran.map(drop)
    }

    /// Adds what a part took to the record, on disk too: an interrupted build's time counts.
    fn spent(
        &self,
        folder: &Path,
        record: &mut BuildRecord,
        part: &str,
        watch: &Stopwatch,
    ) -> Result<()> {
        *record.seconds.entry(part.to_owned()).or_default() += watch.seconds();
        if let Some(cpu) = watch.cpu_seconds() {
            *record.cpu_seconds.entry(part.to_owned()).or_default() += cpu;
        }
        store::begin(folder, record)
    }

    fn put_together(&self, order: &Order, folder: &Path) -> Result<()> {
        let tree = order.source.patched(self.cache, &order.patches)?;
        let binary = folder.join("ninja").join(&order.description.binary);
        if !binary.is_file() {
            bail!(
                "the build left no {}\nlog: {}\n\
                 remedy: the source is one of {} {}; name the server of the catalogue that is built as it is, or say in \
                 [build] of a file in servers/ what its targets are and where they put the server",
                binary.display(),
                folder.join("log").display(),
                order.source.family,
                order.source.version
            );
        }
        prefix::assemble(
            &tree,
            &folder.join("ninja"),
            &order.description.binary,
            &folder.join("prefix/usr"),
        )
    }

    /// A build's command with an environment of its own: what this process was started with must not decide a build.
    pub(super) fn command(&self, program: &str) -> Command {
        let store = BuildStore::new(self.cache);
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("LC_ALL", "C")
            .env("CCACHE_DIR", store.ccache());
        for name in ["PATH", "HOME", "TMPDIR"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // Paths below the store are made relative, and a build's source is found at the same relative path in all of them
        // (`SOURCE`), so that builds in different folders, of patched trees too, find each other's objects. What a file
        // includes is taken from what the compiler writes (-MD): otherwise ccache runs the preprocessor before each
        // compilation, which cost a fifth of the time of MariaDB's files.
        command
            .env("CCACHE_BASEDIR", store.root())
            .env("CCACHE_NOHASHDIR", "1")
            .env("CCACHE_DEPEND", "1")
            .env("CCACHE_COMPILERCHECK", "content")
            .env("CCACHE_MAXSIZE", "4G");
        command
    }

    pub(super) fn tidy(&self, folder: &Path) {
        if !self.keep {
            // What stays behind is found by gc.
            let _ = fs::remove_dir_all(folder);
        }
    }

    fn jobs(&self) -> usize {
        match self.jobs {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            jobs => jobs,
        }
    }
}

/// Whether what lies in `folder` was configured under the path `place`; true of a folder in which nothing was.
fn configured_as(folder: &Path, place: &Path) -> bool {
    let cache = fs::read_to_string(folder.join("CMakeCache.txt")).unwrap_or_default();
    let mut places = cache
        .lines()
        .filter_map(|line| line.strip_prefix("CMAKE_CACHEFILE_DIR:INTERNAL="));
    places.next().is_none_or(|found| Path::new(found) == place)
}

/// A link in `folder` to the tree, at the same place in every build's.
fn linked(tree: &Path, folder: &Path) -> Result<PathBuf> {
    let link = folder.join(SOURCE);
    if fs::read_link(&link).is_ok_and(|target| target != tree) {
        fs::remove_file(&link)?;
    }
    if fs::symlink_metadata(&link).is_err() {
        symlink(tree, &link).with_context(|| format!("cannot make {}", link.display()))?;
    }
    Ok(link)
}

fn can_be_built(described: &ServerDescription) -> Result<BuildDescription> {
    described.build.clone().with_context(|| {
        format!(
            "how {} is built is not known\nremedy: add [build] to its file, as in servers/mariadb-10.11.toml",
            described.name
        )
    })
}

/// Where an instrumented server's profile goes. gcc's would go beside the objects it was compiled from: the folder of
/// the build is cut off and another put before.
fn profile_environment(gcc: bool, raw: &Path, ninja: &Path) -> BTreeMap<String, String> {
    if gcc {
        let strip = ninja.components().count() - 1;
        BTreeMap::from([
            ("GCOV_PREFIX".to_owned(), raw.display().to_string()),
            ("GCOV_PREFIX_STRIP".to_owned(), strip.to_string()),
        ])
    } else {
        let pattern = raw.join("%m-%p.profraw");
        BTreeMap::from([(
            "LLVM_PROFILE_FILE".to_owned(),
            pattern.display().to_string(),
        )])
    }
}

/// Takes the raw profile into the folder in the form that the compiler reads.
fn collect(order: &Order, raw: &Path, folder: &Path) -> Result<ProfileSummary> {
    match &order.tools.profdata {
        Some(profdata) => profile::merge_raw(profdata, raw, &folder.join("merged.profdata")),
        None => {
            let counts = folder.join("counts");
            fresh(&counts)?;
            profile::lay_beside_objects(raw, &counts)?;
            profile::summary_of_gcda(&counts)
        }
    }
}

/// An empty folder.
pub(super) fn fresh(folder: &PathBuf) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}

/// `, about 4:07 left`
fn about(left: Option<f64>) -> String {
    match left {
        Some(seconds) => {
            let seconds = seconds.round() as u64;
            format!(", about {}:{:02} left", seconds / 60, seconds % 60)
        }
        None => String::new(),
    }
}

/// The instructions that this CPU has: what `-march=native` depends on.
fn cpu_features() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = |name: &str| {
        text.lines()
            .find(|line| line.starts_with(name))
            .unwrap_or("")
            .to_owned()
    };
    ["model name", "flags", "Features", "CPU part"]
        .map(line)
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Family;

    fn order(settings: &[(&str, &str)], source: &str) -> Order {
        let mut recipe = Recipe::default();
        for (key, value) in settings {
            recipe.set(key, value).expect("valid");
        }
        let catalog = Catalog::load(&[]).expect("valid files");
        Order {
            server: "mariadb-10.11".into(),
            description: can_be_built(catalog.get("mariadb-10.11").expect("known"))
                .expect("can be"),
            source: Source {
                name: source.into(),
                digest: source.into(),
                tree: "/t".into(),
                family: Family::Mariadb,
                version: "10.11.1".parse().expect("a version"),
            },
            patches: Vec::new(),
            tools: Toolchain {
                cc: "/bin/cc".into(),
                cxx: "/bin/c++".into(),
                compiler: "cc 1".into(),
                ar: "/bin/ar".into(),
                ranlib: "/bin/ranlib".into(),
                linker: None,
                profdata: None,
                bolt: None,
                bolt_profile: None,
                ccache: None,
            },
            recipe: recipe.normal(),
        }
    }

    #[test]
    fn the_key_is_of_everything_that_goes_in() {
        let key = |order: &Order| order.key(BuildKind::Server).expect("plain data");
        let base = order(&[], "a");
        assert_eq!(key(&base), key(&order(&[], "a")));
        let mut patched = order(&[], "a");
        patched.patches.push(Patch {
            name: "p".into(),
            text: "diff".into(),
        });
        let mut newer = order(&[], "a");
        newer.tools.compiler = "cc 2".into();
        let mut described = order(&[], "a");
        described.description.flags.push("-g".into());
        let others = [
            order(&[], "b"),
            order(&[("flags", "-O3")], "a"),
            order(&[("pgo", "oltp_insert")], "a"),
            order(&[("pgo", "oltp_insert"), ("pgo.seconds", "5")], "a"),
            order(&[("flags", "-march=native")], "a"),
            patched,
            newer,
            described,
        ];
        let mut keys: Vec<String> = others.iter().map(key).collect();
        keys.push(key(&base));
        keys.push(base.key(BuildKind::Profile).expect("plain data"));
        let all = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), all);
        // Which compiler cache helps, and where the tools are, change nothing.
        let mut cached = order(&[], "a");
        cached.tools.ccache = Some("/bin/ccache".into());
        assert_eq!(key(&cached), key(&base));
    }

    /// What stands in no key: the words that recipes come to. When this fails, builds that are kept are not what their
    /// recipes would make today: raise [`FORM`], and write the pair that the test shows.
    #[test]
    fn what_recipes_come_to_is_of_this_form() {
        const STANDS_FOR: (u32, &str) = (1, "1648b3f4c9f2fd1e");
        let mut words = Vec::new();
        for compiler in ["gcc", "clang"] {
            for lto in ["none", "thin", "full"] {
                let order = order(
                    &[
                        ("compiler", compiler),
                        ("lto", lto),
                        ("flags", "-O3"),
                        ("c_flags", "-fc"),
                        ("cxx_flags", "-fcxx"),
                        ("link_flags", "-Wl,-l"),
                        ("static_libraries", "cxx/ssl/zlib"),
                    ],
                    "a",
                );
                for stage in [
                    Stage::Plain,
                    Stage::Instrumented,
                    Stage::Optimised(Some(Path::new("/p"))),
                ] {
                    let bare = BuildDescription {
                        flags: vec!["-O2".into()],
                        link_flags: vec!["-Wl,-z,now".into()],
                        cmake: BTreeMap::new(),
                        plugins_off: vec!["ROCKSDB".into()],
                        ..order.description.clone()
                    };
                    words.push(cmake_options(&bare, &order.recipe, &order.tools, &stage));
                }
            }
        }
        let digest = store::digest(&(words, bolt::LAYOUT)).expect("plain data");
        assert_eq!((FORM, digest.as_str()), STANDS_FOR);
    }

    #[test]
    fn a_profile_goes_where_it_is_told() {
        let gcc = profile_environment(true, Path::new("/raw"), Path::new("/a/b/ninja"));
        assert_eq!(gcc["GCOV_PREFIX_STRIP"], "3");
        let clang = profile_environment(false, Path::new("/raw"), Path::new("/a/b/ninja"));
        assert!(clang["LLVM_PROFILE_FILE"].starts_with("/raw/"));
        assert_eq!(about(Some(247.4)), ", about 4:07 left");
    }
}
