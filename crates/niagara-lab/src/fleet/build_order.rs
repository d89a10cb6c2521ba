//! The description of a build that a node gets, what the node does with it, and what it says of it.

use std::time::Instant;

use anyhow::{Context, Result};
use niagara_build::{BuildStore, Recipe};
use niagara_error::{Explain as _, Explanation};
use niagara_fleet::content::{Content, Packer, publish};
use niagara_fleet::{Done, NoRoom, Waiting};
use niagara_server::{Cancel, Cancelled};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

use crate::duels::inventory::Inventory;
use crate::variants::server_build::{BuildOptions, build};

/// The description of a build that a node gets; it stands in a document of its own kind, so that no duel is taken for one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BuildOrder {
    /// The build.
    pub build: BuildDocument,
}

/// What is to be built.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BuildDocument {
    /// The server that it stands beside.
    pub server: String,
    /// How it is made.
    pub recipe: Recipe,
    /// Compilers at the same time; 0 is one per CPU.
    pub jobs: usize,
    /// What has to be on the node's disk: the source, the packaged server.
    pub content: Vec<Content>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub(crate) enum BuildResult {
    /// It stands packed in the shared folder.
    Built {
        /// The key that it has on the node.
        key: String,
        /// The archive.
        content: Content,
        /// Seconds that building took there; 0 where it was in the node's store.
        seconds: f64,
    },
    /// It cannot be built there.
    Failed {
        /// Why.
        why: Explanation,
    },
}

impl BuildOrder {
    /// The build that an order is for; `None` of an order for a duel.
    pub(super) fn of(order: &Value) -> Option<Result<BuildDocument>> {
        let build = order.get("build")?;
        Some(serde_json::from_value(build.clone()).context("the order cannot be understood"))
    }
}

impl BuildDocument {
    /// Builds on this node and packs what came of it into the shared `folder`, once that has room. A recipe that cannot be built is a
    /// result, and so is a build for which there was no room for too long: no other node would find any.
    ///
    /// # Errors
    /// [`Cancelled`]; a folder that cannot be written for another reason.
    pub(super) fn make(
        &self,
        inventory: &Inventory,
        folder: &Path,
        waiting: &mut Waiting<'_>,
        cancel: &Cancel,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Done> {
        let began = Instant::now();
        let options = BuildOptions {
            jobs: self.jobs,
            ..BuildOptions::default()
        };
        let (cache, catalog) = (&inventory.cache, &inventory.catalog);
        let built = build(
            cache,
            catalog,
            &self.server,
            &self.recipe,
            options,
            cancel,
            tell,
        );
        let seconds = began.elapsed().as_secs_f64();
        let result = match built {
            Ok(built) => {
                let key = built.build.record.key.clone();
                let path = part_of_cache(inventory, &BuildStore::new(cache).folder(&key))
                    .context("a build outside the node's folder")?;
                match publish(folder, cache.root(), &path, Packer::Worker, waiting) {
                    Ok(content) => BuildResult::Built {
                        content: content.ok_or(Cancelled)?,
                        seconds: if built.was_there { 0.0 } else { seconds },
                        key,
                    },
                    Err(error) if error.has::<NoRoom>() => BuildResult::Failed {
                        why: error.explain(),
                    },
                    Err(error) => return Err(error),
                }
            }
            Err(error) if error.has::<Cancelled>() || cancel.is_cancelled() => return Err(error),
            Err(error) => BuildResult::Failed {
                why: error.explain(),
            },
        };
        Ok(Done {
            document: serde_json::to_vec(&result)?,
            load_seconds: seconds,
            failed: matches!(result, BuildResult::Failed { .. }),
        })
    }
}

/// A folder of the cache, as a path below it.
pub(super) fn part_of_cache(inventory: &Inventory, folder: &Path) -> Option<String> {
    let below = folder.strip_prefix(inventory.cache.root()).ok()?;
    Some(below.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_for_a_build_comes_back_and_no_duel_is_taken_for_one() {
        let mut recipe = Recipe::default();
        recipe.set("flags", "-O3").expect("valid");
        let build = BuildDocument {
            server: "mariadb-10.11".into(),
            recipe,
            jobs: 2,
            content: Vec::new(),
        };
        let order = BuildOrder {
            build: build.clone(),
        };
        let order = serde_json::to_value(order).expect("JSON");
        let back = BuildOrder::of(&order).expect("a build").expect("whole");
        assert_eq!(back, build);
        assert!(BuildOrder::of(&serde_json::json!({ "spec": {} })).is_none());
        assert!(BuildOrder::of(&serde_json::json!({ "build": 1 })).is_some_and(|it| it.is_err()));
    }
}
