//! What variants, rungs and levels change: levers, variables and runtime, understood.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;

use niagara_capture::rewrite::Rewrite;
use niagara_error::Explain as _;
use niagara_origin::data::{ChangeStatement, change_statements};
use niagara_server::machine::parse_cpu_list;
use niagara_server::{ProcessSettings, Scheduling, normalise_variable, of_same_version};
use niagara_toml::{At, Mistakes, Text, did_you_mean};

use super::blame::blame;
use super::build_table::settings;
use super::document::{NamedVariant, Parts, Runtime};
use super::known::Known;
use crate::asking::recipe::{VariantRecipe, spelled};
use crate::duels::inventory::server_name;
use crate::duels::workbench::looks_like_path;
use crate::lever::{
    Change, ENGINES, Item, VariantError, known_engine, meant_engine, parse_variant, read_rewrites,
    scheduling,
};
use niagara_build::{check_build_setting, setting_in_folder};

/// What a variant's table says.
pub(crate) fn of_variant(
    changes: &NamedVariant,
    known: &Known<'_>,
    mistakes: &mut Mistakes<'_>,
) -> VariantRecipe {
    let mut recipe = of_parts(&changes.parts(), known, mistakes);
    recipe.title = changes.title.as_ref().map(|title| title.0.clone());
    recipe.server = changes
        .server
        .as_ref()
        .map(|name| server(name, known, mistakes));
    recipe.engine = changes
        .engine
        .as_ref()
        .and_then(|name| engine(name, mistakes));
    recipe
}

/// A storage engine, as servers write it.
pub(crate) fn engine(name: &At<Text>, mistakes: &mut Mistakes<'_>) -> Option<String> {
    let text = name.trim();
    let found = known_engine(text);
    if found.is_none() {
        mistakes.add(
            name.at,
            format!("no storage engine is called `{text}`"),
            format!("{}known: {}", meant_engine(text), ENGINES.join(", ")),
        );
    }
    found.map(str::to_owned)
}

impl Parts<'_> {
    /// Whether anything is written, right or wrong.
    pub(crate) fn are_none(&self, recipe: &VariantRecipe) -> bool {
        self.build.is_empty()
            && self.levers.is_empty()
            && self.config.is_empty()
            && self.sql.is_empty()
            && self.rewrite.is_none()
            && recipe.change.is_empty()
    }
}

/// What those keys say.
pub(crate) fn of_parts(
    parts: &Parts<'_>,
    known: &Known<'_>,
    mistakes: &mut Mistakes<'_>,
) -> VariantRecipe {
    let mut items = Vec::new();
    for (key, value) in parts.build {
        for (key, value_in_words) in settings(key, &value.value) {
            match check_build_setting(&key, &value_in_words, known.folder) {
                Ok(()) => items.push(Item::Build {
                    value: setting_in_folder(&key, value_in_words, known.folder),
                    key,
                }),
                Err(mistake) => {
                    mistakes.add(value.at, mistake.cause, mistake.remedy);
                }
            }
        }
    }
    for text in parts.levers {
        match parse_variant::<&str>(text, known.levers, &[], known.folder) {
            Ok(expression) if expression.server.is_some() => mistakes.add(
                text.at,
                "a server among the levers",
                "give it as `server` of a variant",
            ),
            Ok(expression) => items.extend(expression.items),
            Err(error) => add_expression(text, &error, mistakes),
        }
    }
    for (name, value) in parts.config {
        let variable = normalise_variable(name);
        let is_name = !variable.is_empty()
            && variable
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        if is_name {
            items.push(Item::Variable {
                name: variable,
                value: value.0.clone(),
            });
        } else {
            mistakes.add(
                value.at,
                format!("`{name}` is not a variable's name"),
                "write as in innodb_io_capacity = 2000",
            );
        }
    }
    let sql = sql(parts.sql, known, mistakes);
    VariantRecipe {
        items,
        change: Change {
            sql,
            rewrite: rewrites(parts.rewrite, known, mistakes),
            runtime: process(parts.runtime, mistakes),
            ..Change::default()
        },
        ..VariantRecipe::default()
    }
}

/// What a file of rewrites says.
fn rewrites(
    file: Option<&At<Text>>,
    known: &Known<'_>,
    mistakes: &mut Mistakes<'_>,
) -> Vec<Rewrite> {
    let Some(file) = file else {
        return Vec::new();
    };
    read_rewrites(file, known.folder).unwrap_or_else(|error| {
        mistakes.add(file.at, error.cause(), error.remedy());
        Vec::new()
    })
}

/// Statements and files of them, in order.
fn sql(
    entries: &[At<Text>],
    known: &Known<'_>,
    mistakes: &mut Mistakes<'_>,
) -> Vec<ChangeStatement> {
    let mut statements = Vec::new();
    for entry in entries {
        let place = mistakes.place(entry.at);
        match change_statements(entry, known.folder, &place) {
            Ok(read) => statements.extend(read),
            Err(mistake) => {
                let cause = mistake.cause();
                // The place of a mistake in this file is said anyway.
                let here = cause.strip_prefix(&format!("{place}: "));
                mistakes.add(entry.at, here.unwrap_or(&cause), mistake.remedy());
            }
        }
    }
    statements
}

/// What surrounds the process; a value that is a mistake is noted, and another one stands in its place.
fn process(runtime: &Runtime, mistakes: &mut Mistakes<'_>) -> ProcessSettings {
    let mistakes = RefCell::new(mistakes);
    let cpus = |text: At<Text>| {
        let list = parse_cpu_list(&text).filter(|cpus| !cpus.is_empty());
        if list.is_none() {
            mistakes.borrow_mut().add(
                text.at,
                format!("`{}` is not a list of CPUs", *text),
                "write as in \"0-3,8\"; the levers placement-* choose for the machine at hand",
            );
        }
        Ok(list.unwrap_or_default())
    };
    let policy = |text: At<Text>| {
        let policy = mistakes.borrow_mut().take(scheduling(text));
        Ok(policy.unwrap_or(Scheduling::Batch))
    };
    let found: Result<ProcessSettings, Infallible> =
        runtime
            .clone()
            .resolve(cpus, policy, |_, text| Ok(text.value.0));
    match found {
        Ok(settings) => settings,
        Err(never) => match never {},
    }
}

/// A server by its name in the catalogue, or by its path from the folder of the study's file, which comes back absolute: the study is
/// the same wherever the command is given.
pub(crate) fn server(name: &At<Text>, known: &Known<'_>, mistakes: &mut Mistakes<'_>) -> String {
    let text = name.trim();
    if looks_like_path(text) {
        return server_at(text, name.at, known, mistakes);
    }
    if !known.servers.iter().any(|server| server == text) {
        let names = known.servers.iter().map(String::as_str);
        mistakes.add(
            name.at,
            format!("no server is called `{text}`"),
            format!(
                "{}known: {}; or write the path of a server's binary",
                did_you_mean(text, of_same_version(text, names)),
                known.servers.join(", ")
            ),
        );
    }
    text.to_owned()
}

/// A server's path from the folder of the study's file, absolute.
fn server_at(path: &str, at: usize, known: &Known<'_>, mistakes: &mut Mistakes<'_>) -> String {
    match server_name(&known.folder.join(path).display().to_string()) {
        Ok(absolute) => absolute,
        Err(error) => {
            let told = error.explain();
            blame(
                at,
                told.with_cause(|cause| format!("the server {path}: {cause}")),
                "write its path from the root, as in /usr/sbin/mariadbd",
                mistakes,
            );
            path.to_owned()
        }
    }
}

/// A variant spoken of: by its name in `[variants]`, or as an expression.
pub(crate) fn reference(
    text: &At<Text>,
    variants: &BTreeMap<String, VariantRecipe>,
    known: &Known<'_>,
    mistakes: &mut Mistakes<'_>,
) -> VariantRecipe {
    let name = text.trim();
    if let Some(recipe) = variants.get(name) {
        let mut recipe = recipe.clone();
        recipe.title.get_or_insert_with(|| name.to_owned());
        return recipe;
    }
    match parse_variant(name, known.levers, known.servers, known.folder) {
        Ok(expression) => VariantRecipe {
            server: expression.server.map(|server| {
                if looks_like_path(&server) {
                    server_at(&server, text.at, known, mistakes)
                } else {
                    server
                }
            }),
            spelling: spelled(name, &expression.items),
            items: expression.items,
            ..VariantRecipe::default()
        },
        Err(error) => {
            let meant = did_you_mean(name, variants.keys().map(String::as_str));
            if meant.is_empty() {
                add_expression(text, &error, mistakes);
            } else {
                mistakes.add(
                    text.at,
                    format!("no variant is called `{name}`"),
                    format!("{meant}or describe it under [variants.{name}]"),
                );
            }
            VariantRecipe::default()
        }
    }
}

fn add_expression(text: &At<Text>, error: &VariantError, mistakes: &mut Mistakes<'_>) {
    // Behind the opening quote; in a text of several lines the place is that of its beginning.
    let at = text.at + 1 + error.start;
    mistakes.add(at, error.cause.clone(), error.remedy.clone());
}
