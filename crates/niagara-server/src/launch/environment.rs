//! The environment a runtime asks for: preloaded malloc, huge pages for the heap.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;
use niagara_error::bail;
use niagara_settings::ProcessSettings;

use crate::install::Install;

const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// The variables to set for a server; an error where the install or the machine cannot do what is asked.
pub fn environment(
    install: &Install,
    runtime: &ProcessSettings,
) -> Result<BTreeMap<String, String>> {
    let mut variables = runtime.environment.clone();
    if let Some(library) = preload(install, runtime)? {
        join(
            &mut variables,
            "LD_PRELOAD",
            &library.display().to_string(),
            ":",
        );
    }
    if runtime.has_huge_heap() {
        huge_pages(
            malloc_name(install, runtime),
            &thp_setting(),
            &mut variables,
        )?;
    }
    Ok(variables)
}

/// The malloc that a server with this runtime uses.
pub fn malloc_name<'a>(install: &'a Install, runtime: &'a ProcessSettings) -> &'a str {
    runtime.malloc.as_deref().unwrap_or(&install.own_malloc)
}

/// Whom the kernel gives transparent huge pages: `always`, `madvise` (who asks), `never`.
pub(crate) fn thp_setting() -> String {
    chosen(&fs::read_to_string(THP).unwrap_or_default()).to_owned()
}

/// The library to preload for the malloc asked for; none when the binary is linked with it already.
pub(crate) fn preload<'a>(
    install: &'a Install,
    runtime: &ProcessSettings,
) -> Result<Option<&'a Path>> {
    let Some(malloc) = &runtime.malloc else {
        return Ok(None);
    };
    if *malloc == install.own_malloc {
        return Ok(None);
    }
    match install.mallocs.get(malloc) {
        Some(library) => Ok(Some(library)),
        None => {
            let known: Vec<&str> = install.mallocs.keys().map(String::as_str).collect();
            bail!(
                "no malloc `{malloc}` for {}; there are: {}", install.name, known.join(", ");
                remedy: "choose one of these, or install its library on this host"
            )
        }
    }
}

fn huge_pages(malloc: &str, setting: &str, variables: &mut BTreeMap<String, String>) -> Result<()> {
    if !matches!(setting, "always" | "madvise") {
        bail!(
            "huge pages for the heap need transparent huge pages, which are off on this machine ({THP}: {setting})";
            remedy: "echo madvise > {THP} (as root)"
        );
    }
    match malloc {
        "glibc" => join(variables, "GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", ":"),
        "jemalloc" => join(variables, "MALLOC_CONF", "thp:always", ","),
        "mimalloc" => {
            join(variables, "MIMALLOC_ALLOW_LARGE_OS_PAGES", "1", ",");
            join(variables, "MIMALLOC_LARGE_OS_PAGES", "1", ",");
            join(variables, "MIMALLOC_ALLOW_THP", "1", ",");
        }
        // It never asks the kernel for huge pages; with `always` it gets them unasked.
        "tcmalloc" if setting == "always" => {}
        "tcmalloc" => bail!(
            "tcmalloc does not ask for huge pages, and this machine gives them only to who asks ({THP}: {setting})";
            remedy: "echo always > {THP} (as root), or another malloc"
        ),
        other => bail!("how to get huge pages with the malloc `{other}` is not known"),
    }
    Ok(())
}

/// The word in brackets: `always [madvise] never`.
fn chosen(setting: &str) -> &str {
    setting
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or("not available", |(word, _)| word)
}

/// Sets a variable, after what the user gave it.
pub(super) fn join(
    variables: &mut BTreeMap<String, String>,
    name: &str,
    value: &str,
    separator: &str,
) {
    match variables.get_mut(name) {
        Some(old) if !old.is_empty() => *old = format!("{old}{separator}{value}"),
        _ => {
            variables.insert(name.to_owned(), value.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn each_malloc_is_asked_in_its_own_way() {
        let ask = |malloc, setting| {
            let mut variables = BTreeMap::new();
            huge_pages(malloc, setting, &mut variables).map(|()| variables)
        };
        assert_eq!(
            ask("glibc", "madvise").expect("possible")["GLIBC_TUNABLES"],
            "glibc.malloc.hugetlb=1"
        );
        assert!(
            ask("glibc", "never")
                .expect_err("off")
                .explain()
                .to_string()
                .contains("remedy")
        );
        assert!(ask("tcmalloc", "madvise").is_err());
        assert!(ask("tcmalloc", "always").expect("possible").is_empty());
    }

    #[test]
    fn settings_of_the_user_are_kept() {
        let mut variables = BTreeMap::from([("MALLOC_CONF".to_owned(), "narenas:4".to_owned())]);
        huge_pages("jemalloc", "always", &mut variables).expect("possible");
        assert_eq!(variables["MALLOC_CONF"], "narenas:4,thp:always");
    }

    #[test]
    fn the_selected_value_is_the_one_in_brackets() {
        assert_eq!(chosen("always [madvise] never\n"), "madvise");
        assert_eq!(chosen(""), "not available");
    }
}
