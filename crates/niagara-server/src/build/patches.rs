//! A source change, as a build gets it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

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
    pub(super) fn apply(&self, tree: &Path) -> Result<()> {
        for dry in [true, false] {
            let mut command = Command::new("patch");
            command.args(["-p1", "--batch", "--forward", "--no-backup-if-mismatch"]);
            if dry {
                command.arg("--dry-run");
            }
            let mut child = command
                .current_dir(tree)
                .env("LC_ALL", "C")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .context("cannot run patch\nremedy: apt install patch")?;
            if let Some(mut input) = child.stdin.take() {
                // patch says itself what is wrong with what it could not read.
                let _ = input.write_all(self.text.as_bytes());
            }
            let output = child.wait_with_output()?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stdout);
                let telling: Vec<&str> = said
                    .lines()
                    .filter(|line| {
                        ["FAILED", "can't find", "Reversed", "malformed"]
                            .iter()
                            .any(|w| line.contains(w))
                    })
                    .take(3)
                    .collect();
                bail!(
                    "the patch {} does not apply to this source: {}",
                    self.name,
                    if telling.is_empty() {
                        said.trim().to_owned()
                    } else {
                        telling.join("; ")
                    }
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            .to_string();
        assert!(
            error.contains("patch p does not apply") && error.contains("FAILED"),
            "{error}"
        );
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "one\ntwo\n");
        patch("two").apply(tree.path()).expect("applied");
        assert_eq!(
            std::fs::read_to_string(&path).expect("there"),
            "one\nthree\n"
        );
    }
}
