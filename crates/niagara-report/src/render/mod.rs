//! Documents written down, a file for each format. A new format is a file here, a line of `formats!`, and a branch of each `match` below.

mod csv;
mod github;
mod html;
mod markdown;
mod openmetrics;
mod terminal;

use std::fmt::{Display, Formatter};

use niagara_error::Explanation;

pub use csv::HEADER as CSV_HEADER;
pub use html::html_page;
pub use openmetrics::{Label, OpenMetrics};
pub use terminal::{View, wrapped};

use crate::document::Medium;
use crate::source::Source;

/// The formats with their names, written once: the enum, all of its variants, and what they are called.
macro_rules! formats {
    ($($(#[$doc:meta])* $format:ident = $name:literal,)*) => {
        /// What a report can be written as.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Format {
            $($(#[$doc])* $format,)*
        }

        impl Format {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$format),*];

            /// As written on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$format => $name,)*
                }
            }
        }
    };
}

formats! {
    /// For a terminal; `Medium::Text` is something else: the long text that Markdown is made of.
    Text = "text",
    /// For issues, wikis, merge requests.
    Markdown = "markdown",
    /// One page: no network, no other file.
    Html = "html",
    /// Every slice as a line.
    Csv = "csv",
    /// For other programs.
    Json = "json",
    /// Annotations of GitHub Actions.
    Github = "github",
    /// OpenMetrics text, as for Prometheus.
    Openmetrics = "openmetrics",
}

impl Format {
    /// Whether it tells what a study came to; else what was measured.
    pub fn takes_summary(self) -> bool {
        match self {
            Self::Csv => false,
            Self::Text
            | Self::Markdown
            | Self::Html
            | Self::Json
            | Self::Github
            | Self::Openmetrics => true,
        }
    }

    /// What it is, where its name does not say so.
    pub fn help(self) -> Option<&'static str> {
        match self {
            Self::Text | Self::Markdown | Self::Html | Self::Csv | Self::Json => None,
            Self::Github => Some("Annotations of GitHub Actions"),
            Self::Openmetrics => Some("OpenMetrics text, as for Prometheus"),
        }
    }
}

/// A format that a source lacks something for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unwritable(Format);

impl Display for Unwritable {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let needed = match self.0 {
            Format::Text | Format::Markdown | Format::Html | Format::Json => "a result",
            Format::Csv => "the slices of one study",
            Format::Github => "one study",
            Format::Openmetrics => "one comparison of two variants",
        };
        let name = self.0.name();
        write!(f, "--format {name} is made of {needed}, which is not here")
    }
}

impl std::error::Error for Unwritable {}

niagara_error::remedied!(Unwritable, |unwritable| Explanation::new(
    unwritable.to_string()
)
.remedy("--format text, markdown, html or json"));

/// A source written down in a format; `view` says how a terminal shows it.
///
/// # Errors
/// The source lacks what the format is made of.
pub fn written(source: &Source<'_>, format: Format, view: &View) -> Result<String, Unwritable> {
    let study = source.study();
    let text = match format {
        Format::Text => Some(terminal::text(source, view)),
        Format::Markdown => Some(markdown::text(&source.document(Medium::Text))),
        Format::Html => Some(html::page(&source.document(Medium::Page))),
        Format::Csv => study.and_then(|study| study.report()).map(csv::text),
        Format::Json => source.json.clone(),
        Format::Github => study.map(|_| {
            let document = source.document(Medium::Text);
            github::text(&document, source.failed.as_deref())
        }),
        Format::Openmetrics => study
            .and_then(|study| study.summary)
            .and_then(openmetrics::text),
    };
    text.ok_or(Unwritable(format))
}
