//! Builds that nodes make, before anything is measured: each is a work item, comes back packed in the shared folder, and is put
//! into this host's store, from where whoever needs it takes it as if it had been built here.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use niagara_build::{BuildStore, Forecast, Wanted, kept_as};
use niagara_error::{Explain as _, Explanation, bail};
use niagara_fleet::content::stage;
use niagara_fleet::{DuelResult, Head, Order};
use niagara_server::{Cache, Cancel, Cancelled};

use crate::duels::inventory::Inventory;
use crate::fleet::build_order::{BuildDocument, BuildOrder, BuildResult, part_of_cache};
use crate::fleet::cluster::{FleetOptions, account_of, open_head};
use crate::fleet::packing::pack_for_nodes;
use crate::plans::observer::{Event, Observer};
use crate::plans::study_key::study_key;
use crate::variants::server_build::{BuildOptions, ServerRecipe, look};

/// Items that a worker holds: a build takes minutes, and one that waits behind another is better on the next node.
const HELD: usize = 1;
/// Seconds that a build is taken to last of which nothing is known.
const UNKNOWN_SECONDS: f64 = 1800.0;

/// What nodes built.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BuiltOnNodes {
    /// What was built, in words, each with its node and its seconds.
    pub built: Vec<String>,
    /// What could not be built on its node: the recipe and why.
    pub failed: Vec<(String, Explanation)>,
}

/// Has those of `recipes` built by nodes that are not in this host's store. What cannot be ordered here (a compiler or a source that is
/// not to be had), and what a node cannot build, is told, and left to whoever asks for it next.
///
/// # Errors
/// [`Cancelled`]; the shared folder cannot be written; Slurm takes no jobs.
pub fn build_on_nodes(
    fleet: &FleetOptions,
    inventory: &Inventory,
    recipes: &[ServerRecipe],
    options: BuildOptions,
    cancel: &Cancel,
    observer: &mut dyn Observer,
) -> Result<BuiltOnNodes> {
    let mut asked: BTreeMap<String, (&ServerRecipe, Wanted)> = BTreeMap::new();
    let mut refused = Vec::new();
    for recipe in recipes {
        let (cache, catalog) = (&inventory.cache, &inventory.catalog);
        let mut show = |text: &str| observer.see(Event::SettingUp(text));
        let wanted = look(
            cache,
            catalog,
            &recipe.server,
            &recipe.recipe,
            options,
            cancel,
            &mut show,
        );
        match wanted {
            Ok(wanted) => {
                asked.insert(wanted.key.clone(), (recipe, wanted));
            }
            Err(error) if error.has::<Cancelled>() || cancel.is_cancelled() => return Err(error),
            Err(error) => {
                let told = error
                    .explain()
                    .with_cause(|cause| format!("it cannot be built: {cause}"));
                observer.see(Event::Note(&format!("{}: {told}", in_words(recipe))));
                refused.push((in_words(recipe), told));
            }
        }
    }
    // Known by all that was asked for, so that a head that was killed finds its folder again.
    let key = study_key(&asked.keys().collect::<Vec<_>>())?;
    asked.retain(|_, (_, wanted)| !wanted.is_there);
    if asked.is_empty() {
        return Ok(BuiltOnNodes {
            built: Vec::new(),
            failed: refused,
        });
    }
    let name = format!("builds-{}", &key[..12]);
    let _alone = alone_in(&name, &inventory.cache, cancel, observer)?;
    // Whoever was waited for built it.
    let store = BuildStore::new(&inventory.cache);
    asked.retain(|key, _| store.find(key).is_none());
    if asked.is_empty() {
        return Ok(BuiltOnNodes {
            built: Vec::new(),
            failed: refused,
        });
    }
    let folder = fleet.shared.join(name);
    let yard = Yard {
        inventory,
        options,
        folder,
    };
    // First of all opened: a shared folder that is none is told before something large is packed.
    let mut head = open_head(fleet, &yard.folder, &key, 0, HELD)?;
    observer.see(Event::Note(
        &fleet.announcement(&format!("{} builds", asked.len()), &yard.folder),
    ));
    let done = yard.have_built(&head, &asked, cancel, observer);
    head.end();
    let done = done?;
    let account = account_of(&head, |item| asked.keys().any(|key| item == item_of(key)));
    observer.see(Event::Note(&format!(
        "{} workers held nodes for {:.0} s to build, {:.0} s of it at building",
        account.workers, account.held, account.seconds.load
    )));
    // All that was worth keeping is in the store.
    let _ = std::fs::remove_dir_all(&yard.folder);
    Ok(BuiltOnNodes {
        failed: refused.into_iter().chain(done.failed).collect(),
        ..done
    })
}

/// The shared folder of this name for oneself among the heads of this host: builds are known by what they are, whoever asks for
/// them, and two heads in one folder would take each other's workers for their own, and the folder away.
fn alone_in(
    name: &str,
    cache: &Cache,
    cancel: &Cancel,
    observer: &mut dyn Observer,
) -> Result<impl Drop + use<>> {
    let lock = format!("fleet-{name}");
    cache.lock_or_cancelled(&lock, cancel, &mut || {
        observer.see(Event::Note(
            "waiting: another command has these builds made by nodes",
        ));
    })
}

/// The name of a build among a head's items.
fn item_of(key: &str) -> String {
    format!("build-{key}")
}

fn in_words(recipe: &ServerRecipe) -> String {
    format!("{} ({})", recipe.server, recipe.recipe.one_line())
}

/// Where builds are ordered and received.
struct Yard<'a> {
    inventory: &'a Inventory,
    options: BuildOptions,
    folder: PathBuf,
}

impl Yard<'_> {
    fn have_built(
        &self,
        head: &Head,
        asked: &BTreeMap<String, (&ServerRecipe, Wanted)>,
        cancel: &Cancel,
        observer: &mut dyn Observer,
    ) -> Result<BuiltOnNodes> {
        let orders = self.orders(asked, cancel, observer)?;
        head.want(&orders);
        let mut done = BuiltOnNodes::default();
        for (place, (key, (recipe, _))) in asked.iter().enumerate() {
            observer.see(Event::SettingUp(&format!(
                "{place} of {} builds are here; waiting for {}",
                asked.len(),
                in_words(recipe)
            )));
            let result = head
                .wait(&item_of(key), &|| cancel.is_cancelled(), &mut |text| {
                    observer.see(Event::Note(text));
                })?
                .ok_or(Cancelled)?;
            match self.receive(key, &result, cancel, observer)? {
                Ok(seconds) => {
                    let line = format!(
                        "{} was built on {} in {seconds:.0} s",
                        in_words(recipe),
                        result.node
                    );
                    observer.see(Event::Note(&line));
                    done.built.push(line);
                }
                Err(why) => {
                    let node = &result.node;
                    let told =
                        why.with_cause(|cause| format!("it cannot be built on {node}: {cause}"));
                    observer.see(Event::Note(&format!("{}: {told}", in_words(recipe))));
                    done.failed.push((in_words(recipe), told));
                }
            }
        }
        Ok(done)
    }

    fn orders(
        &self,
        asked: &BTreeMap<String, (&ServerRecipe, Wanted)>,
        cancel: &Cancel,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Order>> {
        let inventory = self.inventory;
        let cache = inventory.cache.root();
        let installed = niagara_server::installed(&inventory.cache)?;
        let store = BuildStore::new(&inventory.cache);
        let mut packed = BTreeMap::new();
        let mut orders = Vec::new();
        for (index, (key, (recipe, wanted))) in asked.iter().enumerate() {
            // A tree of the user's is where the recipe says: on a node, too.
            let source = wanted.source.parent();
            let source = source.and_then(|folder| part_of_cache(inventory, folder));
            let mut packaged = installed
                .iter()
                .filter(|install| install.name == recipe.server);
            let packaged = packaged.next().and_then(|install| {
                let below = part_of_cache(inventory, &install.basedir)?;
                // servers/NAME/usr: its root is what is carried.
                let mut parts = below.split('/');
                Some(format!("{}/{}", parts.next()?, parts.next()?))
            });
            let mut content = Vec::new();
            for path in source.into_iter().chain(packaged) {
                if !packed.contains_key(&path) {
                    let archive = pack_for_nodes(&self.folder, cache, &path, cancel, observer)?;
                    packed.insert(path.clone(), archive);
                }
                content.extend(packed.get(&path).cloned());
            }
            let beside = kept_as(&inventory.catalog, &recipe.server);
            let forecast = store.forecasts(&inventory.catalog, beside, &[&recipe.recipe]);
            let seconds = forecast.first().copied().and_then(Forecast::seconds);
            orders.push(Order {
                duel: item_of(key),
                index: index as u64,
                seconds: seconds.unwrap_or(UNKNOWN_SECONDS),
                document: serde_json::to_value(BuildOrder {
                    build: BuildDocument {
                        server: recipe.server.clone(),
                        recipe: recipe.recipe.clone(),
                        jobs: self.options.jobs,
                        content,
                    },
                })?,
            });
        }
        Ok(orders)
    }

    /// Puts a build that a node made into the store of this host: the seconds that it took there, or why there is none.
    fn receive(
        &self,
        key: &str,
        result: &DuelResult,
        cancel: &Cancel,
        observer: &mut dyn Observer,
    ) -> Result<Result<f64, Explanation>> {
        let document: BuildResult = serde_json::from_slice(&result.document)
            .context("the result of a build cannot be understood")?;
        match document {
            BuildResult::Built { key: there, .. } if there != key => {
                Ok(Err(Explanation::new(format!(
                    "what was built there has another key, {there} rather than {key}: its compiler or its CPUs are not those of this host"
                ))))
            }
            BuildResult::Built {
                content, seconds, ..
            } => {
                let cache = &self.inventory.cache;
                let store = BuildStore::new(cache);
                // A command of this host that makes it at the same time has its folder.
                let making = store.hold_alone(key, cancel, &mut || {
                    observer.see(Event::Note(
                        "waiting: another command of this host makes this build",
                    ));
                })?;
                if store.find(key).is_none() {
                    let name = content.lock_name();
                    let _unpacking = cache.lock_or_cancelled(&name, cancel, &mut || {})?;
                    stage(&self.folder, cache.root(), &content)?;
                }
                drop(making);
                let Some(build) = store.find(key) else {
                    bail!(
                        "the build {key} came from {} without its record", result.node;
                        remedy: "the same command again"
                    );
                };
                // An archive keeps no times, and nobody holds the build until all of them are here and the study sets it up: a `gc` by
                // age would take it for one that was not used for decades.
                build.touch();
                Ok(Ok(seconds))
            }
            BuildResult::Failed { why } => Ok(Err(why)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use niagara_fleet::content::{Packer, publish};
    use niagara_fleet::{Attempt, Waiting};
    use serde_json::json;

    use super::*;
    use crate::plans::observer::Silent;

    /// Keeps what it is told, and asks for a stop then.
    #[derive(Default)]
    struct Told(Vec<String>, Cancel);

    impl Observer for Told {
        fn see(&mut self, event: Event<'_>) {
            if let Event::Note(text) = event {
                self.0.push(text.to_owned());
                self.1.cancel();
            }
        }
    }

    #[test]
    fn a_build_that_came_from_a_node_is_as_new_as_one_that_was_made_here() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let (node, shared) = (place.path().join("node"), place.path().join("shared"));
        let key = "0123456789abcdef";
        let path = format!("builds/{key}");
        std::fs::create_dir_all(node.join(&path)).expect("made");
        std::fs::create_dir_all(&shared).expect("made");
        let record = json!({
            "key": key, "kind": "server", "server": "s", "source": "s", "recipe": {}, "cmake": {},
            "begun": "2026-01-01T00:00:00Z",
            "toolchain": {"cc": "/cc", "cxx": "/c++", "compiler": "gcc", "ar": "/ar", "ranlib": "/ranlib",
                "linker": null, "profdata": null, "bolt": null, "ccache": null},
        });
        std::fs::write(node.join(&path).join("recipe.json"), record.to_string()).expect("written");
        let mut waiting = Waiting {
            patience: Duration::from_secs(1),
            stop: &|| false,
            tell: &mut |_| {},
        };
        let packed = publish(&shared, &node, &path, Packer::Worker, &mut waiting);
        let built = BuildResult::Built {
            key: key.to_owned(),
            content: packed.expect("room").expect("not stopped"),
            seconds: 60.0,
        };
        let inventory = Inventory::open_in(Some(&place.path().join("head")), &[], &[]);
        let inventory = inventory.expect("a folder of its own");
        let yard = Yard {
            inventory: &inventory,
            options: BuildOptions::default(),
            folder: shared,
        };
        let result = DuelResult {
            document: serde_json::to_vec(&built).expect("JSON"),
            attempt: Attempt {
                duel: item_of(key),
                epoch: 1,
            },
            worker: "w1".to_owned(),
            node: "n1".to_owned(),
            machine: String::new(),
        };
        let received = yard.receive(key, &result, &Cancel::default(), &mut Silent);
        assert_eq!(received.expect("in place"), Ok(60.0));
        let store = BuildStore::new(&inventory.cache);
        let day = Duration::from_secs(24 * 3600);
        assert_eq!(store.gc(day).expect("readable").builds, 0);
        assert!(store.find(key).is_some());
        assert_eq!(store.gc(Duration::ZERO).expect("readable").builds, 1);
    }

    #[test]
    fn two_heads_do_not_have_the_same_builds_made_at_the_same_time() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::at(place.path()).expect("a folder of its own");
        let mut told = Told::default();
        let cancel = told.1.clone();
        let first = alone_in("builds-1", &cache, &cancel, &mut told).expect("nobody else");
        let other = alone_in("builds-2", &cache, &cancel, &mut told);
        other.expect("other builds are not waited for");
        assert!(told.0.is_empty(), "{:?}", told.0);
        // Waits until it is stopped.
        let second = alone_in("builds-1", &cache, &cancel, &mut told);
        let error = second.err().expect("somebody has it");
        assert!(error.has::<Cancelled>(), "{error:#}");
        assert_eq!(told.0.len(), 1, "{:?}", told.0);
        drop(first);
        let again = alone_in("builds-1", &cache, &Cancel::default(), &mut told);
        again.expect("nobody has it any more");
    }
}
