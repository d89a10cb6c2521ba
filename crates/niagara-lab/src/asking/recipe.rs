//! How variants are made, as people write it: not yet tied to a machine or a server's version.

use serde::Serialize;

use crate::lever::{Change, Item};

/// How a variant is made from another one (from the packaged server, unless said otherwise).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct VariantRecipe {
    /// What people call it; the variant's own label where there is none.
    #[serde(skip)]
    pub title: Option<String>,
    /// As it was typed, for what is said of mistakes; `None` where it was not.
    #[serde(skip)]
    pub spelling: Option<String>,
    /// Another server than the study's.
    pub server: Option<String>,
    /// Another storage engine than the study's.
    pub engine: Option<String>,
    /// Levers and variables, in order.
    pub items: Vec<Item>,
    /// What else is changed, last: it has the last word.
    pub change: Change,
}

/// How a variant was typed, where that says anything: the start itself has no other name.
pub(crate) fn spelled(text: &str, items: &[Item]) -> Option<String> {
    (!items.is_empty()).then(|| text.to_owned())
}

impl VariantRecipe {
    /// Several recipes as one, so that a build with two options is built once; of runtime changes the last one stands.
    pub(crate) fn together<'r>(recipes: impl IntoIterator<Item = &'r VariantRecipe>) -> Self {
        let mut all = Self::default();
        for recipe in recipes {
            all.items.extend(recipe.items.iter().cloned());
            all.change.add(recipe.change.clone());
        }
        all
    }
}
