//! What a build will take, by what earlier builds took on this machine.

use std::cmp::Reverse;
use std::fs;

use niagara_server::Catalog;
use serde::{Deserialize, Serialize};

use crate::recipe::Recipe;
use crate::shipped_profiles::fitting;
use crate::store::{BuildKind, BuildRecord, BuildStore};

/// Seconds that BOLT works on a server of this size, its training aside: 1½ minutes with it, measured by hand on 2 CPUs.
const BOLT_SECONDS: f64 = 60.0;
/// CPUs that wait for others while a server is built: the link at the end is one program.
const UNEVEN: f64 = 1.1;

/// How long a build will take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Forecast {
    /// It is here already.
    There,
    /// About this many seconds.
    Seconds(f64),
    /// Nothing like it was built here; by the CPU time that it took on another machine it takes about so many seconds.
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
}

/// The finished builds of one server, which tell what the next takes.
pub(crate) struct Experience {
    records: Vec<BuildRecord>,
    /// CPU seconds that compiling it once took on another machine.
    elsewhere: Option<f64>,
    /// ccache keeps something: what a patch leaves alone is there.
    has_ccache: bool,
    server: String,
    jobs: usize,
    /// What will have been made before this build.
    before: Vec<Recipe>,
}

impl Experience {
    /// What `store` knows of `server`, for builds with this many compilers at once.
    pub(crate) fn of(store: &BuildStore, server: &str, jobs: usize) -> Experience {
        let builds = store.list().unwrap_or_default();
        let finished = builds
            .into_iter()
            .filter(|build| build.finished && build.record.server == server);
        Experience {
            records: finished.map(|build| build.record).collect(),
            elsewhere: cpu_seconds_elsewhere(server),
            has_ccache: fs::read_dir(store.ccache()).is_ok_and(|mut kept| kept.next().is_some()),
            server: server.to_owned(),
            jobs: jobs.max(1),
            before: Vec::new(),
        }
    }

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
            if made.bolt.is_some() {
                self.before.push(Recipe {
                    bolt: None,
                    bolt_profile: None,
                    ..made.clone()
                });
            }
            self.before.push(made);
        }
        forecasts
    }

    /// What making the server of `recipe` takes. The source's version is ignored.
    fn forecast(&self, recipe: &Recipe) -> Forecast {
        let recipe = recipe.normal();
        // Files that builds are trained on are known by their content, wherever they lie.
        let keyed = recipe.keyed();
        let is_there = |kind: BuildKind, alike: &dyn Fn(&Recipe) -> bool| {
            self.records
                .iter()
                .any(|record| record.kind == kind && alike(&record.recipe))
        };
        if is_there(BuildKind::Server, &|other| other.normal().keyed() == keyed) {
            return Forecast::There;
        }
        if self.before.iter().any(|other| other.keyed() == keyed) {
            return Forecast::Seconds(0.0);
        }
        if let Some(training) = &recipe.bolt {
            // BOLT works on a finished binary, which may be there.
            let bolt = self
                .typical(&recipe, "bolt")
                .unwrap_or(f64::from(training.seconds) + BOLT_SECONDS);
            let base = self.forecast(&Recipe {
                bolt: None,
                bolt_profile: None,
                ..recipe
            });
            return base.and(bolt);
        }
        let compile = self.typical(&recipe, "compile");
        let elsewhere = self.elsewhere.map(|cpu| cpu / self.jobs as f64 * UNEVEN);
        let Some(seconds) = compile.or(elsewhere) else {
            return Forecast::Unknown;
        };
        let once = seconds + self.typical(&recipe, "configure").unwrap_or_default();
        let forecast = match compile {
            Some(_) => Forecast::Seconds(once),
            None => Forecast::Elsewhere(once),
        };
        // Two rounds: what the first takes, then the second server, which is built with everything but its own counts.
        if let Some(contexts) = recipe.pgo.as_ref().filter(|training| training.contexts) {
            let seconds = f64::from(contexts.seconds);
            let mut first = recipe.clone();
            if let Some(training) = &mut first.pgo {
                training.contexts = false;
            }
            let one_round = match self.forecast(&first) {
                Forecast::There => forecast,
                other => other,
            };
            return one_round.and(once + seconds);
        }
        let same_profile = |other: &Recipe| {
            other.compiler == recipe.compiler
                && other.patches == recipe.patches
                && other.normal().keyed().pgo == keyed.pgo
        };
        if let Some(training) = &recipe.pgo
            && !is_there(BuildKind::Profile, &same_profile)
            && !self.before.iter().any(same_profile)
            && !self.has_shipped_profile(&recipe)
        {
            return forecast.and(once + f64::from(training.seconds));
        }
        forecast
    }

    /// Whether a profile that comes with the program spares `recipe` its training.
    fn has_shipped_profile(&self, recipe: &Recipe) -> bool {
        recipe.source.is_none()
            && fitting(&self.server, recipe, None).is_ok_and(|found| found.is_some())
    }

    /// Seconds of `part` for `recipe`: of the newest of the builds that are most like it.
    pub(crate) fn typical(&self, recipe: &Recipe, part: &str) -> Option<f64> {
        let whole;
        let recipe = match self.has_ccache {
            true => recipe,
            // Every file is compiled.
            false => {
                whole = Recipe {
                    patches: Default::default(),
                    ..recipe.clone()
                };
                &whole
            }
        };
        let known = self
            .records
            .iter()
            .filter(|record| record.seconds.contains_key(part));
        let nearest =
            known.min_by_key(|record| (unlike(&record.recipe, recipe), Reverse(record.begun)))?;
        let wall = nearest.seconds.get(part).copied()?;
        let alone = nearest
            .cpu_seconds
            .get(part)
            .map(|cpu| cpu / self.jobs as f64 * UNEVEN);
        // A machine that was busy then need not be busy now.
        Some(alone.map_or(wall, |alone| wall.min(alone)))
    }
}

/// CPU seconds of compiling a server of the catalogue once, as its file says.
fn cpu_seconds_elsewhere(server: &str) -> Option<f64> {
    let catalog = Catalog::load(&[]).ok()?;
    let build = catalog.get(server).ok()?.build.as_ref()?;
    build.cpu_seconds.map(f64::from)
}

/// How little a finished build tells about another recipe: 0 is one of the same kind.
fn unlike(known: &Recipe, asked: &Recipe) -> u8 {
    let patched = |recipe: &Recipe| !recipe.patches.is_empty();
    let without_patches = |recipe: &Recipe| Recipe {
        patches: Default::default(),
        ..recipe.normal()
    };
    // ccache serves a patched source most of its objects, so that it takes a small part of what a whole one takes: builds
    // of the two kinds do not tell of each other.
    if patched(known) == patched(asked) && without_patches(known) == without_patches(asked) {
        return 0;
    }
    match () {
        () if patched(known) => 4,
        () if known.compiler != asked.compiler => 3,
        () if known.lto != asked.lto => 2,
        () => 1,
    }
}

impl BuildStore {
    /// What making the servers of `recipes` takes on all CPUs, one after the other, by what earlier builds took here.
    pub fn forecasts(&self, server: &str, recipes: &[&Recipe]) -> Vec<Forecast> {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        Experience::of(self, server, jobs).forecasts(recipes)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
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
        let recipes: Vec<Recipe> = recipes.iter().map(|recipe| asked(recipe)).collect();
        let recipes: Vec<&Recipe> = recipes.iter().collect();
        let mut experience = Experience {
            records,
            elsewhere: None,
            has_ccache: true,
            server: "mariadb-10.11".to_owned(),
            jobs: 2,
            before: Vec::new(),
        };
        experience.forecasts(&recipes)
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
        let mut nothing = Experience {
            records: Vec::new(),
            elsewhere: Some(3000.0),
            has_ccache: false,
            server: "mariadb-10.11".to_owned(),
            jobs: 2,
            before: Vec::new(),
        };
        let once = 3000.0 / 2.0 * UNEVEN;
        let pgo = asked(&[("pgo", "oltp_insert")]);
        let training = f64::from(pgo.pgo.as_ref().expect("asked for").seconds);
        assert_eq!(
            nothing.forecasts(&[&asked(&[]), &pgo]),
            [once, 2.0 * once + training].map(Forecast::Elsewhere)
        );
        for server in ["mariadb-10.11", "mariadb-11.8", "mysql-9.7"] {
            assert!(cpu_seconds_elsewhere(server) > Some(1000.0), "{server}");
        }
    }

    #[test]
    fn a_patched_build_is_a_whole_one_where_ccache_keeps_nothing() {
        let records = vec![
            built(&[], 1400.0, None, 1),
            built(&[("patches", "metadata-tickets-kept")], 90.0, None, 2),
        ];
        let mut empty = Experience {
            records,
            elsewhere: None,
            has_ccache: false,
            server: "mariadb-10.11".to_owned(),
            jobs: 2,
            before: Vec::new(),
        };
        assert_eq!(
            empty.forecasts(&[&asked(&[PATCHED])]),
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
                &[pgo, ("flags", "-O3")],
                &[pgo, ("compiler", "clang")],
                &[pgo, ("bolt", "oltp_read_only")],
            ],
        );
        let bolt = f64::from(Training::default().seconds) + BOLT_SECONDS;
        assert_eq!(
            made,
            [2820.0 + training, 1410.0, 2820.0 + training, bolt].map(Forecast::Seconds)
        );
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
