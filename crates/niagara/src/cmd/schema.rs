//! `niagara schema`: the JSON Schemas of what commands print.

use std::process::ExitCode;

use anyhow::Result;
use niagara_capture::ExportedEvent;
use niagara_check::CheckRecord;
use niagara_checkup::Checkup;
use niagara_error::bail;
use niagara_load::Finding;
use niagara_queries::Advice;
use niagara_report::SideBySide;
use niagara_toml::{Mistake, did_you_mean};
use serde_json::Value;

use crate::args::SchemaArgs;
use crate::cmd::before_after::BeforeAfter;
use crate::cmd::bench::{BenchResult, JobResult};
use crate::cmd::build::{BuildLine, KeptBuild};
use crate::cmd::capture::ShownStatement;
use crate::cmd::levers::LeverRow;
use crate::cmd::profile::kept::ProfileDocument;
use crate::cmd::report::Study;
use crate::cmd::run::RunPlan;
use crate::cmd::server::ServerLine;
use crate::doctor::Checklist;
use crate::json::{Document, List, of_fields, of_line};

pub fn run(args: &SchemaArgs) -> Result<ExitCode> {
    match &args.format {
        Some(format) => say_text!("{}", text(named(format)?)),
        None => {
            let longest = Document::ALL.map(|document| document.format().len());
            let width = longest.into_iter().max().unwrap_or_default();
            for document in Document::ALL {
                say!("{:<width$}  {}", document.format(), document.command());
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The document of this format.
///
/// # Errors
/// There is none.
fn named(format: &str) -> Result<Document> {
    let Some(document) = Document::of(format) else {
        let meant = did_you_mean(format, Document::ALL.map(Document::format));
        bail!("no document has the format '{format}'"; remedy: "{meant}`niagara schema` lists them");
    };
    Ok(document)
}

/// The schema of a document, as it is kept in docs/schemas.
fn text(document: Document) -> String {
    format!("{:#}\n", schema(document))
}

fn schema(document: Document) -> Value {
    match document {
        Document::Advice => of_fields::<Advice>(),
        Document::BeforeAfter => of_fields::<BeforeAfter>(),
        Document::Bench => of_fields::<BenchResult>(),
        Document::Build => of_fields::<BuildLine<'_>>(),
        Document::Builds => of_fields::<List<'_, KeptBuild<'_>>>(),
        Document::CaptureAdvice => of_fields::<niagara_capture::server::Advice>(),
        Document::CaptureEvent => of_line::<ExportedEvent<'_>>(document),
        Document::CaptureImport => of_fields::<niagara_capture::file::Summary>(),
        Document::CaptureInfo => of_fields::<niagara_capture::info::Info>(),
        Document::CaptureStatement => of_fields::<ShownStatement<'_>>(),
        Document::Check => of_fields::<CheckRecord>(),
        Document::Checkup => of_fields::<Checkup>(),
        Document::Conditions => of_fields::<List<'_, Finding>>(),
        Document::Doctor => of_fields::<Checklist<'_>>(),
        Document::Job => of_fields::<JobResult<'_>>(),
        Document::Levers => of_fields::<List<'_, LeverRow<'_>>>(),
        Document::Mistakes => of_fields::<List<'_, Mistake>>(),
        Document::Plan => of_fields::<RunPlan>(),
        Document::Profile => of_fields::<ProfileDocument<'_>>(),
        Document::Report => of_fields::<Study>(),
        Document::Servers => of_fields::<List<'_, ServerLine>>(),
        Document::SideBySide => of_fields::<SideBySide>(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn every_schema_is_of_its_document_and_valid() {
        for document in Document::ALL {
            let schema = schema(document);
            let format = &schema["properties"]["format"]["const"];
            let is_line = document == Document::CaptureEvent;
            assert_eq!(schema["title"], document.format());
            assert_eq!(format.is_null(), is_line, "{document:?}");
            assert!(is_line || *format == document.format(), "{document:?}");
            jsonschema::meta::validate(&schema).unwrap();
        }
    }

    /// `make docs-schemas` writes them.
    #[test]
    fn the_schemas_in_the_documentation_are_current() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
        let is_written = std::env::var_os("NIAGARA_WRITE_DOCS").is_some();
        if is_written {
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).unwrap();
        }
        for document in Document::ALL {
            let path = folder.join(document.schema_file());
            if is_written {
                fs::write(&path, text(document)).unwrap();
            }
            assert!(
                fs::read_to_string(&path).unwrap_or_default() == text(document),
                "{}: not current: make docs-schemas",
                path.display()
            );
        }
        let there = fs::read_dir(&folder).unwrap().flatten();
        let there: BTreeSet<_> = there
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        assert_eq!(there, Document::ALL.map(Document::schema_file).into());
    }

    #[test]
    fn a_format_that_is_misspelt_is_told() {
        let error = named("niagara.levers/2").unwrap_err().explain();
        assert!(error.remedies[0].contains("niagara.levers/1"), "{error:?}");
        assert_eq!(named("niagara.plan/1").unwrap(), Document::Plan);
    }
}
