//! What is built of the shipped levers, by what builds take on two CPUs.

use std::cell::RefCell;

use niagara_build::BuildStore;
use niagara_model::TailGuard;
use niagara_server::machine::Fingerprint;
use niagara_server::{Cache, Catalog, Family};

use super::*;
use crate::asking::choose_levers::{Application, Keep, TuneQuestion};
use crate::lever::Context;

/// One compilation of a server, BOLT with its training, another training.
const COMPILE: f64 = 1620.0;
const BOLT: f64 = 90.0;
const TRAIN: f64 = 30.0;
const HOUR: f64 = 3600.0;

/// A tuning with builds of a server.
struct Place {
    family: Family,
    version: &'static str,
    /// A profile for clang comes with the program.
    has_shipped_profile: bool,
    has_clang: bool,
    /// Ids of the levers whose servers are in the store.
    there: Vec<&'static str>,
    room: usize,
    workload: &'static str,
}

impl Default for Place {
    fn default() -> Self {
        Place {
            family: Family::Mariadb,
            version: "10.11.19",
            has_shipped_profile: true,
            has_clang: true,
            there: Vec::new(),
            room: 20,
            workload: "oltp_read_only",
        }
    }
}

/// What is built, in this order, and why the others are not.
struct Outcome {
    built: Vec<String>,
    /// Seconds that it takes.
    seconds: f64,
    left_out: Vec<(String, String)>,
}

impl Outcome {
    fn reason(&self, id: &str) -> &str {
        let found = self.left_out.iter().find(|(lever, _)| lever == id);
        found.map_or("", |(_, reason)| reason)
    }
}

impl Place {
    fn question() -> TuneQuestion {
        TuneQuestion {
            allow: Vec::new(),
            app: Application::Local,
            only: Vec::new(),
            also: Vec::new(),
            without: Vec::new(),
            counted: Vec::new(),
            shares_host: false,
            with_builds: true,
            build_seconds: HOUR,
            screen_couples: None,
            keep: Keep::Proven,
            guard: TailGuard::default(),
        }
    }

    fn candidates(&self, question: &TuneQuestion, levers: &[Lever]) -> Vec<Candidate> {
        let mut machine = Fingerprint::default();
        machine.cpu.threads = 2;
        machine.memory.bytes = 8 << 30;
        let version = self.version.parse().expect("a version");
        let context = Context::new(self.family, version, machine);
        let (mut candidates, _) = question.choose(levers, context, self.workload);
        candidates.retain(|candidate| {
            self.has_clang
                || candidate.change.build.get("compiler").map(String::as_str) != Some("clang")
        });
        candidates
    }

    /// Seconds as the forecast has them: recipes that differ in how they are linked share a profile, BOLT begins with a
    /// finished binary.
    fn forecasts(&self, there: &[Recipe], recipes: &[&Recipe]) -> Vec<Forecast> {
        let before = RefCell::new(Vec::<Recipe>::new());
        let one = |recipe: &Recipe| {
            let recipe = recipe.normal();
            let forecast = self.forecast(there, &before.borrow(), &recipe);
            let without_bolt = Recipe {
                bolt: None,
                ..recipe.clone()
            };
            before.borrow_mut().extend([without_bolt, recipe]);
            forecast
        };
        recipes.iter().map(|recipe| one(recipe)).collect()
    }

    fn forecast(&self, there: &[Recipe], before: &[Recipe], recipe: &Recipe) -> Forecast {
        if there.contains(recipe) {
            return Forecast::There;
        }
        if before.contains(recipe) {
            return Forecast::Seconds(0.0);
        }
        let mut compiled = recipe.clone();
        if compiled.bolt.take().is_some() {
            let base = self.forecast(there, before, &compiled);
            return Forecast::Elsewhere(base.seconds().expect("known") + BOLT);
        }
        let Some(training) = &recipe.pgo else {
            return Forecast::Elsewhere(COMPILE);
        };
        let shares = |other: &Recipe| {
            other.compiler == recipe.compiler
                && other.patches == recipe.patches
                && other.pgo == recipe.pgo
        };
        let is_clang = recipe.compiler.to_string().starts_with("clang");
        let rounds = f64::from(training.contexts);
        let shared = there.iter().chain(before).any(shares);
        let profile = match shared || (is_clang && self.has_shipped_profile) {
            true => 0.0,
            false => COMPILE + TRAIN,
        };
        Forecast::Elsewhere(COMPILE + profile + rounds * (COMPILE + TRAIN))
    }

    fn plan(&self, seconds: f64) -> Outcome {
        self.plan_of(&Self::question(), seconds)
    }

    fn plan_of(&self, question: &TuneQuestion, seconds: f64) -> Outcome {
        let levers = crate::lever::load(&[]).expect("the shipped levers");
        let candidates = self.candidates(question, &levers);
        let base = Variant::base("a server");
        let place = |id: &str| {
            let mut all = candidates.iter();
            all.position(|candidate| candidate.lever.id() == id)
                .unwrap_or_else(|| panic!("{id} is a candidate"))
        };
        let there: Vec<Recipe> = self
            .there
            .iter()
            .map(|id| recipe_of(&base, &candidates, &[place(id)]))
            .collect();
        let field = BuildField {
            base: &base,
            candidates: &candidates,
            gain: &|lever: &Lever| lever.expected_gain(&levers, self.family, self.workload),
            forecasts: &|recipes: &[&Recipe]| self.forecasts(&there, recipes),
            room: self.room,
        };
        let time = BuildTime {
            budget: seconds,
            used: 0.0,
        };
        let plan = field.plan(&[], &[], Some(time));
        let id = |index: usize| candidates[index].lever.id().to_owned();
        Outcome {
            seconds: plan.chosen.iter().map(|planned| planned.takes).sum(),
            built: plan
                .chosen
                .iter()
                .map(|planned| id(planned.index))
                .collect(),
            left_out: plan
                .left_out
                .into_iter()
                .map(|(index, reason)| (id(index), reason.to_string()))
                .collect(),
        }
    }
}

const CLANG: &str = "build-clang-pgo-lto";
const BOLTED: &str = "build-clang-pgo-lto-bolt";
const PATCHED: &str = "build-clang-pgo-lto-patched";
const PATCHED_BOLTED: &str = "build-clang-pgo-lto-patched-bolt";

#[test]
fn an_hour_goes_into_the_best_build_and_what_it_is_the_base_of() {
    let plan = Place::default().plan(HOUR);
    assert_eq!(plan.built, [CLANG, BOLTED, PATCHED, PATCHED_BOLTED]);
    assert_eq!(
        plan.reason("build-clang-pgo-lto-o3"),
        "building it takes about 27m, and of the 60m for building 3m are left: --build-budget 84m"
    );
    assert!(
        plan.reason("build-pgo-lto").contains("--build-budget"),
        "{:?}",
        plan.left_out
    );
}

#[test]
fn a_build_that_another_one_has_and_more_comes_last() {
    let plan = Place::default().plan(3.0 * HOUR);
    assert_eq!(plan.built[..4], [CLANG, BOLTED, PATCHED, PATCHED_BOLTED]);
    // What nobody measured may bring something, and what was measured as nothing takes a link; others were measured as less.
    assert_eq!(
        plan.built[4..],
        [
            "build-clang-pgo-lto-contexts",
            "build-clang-pgo-lto-aligned",
            "build-clang-pgo-lto-lean"
        ]
    );
    assert!(!plan.reason("build-clang-pgo").is_empty());
    let days = Place::default().plan(100.0 * HOUR);
    let place = |id: &str| {
        let mut built = days.built.iter();
        built
            .position(|other| other == id)
            .unwrap_or_else(|| panic!("{id} is built"))
    };
    for least in ["build-pgo", "build-lto"] {
        assert!(
            days.reason(least)
                .contains("more than 16 different servers"),
            "{:?}",
            days.left_out
        );
    }
    assert_eq!(days.left_out.len(), 2);
    for dominated in ["build-clang-pgo", "build-clang-lto"] {
        for better in ["build-pgo-lto", "build-clang-pgo-lto-lean"] {
            assert!(place(better) < place(dominated), "{:?}", days.built);
        }
    }
}

#[test]
fn an_hour_and_a_half_adds_to_the_best_before_it_goes_to_another_compiler() {
    let plan = Place::default().plan(1.5 * HOUR);
    assert_eq!(
        plan.built,
        [
            CLANG,
            BOLTED,
            PATCHED,
            PATCHED_BOLTED,
            "build-clang-pgo-lto-aligned"
        ]
    );
}

#[test]
fn half_an_hour_is_for_the_base_and_twenty_minutes_for_nothing() {
    assert_eq!(Place::default().plan(0.5 * HOUR).built, [CLANG, BOLTED]);
    let none = Place::default().plan(HOUR / 3.0);
    assert!(none.built.is_empty());
    assert_eq!(
        none.reason(CLANG),
        "building it takes about 27m, and of the 20m for building 20m are left: --build-budget 27m"
    );
}

#[test]
fn with_gcc_alone_its_best_build_is_the_base() {
    let gcc = Place {
        has_clang: false,
        ..Place::default()
    };
    let hour = gcc.plan(HOUR);
    assert_eq!(hour.built, ["build-pgo-lto", "build-pgo-lto-bolt"]);
    let more = gcc.plan(1.5 * HOUR);
    assert_eq!(
        more.built,
        [
            "build-pgo-lto",
            "build-pgo-lto-bolt",
            "build-pgo-lto-partial"
        ]
    );
}

#[test]
fn what_is_here_leaves_the_hour_to_what_stacks_on_it() {
    let place = Place {
        there: vec![CLANG, "build-pgo"],
        ..Place::default()
    };
    let plan = place.plan(HOUR);
    assert_eq!(
        plan.built[..5],
        [
            CLANG,
            BOLTED,
            PATCHED,
            PATCHED_BOLTED,
            "build-clang-pgo-lto-aligned"
        ]
    );
    assert!(plan.built.iter().any(|id| id == "build-pgo"), "it is free");
}

#[test]
fn no_more_is_built_than_the_duels_tell_apart() {
    let of = |room: usize| {
        let place = Place {
            room,
            ..Place::default()
        };
        place.plan(3.0 * HOUR)
    };
    assert_eq!(of(1).built, [CLANG]);
    assert_eq!(of(2).built, [CLANG, PATCHED_BOLTED]);
    let three = of(3);
    assert_eq!(three.built, [CLANG, PATCHED, PATCHED_BOLTED]);
    assert_eq!(
        three.reason(BOLTED),
        "the duels of this budget tell 3 builds apart, and more is expected of others: a longer --budget, or --only \
         build-clang-pgo-lto-bolt"
    );
}

/// BOLT on a build that is not made by itself takes what making that takes, too.
#[test]
fn what_a_build_without_room_would_have_taken_is_counted() {
    let place = Place {
        room: 2,
        ..Place::default()
    };
    let plan = place.plan(HOUR);
    assert_eq!(plan.built, [CLANG, PATCHED_BOLTED]);
    assert_eq!(plan.seconds, 2.0 * COMPILE + BOLT);
}

#[test]
fn other_servers_have_the_same_order_with_their_own_patches() {
    let eleven = Place {
        version: "11.8.6",
        has_shipped_profile: false,
        ..Place::default()
    };
    let short = eleven.plan(1.5 * HOUR);
    assert_eq!(short.built, [CLANG, BOLTED, "build-clang-pgo-lto-aligned"]);
    assert_eq!(
        short.reason("build-clang-pgo-lto-patched-11"),
        "building it takes about 55m, and of the 90m for building 7m are left: --build-budget 138m"
    );
    let long = eleven.plan(2.0 * HOUR);
    assert_eq!(
        long.built,
        [
            CLANG,
            BOLTED,
            "build-clang-pgo-lto-patched-11",
            "build-clang-pgo-lto-patched-11-bolt"
        ]
    );
    let mysql = Place {
        family: Family::Mysql,
        version: "9.7.4",
        has_shipped_profile: false,
        workload: "oltp_read_write",
        ..Place::default()
    };
    let plan = mysql.plan(HOUR);
    assert_eq!(plan.built, [CLANG, BOLTED]);
    let of_another = |id: &str| id.contains("patched") && !id.contains("patched-97");
    assert!(plan.left_out.iter().all(|(id, _)| !of_another(id)));
    assert!(
        plan.reason("build-clang-pgo-lto-patched-97")
            .starts_with("building it takes about ")
    );
}

#[test]
fn a_patch_named_beside_builds_is_charged_for_every_server_that_it_comes_to() {
    let question = TuneQuestion {
        also: vec!["socket-reads-buffered".to_owned()],
        ..Place::question()
    };
    let plan = Place::default().plan_of(&question, HOUR);
    assert_eq!(plan.built[0], CLANG);
    // By itself, and with each of the builds.
    let reason = plan.reason("socket-reads-buffered");
    assert!(
        reason.starts_with("building it takes about ") && !reason.contains("about 27m"),
        "{reason}"
    );
    let long = Place::default().plan_of(&question, 100.0 * HOUR);
    assert!(
        long.left_out
            .iter()
            .any(|(_, reason)| reason.contains("more than 16 different servers")),
        "{:?}",
        long.left_out
    );
}

/// The real forecast, whatever this machine is: within the time that one build takes that one is built.
#[test]
fn the_stores_forecast_decides_what_fits() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = BuildStore::new(&Cache::at(folder.path()).expect("a cache"));
    let catalog = Catalog::load(&[]).expect("the shipped servers");
    let levers = crate::lever::load(&[]).expect("the shipped levers");
    let candidates = Place::default().candidates(&Place::question(), &levers);
    let base = Variant::base("mariadb-10.11");
    let field = BuildField {
        base: &base,
        candidates: &candidates,
        gain: &|lever: &Lever| lever.expected_gain(&levers, Family::Mariadb, "oltp_read_only"),
        forecasts: &|recipes: &[&Recipe]| store.forecasts(&catalog, "mariadb-10.11", recipes),
        room: 20,
    };
    // A tuning that is continued: whatever it takes.
    let all = field.plan(&[], &[], None);
    assert_eq!(all.chosen.len(), MAX_BUILDS);
    let first = all.chosen[0];
    assert_eq!(candidates[first.index].lever.id(), CLANG);
    let seconds = first.forecast.seconds().expect("known from elsewhere");
    let within = |budget: f64| {
        let time = BuildTime { budget, used: 0.0 };
        field.plan(&[], &[], Some(time)).chosen
    };
    assert!(within(seconds - 1.0).is_empty());
    let chosen = within(seconds + 1.0);
    assert_eq!(
        chosen.iter().map(|one| one.index).collect::<Vec<_>>(),
        [first.index]
    );
}

#[test]
fn what_nobody_can_tell_the_time_of_is_built_alone() {
    assert_eq!(takes(Forecast::Unknown, true, Some(5.0)), Some(5.0));
    assert_eq!(takes(Forecast::Unknown, false, Some(5.0)), None);
    assert_eq!(takes(Forecast::Unknown, false, None), Some(0.0));
    let some = [
        Forecast::There,
        Forecast::Seconds(3.0),
        Forecast::Elsewhere(2.0),
    ];
    assert_eq!(together(&some), Forecast::Elsewhere(5.0));
    assert_eq!(together(&[Forecast::There]), Forecast::There);
    assert_eq!(
        together(&[Forecast::Unknown, Forecast::There]),
        Forecast::Unknown
    );
}
