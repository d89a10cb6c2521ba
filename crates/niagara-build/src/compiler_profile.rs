//! What a trained server left behind: found, checked, and put where the compiler looks for it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use niagara_error::{Problem, bail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a profile says of the program, for people and for checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileSummary {
    /// Object files (gcc) or functions (clang, BOLT) that the profile speaks of.
    pub known: u64,
    /// How many of them the training ran at all.
    pub executed: u64,
    /// `object files` or `functions`.
    pub unit: String,
}

impl ProfileSummary {
    /// Refuses an empty profile.
    pub(crate) fn check(self, from: &str) -> Result<ProfileSummary> {
        if self.executed == 0 {
            bail!(
                "the profile of {from} is empty: of {} {} none was run", self.known, self.unit;
                remedy: "train longer (pgo.seconds), or on a workload that reaches the server"
            );
        }
        Ok(self)
    }
}

impl std::fmt::Display for ProfileSummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} of {} {} were run",
            self.executed, self.known, self.unit
        )
    }
}

/// All files below `folder` whose names end in `ending`, relative to it.
pub(crate) fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut left = vec![folder.to_path_buf()];
    while let Some(next) = left.pop() {
        let Ok(entries) = fs::read_dir(&next) else {
            continue;
        };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                left.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path.strip_prefix(folder)?.to_path_buf());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Sums up gcc's counts.
pub(crate) fn summary_of_gcda(folder: &Path) -> Result<ProfileSummary> {
    let (mut known, mut executed) = (0, 0);
    for file in files(folder, ".gcda")? {
        known += 1;
        executed += u64::from(largest_count(&fs::read(folder.join(&file))?).is_some_and(|n| n > 0));
    }
    Ok(ProfileSummary {
        known,
        executed,
        unit: "object files".to_owned(),
    })
}

/// The largest counter of a `.gcda` file: the second word of its object summary (gcc's gcov-io.h: a file is a header of
/// three or four words, then records of tag, length, content; since gcc 12 lengths are in bytes, before in words).
fn largest_count(bytes: &[u8]) -> Option<u32> {
    const OBJECT_SUMMARY: u32 = 0xa100_0000;
    let words: Vec<u32> = bytes
        .chunks_exact(4)
        .filter_map(|chunk| Some(u32::from_le_bytes(chunk.try_into().ok()?)))
        .collect();
    // "gcda", as a little-endian number.
    if words.first() != Some(&0x6763_6461) {
        return None;
    }
    // The summary follows the header at once.
    let at = words
        .iter()
        .take(6)
        .position(|word| *word == OBJECT_SUMMARY)?;
    words.get(at + 3).copied()
}

/// Puts gcc's counts beside the objects that are about to be compiled.
pub(crate) fn lay_beside_objects(profile: &Path, build: &Path) -> Result<()> {
    for file in files(profile, ".gcda")? {
        let target = build.join(&file);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(profile.join(&file), &target)
            .with_context(|| format!("cannot put the profile at {}", target.display()))?;
    }
    Ok(())
}

/// That the counts lie beside objects of the same name: else gcc has found none of them, and said nothing. `keys` are
/// those of the builds to remove where it is not so.
///
/// The path of the folder is the same for all objects, so that gcc finds all of their counts or next to none: half is
/// far from both.
pub(crate) fn check_objects(profile: &Path, build: &Path, keys: &[String]) -> Result<()> {
    let counts = files(profile, ".gcda")?;
    let met = counts
        .iter()
        .filter(|file| build.join(file.with_extension("o")).is_file())
        .count();
    if met * 2 < counts.len() {
        bail!(
            "the profile is stale: of {} object files that it speaks of this build has {met}", counts.len();
            remedy: "{}", all_again(keys)
        );
    }
    Ok(())
}

/// The error of a build by gcc's profile; with what to do where it met a function that is not the one that was counted: libraries
/// may have become newer since.
pub(crate) fn told_stale(error: anyhow::Error, keys: &[String]) -> anyhow::Error {
    match format!("{error:#}").contains("coverage-mismatch") {
        true => Problem::new("the profile is stale")
            .because(error)
            .remedy(all_again(keys))
            .into(),
        false => error,
    }
}

fn all_again(keys: &[String]) -> String {
    let each = keys
        .iter()
        .map(|key| format!("niagara server build remove {key}"));
    let each: Vec<String> = each.collect();
    format!("{}, and build again", each.join("; "))
}

/// That no function is another than the one that clang's profile counted, by what clang said in `log`. `keys` are those
/// of the builds to remove where it is not so.
pub(crate) fn check_warnings(log: &str, keys: &[String]) -> Result<()> {
    let others = mismatched(log);
    let Some(first) = others.first() else {
        return Ok(());
    };
    bail!(
        "the profile is stale: {} functions are not those that it counted, as {first}", others.len();
        remedy: "{}", all_again(keys)
    );
}

/// How many functions are not those that clang's profile counted, by what clang said in `log`.
pub(crate) fn stale_functions(log: &str) -> usize {
    mismatched(log).len()
}

/// The functions that clang took for others than those that were counted:
/// `warning: a.cc: function control flow change detected (hash mismatch) NAME Hash = 7 … [-Wbackend-plugin]`.
fn mismatched(log: &str) -> BTreeSet<&str> {
    log.lines()
        .filter_map(|line| {
            let (_, rest) = line.split_once(" mismatch) ")?;
            let is_profiles = line.ends_with("[-Wbackend-plugin]");
            rest.split(' ').next().filter(|_| is_profiles)
        })
        // The programs that run while a server is built have a `main` of their own, and the profile knows the server's.
        .filter(|name| *name != "main")
        .collect()
}

/// Merges clang's raw profiles into `to`. Those of a second round go with the profile of the first, which the compiler reads
/// before it inlines, as they are read after.
pub(crate) fn merge_raw(
    profdata: &Path,
    raw: &Path,
    first: Option<&Path>,
    to: &Path,
) -> Result<ProfileSummary> {
    let inputs = files(raw, ".profraw")?;
    if inputs.is_empty() {
        bail!(
            "the instrumented server wrote no profile into {}: it writes it when it ends cleanly",
            raw.display();
            remedy: "the same command once more"
        );
    }
    let mut merge = Command::new(profdata);
    merge.arg("merge").arg("-o").arg(to);
    merge.args(inputs.iter().map(|input| raw.join(input)));
    merge.args(first);
    // What the last round counted is what is to be there.
    let round = first.map(|_| "--showcs");
    told(merge)?;
    let mut show = Command::new(profdata);
    show.arg("show").args(round).arg(to);
    let text = told(show)?;
    let mut all = Command::new(profdata);
    all.args(["show", "--topn=1000000"]).args(round).arg(to);
    let top = told(all)?;
    let executed = top
        .lines()
        .filter(|line| line.contains("max count = ") && !line.trim_end().ends_with("max count = 0"))
        .count() as u64;
    Ok(ProfileSummary {
        known: number_behind(&text, "Total functions:"),
        executed,
        unit: "functions".to_owned(),
    })
}

/// The number behind a label in what a tool printed; 0 when it is not there.
pub(crate) fn number_behind(text: &str, label: &str) -> u64 {
    text.lines()
        .find_map(|line| line.split_once(label))
        .and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

fn told(mut command: Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {}", command.get_program().to_string_lossy()))?;
    if !output.status.success() {
        bail!(
            "{} failed: {}",
            command.get_program().to_string_lossy(),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    fn gcda(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn the_largest_count_is_read_from_gccs_file() {
        let header = [0x6763_6461, 0x4232_322a, 1, 2];
        let with = |more: &[u32]| gcda(&[&header[..], more].concat());
        assert_eq!(largest_count(&with(&[0xa100_0000, 8, 1, 77])), Some(77));
        assert_eq!(largest_count(&with(&[0xa100_0000, 8, 1, 0])), Some(0));
        assert_eq!(largest_count(&with(&[0x0100_0000, 12, 1, 2, 3])), None);
        assert_eq!(largest_count(b"junk"), None);
        assert_eq!(largest_count(&[]), None);
    }

    #[test]
    fn an_empty_profile_is_an_error_and_a_stale_one_too() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let empty = summary_of_gcda(folder.path()).expect("readable");
        assert!(
            empty
                .check("x")
                .expect_err("empty")
                .explain()
                .to_string()
                .contains("remedy")
        );
        let (profile, build) = (folder.path().join("p"), folder.path().join("b"));
        fs::create_dir_all(profile.join("sql")).expect("made");
        fs::create_dir_all(build.join("sql")).expect("made");
        fs::write(
            profile.join("sql/a.cc.gcda"),
            gcda(&[0x6763_6461, 0, 0, 0, 0xa100_0000, 8, 1, 5]),
        )
        .expect("written");
        let summary = summary_of_gcda(&profile)
            .expect("readable")
            .check("x")
            .expect("something");
        assert_eq!(summary.to_string(), "1 of 1 object files were run");
        lay_beside_objects(&profile, &build).expect("laid");
        assert!(build.join("sql/a.cc.gcda").is_file());
        assert!(
            check_objects(&profile, &build, &["a".to_owned(), "b".to_owned()])
                .expect_err("no object")
                .explain()
                .to_string()
                .contains("stale")
        );
        fs::write(build.join("sql/a.cc.o"), "").expect("written");
        check_objects(&profile, &build, &["a".to_owned(), "b".to_owned()]).expect("fits");
    }

    #[test]
    fn a_function_that_is_not_the_one_that_clang_counted_is_an_error() {
        let warning = |name: &str| {
            format!(
                "warning: /s/a.cc: function control flow change detected (hash mismatch) {name} Hash = 11 up to 2 count \
                 discarded [-Wbackend-plugin]\n"
            )
        };
        let harmless = "warning: /s/b.cc: Function _Z1fv is annotated as a hot function but the profile is cold \
                        [-Wbackend-plugin]\n";
        let fits = format!("{}{harmless}1 warning generated.\n", warning("main"));
        check_warnings(&fits, &["a".to_owned(), "b".to_owned()])
            .expect("the tools of the build have a main, too");
        let stale = format!("{fits}{0}{0}{1}", warning("_Z1gv"), warning("h"));
        let error = check_warnings(&stale, &["a".to_owned(), "b".to_owned()])
            .expect_err("stale")
            .explain()
            .to_string();
        assert!(
            error.contains("2 functions")
                && error.contains("_Z1gv")
                && error.contains("remove a; niagara server build remove b, and"),
            "{error}"
        );
    }

    #[test]
    fn a_function_that_is_not_the_one_that_gcc_counted_says_what_to_remove() {
        let keys = ["a".to_owned(), "b".to_owned()];
        let stale = anyhow::anyhow!("a.cc:1: error: … [-Werror=coverage-mismatch]")
            .context("the build failed");
        let told = told_stale(stale, &keys).explain().to_string();
        assert!(
            told.contains("remove a; niagara server build remove b, and build again"),
            "{told}"
        );
        let other = anyhow::anyhow!("a.cc:1: error: no such type");
        assert!(told_stale(other, &keys).explain().remedies.is_empty());
    }

    #[test]
    fn tools_are_read_by_their_labels() {
        let text = "Instrumentation level: IR\nTotal functions: 42\nMaximum function count: 7\n";
        assert_eq!(number_behind(text, "Total functions:"), 42);
        assert_eq!(number_behind(text, "Blocks:"), 0);
    }
}
