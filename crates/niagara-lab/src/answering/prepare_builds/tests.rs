//! Building in turn, with a clock and builds that are none.

use niagara_error::{Explain as _, Explanation};
use niagara_model::Reason;
use std::cell::{Cell, RefCell};

use super::*;
use crate::asking::choose_builds::BuildTime;
use crate::lever::{Change, Lever};

/// A lever of the choice `build` with this many minutes to build, and the levers as the library has them.
fn levers() -> (Vec<Candidate>, Vec<Lever>) {
    let levers = crate::lever::load(&[]).expect("the shipped levers");
    let ids = [
        "build-clang-pgo-lto",
        "build-clang-pgo-lto-bolt",
        "build-pgo-lto",
        "build-lto",
    ];
    let candidate = |id: &str| {
        let lever = levers.iter().find(|lever| lever.id() == id);
        let lever = lever.expect("shipped").clone();
        Candidate {
            change: Change {
                build: lever.build().clone(),
                ..Change::default()
            },
            lever,
            span: None,
            prior: None,
        }
    };
    (ids.into_iter().map(candidate).collect(), levers)
}

/// Minutes that the builds take.
fn minutes(recipe: &Recipe) -> f64 {
    match recipe.one_line() {
        line if line.contains("BOLT") => 2.0,
        line if line.starts_with("clang") => 30.0,
        line if line.contains("PGO") => 50.0,
        _ => 20.0,
    }
}

struct Ended {
    prepared: Prepared,
    told: Vec<String>,
    asked: Vec<Vec<usize>>,
}

/// What comes of an hour, where a build takes `actual` minutes or fails.
fn in_an_hour(nothing_else: bool, actual: &dyn Fn(usize) -> (f64, Option<&'static str>)) -> Ended {
    let (candidates, levers) = levers();
    let base = Variant::base("mariadb-10.11");
    let made = RefCell::new(Vec::<Recipe>::new());
    let field = BuildField {
        base: &base,
        candidates: &candidates,
        gain: &|lever: &Lever| {
            lever.expected_gain(&levers, niagara_server::Family::Mariadb, "oltp_read_only")
        },
        forecasts: &|recipes: &[&Recipe]| {
            let takes = |recipe: &&Recipe| match made.borrow().contains(recipe) {
                true => Forecast::There,
                false => Forecast::Seconds(60.0 * minutes(recipe)),
            };
            recipes.iter().map(takes).collect()
        },
        room: 10,
    };
    let budget = 3600.0;
    let announced = field.plan(&[], &[], Some(BuildTime { budget, used: 0.0 }));
    let used = Cell::new(0.0);
    let (mut told, mut asked) = (Vec::new(), Vec::new());
    let prepared = build_in_turn(
        &field,
        &announced,
        nothing_else,
        Some(budget),
        &|| used.get(),
        &mut |set| {
            asked.push(set.to_vec());
            let (minutes, refused) = actual(set[0]);
            used.set(used.get() + 60.0 * minutes);
            if refused.is_none() {
                made.borrow_mut().push(recipe_of(&base, &candidates, set));
            }
            Ok(refused.map(|error| Reason::CannotBuild {
                error: Box::new(Explanation::new(error).remedy("apt install lld-19")),
                together: Vec::new(),
            }))
        },
        &mut |text| told.push(text.to_owned()),
    );
    Ended {
        prepared: prepared.expect("nothing stops it"),
        told,
        asked,
    }
}

#[test]
fn what_takes_as_long_as_forecast_is_built_as_announced() {
    let ended = in_an_hour(false, &|index| ([30.0, 2.0, 50.0, 20.0][index], None));
    assert_eq!(ended.prepared.made, [0, 1, 3]);
    assert!(
        ended.prepared.left_out[&2]
            .to_string()
            .contains("--build-budget")
    );
    assert!(ended.told.is_empty(), "{:?}", ended.told);
}

#[test]
fn a_build_that_takes_longer_costs_the_next_its_place() {
    let ended = in_an_hour(false, &|index| ([45.0, 2.0, 50.0, 20.0][index], None));
    assert_eq!(ended.prepared.made, [0, 1]);
    let reason = ended.prepared.left_out[&3].to_string();
    assert!(
        reason.starts_with("building it takes about 20m, and of the 60m for building 13m are left"),
        "{reason}"
    );
    assert_eq!(ended.told, [format!("build-lto is not built: {reason}")]);
}

#[test]
fn the_time_of_a_build_that_fails_early_goes_to_others() {
    let ended = in_an_hour(false, &|index| match index {
        0 => (1.0, Some("the linker is missing")),
        index => ([0.0, 2.0, 50.0, 20.0][index], None),
    });
    // Neither it nor what adds to it is tried again; the build by the other compiler has its time.
    assert_eq!(ended.asked, [vec![0], vec![2]]);
    assert_eq!(ended.prepared.made, [2]);
    assert!(
        ended.told[0]
            .contains("with 1 that add to it: the linker is missing\nremedy: apt install lld-19"),
        "{:?}",
        ended.told
    );
    assert_eq!(
        ended.told[1],
        "there is time left, build-pgo-lto is built too"
    );
    assert_eq!(
        ended.prepared.left_out[&1].to_string(),
        "it adds to build-clang-pgo-lto, which is not available here: the linker is missing"
    );
}

#[test]
fn with_nodes_nothing_is_built_here_that_was_not_announced() {
    let ended = in_an_hour(true, &|_| (0.0, None));
    assert_eq!(ended.prepared.made, [0, 1, 3]);
    assert!(ended.prepared.left_out.contains_key(&2));
}

#[test]
fn levels_of_a_choice_stand_by_their_worth_where_they_stood() {
    let (mut candidates, levers) = levers();
    let malloc = levers.iter().find(|lever| lever.id() == "malloc-jemalloc");
    let other = Candidate {
        lever: malloc.expect("shipped").clone(),
        change: Change::default(),
        span: None,
        prior: None,
    };
    candidates.insert(1, other);
    let left_out = BTreeMap::from([(3, Reason::BudgetTooShort)]);
    let not_tried = keep_prepared(&mut candidates, &[2, 4, 0], &left_out);
    let ids: Vec<&str> = candidates.iter().map(|kept| kept.lever.id()).collect();
    assert_eq!(
        ids,
        [
            "build-clang-pgo-lto-bolt",
            "malloc-jemalloc",
            "build-lto",
            "build-clang-pgo-lto"
        ]
    );
    assert_eq!(not_tried.len(), 1);
    assert_eq!(not_tried[0].lever, "build-pgo-lto");
}

#[test]
fn without_any_tool_the_remedies_are_told_once_each() {
    let refused = [
        ("a", "clang is not here", "apt install clang-19"),
        ("b", "clang is not here", "apt install clang-19"),
        ("c", "cmake is not here", "apt install cmake"),
    ]
    .map(|(name, cause, remedy)| (name.to_owned(), Explanation::new(cause).remedy(remedy)));
    assert_eq!(
        by_reason(&refused),
        [
            Explanation::new("a and 1 more: clang is not here").remedy("apt install clang-19"),
            Explanation::new("c: cmake is not here").remedy("apt install cmake")
        ]
    );
    let error = nothing_can_be_built(&refused).explain().to_string();
    assert_eq!(
        error,
        "--with-builds is asked for, and no server can be built here: a and 1 more: clang is not here; \
         c: cmake is not here\nremedy: apt install clang-19; or apt install cmake; or leave out --with-builds"
    );
}
