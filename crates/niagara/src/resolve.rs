//! From what people wrote to a variant that can be launched here: its server is fetched or built on the way, since a
//! lever's change depends on it.

use anyhow::{Result, bail};
use niagara_lab::lever::Item;
use niagara_lab::study_file::VariantRecipe;
use niagara_lab::{Observer, Variant, Workbench};
use niagara_server::Cancelled;

use crate::machine;
use crate::setting::{Setting, server_name};

/// `recipe` on top of `on`, set up on `bench`; the reason, where it is not to be had here.
///
/// # Errors
/// The study was stopped.
pub fn variant(
    recipe: &VariantRecipe,
    on: &Variant,
    setting: &Setting,
    bench: &mut Workbench,
    observer: &mut dyn Observer,
) -> Result<Result<Variant, String>> {
    match make(recipe, on, setting, bench, observer) {
        Ok(variant) => Ok(Ok(variant)),
        Err(error) if error.is::<Cancelled>() || bench.cancel().is_cancelled() => {
            Err(Cancelled.into())
        }
        Err(error) => Ok(Err(format!("{error:#}"))),
    }
}

/// The same; what is not to be had here is an error.
///
/// # Errors
/// A server that cannot be fetched or built, a lever that does not apply.
pub fn make(
    recipe: &VariantRecipe,
    on: &Variant,
    setting: &Setting,
    bench: &mut Workbench,
    observer: &mut dyn Observer,
) -> Result<Variant> {
    let mut variant = match &recipe.server {
        Some(server) => Variant::base(&server_name(server)?),
        None => on.clone(),
    };
    if let Some(engine) = &recipe.engine {
        variant.engine = Some(engine.clone());
        variant.levers.push(format!("engine={engine}"));
    }
    bench.set_up(&variant.server, observer)?;
    let fingerprint = machine::fingerprint(&setting.cache)?;
    for item in &recipe.items {
        match item {
            Item::Lever(id) => {
                let Some(lever) = setting.levers.iter().find(|lever| lever.id() == id) else {
                    bail!("there is no lever {id}: `niagara levers` lists them");
                };
                let mut context =
                    machine::everything_allowed(&fingerprint, bench, &variant.server, id)?;
                if let Some(engine) = &variant.engine {
                    context.engine.clone_from(engine);
                }
                match lever.applicability(&context) {
                    Ok(change) => variant = variant.with(id, &change),
                    Err(reason) => bail!("{id} cannot be applied here: {reason}"),
                }
            }
            Item::Variable { name, value } => {
                variant.config.insert(name.clone(), value.clone());
                variant.levers.push(format!("{name}={value}"));
            }
            Item::Engine(name) => {
                variant.engine = Some(name.clone());
                variant.levers.push(format!("engine={name}"));
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
    bench.set_up_variant(&variant, observer)?;
    Ok(variant)
}
