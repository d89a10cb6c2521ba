//! Servers built from source: the recipe, its store, and the way from one to the other.

mod recipe;
mod training;

pub use recipe::{Compiler, CompilerFamily, Linker, Lto, RECIPE_KEYS, Recipe, StaticLibrary};
pub use training::Training;
