//! From what people wrote to a variant that can be launched here: its server is fetched or built on the way, since a
//! lever's change depends on it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use niagara_error::Explain as _;
use niagara_model::Reason;
use niagara_server::Cancelled;

use crate::asking::recipe::{VariantRecipe, spelled};
use crate::duels::inventory::{Inventory, server_name};
use crate::duels::lever_context::everything_allowed;
use crate::duels::workbench::Workbench;
use crate::lever::{Change, Item, Lever, called, parse_variant};
use crate::plans::observer::Observer;
use crate::variants::variant::Variant;

impl VariantRecipe {
    /// The recipe that `text` speaks of, as in `mysql-9.7+malloc=jemalloc`; its server is absent where it names none.
    ///
    /// # Errors
    /// A part that means nothing, with its place and the nearest known name; a server's path that cannot be had.
    pub fn of_text<S: AsRef<str>>(text: &str, levers: &[Lever], servers: &[S]) -> Result<Self> {
        let expression = parse_variant(text, levers, servers, Path::new(""))?;
        Ok(Self {
            server: expression.server.as_deref().map(server_name).transpose()?,
            spelling: spelled(text, &expression.items),
            items: expression.items,
            ..Self::default()
        })
    }

    /// Whether a part of it asks for a build.
    fn builds(&self, levers: &[Lever]) -> bool {
        let by_item = |item: &Item| match item {
            Item::Build { .. } => true,
            Item::Lever(id) => called(id, levers).is_ok_and(|lever| !lever.build().is_empty()),
            _ => false,
        };
        !self.change.build.is_empty() || self.items.iter().any(by_item)
    }
}

/// The variant that `text` speaks of, set up on `bench`; what names no server is meant on `default_server`.
///
/// # Errors
/// As with [`VariantRecipe::of_text`] and [`resolve`].
pub fn variant_of(
    text: &str,
    default_server: &str,
    inventory: &Inventory,
    bench: &mut Workbench,
    observer: &mut dyn Observer,
) -> Result<Variant> {
    let servers: Vec<&str> = inventory
        .catalog
        .iter()
        .map(|server| server.name.as_str())
        .collect();
    let recipe = VariantRecipe::of_text(text, &inventory.levers, &servers)?;
    let base = bench.base(&server_name(default_server)?, observer)?;
    resolve(&recipe, &base, inventory, bench, observer).with_context(|| text.to_owned())
}

/// `recipe` on top of `on`, set up on `bench`; the reason, where it is not to be had here.
///
/// # Errors
/// The study was stopped.
pub(crate) fn resolve_or_reason(
    recipe: &VariantRecipe,
    on: &Variant,
    inventory: &Inventory,
    bench: &mut Workbench,
    observer: &mut dyn Observer,
) -> Result<Result<Variant, Reason>> {
    match resolve(recipe, on, inventory, bench, observer) {
        Ok(variant) => Ok(Ok(variant)),
        Err(error) if error.has::<Cancelled>() || bench.cancel().is_cancelled() => {
            Err(Cancelled.into())
        }
        Err(error) => Ok(Err(error.downcast::<Reason>().unwrap_or_else(|error| {
            Reason::NotAvailable {
                error: error.explain().into(),
            }
        }))),
    }
}

/// The same; what is not to be had here is an error.
///
/// # Errors
/// A server that cannot be fetched or built, a lever that does not apply.
pub(crate) fn resolve(
    recipe: &VariantRecipe,
    on: &Variant,
    inventory: &Inventory,
    bench: &mut Workbench,
    observer: &mut dyn Observer,
) -> Result<Variant> {
    let mut variant = match &recipe.server {
        Some(server) => bench.base(&server_name(server)?, observer)?,
        None => on.clone(),
    };
    if let Some(engine) = &recipe.engine {
        variant.engine = Some(engine.clone());
        variant.levers.push(format!("engine={engine}"));
    }
    bench.set_up(&variant.server, observer)?;
    let fingerprint = inventory.fingerprint()?;
    let is_built = variant.build.is_some() || recipe.builds(&inventory.levers);
    for item in &recipe.items {
        match item {
            Item::Lever(id) => {
                let lever = called(id, &inventory.levers)?;
                let mut context = everything_allowed(&fingerprint, bench, &variant.server, id)?;
                context.may_be_built = is_built;
                if let Some(engine) = &variant.engine {
                    context.engine.clone_from(engine);
                }
                match lever.applicability(&context) {
                    Ok(change) => variant = variant.with(id, &change),
                    Err(reason) => bail!("{id} cannot be applied here: {reason}"),
                }
            }
            Item::Variable { name, value } => variant = with_variable(&variant, name, value),
            Item::Engine(name) => {
                variant.engine = Some(name.clone());
                variant.levers.push(format!("engine={name}"));
            }
            Item::Sql { name, statements } => {
                variant.sql.extend(statements.iter().cloned());
                variant.levers.push(name.clone());
            }
            Item::Rewrite { name, rewrites } => {
                variant.rewrite.extend(rewrites.iter().cloned());
                variant.levers.push(name.clone());
            }
            Item::Build { key, value } => {
                variant.build.get_or_insert_default().set(key, value)?;
                variant.levers.push(format!("build.{key}={value}"));
            }
        }
    }
    if !recipe.change.is_empty() {
        variant = variant.with(&recipe.change.one_line(), &recipe.change);
    }
    if let Some(build) = &mut variant.build {
        // What it is trained on is known by its content from here on: another file is another variant.
        *build = build.pinned()?;
    }
    bench.set_up_variant(&variant, observer)?;
    Ok(variant)
}

/// `variant` with this variable, set as a lever would: switches add up, and the variable's other name goes.
fn with_variable(variant: &Variant, name: &str, value: &str) -> Variant {
    let change = Change {
        config: BTreeMap::from([(name.to_owned(), value.to_owned())]),
        ..Change::default()
    };
    variant.with(&format!("{name}={value}"), &change)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two axes, or two rungs, of which each sets switches of its own.
    #[test]
    fn variables_that_are_set_one_after_the_other_add_up_as_levers_do() {
        let set = |pairs: &[(&str, &str)]| {
            let start = Variant::base("mariadb-10.11");
            pairs.iter().fold(start, |variant, (name, value)| {
                with_variable(&variant, name, value)
            })
        };
        let switched = set(&[
            ("optimizer_switch", "mrr=on,rowid_filter=off"),
            ("optimizer_switch", "rowid_filter=on"),
            ("optimizer_switch", "derived_merge=off"),
        ]);
        assert_eq!(
            switched.config["optimizer_switch"],
            "mrr=on,rowid_filter=on,derived_merge=off"
        );
        assert_eq!(switched.levers.len(), 3);
        let once = set(&[
            ("skip_innodb_adaptive_hash_index", ""),
            ("innodb_adaptive_hash_index", "ON"),
        ]);
        let names: Vec<&String> = once.config.keys().collect();
        assert_eq!(names, ["innodb_adaptive_hash_index"]);
    }
}
