//! The training of a build on a real server: loads and jobs, each ended by a clean shutdown.

use std::collections::BTreeMap;

use niagara_build::{LoadTrainer, Recipe, Trainer, TrainingJob};
use niagara_server::{Cache, Cancel, Catalog, get};

#[test]
fn a_build_is_trained_on_loads_and_on_a_job() {
    let cache = Cache::open().expect("the shared cache");
    let catalog = Catalog::load(&[]).expect("valid");
    let description = catalog.get("mariadb-10.11").expect("known");
    let install = get(&cache, description, &mut |_| {}).expect("a server");
    let mut recipe = Recipe::default();
    for (key, value) in [
        ("pgo", "oltp_read_only:1/report:1"),
        ("pgo.seconds", "2"),
        ("pgo.threads", "2"),
        ("pgo.table_size", "1000"),
    ] {
        recipe.set(key, value).expect("valid");
    }
    let training = recipe.pgo.as_ref().expect("it was set");
    let cancel = Cancel::default();
    let job = TrainingJob {
        install: &install,
        loader: None,
        training,
        environment: BTreeMap::new(),
        sampling: None,
    };
    let mut told = Vec::new();
    LoadTrainer::new(&cache, &cancel)
        .train(&job, &mut |text| told.push(text.to_owned()))
        .expect("trained");
    let of = |start: &str| told.iter().any(|text| text.starts_with(start));
    assert!(of("training on oltp_read_only: "), "{told:?}");
    assert!(of("training on report, time 1: copy by key"), "{told:?}");
    // A job of so few rows is over soon, and is done again for as long as its share lasts.
    assert!(of("training on report, time 2: "), "{told:?}");
}
