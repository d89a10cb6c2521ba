//! What every question sets up before it measures: workbenches for its loads, variants for its recipes.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow};
use niagara_model::Event;
use niagara_origin::configuration::StartConfiguration;
use niagara_server::{Cancel, TransportKind};

use crate::asking::choose_levers::Application;
use crate::asking::question::{Question, StudyDescription};
use crate::asking::recipe::VariantRecipe;
use crate::duels::data_notes::DataNotes;
use crate::duels::inventory::{Inventory, server_name};
use crate::duels::workbench::Workbench;
use crate::fleet::{FleetOptions, build_on_nodes};
use crate::plans::observer::Observer;
use crate::plans::spec::Load;
use crate::studies::session::Session;
use crate::studies::study::Study;
use crate::studies::variant_set_up::resolve_or_reason;
use crate::variants::server_build::{BuildOptions, ServerRecipe};
use crate::variants::variant::Variant;
use crate::variants::with_max_connections::with_max_connections;

/// Where a question is set up.
pub(crate) struct SetUp<'a> {
    /// The question.
    pub study: &'a StudyDescription,
    /// What it draws on.
    pub inventory: &'a Inventory,
    /// The flag that stops it.
    pub cancel: &'a Cancel,
    /// The variant that `base` is: the server with the start's configuration.
    pub base: Variant,
    /// That configuration as each server takes it.
    starts: BTreeMap<String, StartConfiguration>,
    /// What was told of the user's data.
    data_notes: DataNotes,
    fleet: Option<&'a FleetOptions>,
}

impl<'a> SetUp<'a> {
    pub(crate) fn new(
        study: &'a StudyDescription,
        session: &'a Session<'a>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let (inventory, cancel) = (session.inventory, session.cancel);
        let server = server_name(&study.server)?;
        let mut set_up = Self {
            study,
            inventory,
            cancel,
            base: Variant::base(&server),
            starts: BTreeMap::new(),
            data_notes: DataNotes::default(),
            fleet: session.fleet,
        };
        let mut bench = set_up.bench(study.first_load());
        set_up.base = bench.base(&server, observer)?;
        if let Question::Tune(tune) = &study.question
            && tune.app == Application::Socket
        {
            set_up.base.runtime.transport = Some(TransportKind::Unix);
        }
        set_up.starts.clone_from(bench.starts());
        Ok(set_up)
    }

    /// Whether the study has nodes, which build.
    pub(crate) fn has_nodes(&self) -> bool {
        self.fleet.is_some()
    }

    /// Has nodes build what is not in the store yet, where the study has nodes: what is set up next finds it there.
    ///
    /// # Errors
    /// As with [`build_on_nodes`].
    pub(crate) fn build_ahead(
        &self,
        recipes: &[ServerRecipe],
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let Some(fleet) = self.fleet else {
            return Ok(());
        };
        if recipes.is_empty() {
            return Ok(());
        }
        build_on_nodes(
            fleet,
            self.inventory,
            recipes,
            BuildOptions::default(),
            self.cancel,
            observer,
        )?;
        Ok(())
    }

    /// Keeps with the results what the start is, and what it goes without.
    pub(crate) fn note_start(&self, study: &Study) -> Result<()> {
        let server = &self.base.server;
        let of_start = self.starts.get(server).map(StartConfiguration::notes);
        of_start
            .unwrap_or_default()
            .into_iter()
            .chain(self.data_notes.all())
            .try_for_each(|note| study.note(&Event::Origin { note }))
    }

    /// A workbench for one of the study's loads.
    pub(crate) fn bench(&self, load: Load) -> Workbench {
        self.inventory
            .workbench(load, self.cancel.clone())
            .starting_from(&self.study.origin)
            .knowing(&self.starts)
            .telling(&self.data_notes)
    }

    /// A variant without which there is no study, with room for the load's connections.
    pub(crate) fn variant(
        &self,
        recipe: &VariantRecipe,
        bench: &mut Workbench,
        observer: &mut dyn Observer,
    ) -> Result<Variant> {
        let threads = bench.load().threads;
        let variant = self.variant_for_any_threads(recipe, bench, observer)?;
        Ok(with_max_connections(&variant, threads))
    }

    /// The same for thread counts to come.
    pub(crate) fn variant_for_any_threads(
        &self,
        recipe: &VariantRecipe,
        bench: &mut Workbench,
        observer: &mut dyn Observer,
    ) -> Result<Variant> {
        resolve_or_reason(recipe, &self.base, self.inventory, bench, observer)?
            .map_err(|reason| anyhow!(reason))
            .with_context(|| {
                recipe
                    .title
                    .clone()
                    .or(recipe.spelling.clone())
                    .unwrap_or_else(|| "a variant of this study".to_owned())
            })
    }
}

/// A load in one line, its threads aside.
pub(crate) fn without_threads(load: &Load) -> String {
    let line = load.one_line();
    line.rsplit_once(", ")
        .map_or(line.clone(), |(rest, _)| rest.to_owned())
}
