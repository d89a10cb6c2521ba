//! Recipes that add to others.

use std::collections::BTreeMap;

use crate::recipe::{Lto, Recipe};
use crate::training::Training;

/// The parts of a recipe that grow when they are set again; of every other part the last value stays.
const LISTS: [&str; 6] = [
    "flags",
    "c_flags",
    "cxx_flags",
    "link_flags",
    "patches",
    "static_libraries",
];

/// The settings of a build that adds `own` to what `base` sets, each as [`Recipe::set`] takes it.
pub fn settings_with(
    base: &BTreeMap<String, String>,
    own: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut settings = base.clone();
    for (key, value) in own {
        let earlier = LISTS.contains(&key.as_str()).then(|| base.get(key));
        let value = match earlier.flatten() {
            Some(earlier) => format!("{earlier} {value}"),
            None => value.clone(),
        };
        settings.insert(key.clone(), value);
    }
    settings
}

impl Recipe {
    /// Whether `other` is this recipe, or this recipe and something more: what is built by it has all that this one has.
    pub fn is_part_of(&self, other: &Recipe) -> bool {
        let (part, whole) = (self.normal(), other.normal());
        let flags = [
            (&part.flags, &whole.flags),
            (&part.c_flags, &whole.c_flags),
            (&part.cxx_flags, &whole.cxx_flags),
            (&part.link_flags, &whole.link_flags),
        ];
        part.source == whole.source
            && part.compiler == whole.compiler
            && flags
                .iter()
                .all(|(few, many)| few.iter().all(|flag| many.contains(flag)))
            && (part.linker.is_none() || part.linker == whole.linker)
            && part
                .cmake
                .iter()
                .all(|(name, value)| whole.cmake.get(name) == Some(value))
            && (part.lto == Lto::None || part.lto == whole.lto)
            && is_training_part(part.pgo.as_ref(), whole.pgo.as_ref())
            && is_training_part(part.bolt.as_ref(), whole.bolt.as_ref())
            && (part.bolt_profile.is_none() || part.bolt_profile == whole.bolt_profile)
            && part.patches.is_subset(&whole.patches)
            && part.static_libraries.is_subset(&whole.static_libraries)
    }
}

/// A training is part of the same one, and of the same one in two rounds.
fn is_training_part(part: Option<&Training>, whole: Option<&Training>) -> bool {
    let Some(part) = part else { return true };
    whole.is_some_and(|whole| {
        let one_round = Training {
            contexts: part.contexts,
            ..whole.clone()
        };
        *part == one_round && part.contexts <= whole.contexts
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(settings: &[(&str, &str)]) -> Recipe {
        let mut recipe = Recipe::default();
        for (key, value) in settings {
            recipe.set(key, value).expect("valid");
        }
        recipe
    }

    #[test]
    fn what_is_added_is_set_behind_the_rest() {
        let base = [
            ("flags", "-O3"),
            ("patches", "heap-table-name-inside"),
            ("static_libraries", "cxx"),
            ("lto", "thin"),
            ("pgo", "oltp_read_only"),
            ("cmake.WITH_WSREP", "ON"),
        ];
        let own = [
            ("flags", "-g"),
            ("patches", "metadata-tickets-kept/socket-reads-buffered"),
            ("static_libraries", "zlib"),
            ("lto", "full"),
            ("pgo.contexts", "yes"),
            ("cmake.WITH_WSREP", "OFF"),
        ];
        let map = |settings: &[(&str, &str)]| -> BTreeMap<String, String> {
            let owned = settings
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            owned.collect()
        };
        let together = settings_with(&map(&base), &map(&own));
        let together: Vec<(&str, &str)> = together
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        assert_eq!(recipe(&together), recipe(&[base, own].concat()));
    }

    #[test]
    fn a_recipe_is_part_of_one_that_has_more() {
        let clang = ("compiler", "clang");
        let pgo = ("pgo", "oltp_read_only:2/oltp_read_write");
        let lto = ("lto", "thin");
        let whole = recipe(&[clang, pgo, lto]);
        for part in [&[clang][..], &[clang, pgo], &[clang, lto]] {
            let part = recipe(part);
            assert!(part.is_part_of(&whole), "{}", part.one_line());
            assert!(!whole.is_part_of(&part), "{}", part.one_line());
        }
        assert!(whole.is_part_of(&whole));
        for more in [
            ("flags", "-O3"),
            ("link_flags", "-Wl,-Bsymbolic"),
            ("bolt", "oltp_read_only"),
            ("patches", "heap-table-name-inside"),
            ("static_libraries", "cxx"),
            ("cmake.WITH_WSREP", "OFF"),
            ("pgo.contexts", "yes"),
            ("linker", "mold"),
        ] {
            let more = recipe(&[clang, pgo, lto, more]);
            assert!(
                whole.is_part_of(&more) && !more.is_part_of(&whole),
                "{}",
                more.one_line()
            );
        }
        for other in [
            &[pgo, lto][..],
            &[clang, ("pgo", "report"), lto],
            &[clang, pgo, ("lto", "full")],
        ] {
            assert!(!whole.is_part_of(&recipe(other)));
        }
    }
}
