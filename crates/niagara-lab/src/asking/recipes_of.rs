//! What a question needs built, as far as that is known beforehand.

use niagara_build::Recipe;

use crate::asking::level_sets::LevelSet;
use crate::asking::question::{Question, StudyDescription};
use crate::asking::recipe::VariantRecipe;
use crate::lever::Item;
use crate::variants::server_build::ServerRecipe;

/// Every recipe that some variant of the study is built by, each once: a rung stands on what was kept before it, and is told here
/// as if that were the start alone. What a tuning builds is known when its levers are chosen, what a lever named by a variant
/// builds when the server is there.
///
/// Of a matrix those of the rows that are wanted.
pub fn recipes_of(
    study: &StudyDescription,
    is_wanted: &dyn Fn(&LevelSet) -> bool,
) -> Vec<ServerRecipe> {
    let variants: Vec<Vec<&VariantRecipe>> = match &study.question {
        Question::Tune(_) | Question::Noise => Vec::new(),
        Question::Compare { sides, .. } => sides.iter().map(|side| vec![side]).collect(),
        Question::Sweep { variants } => variants.iter().map(|one| vec![one]).collect(),
        Question::Ladder { start, rungs } => std::iter::once(vec![&**start])
            .chain(rungs.iter().map(|rung| vec![&**start, &rung.recipe]))
            .collect(),
        Question::Matrix(matrix) => (matrix.sets().iter())
            .filter(|set| is_wanted(set))
            .map(|set| matrix.recipes(set))
            .collect(),
    };
    let mut found: Vec<ServerRecipe> = Vec::new();
    for recipes in variants {
        if let Some(made) = recipe_of(study, &recipes)
            && !found.contains(&made)
        {
            found.push(made);
        }
    }
    found
}

/// What a variant is built by that `recipes` make, one after the other; `None` where they name no build.
pub(crate) fn recipe_of(
    study: &StudyDescription,
    recipes: &[&VariantRecipe],
) -> Option<ServerRecipe> {
    let mut build: Option<Recipe> = None;
    // Was read by the same function when the question was, so it is valid.
    let mut set = |key: &str, value: &str| {
        let _ = build.get_or_insert_default().set(key, value);
    };
    for recipe in recipes {
        for item in &recipe.items {
            if let Item::Build { key, value } = item {
                set(key, value);
            }
        }
    }
    for (key, value) in recipes.iter().flat_map(|recipe| &recipe.change.build) {
        set(key, value);
    }
    let recipe = build?.normal();
    let server = recipes
        .iter()
        .rev()
        .find_map(|recipe| recipe.server.clone());
    Some(ServerRecipe {
        server: server.unwrap_or_else(|| study.server.clone()),
        recipe,
    })
}
