//! What commands print for other programs with `--json`: one object, whose first field says what it is.

use anyhow::Result;
use serde::Serialize;

/// A kind of document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Document {
    Advice,
    BeforeAfter,
    Bench,
    Build,
    Builds,
    CaptureAdvice,
    CaptureImport,
    CaptureInfo,
    CaptureStatement,
    Check,
    Checkup,
    Conditions,
    Doctor,
    Job,
    Levers,
    Mistakes,
    Plan,
    Profile,
    Report,
    Servers,
    SideBySide,
}

impl Document {
    /// All of them, by their names.
    pub(crate) const ALL: [Self; 21] = [
        Self::Advice,
        Self::BeforeAfter,
        Self::Bench,
        Self::Build,
        Self::Builds,
        Self::CaptureAdvice,
        Self::CaptureImport,
        Self::CaptureInfo,
        Self::CaptureStatement,
        Self::Check,
        Self::Checkup,
        Self::Conditions,
        Self::Doctor,
        Self::Job,
        Self::Levers,
        Self::Mistakes,
        Self::Plan,
        Self::Profile,
        Self::Report,
        Self::Servers,
        Self::SideBySide,
    ];

    /// Its name and the version of its form, which is counted up when a field changes its meaning.
    pub(crate) fn format(self) -> &'static str {
        match self {
            Self::Advice => "niagara.advice/1",
            Self::BeforeAfter => "niagara.before-after/1",
            Self::Bench => "niagara.bench/1",
            Self::Build => "niagara.build/1",
            Self::Builds => "niagara.builds/1",
            Self::CaptureAdvice => "niagara.capture-advice/1",
            Self::CaptureImport => "niagara.capture-import/1",
            Self::CaptureInfo => "niagara.capture-info/1",
            Self::CaptureStatement => "niagara.capture-statement/1",
            Self::Check => "niagara.check/1",
            Self::Checkup => "niagara.checkup/1",
            Self::Conditions => "niagara.conditions/1",
            Self::Doctor => "niagara.doctor/1",
            Self::Job => "niagara.job/1",
            Self::Levers => "niagara.levers/1",
            Self::Mistakes => "niagara.mistakes/1",
            Self::Plan => "niagara.plan/1",
            Self::Profile => "niagara.profile/1",
            Self::Report => "niagara.report/1",
            Self::Servers => "niagara.servers/1",
            Self::SideBySide => "niagara.side-by-side/1",
        }
    }

    /// The command that prints it.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::Advice => "niagara advise --json",
            Self::BeforeAfter => "niagara compare --before A.capture --after B.capture --json",
            Self::Bench => "niagara bench WORKLOAD --json",
            Self::Build => "niagara server build SERVER --json",
            Self::Builds => "niagara server build list --json",
            Self::CaptureAdvice => "niagara capture advise --json",
            Self::CaptureImport => "niagara capture import LOG --json",
            Self::CaptureInfo => "niagara capture info CAPTURE --json",
            Self::CaptureStatement => "niagara capture info CAPTURE DIGEST --json",
            Self::Check => "niagara server check SERVER --json",
            Self::Checkup => "niagara checkup --json",
            Self::Conditions => "niagara bench check tpcc --json",
            Self::Doctor => "niagara doctor --json",
            Self::Job => "niagara bench report --json",
            Self::Levers => "niagara levers --json",
            Self::Mistakes => "niagara study check FILE --json",
            Self::Plan => "niagara run FILE --plan --json",
            Self::Profile => "niagara profile SERVER --json",
            Self::Report => "niagara report DIR --json, and tune, compare, sweep, run with --json",
            Self::Servers => "niagara server list --json",
            Self::SideBySide => "niagara report DIR DIR --json",
        }
    }
}

/// A document with its format in front.
#[derive(Serialize)]
struct Envelope<'a, T> {
    format: &'static str,
    #[serde(flatten)]
    fields: &'a T,
}

/// Of a list, which an object holds in a field of this name.
#[derive(Serialize)]
struct List<'a, T> {
    items: &'a [T],
}

/// The text of a document; its fields are those of `fields`.
///
/// # Errors
/// A value that JSON does not have.
pub(crate) fn text(document: Document, fields: &impl Serialize) -> Result<String> {
    let format = document.format();
    Ok(serde_json::to_string_pretty(&Envelope { format, fields })?)
}

/// Prints a document; its fields are those of `fields`.
///
/// # Errors
/// A value that JSON does not have.
pub(crate) fn print(document: Document, fields: &impl Serialize) -> Result<()> {
    say!("{}", text(document, fields)?);
    Ok(())
}

/// Prints a document that is a list, as `items`.
///
/// # Errors
/// A value that JSON does not have.
pub(crate) fn print_list(document: Document, items: &[impl Serialize]) -> Result<()> {
    print(document, &List { items })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_document_has_a_format_of_its_own() {
        let formats: BTreeSet<&str> = Document::ALL.map(Document::format).into();
        assert_eq!(formats.len(), Document::ALL.len());
        for document in Document::ALL {
            let (name, version) = document.format().split_once('/').unwrap();
            assert!(name.starts_with("niagara.") && version.parse::<u32>().is_ok());
        }
    }

    #[test]
    fn the_format_stands_first_and_lists_are_objects() {
        let text = text(Document::Servers, &List { items: &["a"] }).unwrap();
        assert_eq!(
            text,
            "{\n  \"format\": \"niagara.servers/1\",\n  \"items\": [\n    \"a\"\n  ]\n}"
        );
    }
}
