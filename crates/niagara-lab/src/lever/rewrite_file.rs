//! Files of statements that are sent in place of captured ones.

use std::path::Path;

use niagara_capture::rewrite::Rewrite;
use niagara_origin::data::Refusal;
use niagara_toml::{At, FileError, Mistakes, Text};
use schemars::JsonSchema;
use serde::Deserialize;

const HELP: &str = "`niagara capture info CAPTURE DIGEST --as-rewrite` writes such a file";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RewriteFile {
    /// digests and what is sent in their place, [[rewrite]] before each
    #[schemars(length(min = 1))]
    rewrite: Vec<RewriteTable>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RewriteTable {
    /// the digest of the captured statements, or the beginning of it
    digest: At<Text>,
    /// the statement that is sent in their place; ?1 stands for the first literal of the captured one
    statement: At<Text>,
}

/// A mistake in a file of rewrites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RewriteFileError {
    /// It cannot be read.
    Unreadable {
        /// Its path.
        path: String,
        /// The system's words.
        error: String,
    },
    /// It has mistakes.
    Mistakes(FileError),
}

impl RewriteFileError {
    /// What is wrong.
    pub(crate) fn cause(&self) -> String {
        match self {
            Self::Unreadable { path, error } => format!("cannot read {path}: {error}"),
            Self::Mistakes(error) => {
                let causes = error
                    .0
                    .iter()
                    .map(|mistake| format!("{}:{}: {}", mistake.file, mistake.line, mistake.cause));
                causes.collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// What to do.
    pub(crate) fn remedy(&self) -> String {
        match self {
            Self::Unreadable { .. } => HELP.to_owned(),
            Self::Mistakes(error) => error
                .0
                .first()
                .map_or_else(|| HELP.to_owned(), |mistake| mistake.remedy.clone()),
        }
    }
}

/// The rewrites of the file at `path` from `folder`.
///
/// # Errors
/// It cannot be read, or has mistakes.
pub(crate) fn read_rewrites(path: &str, folder: &Path) -> Result<Vec<Rewrite>, RewriteFileError> {
    let path = folder.join(path.trim());
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(&path).map_err(|error| RewriteFileError::Unreadable {
        path: shown.clone(),
        error: error.to_string(),
    })?;
    parse(&shown, &text).map_err(RewriteFileError::Mistakes)
}

fn parse(file: &str, text: &str) -> Result<Vec<Rewrite>, FileError> {
    let read: RewriteFile = niagara_toml::read(file, text, HELP, &[])?;
    let mut mistakes = Mistakes::of(file, text);
    for table in &read.rewrite {
        if let Some(refusal) = Refusal::of(table.statement.as_bytes()) {
            mistakes.add(
                table.statement.at,
                format!("the statement is refused: {refusal}"),
                refusal.remedy(),
            );
        }
    }
    let rewrites = read.rewrite.into_iter().map(|table| Rewrite {
        digest: table.digest.trim().to_lowercase(),
        statement: table.statement.trim().trim_end_matches(';').to_owned(),
    });
    let rewrites = rewrites.collect();
    mistakes.unless_any(Some(rewrites))
}

#[cfg(test)]
mod tests {
    use niagara_error::Explanation;

    use super::*;

    #[test]
    fn files_have_digests_and_statements() {
        let text = "[[rewrite]]\ndigest = \"29D776\"\nstatement = \"\"\"\nSELECT ?1;\n\"\"\"\n";
        assert_eq!(
            parse("r.toml", text).expect("valid"),
            [Rewrite {
                digest: "29d776".to_owned(),
                statement: "SELECT ?1".to_owned()
            }]
        );
        let error = |text: &str| {
            Explanation::from(parse("r.toml", text).expect_err("a mistake")).to_string()
        };
        assert!(error("").contains("`rewrite` is missing"));
        let said = error(&text.replace("SELECT ?1", "SELECT 1 INTO OUTFILE 'x'"));
        assert!(
            said.starts_with("r.toml:3:") && said.contains("files"),
            "{said}"
        );
        let said = error(&text.replace("digest", "digets"));
        assert!(said.contains("did you mean `digest`"), "{said}");
    }
}
