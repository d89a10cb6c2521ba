//! What a build will take, by what earlier builds took on this machine.

use niagara_server::{Catalog, CpuSeconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experience::{COMPILE, CompilerFigure, Experience, on_cpus, slowness};
use crate::patch::changed_files;
use crate::recipe::{Lto, Recipe};
use crate::shipped_patches::patch_text;
use crate::store::{BuildKind, BuildRecord, BuildStore};
use crate::today::{Here, Today};

/// Seconds that BOLT works on a server of this size, its training aside: 1½ minutes with it, measured by hand on 2 CPUs.
const BOLT_SECONDS: f64 = 60.0;

/// Part of a compilation that the same one takes again with source changes, where ccache has the objects of the first. Measured were 4 to 7 %
/// (MySQL 9.7, two source files) and 12 to 15 % (MariaDB 11.8 and 10.11, all that fit; docs/builds.md).
const PATCHED_SHARE: f64 = 0.15;
/// Likewise where only the link is another one. Measured were 4 % (MariaDB 10.11 by clang with profile feedback and ThinLTO, jemalloc linked
/// in: 36 of some 1,000 seconds of CPU time, `niagara server build list --json`).
const LINKED_SHARE: f64 = 0.05;
/// The part of a compilation that a patch leaves to do where a header is changed: three quarters (MariaDB 10.11 by clang with profile feedback and LTO, a field more in
/// `include/violite.h`, which most of the server includes: 753 of 1,000 seconds of CPU time, `niagara server build list --json`).
const PATCHED_HEADER_SHARE: f64 = 0.8;

/// How long a build will take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Forecast {
    /// It is here already.
    There,
    /// About this many seconds.
    Seconds(f64),
    /// Nothing like it was built here; by the CPU time that it took on another machine it takes about so many seconds, as far as other
    /// builds tell how fast this machine is.
    Elsewhere(f64),
    /// Nothing like it was built here before.
    Unknown,
}

impl Forecast {
    /// Seconds, where anything is known.
    pub fn seconds(self) -> Option<f64> {
        match self {
            Forecast::There => Some(0.0),
            Forecast::Seconds(seconds) | Forecast::Elsewhere(seconds) => Some(seconds),
            Forecast::Unknown => None,
        }
    }

    /// So many seconds more.
    fn and(self, more: f64) -> Forecast {
        match self {
            Forecast::There => Forecast::Seconds(more),
            Forecast::Seconds(seconds) => Forecast::Seconds(seconds + more),
            Forecast::Elsewhere(seconds) => Forecast::Elsewhere(seconds + more),
            Forecast::Unknown => Forecast::Unknown,
        }
    }

    /// This part of it.
    fn part(self, share: f64) -> Forecast {
        match self {
            Forecast::Seconds(seconds) => Forecast::Seconds(seconds * share),
            Forecast::Elsewhere(seconds) => Forecast::Elsewhere(seconds * share),
            Forecast::There | Forecast::Unknown => self,
        }
    }
}

/// What is known before builds are made, one after the other.
struct Forecaster<'a> {
    experience: Experience,
    /// What the machine is like today.
    today: &'a dyn Today,
    /// CPU seconds that compiling the server once took on another machine, by compiler.
    elsewhere: CpuSeconds,
    /// How many times as long as by such figures builds took here.
    slowness: f64,
    /// The servers that will have been made before the next one, as they stand in keys.
    servers: Vec<Recipe>,
    /// Likewise the profiles, by the recipes of what counts for them.
    profiles: Vec<Recipe>,
    /// Likewise the instrumented servers.
    instrumented: Vec<Recipe>,
}

impl Forecaster<'_> {
    /// What making each of these takes, one after the other: two that differ in how they are linked share a profile, one with
    /// BOLT begins with the binary of one without.
    fn forecasts(&mut self, recipes: &[&Recipe]) -> Vec<Forecast> {
        let mut forecasts = Vec::new();
        for recipe in recipes {
            // What cannot be read is told when it is built.
            let made = recipe
                .pinned()
                .unwrap_or_else(|_| (*recipe).clone())
                .normal();
            forecasts.push(self.forecast(&made));
            let base = made.before_bolt();
            let is_compiled =
                !self.is_here(BuildKind::Server, &made) && !self.is_here(BuildKind::Server, &base);
            if made.pgo.is_some() && is_compiled {
                let first = made.first_round();
                if !self.has_profile(&first) {
                    let instrumented = first.counted().instrumented();
                    self.instrumented.push(instrumented.keyed());
                }
                self.profiles.push(made.counted().keyed());
                // Of two rounds the first leaves a profile of its own.
                self.profiles.push(first.counted().keyed());
            }
            if made.bolt.is_some() {
                self.servers.push(made.before_bolt().keyed());
            }
            self.servers.push(made.keyed());
        }
        forecasts
    }

    /// What making the server of `recipe`, in its normal form, takes.
    fn forecast(&self, recipe: &Recipe) -> Forecast {
        if self.is_here(BuildKind::Server, recipe) {
            return Forecast::There;
        }
        // Files that builds are trained on are known by their content, wherever they lie.
        if self.servers.contains(&recipe.keyed()) {
            return Forecast::Seconds(0.0);
        }
        if let Some(training) = &recipe.bolt {
            // BOLT works on a finished binary, which may be there.
            let bolt = self
                .experience
                .typical(BuildKind::Server, recipe, "bolt")
                .unwrap_or(f64::from(training.seconds) + BOLT_SECONDS);
            return self.forecast(&recipe.before_bolt()).and(bolt);
        }
        self.compiling(BuildKind::Server, recipe)
            .and(self.profile_seconds(recipe))
    }

    /// What configuring and compiling `recipe` once takes, the server or what counts for its profile.
    fn compiling(&self, kind: BuildKind, recipe: &Recipe) -> Forecast {
        let configure = self.experience.typical(kind, recipe, "configure");
        self.compile(kind, recipe)
            .and(configure.unwrap_or_default())
    }

    /// What compiling those files of `recipe` takes that ccache does not have.
    fn compile(&self, kind: BuildKind, recipe: &Recipe) -> Forecast {
        let whole = |recipe: &Recipe| self.compiling_whole(kind, recipe);
        // ccache has no objects that count.
        let served = match kind {
            BuildKind::Server => self.served_by(recipe),
            _ => None,
        };
        match served {
            Some((compiled, share)) => whole(&compiled).part(share),
            None => whole(recipe),
        }
    }

    /// What compiling all files of `recipe` takes: as long as with the same compiler here; else what the catalogue says of that compiler,
    /// as fast as this machine is; else, of a compiler that it says nothing of, what is known of another.
    fn compiling_whole(&self, kind: BuildKind, recipe: &Recipe) -> Forecast {
        let elsewhere =
            |cpu: f64| Forecast::Elsewhere(on_cpus(cpu, self.experience.jobs()) * self.slowness);
        if let Some(seconds) = self.experience.compiled_alike(kind, recipe) {
            return Forecast::Seconds(seconds);
        }
        if let Some(cpu) = CompilerFigure::of(kind, recipe).cpu_seconds(self.elsewhere) {
            return elsewhere(cpu);
        }
        if let Some(seconds) = self.experience.typical(kind, recipe, COMPILE) {
            return Forecast::Seconds(seconds);
        }
        cpu_of_another_compiler(self.elsewhere, kind, recipe).map_or(Forecast::Unknown, elsewhere)
    }

    /// A recipe of which ccache has, or will have, most objects of `recipe`, where no build like it tells more, and the part of
    /// its compilation that is left to do. By a profile of its own every object is another one.
    fn served_by(&self, recipe: &Recipe) -> Option<(Recipe, f64)> {
        let shares_objects = recipe.pgo.is_none() || self.today.has_shipped_profile(recipe);
        if !shares_objects || self.experience.serves_alike(recipe) {
            return None;
        }
        let without = recipe.without_patches();
        let is_planned = self.servers.contains(&without.keyed()) && self.today.has_ccache();
        if !recipe.patches.is_empty() && (is_planned || self.experience.serves_alike(&without)) {
            return Some((without, patched_share(recipe)));
        }
        let linked = self.linked_otherwise(recipe)?;
        Some((linked, LINKED_SHARE))
    }

    /// A server of the same objects, linked otherwise, that is here or will be. What links by LTO is the compiler's work again, but
    /// for ThinLTO's, which is kept as well.
    fn linked_otherwise(&self, recipe: &Recipe) -> Option<Recipe> {
        let is_kept = match recipe.lto {
            Lto::None => true,
            Lto::Thin => !recipe.compiler.is_gcc(),
            Lto::Full => false,
        };
        if !is_kept {
            return None;
        }
        let objects = recipe.keyed().objects();
        let mut planned = self.servers.iter().filter(|_| self.today.has_ccache());
        let planned = planned.find(|server| server.objects() == objects);
        planned
            .cloned()
            .or_else(|| self.experience.of_objects(&objects))
    }

    /// Seconds until the profile is there by which `recipe` is compiled.
    fn profile_seconds(&self, recipe: &Recipe) -> f64 {
        let Some(training) = &recipe.pgo else {
            return 0.0;
        };
        if self.has_profile(recipe) {
            return 0.0;
        }
        let first = match recipe.has_two_rounds() {
            true => self.profile_seconds(&recipe.first_round()),
            false => 0.0,
        };
        let counting = match self.has_instrumented(recipe) {
            true => 0.0,
            // Where nobody knows, neither is it known what the server itself takes.
            false => {
                let counted = recipe.counted();
                let counting = match recipe.has_two_rounds() {
                    true => counted,
                    false => counted.instrumented(),
                };
                let compiling = self.compiling(BuildKind::Instrumented, &counting);
                compiling.seconds().unwrap_or_default()
            }
        };
        first + counting + f64::from(training.seconds)
    }

    /// Whether the profile by which `recipe` is compiled is there, will be, or comes with the program.
    fn has_profile(&self, recipe: &Recipe) -> bool {
        self.is_here(BuildKind::Profile, recipe)
            || self.profiles.contains(&recipe.counted().keyed())
            || self.today.has_shipped_profile(recipe)
    }

    /// Likewise the server that counts for it, which serves any training; that of a second round serves one.
    fn has_instrumented(&self, recipe: &Recipe) -> bool {
        let instrumented = recipe.counted().instrumented().keyed();
        !recipe.has_two_rounds()
            && (self.is_here(BuildKind::Instrumented, recipe)
                || self.instrumented.contains(&instrumented))
    }

    /// Whether the server of `recipe`, its profile, or what counts for that, is in the store: what looks like it may have been made of another
    /// source or by another compiler.
    fn is_here(&self, kind: BuildKind, recipe: &Recipe) -> bool {
        let asked = match kind {
            BuildKind::Server => looks(recipe),
            BuildKind::Profile => looks(&recipe.counted()),
            BuildKind::Instrumented => looks(&recipe.counted().instrumented()),
        };
        let is_it = |record: &BuildRecord| {
            record.kind == kind
                && looks(&record.recipe.normal()) == asked
                && self.today.is_it(record, recipe)
        };
        self.experience.records().iter().any(is_it)
    }
}

/// The part of a compilation that the patches of `recipe` leave to do where ccache has the rest.
fn patched_share(recipe: &Recipe) -> f64 {
    // What a patch is that cannot be read is told when it is built.
    let texts = recipe
        .patches
        .iter()
        .filter_map(|name| patch_text(name).ok());
    match texts.into_iter().any(changes_a_header) {
        true => PATCHED_HEADER_SHARE,
        false => PATCHED_SHARE,
    }
}

/// Whether a patch changes a file that much else includes. Headers named `…_priv.h` (`vio/vio_priv.h`, `mysys/mysys_priv.h`) are for the sources of their folder alone.
fn changes_a_header(patch: &str) -> bool {
    let of_few = [".c", ".cc", ".cpp", "_priv.h"];
    changed_files(patch).any(|path| !of_few.iter().any(|end| path.ends_with(end)))
}

/// What records of the same build have in common, and a few others with them: which of these it is its key tells.
fn looks(recipe: &Recipe) -> Recipe {
    let mut recipe = recipe.keyed();
    // A tree is known by its content; the way that BOLT's profile is taken and whose counts are taken are the machine's choice,
    // where nobody says.
    recipe.source = None;
    recipe.bolt_profile = None;
    if let Some(training) = &mut recipe.pgo {
        training.here = false;
    }
    recipe
}

/// CPU seconds of compiling a server of the catalogue once, as its file says.
fn cpu_seconds_elsewhere(catalog: &Catalog, server: &str) -> CpuSeconds {
    let server = catalog.get(server).ok();
    let build = server.and_then(|server| server.build.as_ref());
    build.map(|build| build.cpu_seconds).unwrap_or_default()
}

/// Those of a compiler other than that of `recipe`, the most alike of which anything is known.
fn cpu_of_another_compiler(known: CpuSeconds, kind: BuildKind, recipe: &Recipe) -> Option<f64> {
    use CompilerFigure::{Clang, ClangByProfile, Gcc};
    let by_likeness = match CompilerFigure::of(kind, recipe) {
        Gcc => [Clang, ClangByProfile],
        Clang => [Gcc, ClangByProfile],
        ClangByProfile => [Clang, Gcc],
    };
    let mut figures = by_likeness.into_iter();
    figures.find_map(|figure| figure.cpu_seconds(known))
}

impl BuildStore {
    /// What making the servers of `recipes` takes on all CPUs, one after the other, by what earlier builds took here. `server` is
    /// the name that builds are [kept under](crate::kept_as).
    pub fn forecasts(&self, catalog: &Catalog, server: &str, recipes: &[&Recipe]) -> Vec<Forecast> {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let here = Here::of(self.cache(), catalog, server);
        let mut forecaster = self.forecaster(catalog, server, jobs, &here);
        forecaster.forecasts(recipes)
    }

    /// Seconds that compiling `recipe`, in its normal form, takes with this many compilers at once, by the same rule: what a build
    /// that runs is told to take.
    pub(crate) fn compile_seconds(
        &self,
        catalog: &Catalog,
        server: &str,
        (kind, recipe): (BuildKind, &Recipe),
        jobs: usize,
    ) -> Option<f64> {
        let here = Here::of(self.cache(), catalog, server);
        let forecaster = self.forecaster(catalog, server, jobs, &here);
        forecaster.compile(kind, recipe).seconds()
    }

    fn forecaster<'a>(
        &self,
        catalog: &Catalog,
        server: &str,
        jobs: usize,
        today: &'a dyn Today,
    ) -> Forecaster<'a> {
        let experience = Experience::of(self, server, jobs);
        let known = |server: &str| cpu_seconds_elsewhere(catalog, server);
        // What another server's builds took tells how fast the machine is, where there is none of this one.
        let of_all = || slowness(&self.finished(), &known, jobs);
        let slowness = slowness(experience.records(), &known, jobs).or_else(of_all);
        Forecaster {
            experience,
            today,
            elsewhere: known(server),
            slowness: slowness.unwrap_or(1.0),
            servers: Vec::new(),
            profiles: Vec::new(),
            instrumented: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::experience::UNEVEN;
    use crate::training::Training;

    /// A finished build: what was asked for, seconds and CPU seconds of its compilation, and the hour it was begun.
    fn built(recipe: &[(&str, &str)], seconds: f64, cpu: Option<f64>, hour: u32) -> BuildRecord {
        let mut record = json!({
            "key": format!("{hour:016x}"), "kind": "server", "server": "mariadb-10.11", "source": "mariadb 1",
            "recipe": asked(recipe), "cmake": {}, "begun": format!("2026-01-01T{hour:02}:00:00Z"),
            "toolchain": {"cc": "/cc", "cxx": "/c++", "compiler": "gcc", "ar": "/ar", "ranlib": "/ranlib", "linker": null,
                "profdata": null, "bolt": null, "ccache": null},
            "seconds": {"compile": seconds, "configure": 10.0},
        });
        if let Some(cpu) = cpu {
            record["cpu_seconds"] = json!({"compile": cpu});
        }
        serde_json::from_value(record).expect("a record")
    }

    fn asked(recipe: &[(&str, &str)]) -> Recipe {
        let mut asked = Recipe::default();
        for (key, value) in recipe {
            asked.set(key, value).expect("valid");
        }
        asked
    }

    fn forecast(records: Vec<BuildRecord>, recipe: &[(&str, &str)]) -> Forecast {
        several(records, &[recipe])[0]
    }

    fn several(records: Vec<BuildRecord>, recipes: &[&[(&str, &str)]]) -> Vec<Forecast> {
        forecasts_on(&Unchanged, Experience::with(records, true, 2), recipes)
    }

    fn forecasts_on(
        today: &dyn Today,
        experience: Experience,
        recipes: &[&[(&str, &str)]],
    ) -> Vec<Forecast> {
        let recipes: Vec<Recipe> = recipes.iter().map(|recipe| asked(recipe)).collect();
        let mut forecaster = Forecaster {
            experience,
            today,
            elsewhere: CpuSeconds::default(),
            slowness: 1.0,
            servers: Vec::new(),
            profiles: Vec::new(),
            instrumented: Vec::new(),
        };
        forecaster.forecasts(&recipes.iter().collect::<Vec<_>>())
    }

    /// A machine on which every build was made as it would be made today, and no profile comes with the program.
    struct Unchanged;

    impl Today for Unchanged {
        fn is_it(&self, _: &BuildRecord, _: &Recipe) -> bool {
            true
        }

        fn has_shipped_profile(&self, _: &Recipe) -> bool {
            false
        }

        fn has_ccache(&self) -> bool {
            true
        }
    }

    const PATCHED: (&str, &str) = ("patches", "heap-table-name-inside");

    #[test]
    fn patched_and_whole_builds_do_not_tell_of_each_other() {
        let records = || {
            vec![
                built(&[], 1400.0, None, 1),
                built(&[("patches", "metadata-tickets-kept")], 90.0, None, 2),
            ]
        };
        assert_eq!(forecast(records(), &[PATCHED]), Forecast::Seconds(100.0));
        let other = [("flags", "-O3")];
        assert_eq!(forecast(records(), &other), Forecast::Seconds(1410.0));
        // Nobody knows how much of this one ccache has.
        let both = [("flags", "-O3"), PATCHED];
        assert_eq!(forecast(records(), &both), Forecast::Seconds(1410.0));
        assert_eq!(forecast(records(), &[]), Forecast::There);
        assert_eq!(forecast(Vec::new(), &[]), Forecast::Unknown);
    }

    #[test]
    fn a_first_patched_build_takes_a_part_of_the_same_without_patches() {
        let plain = || vec![built(&[], 1400.0, None, 1)];
        let part = Forecast::Seconds(1400.0 * PATCHED_SHARE + 10.0);
        assert_eq!(forecast(plain(), &[PATCHED]), part);
        // Of one that is built before it.
        let flags = ("flags", "-O3");
        let both = several(plain(), &[&[flags], &[flags, PATCHED]]);
        assert_eq!(both, [Forecast::Seconds(1410.0), part]);
        // A header is another matter.
        let header = ("patches", "innodb-calls");
        let most = Forecast::Seconds(1400.0 * PATCHED_HEADER_SHARE + 10.0);
        assert_eq!(forecast(plain(), &[header]), most);
        // But for one of its own folder.
        let private = ("patches", "socket-waits-in-recv");
        assert_eq!(forecast(plain(), &[private]), part);
        // ccache has none of its objects.
        let emptied = Experience::with(plain(), false, 2);
        let whole = forecasts_on(&Unchanged, emptied, &[&[PATCHED]]);
        assert_eq!(whole, [Forecast::Seconds(1410.0)]);
    }

    #[test]
    fn the_same_way_of_linking_comes_first_and_the_newest_of_equals() {
        let records = vec![
            built(&[("lto", "thin")], 900.0, None, 1),
            built(&[("lto", "thin"), ("flags", "-O3")], 950.0, None, 2),
            built(&[], 1400.0, None, 3),
            built(&[("compiler", "clang"), ("lto", "thin")], 700.0, None, 4),
        ];
        let asked = [("lto", "thin"), ("flags", "-O2 -march=native")];
        assert_eq!(forecast(records, &asked), Forecast::Seconds(960.0));
    }

    #[test]
    fn bolt_begins_with_the_binary_that_is_there() {
        let bolt = ("bolt", "oltp_read_only");
        let seconds = f64::from(asked(&[bolt]).bolt.expect("asked for").seconds) + BOLT_SECONDS;
        let records = || vec![built(&[], 1400.0, None, 1)];
        assert_eq!(forecast(records(), &[bolt]), Forecast::Seconds(seconds));
        let other = [("flags", "-O3"), bolt];
        let both = Forecast::Seconds(1410.0 + seconds);
        assert_eq!(forecast(records(), &other), both);
        assert_eq!(forecast(Vec::new(), &[bolt]), Forecast::Unknown);
    }

    #[test]
    fn without_history_the_figure_of_another_machine_stands_in_and_says_so() {
        let mut nothing = Forecaster {
            experience: Experience::with(Vec::new(), false, 2),
            today: &Unchanged,
            elsewhere: CpuSeconds {
                gcc: Some(3000),
                clang: Some(2000),
                clang_by_profile: Some(1000),
            },
            slowness: 1.0,
            servers: Vec::new(),
            profiles: Vec::new(),
            instrumented: Vec::new(),
        };
        let once = 3000.0 / 2.0 * UNEVEN;
        let pgo = asked(&[("pgo", "oltp_insert")]);
        let training = f64::from(pgo.pgo.as_ref().expect("asked for").seconds);
        assert_eq!(
            nothing.forecasts(&[&asked(&[]), &pgo]),
            [once, 2.0 * once + training].map(Forecast::Elsewhere)
        );
        // clang: with counters, then by the profile.
        let clang = asked(&[("compiler", "clang"), ("pgo", "oltp_update_index")]);
        let once = |cpu: f64| cpu / 2.0 * UNEVEN;
        let both = once(1000.0) + (once(2000.0) + training);
        assert_eq!(nothing.forecasts(&[&clang]), [Forecast::Elsewhere(both)]);
        let catalog = Catalog::load(&[]).expect("valid files");
        for server in ["mariadb-10.11", "mariadb-11.8", "mysql-9.7"] {
            for recipe in [asked(&[]), clang.clone()] {
                let known = cpu_seconds_elsewhere(&catalog, server);
                let figure = CompilerFigure::of(BuildKind::Server, &recipe);
                assert!(figure.cpu_seconds(known) >= Some(1000.0), "{server}");
            }
        }
    }

    /// What the catalogue says of MariaDB 10.11.
    const CATALOGUE: CpuSeconds = CpuSeconds {
        gcc: Some(2946),
        clang: Some(1600),
        clang_by_profile: Some(1000),
    };

    /// What `recipe` takes on 2 CPUs after these builds, by that catalogue.
    fn by_catalogue(records: &[BuildRecord], recipe: &[(&str, &str)]) -> Forecast {
        let mut forecaster = Forecaster {
            experience: Experience::with(records.to_vec(), true, 2),
            today: &Unchanged,
            elsewhere: CATALOGUE,
            slowness: slowness(records, &|_| CATALOGUE, 2).unwrap_or(1.0),
            servers: Vec::new(),
            profiles: Vec::new(),
            instrumented: Vec::new(),
        };
        forecaster.forecasts(&[&asked(recipe)])[0]
    }

    fn assert_near(forecast: Forecast, expected: f64) {
        let seconds = forecast.seconds().expect("known");
        assert!((seconds - expected).abs() < 0.5, "{forecast:?} {expected}");
    }

    /// A build by gcc takes three times as long as one by clang with a profile, which used to be its forecast.
    #[test]
    fn builds_by_another_compiler_tell_only_the_machines_speed() {
        let by_profile = [("compiler", "clang"), ("pgo", "oltp_insert")];
        let first = built(&by_profile, 600.0, Some(1200.0), 1);
        // 600 s rather than the 550 s that 1,000 s of CPU time make on two CPUs.
        let slower = 600.0 / 550.0;
        let gcc = by_catalogue(std::slice::from_ref(&first), &[]);
        assert_near(gcc, 2946.0 / 2.0 * 1.1 * slower + 10.0);
        assert!(matches!(gcc, Forecast::Elsewhere(_)), "{gcc:?}");
        // By the same compiler without a profile it is another figure, too.
        let clang = by_catalogue(std::slice::from_ref(&first), &[by_profile[0]]);
        assert_near(clang, 1600.0 / 2.0 * 1.1 * slower + 10.0);
        // Its own figure, however long ago, goes before one of the catalogue.
        let second = built(&[], 1700.0, None, 2);
        let later = built(&by_profile, 620.0, None, 3);
        let all = [second, first, later];
        let other_flags = by_catalogue(&all, &[("flags", "-O3")]);
        assert_eq!(other_flags, Forecast::Seconds(1710.0));
        let thin = asked(&[by_profile[0], by_profile[1], ("lto", "thin")]);
        let experience = Experience::with(all.to_vec(), true, 2);
        let alike = experience.compiled_alike(BuildKind::Server, &thin);
        assert_eq!(alike, Some(620.0));
    }

    #[test]
    fn a_running_compilation_takes_what_was_forecast() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = niagara_server::Cache::at(folder.path()).expect("a cache");
        let store = BuildStore::new(&cache);
        let catalog = Catalog::load(&[]).expect("valid files");
        let server = "mariadb-10.11";
        let known = cpu_seconds_elsewhere(&catalog, server);
        let [gcc, clang] = [known.gcc, known.clang].map(|cpu| f64::from(cpu.expect("known")));
        // What clang took tells of gcc only how fast the machine is: half as fast as the one of the catalogue.
        let record = built(&[("compiler", "clang")], 2.0 * on_cpus(clang, 2), None, 1);
        let place = store.folder(&record.key);
        crate::store::note_down(&place, &record).expect("room");
        crate::store::finish(&place, &record).expect("room");
        let told = store.compile_seconds(&catalog, server, (BuildKind::Server, &asked(&[])), 2);
        let told = told.expect("known");
        assert!((told - 2.0 * on_cpus(gcc, 2)).abs() < 1e-6, "{told}");
        // Another build by gcc says more.
        let record = built(&[("flags", "-O3")], 1234.0, None, 2);
        let place = store.folder(&record.key);
        crate::store::note_down(&place, &record).expect("room");
        crate::store::finish(&place, &record).expect("room");
        let told = store.compile_seconds(&catalog, server, (BuildKind::Server, &asked(&[])), 2);
        assert_eq!(told, Some(1234.0));
    }

    #[test]
    fn a_machines_speed_is_the_median_of_whole_builds() {
        let of = |records: &[BuildRecord]| slowness(records, &|_| CATALOGUE, 2);
        assert_eq!(of(&[]), None);
        let once = 2946.0 / 2.0 * 1.1;
        // Patches and links tell what ccache left to do.
        let patched = built(&[PATCHED], 90.0, None, 1);
        let linked = built(&[("static_libraries", "jemalloc")], 60.0, None, 2);
        assert_eq!(of(&[patched.clone(), linked.clone()]), None);
        let [fast, slow, slower] = [(0.9, 3), (1.5, 4), (2.0, 5)]
            .map(|(times, hour)| built(&[("flags", "-O3")], once * times, None, hour));
        let found = of(&[patched, linked, slower, fast, slow]).expect("three builds");
        assert!((found - 1.5).abs() < 1e-9, "{found}");
        // A server that the catalogue says nothing of.
        let own = [built(&[], 1700.0, None, 6)];
        assert_eq!(slowness(&own, &|_| CpuSeconds::default(), 2), None);
    }

    #[test]
    fn a_patched_build_is_a_whole_one_where_ccache_keeps_nothing() {
        let records = vec![
            built(&[], 1400.0, None, 1),
            built(&[("patches", "metadata-tickets-kept")], 90.0, None, 2),
        ];
        assert_eq!(
            forecasts_on(
                &Unchanged,
                Experience::with(records, false, 2),
                &[&[PATCHED]]
            ),
            [Forecast::Seconds(1410.0)]
        );
    }

    #[test]
    fn a_profile_of_the_users_own_workload_is_made_once_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| {
            let path = folder.path().join(name);
            let text = include_str!("../../../docs/examples/shop.toml");
            std::fs::write(&path, text).expect("written");
            path.display().to_string()
        };
        let (here, there) = (file("a.toml"), file("b.toml"));
        let training = f64::from(Training::default().seconds);
        let made = several(
            vec![built(&[], 1400.0, None, 1)],
            &[
                &[("pgo", &here)],
                // The same file elsewhere.
                &[("pgo", &there), ("lto", "thin")],
                &[("pgo", &there)],
            ],
        );
        assert_eq!(
            made,
            [2820.0 + training, 1410.0, 0.0].map(Forecast::Seconds)
        );
    }

    #[test]
    fn a_profile_is_made_once() {
        let pgo = ("pgo", "oltp_read_only");
        let training = f64::from(asked(&[pgo]).pgo.expect("asked for").seconds);
        let records = vec![built(&[], 1400.0, None, 1)];
        let made = several(
            records,
            &[
                &[pgo],
                &[
                    pgo,
                    ("lto", "thin"),
                    ("linker", "lld"),
                    ("link_flags", "-s"),
                ],
                // What is compiled has a say in what is counted.
                &[pgo, ("flags", "-O3")],
                &[pgo, ("cmake.WITH_WSREP", "OFF")],
                &[pgo, ("static_libraries", "zlib")],
                // What is only linked in has none.
                &[pgo, ("static_libraries", "cxx/jemalloc")],
                &[pgo, PATCHED],
                &[pgo, ("compiler", "clang")],
                &[pgo, ("bolt", "oltp_read_only")],
            ],
        );
        let bolt = f64::from(Training::default().seconds) + BOLT_SECONDS;
        let whole = 2820.0 + training;
        assert_eq!(
            made,
            [
                whole, 1410.0, whole, whole, whole, 1410.0, whole, whole, bolt
            ]
            .map(Forecast::Seconds)
        );
    }

    #[test]
    fn what_is_only_linked_otherwise_takes_the_link() {
        let plain = || vec![built(&[], 1400.0, None, 1)];
        let jemalloc = ("static_libraries", "jemalloc");
        let link = Forecast::Seconds(1400.0 * LINKED_SHARE + 10.0);
        let whole = Forecast::Seconds(1410.0);
        assert_eq!(forecast(plain(), &[jemalloc]), link);
        // Of one that is built before it.
        let clang = [("compiler", "clang"), ("lto", "thin")];
        let known = vec![built(&[("compiler", "clang")], 1400.0, None, 1)];
        let both = several(known, &[&clang, &[clang[0], clang[1], jemalloc]]);
        assert_eq!(both, [whole, link]);
        // Other objects, a link that compiles, a cache that keeps nothing.
        let zlib = ("static_libraries", "zlib");
        assert_eq!(forecast(plain(), &[zlib]), whole);
        // What a link took says nothing of them, however new it is.
        let linked = built(&[jemalloc], 100.0, None, 9);
        assert_eq!(forecast([plain(), vec![linked]].concat(), &[zlib]), whole);
        let lto = ("lto", "thin");
        let known = vec![built(&[lto], 1400.0, None, 1)];
        assert_eq!(forecast(known, &[lto, jemalloc]), whole);
        let emptied = Experience::with(plain(), false, 2);
        assert_eq!(forecasts_on(&Unchanged, emptied, &[&[jemalloc]]), [whole]);
    }

    #[test]
    fn another_training_takes_no_other_instrumented_server() {
        let plain = || built(&[], 1400.0, None, 1);
        let training = f64::from(Training::default().seconds);
        let first = [("pgo", "oltp_read_only")];
        let second = [("pgo", "commit"), ("lto", "thin")];
        let again = Forecast::Seconds(1410.0 + training);
        assert_eq!(
            several(vec![plain()], &[&first, &second]),
            [Forecast::Seconds(2820.0 + training), again]
        );
        // One that is in the store. Its recipe is a plain one, whose time and objects it does not tell.
        let mut instrumented = built(&[], 1900.0, None, 2);
        instrumented.kind = BuildKind::Instrumented;
        let known = || vec![plain(), instrumented.clone()];
        let other = ("cmake.WITH_WSREP", "OFF");
        assert_eq!(several(known(), &[&[PATCHED]])[0], {
            Forecast::Seconds(1400.0 * PATCHED_SHARE + 10.0)
        });
        assert_eq!(several(known(), &[&[]])[0], Forecast::There);
        let Forecast::Seconds(trained) = several(known(), &[&second])[0] else {
            panic!("known");
        };
        let Forecast::Seconds(elsewhere) = several(known(), &[&[second[0], second[1], other]])[0]
        else {
            panic!("known");
        };
        assert!(elsewhere - trained > 1400.0, "{elsewhere} {trained}");
        // A second round counts in a server of its own.
        let clang = ("compiler", "clang");
        let contexts = ("pgo.contexts", "yes");
        let rounds = several(
            vec![built(&[clang], 1400.0, None, 1)],
            &[
                &[clang, ("pgo", "oltp_insert"), contexts],
                &[clang, ("pgo", "commit"), contexts],
            ],
        );
        let whole = 2.0 * (1410.0 + training) + 1410.0;
        assert_eq!(rounds, [whole, whole - 1410.0].map(Forecast::Seconds));
    }

    #[test]
    fn two_rounds_take_what_the_first_has_not_made() {
        let clang = ("compiler", "clang");
        let pgo = ("pgo", "oltp_insert");
        let contexts = ("pgo.contexts", "yes");
        let lto = ("lto", "thin");
        let records = || vec![built(&[clang], 1400.0, None, 1)];
        let training = f64::from(Training::default().seconds);
        let round = 1410.0 + training;
        // Alone: two rounds, then the server itself.
        let alone = several(records(), &[&[clang, pgo, contexts, lto]]);
        assert_eq!(alone, [Forecast::Seconds(2.0 * round + 1410.0)]);
        let made = several(
            records(),
            &[
                &[clang, pgo],
                &[clang, pgo, contexts, lto],
                // The second round is one of LTO and linker; the first is not.
                &[clang, pgo, contexts],
                &[clang, pgo, contexts, lto, ("bolt", "oltp_insert")],
            ],
        );
        let bolt = training + BOLT_SECONDS;
        assert_eq!(
            made,
            [round + 1410.0, round + 1410.0, round + 1410.0, bolt].map(Forecast::Seconds)
        );
        // The first round's profile stays for builds after it.
        let after = several(records(), &[&[clang, pgo, contexts, lto], &[clang, pgo]]);
        assert_eq!(after[1], Forecast::Seconds(1410.0));
        // Whether that profile was planned before or is in the store.
        let mut profile = built(&[clang, pgo], 1400.0, None, 2);
        profile.kind = BuildKind::Profile;
        let known = records().into_iter().chain([profile]).collect();
        assert_eq!(
            several(known, &[&[clang, pgo, contexts, lto]]),
            [Forecast::Seconds(round + 1410.0)]
        );
    }

    /// A machine whose builds were made by another compiler or of another source.
    struct Upgraded;

    impl Today for Upgraded {
        fn is_it(&self, _: &BuildRecord, _: &Recipe) -> bool {
            false
        }

        fn has_shipped_profile(&self, _: &Recipe) -> bool {
            false
        }

        fn has_ccache(&self) -> bool {
            true
        }
    }

    #[test]
    fn what_would_be_made_again_is_not_here() {
        let pgo = ("pgo", "oltp_insert");
        let mut profile = built(&[pgo], 1400.0, None, 2);
        profile.kind = BuildKind::Profile;
        let records = || {
            vec![
                built(&[], 1400.0, None, 1),
                profile.clone(),
                built(&[pgo], 1400.0, None, 3),
            ]
        };
        let asked: [&[(&str, &str)]; 2] = [&[], &[pgo]];
        let unchanged = forecasts_on(&Unchanged, Experience::with(records(), true, 2), &asked);
        assert_eq!(unchanged, [Forecast::There; 2]);
        let training = f64::from(Training::default().seconds);
        let upgraded = forecasts_on(&Upgraded, Experience::with(records(), true, 2), &asked);
        assert_eq!(upgraded, [1410.0, 2820.0 + training].map(Forecast::Seconds));
    }

    #[test]
    fn a_machine_that_was_busy_is_not_expected_to_be() {
        let busy = vec![built(&[], 4700.0, Some(2900.0), 1)];
        assert_eq!(
            forecast(busy, &[("flags", "-O3")]),
            Forecast::Seconds(2900.0 / 2.0 * UNEVEN + 10.0)
        );
        let many_cpus = vec![built(&[], 400.0, Some(2900.0), 1)];
        assert_eq!(
            forecast(many_cpus, &[("flags", "-O3")]),
            Forecast::Seconds(410.0)
        );
    }
}
