//! How the workloads of a training are written: `oltp_read_only:2/oltp_read_write`, `./shop.toml:3,report`.
//!
//! `,` and `+` separate. So does `/`, which paths have too: a name that Niagara knows stands for itself, and whatever else
//! is there is a path up to an ending of a workload's file. A path is kept with `./` before it where it is relative, so that
//! what is written again is read again.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use niagara_load::{WORKLOAD_FILES, WorkloadKind, is_workload_file};

use crate::named_training::{ANSWERS, is_named_training};

/// Reads workloads with their weights.
///
/// # Errors
/// A weight that is none, a path that does not end as a workload's file does, nothing at all.
pub(crate) fn read(text: &str) -> Result<BTreeMap<String, u32>> {
    let mut found = BTreeMap::new();
    let mut add = |text: &str| -> Result<()> {
        let (name, weight) = split_weight(text);
        let weight = match weight.map(str::parse::<u32>) {
            None => 1,
            Some(Ok(weight)) if weight > 0 => weight,
            Some(_) => bail!(
                "`{}` is no weight of {name}; write a whole number from 1, as in {name}:2",
                weight.unwrap_or_default()
            ),
        };
        *found.entry(with_dot(name)).or_insert(0) += weight;
        Ok(())
    };
    for part in text.split([',', '+']).map(str::trim) {
        for name in apart(part)? {
            add(&name)?;
        }
    }
    if found.is_empty() {
        bail!(
            "no workload is named to train on; write as in oltp_read_only:2/oltp_read_write, or the path of a file: ./shop.toml"
        );
    }
    Ok(found)
}

/// As [`read`] reads it.
pub(crate) fn written(workloads: &BTreeMap<String, u32>) -> String {
    let name = |(name, weight): (&String, &u32)| match weight {
        1 => name.clone(),
        weight => format!("{name}:{weight}"),
    };
    // A path behind a `/` would be one from the root.
    let separator = match workloads.keys().any(|name| is_workload_file(name)) {
        true => ",",
        false => "/",
    };
    let names: Vec<String> = workloads.iter().map(name).collect();
    names.join(separator)
}

/// What is between two commas: names with a `/` between them, paths among them.
fn apart(part: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    // A path as far as it was read.
    let mut path: Option<String> = None;
    let tokens: Vec<&str> = part.split('/').collect();
    for (place, token) in tokens.iter().map(|token| token.trim()).enumerate() {
        let is_last = place + 1 == tokens.len();
        match &mut path {
            Some(path) => {
                path.push('/');
                path.push_str(token);
            }
            // Behind the last separator.
            None if token.is_empty() && is_last => break,
            None if is_known(split_weight(token).0) => {
                names.push(token.to_owned());
                continue;
            }
            None => path = Some(token.to_owned()),
        }
        let ends = WORKLOAD_FILES
            .iter()
            .any(|ending| split_weight(token).0.ends_with(ending));
        if ends {
            names.extend(path.take());
        }
    }
    match path {
        None => Ok(names),
        // A name that nobody knows is told where names are looked up, with the nearest one.
        Some(path) if !path.contains('/') => Ok([names, vec![path]].concat()),
        Some(path) => {
            let first = path.split('/').next().unwrap_or_default();
            // Words without a dot are meant as names.
            if !first.is_empty() && !path.contains('.') && !path.starts_with('~') {
                names.extend(
                    path.split('/')
                        .filter(|name| !name.is_empty())
                        .map(str::to_owned),
                );
                return Ok(names);
            }
            bail!(
                "`{path}` is neither a workload nor the path of one: the file of a workload ends in {}; workloads are separated \
                 by `,`, as in oltp_read_only:2,./shop.toml",
                WORKLOAD_FILES.join(", ")
            )
        }
    }
}

/// Whether it is the name of a workload, or of a training.
fn is_known(name: &str) -> bool {
    WorkloadKind::names().contains(&name) || is_named_training(name) || name == ANSWERS
}

/// `shop.toml` and `2` of `shop.toml:2`.
fn split_weight(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((name, weight)) => (name.trim(), Some(weight.trim())),
        None => (text, None),
    }
}

/// A relative path with `./` before it.
fn with_dot(name: &str) -> String {
    let is_bare = !["/", "./", "../"]
        .iter()
        .any(|begin| name.starts_with(begin));
    match is_workload_file(name) && is_bare {
        true => format!("./{name}"),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(String, u32)> {
        read(text).expect(text).into_iter().collect()
    }

    fn is(text: &str, expected: &[(&str, u32)]) {
        let expected: Vec<(String, u32)> = expected
            .iter()
            .map(|(name, weight)| ((*name).to_owned(), *weight))
            .collect();
        assert_eq!(of(text), expected, "{text}");
        // What is written again is read again.
        let again = written(&read(text).expect(text));
        assert_eq!(of(&again), expected, "{again}");
    }

    #[test]
    fn the_old_spellings_stay() {
        is(
            "oltp_read_only:2/oltp_read_write",
            &[("oltp_read_only", 2), ("oltp_read_write", 1)],
        );
        is("report", &[("report", 1)]);
        is(
            "tpcc+report,commit:3",
            &[("commit", 3), ("report", 1), ("tpcc", 1)],
        );
        is("tpcc/", &[("tpcc", 1)]);
    }

    #[test]
    fn paths_are_told_from_names() {
        is("./shop.toml", &[("./shop.toml", 1)]);
        is("shop.capture:3", &[("./shop.capture", 3)]);
        is("/srv/a/shop.lua", &[("/srv/a/shop.lua", 1)]);
        is("../b/shop.toml:2", &[("../b/shop.toml", 2)]);
        is(
            "oltp_read_only:2/./shops/shop.toml:3/report",
            &[
                ("./shops/shop.toml", 3),
                ("oltp_read_only", 2),
                ("report", 1),
            ],
        );
        is(
            "tpcc//srv/shop.toml,shops/b.lua",
            &[("./shops/b.lua", 1), ("/srv/shop.toml", 1), ("tpcc", 1)],
        );
        is(
            "./tpcc/shop.toml/./report/a.toml",
            &[("./report/a.toml", 1), ("./tpcc/shop.toml", 1)],
        );
        is("tpcc,./a.toml,./a.toml", &[("./a.toml", 2), ("tpcc", 1)]);
    }

    #[test]
    fn mistakes_say_what_to_write() {
        let mistake = |text: &str| read(text).expect_err(text).to_string();
        assert!(mistake("").contains("./shop.toml"));
        assert!(mistake("tpcc:x").contains("tpcc:2"));
        assert!(mistake("./shop.toml:0").contains("whole number"));
        for text in ["./shop", "/srv/shop.txt", "tpcc/./shop.json", "~/shop"] {
            assert!(mistake(text).contains(".toml, .lua, .capture"), "{text}");
        }
        // Told where names are looked up.
        is("oltp_reed_only/b", &[("b", 1), ("oltp_reed_only", 1)]);
    }
}
