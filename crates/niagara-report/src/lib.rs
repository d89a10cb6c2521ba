//! Tables, charts and pages from what was measured.

mod all_time;
mod applying;
mod build;
mod chart;
mod csv;
mod deploy;
mod directives;
mod document;
mod flat;
mod handover;
mod headline;
mod host;
mod in_words;
pub mod ink;
mod interval_bar;
mod ladder;
mod load;
mod node_account;
pub use niagara_store::number;
mod profile;
mod render;
mod replay;
mod report;
mod side_by_side;
mod sides;
mod step;
mod svg;
mod wording;

pub use csv::{HEADER as CSV_HEADER, csv};
pub use deploy::{
    ARCHIVE as DEPLOY_ARCHIVE, DeployInput, DeployPlace, DeployRung, RECIPE as DEPLOY_RECIPE,
    deploy, deploy_elsewhere, deploy_files,
};
pub use handover::may_deploy;
pub use headline::headline;
pub use in_words::{BoundInWords, InWords, ReplayInWords};
pub use node_account::node_account_lines;
pub use profile::{
    DiagnosedProfile, Graph, diagnosed_profiles, headline as profile_headline, limits_in_short,
    profile_html, profile_markdown, profile_text,
};
pub use render::{Files, Label, OpenMetrics, View, html_page, terminal, wrapped};
pub use report::Report;
pub use side_by_side::{Common, Fact, Part, SideBySide, StudyInShort};
pub use sides::Sides;
pub use wording::WORTH_TELLING;

pub use wording::{CheckInWords, warnings};

/// A study as Markdown.
pub fn markdown(report: &Report) -> String {
    render::markdown(&build::report(report))
}

/// A study as one page: no network, no other file.
pub fn html(report: &Report) -> String {
    render::page(&build::report(report))
}

/// What queries need, as Markdown.
pub fn advice_markdown(advice: &niagara_queries::Advice) -> String {
    render::markdown(&build::advice(advice))
}

/// What queries need, as one page: no network, no other file.
pub fn advice_html(advice: &niagara_queries::Advice) -> String {
    render::page(&build::advice(advice))
}

/// A study as annotations of GitHub Actions; `failed` names the condition at which its command fails, where it holds.
pub fn github(report: &Report, failed: Option<&str>) -> String {
    render::github(&build::report(report), failed)
}

/// The comparison of a study as OpenMetrics text; none of a study without one.
pub fn openmetrics(report: &Report) -> Option<String> {
    render::openmetrics(report.summary.as_ref()?)
}
