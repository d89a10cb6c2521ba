//! All levers: those built in and those of the user's folders.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use include_dir::{Dir, include_dir};
use niagara_build::settings_with;
use niagara_error::{Remedy as _, anyhow, bail};
use niagara_toml::{Mistakes, did_you_mean};

use super::definition::Lever;
use super::parse::parse;

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../data/levers");

/// The levers built into the program and those of further folders, the promising first.
/// The same id in a later folder replaces an earlier one.
///
/// # Errors
/// A folder that cannot be read; a mistake in a file, with line, column, cause and remedy; two levers that
/// are the same level of a factor; a lever that excludes what there is not.
pub fn load(extra_dirs: &[PathBuf]) -> Result<Vec<Lever>> {
    let mut levers = BTreeMap::new();
    for file in BUILT_IN.files() {
        if let (Some(id), Some(text)) = (lever_id(file.path()), file.contents_utf8()) {
            let name = format!("data/levers/{id}.toml (built in)");
            levers.insert(id.clone(), (parse(&id, &name, text)?, text.to_owned()));
        }
    }
    for (id, text) in niagara_build::lever_texts() {
        let name = format!("data/patches/{id}.toml (built in)");
        levers.insert(id.clone(), (parse(&id, &name, &text)?, text));
    }
    for folder in extra_dirs {
        let entries = fs::read_dir(folder)
            .with_context(|| format!("cannot read the levers folder {}", folder.display()))
            .remedy("give a folder with one TOML file per lever")?;
        for entry in entries {
            let path = entry?.path();
            if let Some(id) = lever_id(&path) {
                let text = fs::read_to_string(&path)
                    .with_context(|| format!("cannot read {}", path.display()))?;
                let lever = parse(&id, &path.display().to_string(), &text)?;
                levers.insert(id, (lever, text));
            }
        }
    }
    let mut known = BTreeMap::new();
    let mut texts = Vec::new();
    for (id, (lever, text)) in levers {
        known.insert(id, lever);
        texts.push(text);
    }
    let mut levers = with_bases(&known)?;
    check_exclusions(&levers, &texts)?;
    refuse_twins(&levers)?;
    levers.sort_by(|a, b| (a.promise, a.factor(), &a.id).cmp(&(b.promise, b.factor(), &b.id)));
    Ok(levers)
}

/// The lever of this id (`malloc-jemalloc`), or of this choice and level (`malloc=jemalloc`).
///
/// # Errors
/// None is called so; with the one that was probably meant.
pub fn called<'a>(name: &str, levers: &'a [Lever]) -> Result<&'a Lever> {
    let is_it = |lever: &&Lever| lever.id() == name || lever.spelling() == name;
    let found = levers.iter().find(is_it);
    found.ok_or_else(|| no_lever(name, levers))
}

/// The levers that `name` means: the one of this id or spelling, else all of this choice (`malloc`), else all that set this
/// variable (`innodb_buffer_pool_size`).
///
/// # Errors
/// There is none; with the one that was probably meant.
pub fn meant<'a>(name: &str, levers: &'a [Lever]) -> Result<Vec<&'a Lever>> {
    let by_name: Vec<&Lever> = levers.iter().filter(|it| it.is_called(name)).collect();
    if !by_name.is_empty() {
        return Ok(by_name);
    }
    let variable = name.replace('-', "_").to_lowercase();
    let sets_it = |lever: &&Lever| lever.variables().any(|set| *set == variable);
    let by_variable: Vec<&Lever> = levers.iter().filter(sets_it).collect();
    match by_variable.is_empty() {
        true => Err(no_lever(name, levers)),
        false => Ok(by_variable),
    }
}

fn no_lever(name: &str, levers: &[Lever]) -> anyhow::Error {
    // One name for each: two that are alike would be no suggestion.
    let ids = levers.iter().map(Lever::id);
    let variables = levers.iter().flat_map(Lever::variables);
    let variables: BTreeSet<&str> = variables.map(String::as_str).collect();
    anyhow!(
        "there is no lever {name}";
        remedy: "{}`niagara levers` lists them", did_you_mean(name, ids.chain(variables))
    )
}

fn lever_id(path: &Path) -> Option<String> {
    (path.extension()? == "toml").then(|| path.file_stem()?.to_str().map(str::to_owned))?
}

/// The levers, each that adds to another one's build with the whole of it.
fn with_bases(levers: &BTreeMap<String, Lever>) -> Result<Vec<Lever>> {
    levers
        .values()
        .map(|lever| {
            let mut whole = lever.clone();
            let mut chain = vec![lever];
            while let Some(id) = chain.last().and_then(|last| last.extends()) {
                let adding = chain[chain.len() - 1].file();
                let Some(base) = levers.get(id) else {
                    bail!(
                        "{adding}: `extends` names {id}, which is no lever";
                        remedy: "{}name one of factor {}",
                        did_you_mean(id, levers.keys().map(String::as_str)),
                        lever.factor()
                    );
                };
                if base.factor() != lever.factor() || base.template.build.is_empty() {
                    bail!(
                        "{adding}: `extends` names {id}, which is not a level of {} that builds",
                        lever.factor();
                        remedy: "name one that has the same `factor` and [change.build]"
                    );
                }
                if chain.iter().any(|known| known.id() == id) {
                    bail!(
                        "{adding}: `extends` comes back to {id}";
                        remedy: "end with a lever that has the whole build"
                    );
                }
                whole.template.build = settings_with(&base.template.build, &whole.template.build);
                chain.push(base);
            }
            Ok(whole)
        })
        .collect()
}

/// One spelling, one lever: `malloc=jemalloc` must not mean two things.
fn refuse_twins(levers: &[Lever]) -> Result<()> {
    let mut seen = BTreeMap::new();
    for lever in levers {
        if let Some(other) = seen.insert(lever.spelling(), lever.file()) {
            bail!(
                "{}: another lever is written `{}` too: {other}", lever.file(), lever.spelling();
                remedy: "give it another level, or the same file name to replace the other"
            );
        }
    }
    Ok(())
}

/// What a lever excludes is there, and not of its own choice. `texts` are the files', for the places of mistakes.
fn check_exclusions(levers: &[Lever], texts: &[String]) -> Result<()> {
    for (lever, text) in levers.iter().zip(texts) {
        let mut mistakes = Mistakes::of(lever.file(), text);
        for excluded in &lever.excludes {
            let meant = levers.iter().find(|other| other.is_called(excluded));
            match meant {
                None => {
                    let known: Vec<String> = levers
                        .iter()
                        .flat_map(|other| [other.spelling(), other.factor().to_owned()])
                        .collect();
                    mistakes.add(
                        excluded.at,
                        format!("excludes: no lever and no choice is called `{}`", **excluded),
                        format!(
                            "{}write a lever's id, as in \"transport-unix\", a level, as in \"malloc=jemalloc\", or a choice, as in \"malloc\"",
                            did_you_mean(excluded, known.iter().map(String::as_str))
                        ),
                    );
                }
                Some(other) if other.factor() == lever.factor() => mistakes.add(
                    excluded.at,
                    format!(
                        "excludes: `{}` is of the same choice, {}",
                        **excluded,
                        lever.factor()
                    ),
                    "leave it out: of one choice at most one level is in force",
                ),
                Some(_) => {}
            }
        }
        mistakes.unless_any(Some(()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use niagara_error::Explain as _;
    use niagara_server::Family;
    use niagara_server::machine::Fingerprint;

    use super::*;
    use crate::lever::Context;

    const LEVER: &str = r#"
title = "Larger net buffer"
theme = "network"
risk = "memory"
why = "Fewer reallocations for wide rows."
source = "my own notes"
[when]
mariadb = ">=10.5"
[change.config]
net_buffer_length = "= 16K * cpus"
"#;

    #[test]
    fn one_file_makes_a_working_lever() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("my-net-buffer.toml"), LEVER).expect("written");
        let levers = load(&[folder.path().to_owned()]).expect("valid");
        let lever = levers
            .iter()
            .find(|lever| lever.id() == "my-net-buffer")
            .expect("found");
        let mut machine = Fingerprint::default();
        machine.cpu.threads = 4;
        let context = Context::new(
            Family::Mariadb,
            "10.11.19".parse().expect("a version"),
            machine,
        );
        let change = lever.applicability(&context).expect("applicable");
        assert_eq!(
            change.config,
            BTreeMap::from([("net_buffer_length".into(), "65536".into())])
        );
    }

    #[test]
    fn levers_are_found_by_their_variable() {
        let levers = load(&[]).expect("valid");
        let ids = |name: &str| -> Vec<String> {
            let meant = meant(name, &levers).expect("levers");
            meant.iter().map(|lever| lever.id().to_owned()).collect()
        };
        assert_eq!(ids("malloc=jemalloc"), ["malloc-jemalloc"]);
        let mallocs = ids("malloc");
        assert!(mallocs.len() > 3 && mallocs.iter().all(|id| id.starts_with("malloc-")));
        let pools = ids("innodb-buffer-pool-size");
        assert!(!pools.is_empty());
        assert_eq!(pools, ids("innodb_buffer_pool_size"));
        let error = meant("innodb_bufer_pool_size", &levers).expect_err("a mistake");
        let error = error.explain().to_string();
        assert!(
            error.contains("did you mean `innodb_buffer_pool_size`?"),
            "{error}"
        );
    }

    #[test]
    fn a_file_of_the_same_name_replaces_a_built_in_lever() {
        let built_in = load(&[]).expect("valid");
        let id = built_in[0].id().to_owned();
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join(format!("{id}.toml")), LEVER).expect("written");
        let levers = load(&[folder.path().to_owned()]).expect("valid");
        assert_eq!(levers.len(), built_in.len());
        let lever = levers.iter().find(|lever| lever.id() == id).expect("found");
        assert_eq!(lever.title(), "Larger net buffer");
    }

    #[test]
    fn what_is_excluded_is_there_and_of_another_choice() {
        let load_with = |excludes: &str| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let text = LEVER.replace("[when]", &format!("excludes = {excludes}\n[when]"));
            fs::write(folder.path().join("mine.toml"), text).expect("written");
            load(&[folder.path().to_owned()]).map_err(|error| {
                error
                    .explain()
                    .to_string()
                    .replace(&folder.path().display().to_string(), "DIR")
            })
        };
        let levers =
            load_with(r#"["malloc", "transport=unix", "sort-buffer-large"]"#).expect("valid");
        let of = |id: &str| levers.iter().find(|lever| lever.id() == id).expect("there");
        let mine = of("mine");
        for id in [
            "malloc-jemalloc",
            "malloc-tcmalloc",
            "transport-unix",
            "sort-buffer-large",
        ] {
            assert!(
                mine.is_apart_from(of(id)) && of(id).is_apart_from(mine),
                "{id}"
            );
        }
        assert!(!mine.is_apart_from(of("sort-buffer-small")));
        let error = load_with(r#"["malloc", "transport=unx"]"#).expect_err("a mistake");
        assert!(
            error.starts_with("DIR/mine.toml:7:23: excludes: no lever and no choice is called `transport=unx`\nremedy: did you mean `transport=unix`?"),
            "{error}"
        );
        let error = load_with(r#"["mine"]"#).expect_err("a mistake");
        assert!(
            error.starts_with("DIR/mine.toml:7:13: excludes: `mine` is of the same choice, mine\nremedy: leave it out"),
            "{error}"
        );
    }

    #[test]
    fn mistakes_name_the_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("bad.toml");
        fs::write(&path, LEVER.replace("risk", "rsik")).expect("written");
        let error = load(&[folder.path().to_owned()])
            .expect_err("a mistake")
            .explain()
            .to_string();
        assert!(
            error.starts_with(&format!("{}:4:1: unknown key `rsik`", path.display())),
            "{error}"
        );
        assert!(error.contains("did you mean `risk`?"), "{error}");
        let error = load(&[folder.path().join("absent")])
            .expect_err("no folder")
            .explain()
            .to_string();
        assert!(error.contains("remedy"), "{error}");
    }

    /// A level of the choice `build`, in `folder`.
    fn level(folder: &Path, id: &str, extends: Option<&str>, build: &str) {
        let extends = extends.map_or(String::new(), |base| format!("extends = \"{base}\"\n"));
        let text = format!(
            "title = \"t\"\nfactor = \"build\"\nlevel = \"{id}\"\ntheme = \"t\"\nrisk = \"none\"\nwhy = \"w\"\n\
             source = \"s\"\n{extends}[change.build]\n{build}\n"
        );
        fs::write(folder.join(format!("{id}.toml")), text).expect("written");
    }

    #[test]
    fn a_build_adds_to_the_one_that_it_names() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let own = folder.path();
        level(own, "mine", Some("build-clang-pgo-lto"), "flags = \"-O3\"");
        level(own, "mine-too", Some("mine"), "flags = \"-g\"");
        let levers = load(&[own.to_owned()]).expect("valid");
        let build = |id: &str| {
            let lever = levers.iter().find(|lever| lever.id() == id);
            lever.expect("there").template.build.clone()
        };
        let whole = build("mine-too");
        assert_eq!(whole["flags"], "-O3 -g");
        assert_eq!(whole["pgo"], build("build-clang-pgo-lto")["pgo"]);
        for (base, told) in [
            ("build-clang-pgo-lot", "did you mean `build-clang-pgo-lto`?"),
            ("malloc-jemalloc", "not a level of build that builds"),
            ("mine-too", "comes back to mine"),
        ] {
            level(own, "mine", Some(base), "flags = \"-O3\"");
            let error = load(&[own.to_owned()])
                .expect_err("a mistake")
                .explain()
                .to_string();
            assert!(
                error.contains(told) && error.contains("\nremedy: "),
                "{error}"
            );
        }
    }
}
