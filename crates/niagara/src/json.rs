//! What commands print for other programs with `--json`: one object, whose first field says what it is.

mod schema;

use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use schema::{of_fields, of_line};

/// A kind of document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Document {
    Advice,
    BeforeAfter,
    Bench,
    Build,
    Builds,
    CaptureAdvice,
    CaptureEvent,
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
    pub(crate) const ALL: [Self; 22] = [
        Self::Advice,
        Self::BeforeAfter,
        Self::Bench,
        Self::Build,
        Self::Builds,
        Self::CaptureAdvice,
        Self::CaptureEvent,
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

    /// The document of this format.
    pub(crate) fn of(format: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|document| document.format() == format)
    }

    /// The file of its schema, in docs/schemas.
    pub(crate) fn schema_file(self) -> String {
        format!("{}.json", self.format().replace('/', "-"))
    }

    /// Its name and the version of its form, which is counted up when a field changes its meaning.
    pub(crate) fn format(self) -> &'static str {
        match self {
            Self::Advice => "niagara.advice/1",
            Self::BeforeAfter => "niagara.before-after/1",
            Self::Bench => "niagara.bench/1",
            Self::Build => "niagara.build/1",
            Self::Builds => "niagara.builds/1",
            Self::CaptureAdvice => "niagara.capture-advice/1",
            Self::CaptureEvent => "niagara.capture-event/1",
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
            Self::CaptureEvent => "niagara capture export CAPTURE",
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

/// What a command prints: the fields of a document.
pub(crate) trait Printed: Serialize + JsonSchema {
    /// The document that has these fields.
    const DOCUMENT: Document;
}

/// What a list that a command prints has.
pub(crate) trait Listed: Serialize + JsonSchema {
    /// The document that lists them.
    const DOCUMENT: Document;
}

/// A list, which an object holds in a field.
#[derive(Serialize, JsonSchema)]
pub(crate) struct List<'a, T> {
    /// What is listed.
    items: &'a [T],
}

impl<T: Listed> Printed for List<'_, T> {
    const DOCUMENT: Document = T::DOCUMENT;
}

/// A document with its format in front.
#[derive(Serialize)]
struct Envelope<'a, T> {
    format: &'static str,
    #[serde(flatten)]
    fields: &'a T,
}

/// The text of the document that has these fields.
///
/// # Errors
/// A value that JSON does not have.
pub(crate) fn text<T: Printed>(fields: &T) -> Result<String> {
    let format = T::DOCUMENT.format();
    Ok(serde_json::to_string_pretty(&Envelope { format, fields })?)
}

/// Prints the document that has these fields.
///
/// # Errors
/// A value that JSON does not have.
pub(crate) fn print(fields: &impl Printed) -> Result<()> {
    say!("{}", text(fields)?);
    Ok(())
}

/// Prints the document that is a list of these, as `items`.
///
/// # Errors
/// A value that JSON does not have.
pub(crate) fn print_list(items: &[impl Listed]) -> Result<()> {
    print(&List { items })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    impl Listed for &str {
        const DOCUMENT: Document = Document::Servers;
    }

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
        let text = text(&List { items: &["a"] }).unwrap();
        assert_eq!(
            text,
            "{\n  \"format\": \"niagara.servers/1\",\n  \"items\": [\n    \"a\"\n  ]\n}"
        );
    }
}
