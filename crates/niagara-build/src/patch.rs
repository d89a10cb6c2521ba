//! A source change, as a build gets it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use niagara_error::{Remedy as _, bail};

/// A patch: its name and the text that `patch -p1` takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// As in `patches/`.
    pub name: String,
    /// A unified diff.
    pub text: String,
}

impl Patch {
    /// Applies it to a tree, whole or not at all: files are replaced, never written into.
    ///
    /// # Errors
    /// The first hunk that does not fit.
    pub(crate) fn apply(&self, tree: &Path) -> Result<()> {
        self.fits(tree)?;
        self.run(tree, &[])
    }

    /// Whether it can be applied to a tree, which stays as it is.
    ///
    /// # Errors
    /// The first hunk that does not fit.
    pub(crate) fn fits(&self, tree: &Path) -> Result<()> {
        self.run(tree, &["--dry-run"])
    }

    fn run(&self, tree: &Path, more: &[&str]) -> Result<()> {
        let mut command = Command::new("patch");
        // Without fuzz: a hunk whose surroundings are others than it was written for may mean something else there.
        command.args([
            "-p1",
            "--batch",
            "--forward",
            "--fuzz=0",
            "--no-backup-if-mismatch",
        ]);
        let mut child = command
            .args(more)
            .current_dir(tree)
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot run patch")
            .remedy("apt install patch")?;
        if let Some(mut input) = child.stdin.take() {
            // patch says itself what is wrong with what it could not read.
            let _ = input.write_all(self.text.as_bytes());
        }
        let output = child.wait_with_output()?;
        if !output.status.success() {
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            let Some(causes) = causes(&said) else {
                bail!(
                    "cannot apply the patch {} to {}: {}", self.name, tree.display(), said.trim();
                    remedy: "mend that (make room, say), then give the same command again"
                );
            };
            bail!(
                "the patch {} does not apply to this source: {causes}", self.name;
                remedy: "leave it out, build a version that it was written for, or write it again for this one \
                 (data/patches/README.md)"
            );
        }
        Ok(())
    }
}

/// The files that a patch changes, as it names them: `b/sql/sql_parse.cc`.
pub(crate) fn changed_files(text: &str) -> impl Iterator<Item = &str> {
    let changed = text.lines().filter_map(|line| line.strip_prefix("+++ "));
    changed.filter_map(|named| named.split_whitespace().next())
}

/// The first of what of the patch does not fit, each with the file that it was at; none where something else went wrong, such as
/// a full disk.
fn causes(said: &str) -> Option<String> {
    let mut file = "";
    let mut telling = Vec::new();
    for line in said.lines() {
        let begun = ["checking file ", "patching file "];
        if let Some(name) = begun.iter().find_map(|words| line.strip_prefix(words)) {
            file = name;
        } else if line.starts_with("Hunk #") && line.contains("FAILED") {
            telling.push(format!("{file}: {line}"));
        } else if ["can't find", "Reversed", "malformed", "Only garbage"]
            .iter()
            .any(|words| line.contains(words))
        {
            telling.push(match file {
                "" => line.to_owned(),
                file => format!("{file}: {line}"),
            });
        } else if let Some(name) = line.strip_prefix("|--- a/") {
            // After `can't find file to patch`: what was looked for.
            telling.push(name.to_owned());
        }
    }
    telling.truncate(3);
    (!telling.is_empty()).then(|| telling.join("; "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use niagara_error::Explain as _;

    use super::*;
    use crate::shipped_patches::{patch_names, patch_text};

    #[test]
    fn a_patch_applies_whole_or_not_at_all() {
        let tree = tempfile::tempdir().expect("a temporary folder");
        let path = tree.path().join("a.c");
        std::fs::write(&path, "one\ntwo\n").expect("written");
        let patch = |from: &str| Patch {
            name: "p".into(),
            text: format!("--- a/a.c\n+++ b/a.c\n@@ -1,2 +1,2 @@\n one\n-{from}\n+three\n"),
        };
        let error = patch("four")
            .apply(tree.path())
            .expect_err("does not fit")
            .explain()
            .to_string();
        assert!(
            error.contains("patch p does not apply")
                && error.contains("a.c: Hunk #1 FAILED at 1")
                && error.contains("remedy"),
            "{error}"
        );
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "one\ntwo\n");
        patch("two").apply(tree.path()).expect("applied");
        assert_eq!(
            std::fs::read_to_string(&path).expect("there"),
            "one\nthree\n"
        );
    }

    #[test]
    fn a_full_disk_is_no_fault_of_the_patch() {
        let said = "patching file a.c\npatch: **** write error : No space left on device\n";
        assert_eq!(causes(said), None);
        let said = "patching file a.c\nHunk #1 FAILED at 1.\n";
        assert_eq!(causes(said).as_deref(), Some("a.c: Hunk #1 FAILED at 1."));
    }

    #[test]
    fn a_hunk_whose_surroundings_are_others_is_refused() {
        let tree = tempfile::tempdir().expect("a temporary folder");
        let path = tree.path().join("a.c");
        let text = "new\ntwo\nthree\nfour\nfive\nsix\nseven\n";
        std::fs::write(&path, text).expect("written");
        // What it changes is there; the first line of its surroundings is another.
        let patch = Patch {
            name: "p".into(),
            text: "--- a/a.c\n+++ b/a.c\n@@ -1,7 +1,7 @@\n one\n two\n three\n-four\n+4\n five\n six\n seven\n".into(),
        };
        let error = patch.apply(tree.path()).expect_err("does not fit");
        assert!(
            error.explain().to_string().contains("a.c: Hunk #1"),
            "{error}"
        );
        assert_eq!(std::fs::read_to_string(&path).expect("there"), text);
    }

    /// Adds to `files` the lines that a patch expects, each at its place.
    fn expected_lines(text: &str, files: &mut BTreeMap<String, Vec<String>>) {
        let (mut file, mut place) = (String::new(), 0);
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("--- a/") {
                name.clone_into(&mut file);
            } else if let Some(hunk) = line.strip_prefix("@@ -") {
                let begins = hunk.split([',', ' ']).next().and_then(|n| n.parse().ok());
                place = begins.expect("a line's number");
            } else if place > 0
                && let Some(expected) = line.strip_prefix([' ', '-'])
            {
                let lines = files.entry(file.clone()).or_default();
                lines.resize(lines.len().max(place), String::new());
                lines[place - 1] = expected.to_owned();
                place += 1;
            }
        }
    }

    #[test]
    fn all_shipped_patches_are_whole_and_go_together() {
        let patches = patch_names().into_iter().map(|name| Patch {
            text: patch_text(&name).expect("shipped").to_owned(),
            name,
        });
        let patches: Vec<Patch> = patches.collect();
        let mut files = BTreeMap::new();
        for patch in &patches {
            expected_lines(&patch.text, &mut files);
        }
        let tree = tempfile::tempdir().expect("a temporary folder");
        for (name, lines) in files {
            let path = tree.path().join(name);
            std::fs::create_dir_all(path.parent().expect("below the tree")).expect("made");
            std::fs::write(path, lines.join("\n") + "\n").expect("written");
        }
        for patch in &patches {
            patch
                .fits(tree.path())
                .unwrap_or_else(|error| panic!("{error:#}"));
        }
        for patch in &patches {
            patch
                .apply(tree.path())
                .unwrap_or_else(|error| panic!("{error:#}"));
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let tree = tempfile::tempdir().expect("a temporary folder");
        let patch = Patch {
            name: "p".into(),
            text: "--- a/sql/b.c\n+++ b/sql/b.c\n@@ -1 +1 @@\n-a\n+b\n".into(),
        };
        let error = patch
            .apply(tree.path())
            .expect_err("no file")
            .explain()
            .to_string();
        assert!(
            error.contains("can't find file to patch") && error.contains("sql/b.c"),
            "{error}"
        );
    }
}
