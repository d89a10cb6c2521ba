//! Tests of the server's own version: where the archive's suite is of another release than the server, a test whose files are
//! otherwise in the source that the server was built from is taken from there, with the files that it includes. A test of what
//! was mended in between would fail a server that is right; its older file is what the server was made to pass.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_server::Suite;

use crate::outcome::{CheckItem, LeftOut, SkipReason};

/// Where the tests of a source tree are.
const IN_TREE: &str = "mysql-test";

/// The suite as it is for a server of another version.
pub struct OwnTests {
    /// The suite with the files of the tree in place; the same where none differs.
    pub suite: Suite,
    /// The tests to be run.
    pub tests: Vec<String>,
    /// Those whose files are the tree's.
    pub taken: Vec<String>,
    /// Those that the tree does not have.
    pub left_out: Vec<LeftOut>,
}

impl OwnTests {
    /// Those of `tests` whose files are the tree's.
    pub fn taken_among(&self, tests: &[String]) -> Vec<String> {
        let mut taken = tests.to_vec();
        taken.retain(|test| self.taken.contains(test));
        taken
    }
}

/// `tests` of `suite` with the files that the source `tree` has for them. `into`, an empty folder, gets what the runner is
/// then called in: links to the suite, but for the files that are the tree's.
///
/// # Errors
/// A file that cannot be read or linked.
pub fn own_tests(suite: &Suite, tree: &Path, tests: Vec<String>, into: &Path) -> Result<OwnTests> {
    let theirs = suite.runner.parent().unwrap_or(Path::new("/"));
    let ours = tree.join(IN_TREE);
    let mut own = OwnTests {
        suite: suite.clone(),
        tests: Vec::new(),
        taken: Vec::new(),
        left_out: Vec::new(),
    };
    // By path below the folder of the tests: the file to take in place of the suite's; none: there is none.
    let mut replaced: BTreeMap<PathBuf, Option<PathBuf>> = BTreeMap::new();
    for test in tests {
        let (here, there) = (files_of(&ours, &test)?, files_of(theirs, &test)?);
        let is_test = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "test");
        if !here.iter().any(is_test) {
            own.left_out.push(LeftOut {
                what: CheckItem::Test { test },
                reason: SkipReason::NotInSource,
            });
            continue;
        }
        let mut differs = false;
        for path in included(&ours, here.iter().filter(|path| is_test(path)))? {
            let file = Some(ours.join(&path));
            if theirs.join(&path).is_file() && !same(&file, &theirs.join(&path))? {
                differs = true;
                replaced.insert(path, file);
            }
        }
        for path in here.union(&there) {
            let ours = here.contains(path).then(|| ours.join(path));
            if ours.is_some() && there.contains(path) && same(&ours, &theirs.join(path))? {
                continue;
            }
            differs = true;
            replaced.insert(path.clone(), ours);
        }
        if differs {
            own.taken.push(test.clone());
        }
        own.tests.push(test);
    }
    if own.taken.is_empty() {
        return Ok(own);
    }
    // The runner finds much by where it lies: all of the suite has to lie around it as it did.
    let tests = theirs.strip_prefix(&suite.basedir).with_context(|| {
        format!(
            "the tests in {} are not below {}",
            theirs.display(),
            suite.basedir.display()
        )
    })?;
    let replaced: BTreeMap<PathBuf, Option<PathBuf>> = replaced
        .into_iter()
        .map(|(path, file)| (tests.join(path), file))
        .collect();
    let basedir = into.join("usr");
    mirror(&suite.basedir, Path::new(""), &basedir, &replaced)?;
    let runner = suite.runner.file_name().unwrap_or_default();
    own.suite.runner = basedir.join(tests).join(runner);
    own.suite.basedir = basedir;
    Ok(own)
}

/// The files of a test below the folder `tests`: itself, its result, its options. MariaDB has those of `main` in one folder,
/// MySQL in `t` and `r`.
fn files_of(tests: &Path, test: &str) -> Result<BTreeSet<PathBuf>> {
    let (suite, name) = test.split_once('.').unwrap_or(("main", test));
    let mut folders = vec![
        PathBuf::from(suite),
        Path::new("suite").join(suite),
        Path::new("suite").join(suite).join("t"),
        Path::new("suite").join(suite).join("r"),
    ];
    if suite == "main" {
        folders.extend(["t", "r"].map(PathBuf::from));
    }
    let mut found = BTreeSet::new();
    for folder in folders {
        let Ok(entries) = fs::read_dir(tests.join(&folder)) else {
            continue;
        };
        for entry in entries {
            let file = entry?.file_name();
            if is_of(&file.to_string_lossy(), name) {
                found.insert(folder.join(file));
            }
        }
    }
    Ok(found)
}

/// The files below the folder `tests` that those at `begin` include, and what these include: paths below it.
fn included<'a>(
    tests: &Path,
    begin: impl Iterator<Item = &'a PathBuf>,
) -> Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut left: Vec<PathBuf> = begin.cloned().collect();
    while let Some(file) = left.pop() {
        let path = tests.join(&file);
        // Tests are in any encoding.
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let text = String::from_utf8_lossy(&text);
        for name in text.lines().filter_map(sourced) {
            // Beside the file, or below the folder of all tests.
            let places = [file.with_file_name(name), PathBuf::from(name)];
            let place = places.into_iter().find(|place| tests.join(place).is_file());
            left.extend(place.filter(|place| found.insert(place.clone())));
        }
    }
    Ok(found)
}

/// The file that a line of a test includes: `--source include/x.inc`, `source include/x.inc;`; none where a variable stands in
/// its name.
fn sourced(line: &str) -> Option<&str> {
    let line = line.trim();
    let command = line.strip_prefix("--").unwrap_or(line).trim_start();
    let name = command.strip_prefix("source")?;
    let name = name.strip_prefix([' ', '\t'])?.trim_start();
    let end = name.find([';', ' ', '\t']).unwrap_or(name.len());
    let name = &name[..end];
    let is_below = !name.is_empty() && !name.starts_with('/') && !name.contains("..");
    (is_below && !name.contains('$')).then_some(name)
}

/// Whether a file belongs to the test `name`: `select.test`, `select-master.opt`, `select,ps.rdiff`, not `select-big.test`.
fn is_of(file: &str, name: &str) -> bool {
    let Some(rest) = file.strip_prefix(name) else {
        return false;
    };
    [".", ",", "-master.", "-slave.", "-client."]
        .iter()
        .any(|begin| rest.starts_with(begin))
}

fn same(ours: &Option<PathBuf>, theirs: &Path) -> Result<bool> {
    let read =
        |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    match ours {
        Some(ours) => Ok(read(ours)? == read(theirs)?),
        None => Ok(false),
    }
}

/// Makes `to` a folder like `from`, `at` below the top, out of links, with the files of `replaced` in place of its own. Files are
/// linked hard where they can be: patch(1), by which the runner makes one result of another, takes no symbolic links.
fn mirror(
    from: &Path,
    at: &Path,
    to: &Path,
    replaced: &BTreeMap<PathBuf, Option<PathBuf>>,
) -> Result<()> {
    let link = |file: &Path, to: PathBuf| {
        match fs::symlink_metadata(file)?.is_file() {
            true => fs::hard_link(file, &to).or_else(|_| fs::copy(file, &to).map(drop)),
            false => symlink(file, &to),
        }
        .with_context(|| format!("cannot link {}", to.display()))
    };
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let path = at.join(entry.file_name());
        if replaced.contains_key(&path) {
            continue;
        }
        let below = replaced.keys().any(|file| file.starts_with(&path));
        match below && entry.path().is_dir() {
            true => mirror(&entry.path(), &path, &to.join(entry.file_name()), replaced)?,
            false => link(&entry.path(), to.join(entry.file_name()))?,
        }
    }
    for (path, file) in replaced {
        if let (true, Some(file), Some(name)) = (path.parent() == Some(at), file, path.file_name())
        {
            link(file, to.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
    }

    #[test]
    fn a_test_whose_files_differ_is_the_trees() {
        let folder = tempfile::tempdir().expect("a folder");
        let (suite, tree) = (folder.path().join("suite"), folder.path().join("tree"));
        write(
            &suite,
            &[
                ("usr/bin/mysqltest", "program"),
                ("usr/lib/mysql-test/mysql-test-run.pl", "runner"),
                ("usr/lib/mysql-test/include/have.inc", "newer"),
                ("usr/lib/mysql-test/t/derived.test", "newer"),
                ("usr/lib/mysql-test/t/derived-master.opt", "--newer"),
                ("usr/lib/mysql-test/r/derived.result", "newer"),
                ("usr/lib/mysql-test/t/derived-big.test", "newer"),
                ("usr/lib/mysql-test/t/select.test", "same"),
                ("usr/lib/mysql-test/r/select.result", "same"),
                ("usr/lib/mysql-test/t/added.test", "newer"),
                (
                    "usr/lib/mysql-test/t/includes.test",
                    "source include/a.inc;",
                ),
                ("usr/lib/mysql-test/r/includes.result", "same"),
                ("usr/lib/mysql-test/include/a.inc", "--source b.inc"),
                ("usr/lib/mysql-test/include/b.inc", "newer"),
                ("usr/lib/mysql-test/suite/innodb/t/x.test", "same"),
                ("usr/lib/mysql-test/suite/innodb/r/x.result", "newer"),
            ],
        );
        write(
            &tree,
            &[
                ("mysql-test/include/have.inc", "older"),
                ("mysql-test/t/derived.test", "older"),
                ("mysql-test/r/derived.result", "older"),
                ("mysql-test/t/select.test", "same"),
                ("mysql-test/r/select.result", "same"),
                ("mysql-test/t/includes.test", "source include/a.inc;"),
                ("mysql-test/r/includes.result", "same"),
                ("mysql-test/include/a.inc", "--source b.inc"),
                ("mysql-test/include/b.inc", "older"),
                ("mysql-test/suite/innodb/t/x.test", "same"),
                ("mysql-test/suite/innodb/t/x.cnf", "[mysqld]"),
                ("mysql-test/suite/innodb/r/x.result", "older"),
            ],
        );
        let suite = Suite {
            basedir: suite.join("usr"),
            runner: suite.join("usr/lib/mysql-test/mysql-test-run.pl"),
            version: "9.7.4".parse().expect("a version"),
        };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let of = |tests: &[&str], into: &str| {
            let into = folder.path().join(into);
            own_tests(&suite, &tree, names(tests), &into).expect("linked")
        };
        let own = of(
            &[
                "main.derived",
                "main.select",
                "main.added",
                "main.includes",
                "innodb.x",
            ],
            "own",
        );
        assert_eq!(
            own.tests,
            ["main.derived", "main.select", "main.includes", "innodb.x"]
        );
        assert_eq!(own.taken, ["main.derived", "main.includes", "innodb.x"]);
        assert_eq!(own.left_out.len(), 1);
        assert_eq!(own.left_out[0].what.to_string(), "main.added");
        let tests = own.suite.runner.parent().expect("a folder");
        let text = |path: &str| fs::read_to_string(tests.join(path)).expect(path);
        for (path, expected) in [
            ("t/derived.test", "older"),
            ("r/derived.result", "older"),
            ("t/select.test", "same"),
            ("suite/innodb/r/x.result", "older"),
            ("suite/innodb/t/x.cnf", "[mysqld]"),
            ("include/b.inc", "older"),
            // What tests share, and tests that are not run, stay the suite's.
            ("include/have.inc", "newer"),
            ("t/derived-big.test", "newer"),
            ("mysql-test-run.pl", "runner"),
        ] {
            assert_eq!(text(path), expected, "{path}");
        }
        assert!(!tests.join("t/derived-master.opt").exists());
        let result = fs::symlink_metadata(tests.join("r/derived.result")).expect("there");
        assert!(result.is_file(), "patch takes no symbolic links");
        let program = own.suite.basedir.join("bin/mysqltest");
        assert_eq!(fs::read_to_string(program).expect("linked"), "program");
        // Where nothing differs nothing is made.
        let plain = of(&["main.select"], "plain");
        assert_eq!(plain.suite, suite);
        assert!(plain.taken.is_empty() && !folder.path().join("plain").exists());
    }

    #[test]
    fn what_a_line_includes() {
        for (line, file) in [
            ("--source include/a.inc", Some("include/a.inc")),
            ("  source include/a.inc ;", Some("include/a.inc")),
            ("-- source a.inc", Some("a.inc")),
            ("--source $folder/a.inc", None),
            ("source_of_it;", None),
            ("# source a.inc", None),
        ] {
            assert_eq!(sourced(line), file, "{line}");
        }
    }

    #[test]
    fn files_of_a_test_are_told_from_those_of_others() {
        for (file, is) in [
            ("select.test", true),
            ("select-master.opt", true),
            ("select,ps.rdiff", true),
            ("select-big.test", false),
            ("selectivity.test", false),
            ("t_select.test", false),
        ] {
            assert_eq!(is_of(file, "select"), is, "{file}");
        }
    }
}
