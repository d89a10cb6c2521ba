//! What is reported, before it is written down in a format.

use std::path::PathBuf;

use niagara_model::Summary;
use niagara_queries::Advice;

use crate::document::{Document, Extent, Medium};
use crate::profile::{self, Profiles};
use crate::{Report, SideBySide, Sides, build, side_by_side};

/// What is reported.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// A study.
    Study(Study<'a>),
    /// Two studies side by side.
    SideBySide(&'a SideBySide),
    /// One profile, or two.
    Profiles(Profiles<'a>),
    /// What queries need.
    Advice(&'a Advice),
}

/// A study with what stands below it on a terminal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Study<'a> {
    /// What is stored of it; `None` where its slices are gone.
    report: Option<&'a Report>,
    /// What it came to; `None` where it was stopped before.
    pub(crate) summary: Option<&'a Summary>,
    /// Where its files are.
    pub(crate) files: Option<&'a Files>,
    /// What limits what was profiled, a sentence each.
    pub(crate) limits: &'a [String],
}

impl<'a> Study<'a> {
    /// As it is stored.
    pub fn of(report: &'a Report) -> Self {
        Self {
            report: Some(report),
            summary: report.summary.as_ref(),
            ..Self::default()
        }
    }

    /// A summary alone.
    pub fn of_summary(summary: &'a Summary) -> Self {
        Self {
            summary: Some(summary),
            ..Self::default()
        }
    }

    /// With where its files are, and what limits what was profiled.
    pub fn with_files(self, files: Option<&'a Files>, limits: &'a [String]) -> Self {
        Self {
            files,
            limits,
            ..self
        }
    }

    /// What is stored of it.
    pub(crate) fn report(&self) -> Option<&'a Report> {
        self.report
    }

    fn document(&self, medium: Medium) -> Document {
        let sides = || self.report.and_then(Sides::of);
        match (self.summary, self.report, medium) {
            (Some(summary), _, Medium::Terminal { .. }) | (Some(summary), None, _) => {
                build::study(summary, sides().as_ref(), None)
            }
            (_, Some(report), _) => build::report(report),
            (None, None, _) => Document::default(),
        }
    }
}

/// Where the files of a study are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// The page.
    pub report: PathBuf,
    /// What is to be installed, where there is something.
    pub deploy: Option<PathBuf>,
    /// Everything measured, as a database.
    pub results: PathBuf,
    /// How the program was called: `niagara`, or the path of one that is not on the PATH.
    pub program: String,
    /// The study as `report` takes it, where that shows another one by itself.
    pub named: Option<String>,
    /// What a server built from source brought elsewhere, where none was tried: a sentence.
    pub builds: Option<String>,
    /// The command of the study without what another tuning would have otherwise: its time, levers, seed and folder.
    pub command: Option<String>,
    /// The command that says what the study's statements need, where they are captured ones on their own data.
    pub advice: Option<String>,
}

impl Files {
    /// How the study's report is asked for: `niagara report FOLDER`.
    pub(crate) fn report_command(&self) -> String {
        let command = [
            Some(self.program.as_str()),
            Some("report"),
            self.named.as_deref(),
        ];
        command.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// A subject with what its documents do not hold.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    pub(crate) subject: Subject<'a>,
    pub(crate) json: Option<String>,
    pub(crate) failed: Option<String>,
}

impl<'a> Source<'a> {
    /// Of this subject alone.
    pub fn of(subject: Subject<'a>) -> Self {
        Self {
            subject,
            json: None,
            failed: None,
        }
    }

    /// With its text for other programs.
    pub fn with_json(self, json: String) -> Self {
        Self {
            json: Some(json),
            ..self
        }
    }

    /// With the condition at which its command fails, where that holds.
    pub fn with_failed(self, failed: Option<String>) -> Self {
        Self { failed, ..self }
    }

    /// Its document for a medium.
    pub(crate) fn document(&self, medium: Medium) -> Document {
        match self.subject {
            Subject::Study(study) => study.document(medium),
            Subject::SideBySide(both) => side_by_side::document(both, medium),
            Subject::Profiles(profiles) => profile::document(&profiles),
            Subject::Advice(advice) => build::advice(advice),
        }
    }

    /// How much of its document a terminal shows.
    pub(crate) fn extent_on_terminal(&self, verbose: bool) -> Extent {
        match (self.subject, verbose) {
            (Subject::Profiles(_), _) | (Subject::Study(_), false) => Extent::Screen,
            (Subject::Study(_), true) | (Subject::SideBySide(_) | Subject::Advice(_), _) => {
                Extent::Text
            }
        }
    }

    /// The study, where it is of one.
    pub(crate) fn study(&self) -> Option<Study<'a>> {
        match self.subject {
            Subject::Study(study) => Some(study),
            Subject::SideBySide(_) | Subject::Profiles(_) | Subject::Advice(_) => None,
        }
    }
}

impl<'a> From<&'a Report> for Source<'a> {
    fn from(report: &'a Report) -> Self {
        Self::of(Subject::Study(Study::of(report)))
    }
}

impl<'a> From<&'a SideBySide> for Source<'a> {
    fn from(both: &'a SideBySide) -> Self {
        Self::of(Subject::SideBySide(both))
    }
}

impl<'a> From<&'a Advice> for Source<'a> {
    fn from(advice: &'a Advice) -> Self {
        Self::of(Subject::Advice(advice))
    }
}
