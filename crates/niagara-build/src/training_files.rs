//! The files that a training names: what they are known by, and the workloads that they are.

use std::path::Path;

use anyhow::{Context, Result};
use niagara_error::bail;
use niagara_load::{
    WorkloadBuilder, WorkloadKind, WorkloadOption, WorkloadSpec, content_of_file, is_workload_file,
    with_options, workload_of_file,
};
use niagara_origin::data::DataSource;

use crate::named_training::{content_of_name, named_training};
use crate::recipe::Recipe;
use crate::training::{DATA, Training};

impl Recipe {
    /// The same with what stands for the content of the files that it is trained on.
    ///
    /// # Errors
    /// A file that cannot be read, or is another one than it was when this was asked before.
    pub fn pinned(&self) -> Result<Recipe> {
        let mut recipe = self.clone();
        for training in recipe.pgo.iter_mut().chain(recipe.bolt.iter_mut()) {
            training.pin()?;
        }
        Ok(recipe)
    }
}

impl Training {
    fn pin(&mut self) -> Result<()> {
        let mut found = Vec::new();
        let tables_of = self.tables_of.iter().filter(|name| is_workload_file(name));
        for name in self.workloads.keys().chain(tables_of) {
            let content = match is_workload_file(name) {
                true => Some(content_of_file(Path::new(name))?),
                false => content_of_name(name),
            };
            found.extend(content.map(|content| (name.clone(), content)));
        }
        if let Some(data) = &self.data {
            found.push((DATA.to_owned(), DataSource::open(data)?.digest));
        }
        for (name, content) in found {
            if let Some(known) = self.content.get(&name)
                && *known != content
            {
                bail!(
                    "{name} is not what it was when this build was planned";
                    remedy: "put it back, or begin again in another folder of results"
                );
            }
            self.content.insert(name, content);
        }
        Ok(())
    }

    /// What is trained on under the name `name` (not that of a training, nor `answers`): the workload with the training's
    /// tables and options. A capture is the part of it that trains.
    pub(crate) fn workload(&self, name: &str) -> Result<WorkloadSpec> {
        if is_workload_file(name) {
            return self.workload_of_file(name);
        }
        let kind: WorkloadKind = name
            .parse()
            .map_err(|error| anyhow::anyhow!("no build can be trained on `{name}`: {error}"))?;
        let mut builder = WorkloadBuilder::new(kind);
        let rows = self.table_size.to_string();
        // Not every workload has tables of a size and number that can be chosen.
        builder.set("tables", &self.tables.to_string())?;
        builder.set("table_size", &rows)?;
        let named = self
            .workloads
            .keys()
            .filter_map(|name| named_training(name));
        for (option, value) in named.flat_map(|training| &training.options) {
            builder.set(option, &value.to_string())?;
        }
        if WorkloadSpec::of(kind).is_job() {
            // Its own size is made to exceed memory: a training that waits for the disk counts little.
            builder.set_scale("rows", &rows)?;
        }
        Ok(builder.build()?)
    }

    fn workload_of_file(&self, name: &str) -> Result<WorkloadSpec> {
        let base = workload_of_file(Path::new(name))?;
        let content = base.content();
        if let Some(known) = self.content.get(name)
            && content.as_ref() != Some(known)
        {
            bail!("{name} has changed while it was trained on"; remedy: "the same command again");
        }
        let part = self.trained_part().to_string();
        let mut options: Vec<(&str, &str)> = Vec::new();
        if base.capture().is_some() {
            options.push(("part", &part));
            options.extend(
                self.tables_of
                    .iter()
                    .map(|name| ("tables_of", name.as_str())),
            );
        }
        let numbers = base.numbers();
        // What one of several does not know may be another's.
        let is_alone = self.files().count() == 1;
        let knows = |option: &str| {
            let is_one = WorkloadOption::find(option).is_some();
            // The tables of a capture have their own; a script that says nothing of its options takes any.
            let is_number = numbers.as_ref().is_some_and(|numbers| {
                numbers.is_empty() || numbers.iter().any(|one| one == option)
            });
            is_alone || is_one || is_number || base.capture().is_some()
        };
        let set = self.set.iter().filter(|(option, _)| knows(option));
        options.extend(set.map(|(name, value)| (name.as_str(), value.as_str())));
        let spec = with_options(base, &options).with_context(|| format!("training on {name}"))?;
        if spec.needs_data() && self.data.is_none() {
            bail!(
                "{name} is a capture, which has no data of its own to train on";
                remedy: "say where they are (build.pgo.data=BACKUP, --data BACKUP), or on the tables of which workload it was \
                 taken (build.pgo.tables_of=oltp_read_write, --tables-of oltp_read_write)"
            );
        }
        if spec.capture().is_none() {
            return Ok(spec);
        }
        // The tables that a capture ran on have a size that its statements were made for.
        let mut builder = WorkloadBuilder::from(spec);
        builder.set("tables", &self.tables.to_string())?;
        builder.set("table_size", &self.table_size.to_string())?;
        Ok(builder.build()?)
    }
}
