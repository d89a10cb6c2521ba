//! Everything that a recipe comes to on this machine, and the key that it is known by.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use niagara_server::{BuildDescription, Catalog, Install, installed};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::described::{built_as, can_be_built, of_tree};
use crate::flags::{Stage, check_options, cmake_options};
use crate::in_use::InUse;
use crate::patch::Patch;
use crate::recipe::{BoltProfile, Recipe};
use crate::shipped_patches::patch_text;
use crate::shipped_profiles::{self, ShippedProfile};
use crate::source::Source;
use crate::store::{self, BuildKind, BuildRecord, BuildStore};
use crate::toolchain::Toolchain;
use niagara_server::Cache;

/// How builds are made: part of every key, so that raising it builds again. To be raised with whatever a recipe comes to
/// (the words for cmake and BOLT, which a test watches) and with what a prefix holds.
pub(crate) const FORM: u32 = 2;

/// Everything that a recipe comes to on this machine.
pub(crate) struct Order {
    pub server: String,
    pub description: BuildDescription,
    pub source: Source,
    pub patches: Vec<Patch>,
    pub recipe: Recipe,
    pub tools: Toolchain,
    /// The folder below which gcc knows the objects of what counts.
    pub places: PathBuf,
    /// Keeps the source from being removed; none where nothing is going to be built.
    pub source_in_use: Option<InUse>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    shipped_profile: Option<String>,
    cpu: Option<String>,
    /// Of builds whose link was kept beside those of others once, and may have been taken from there.
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    linked_in: &'a [String],
    /// Of what gcc counts in and by: it knows functions by the paths of their sources, some of which are made among the objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<[&'a Path; 2]>,
}

/// The patch of this name for a source.
pub(crate) type Patches<'a> = &'a dyn Fn(&str, &Source) -> Result<Patch>;

impl Order {
    /// The order for `recipe`, in its normal form, by these tools and from this source.
    ///
    /// # Errors
    /// A patch that is not there or not for this source.
    pub(crate) fn of(
        cache: &Cache,
        server: &str,
        recipe: Recipe,
        tools: Toolchain,
        (description, source): (BuildDescription, Source),
        patches: Patches<'_>,
    ) -> Result<Order> {
        let patches = recipe.patches.iter().map(|name| patches(name, &source));
        Ok(Order {
            server: server.to_owned(),
            patches: patches.collect::<Result<_>>()?,
            description,
            source,
            recipe,
            tools,
            places: BuildStore::new(cache).places(),
            source_in_use: None,
        })
    }

    /// The order for `recipe` as far as it is known without fetching anything: `None` where the source is not here.
    ///
    /// # Errors
    /// What cannot be made here, and a server that is not in the catalogue.
    pub(crate) fn of_what_is_here(
        cache: &Cache,
        catalog: &Catalog,
        server: &str,
        recipe: &Recipe,
    ) -> Result<Option<Order>> {
        let recipe = recipe.pinned()?.normal();
        let tools = tools_for(&recipe)?;
        let (server, from) = match &recipe.source {
            Some(path) => {
                let source = Source::from_path(path)?;
                (server, (of_tree(catalog, server, &source)?, source))
            }
            None => {
                let described = built_as(catalog, server)?;
                let build = can_be_built(described)?;
                match Source::of_package_here(cache, described, &build) {
                    Some(source) => (described.name.as_str(), (build, source)),
                    None => return Ok(None),
                }
            }
        };
        let patch = |name: &str, _: &Source| {
            let text = patch_text(name)?.to_owned();
            let name = name.to_owned();
            Ok(Patch { name, text })
        };
        Order::of(cache, server, recipe, tools, from, &patch).map(Some)
    }

    /// The key of what is asked for.
    pub(crate) fn key(&self, kind: BuildKind) -> Result<String> {
        let mut recipe = self.recipe.keyed();
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
                .map(|patch| hex::encode(&Sha256::digest(&patch.text)[..8]))
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
            shipped_profile: self.shipped_profile()?.map(|profile| profile.digest()),
            cpu: self.recipe.is_native().then(cpu_features),
            links: self.recipe.has_two_rounds().then_some("apart"),
            linked_in: &self.tools.linked_in,
            paths: (self.recipe.compiler.is_gcc() && kind != BuildKind::Server)
                .then_some([&self.source.tree, &self.places]),
        })
    }

    /// The profile that comes with the program and spares this order its own training.
    ///
    /// # Errors
    /// A file of the program's that cannot be read.
    pub(crate) fn shipped_profile(&self) -> Result<Option<ShippedProfile>> {
        self.shipped_for(&self.recipe)
    }

    /// The profile that comes with the program and would be the first round of this order's profile feedback, or all of it;
    /// whether it fits the source is another question.
    ///
    /// # Errors
    /// A file of the program's that cannot be read.
    pub(crate) fn first_shipped_profile(&self) -> Result<Option<ShippedProfile>> {
        self.shipped_for(&self.recipe.first_round())
    }

    fn shipped_for(&self, recipe: &Recipe) -> Result<Option<ShippedProfile>> {
        // A tree of the user's may be anything.
        if recipe.source.is_some() {
            return Ok(None);
        }
        shipped_profiles::fitting(&self.server, recipe, Some(&self.tools.compiler))
    }

    /// The order for the server that counts for this one's profile. The recipe says that it is trained here where the profile
    /// that comes with the program is known not to fit the source.
    ///
    /// # Errors
    /// As [`with`](Order::with).
    pub(crate) fn counted(&self) -> Result<Order> {
        let shipped = self.first_shipped_profile()?;
        let is_stale =
            shipped.is_some_and(|shipped| shipped.is_stale_for(&self.source, &self.recipe));
        self.with(|recipe| {
            *recipe = recipe.counted();
            if is_stale {
                recipe.train_here();
            }
        })
    }

    /// The order for the instrumented server of this one, which is a [counted](Order::counted) one.
    ///
    /// # Errors
    /// As [`with`](Order::with).
    pub(crate) fn instrumented(&self) -> Result<Order> {
        let order = self.with(|recipe| *recipe = recipe.instrumented())?;
        // The linker that counters take is chosen by the training, which its recipe does not have.
        let tools = self.tools.clone();
        Ok(Order { tools, ..order })
    }

    pub(crate) fn record(&self, key: &str, kind: BuildKind, stage: &Stage) -> BuildRecord {
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
            shipped: None,
            instrumented: None,
            begun: jiff::Timestamp::now(),
        }
    }

    /// What data directories depend on: the source, patches included; builds of one source share dataset images.
    pub(crate) fn made_from(&self) -> BTreeMap<String, String> {
        let mut from = BTreeMap::from([(
            format!("source of {}", self.source.name),
            self.source.digest.clone(),
        )]);
        for patch in &self.patches {
            from.insert(
                format!("with {}", patch.name),
                hex::encode(&Sha256::digest(&patch.text)[..8]),
            );
        }
        from
    }

    /// The server in the prefix of a build's `folder`.
    ///
    /// # Errors
    /// It does not run.
    pub(crate) fn install(&self, cache: &Cache, folder: &Path) -> Result<Install> {
        let usr = folder.join("prefix/usr");
        let server = usr.join("sbin").join(self.binary_name());
        let packaged = installed(cache)?;
        let packaged = packaged.into_iter().rfind(|it| it.name == self.server);
        let mut install = Install::built(&self.server, packaged, &server, &usr, self.made_from())?;
        if !self.recipe.takes_other_mallocs() {
            "jemalloc".clone_into(&mut install.own_malloc);
            install.mallocs.clear();
        }
        Ok(install)
    }

    /// The name of the binary.
    pub(crate) fn binary_name(&self) -> &std::ffi::OsStr {
        let binary = &self.description.binary;
        binary.file_name().unwrap_or(binary.as_os_str())
    }

    /// The same with another recipe.
    pub(crate) fn with(&self, change: impl FnOnce(&mut Recipe)) -> Result<Order> {
        let mut recipe = self.recipe.clone();
        change(&mut recipe);
        Ok(Order {
            server: self.server.clone(),
            description: self.description.clone(),
            source: self.source.clone(),
            patches: self.patches.clone(),
            tools: Toolchain::find(&recipe)?,
            recipe,
            places: self.places.clone(),
            source_in_use: self.source_in_use.clone(),
        })
    }
}

/// The tools that `recipe` takes, which asks for nothing that they do not have.
///
/// # Errors
/// What is missing, or asked for in vain.
pub(crate) fn tools_for(recipe: &Recipe) -> Result<Toolchain> {
    check_options(recipe)?;
    Toolchain::find(recipe)
}

/// The instructions that this CPU has: what `-march=native` depends on.
pub(crate) fn cpu_features() -> String {
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
