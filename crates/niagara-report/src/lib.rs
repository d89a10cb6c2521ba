//! Tables, charts and pages from what was measured.

mod all_time;
mod applying;
mod chart;
mod csv;
mod deploy;
mod flat;
mod grid;
mod headline;
mod html;
pub mod ink;
mod interval_bar;
mod json;
mod ladder;
mod markdown;
mod node_account;
pub use niagara_store::number;
mod profile;
mod replay;
mod report;
mod scroll;
mod side_by_side;
mod sides;
mod study;
mod svg;
mod terminal;
mod wording;

pub use csv::{HEADER as CSV_HEADER, csv};
pub use deploy::{
    ARCHIVE as DEPLOY_ARCHIVE, DEPLOY_FILES, DeployInput, DeployRung, RECIPE as DEPLOY_RECIPE,
    deploy,
};
pub use headline::headline;
pub use html::html;
pub use json::json;
pub use markdown::markdown;
pub use node_account::node_account_lines;
pub use profile::{
    DiagnosedProfile, Graph, diagnosed_profiles, headline as profile_headline, limits_in_short,
    profile_html, profile_markdown, profile_text,
};
pub use report::Report;
pub use side_by_side::{Common, Fact, Part, SideBySide, StudyInShort, side_by_side_html};
pub use sides::Sides;
pub use terminal::{Files, View, keeps_deployed, may_deploy, terminal, wrapped};
pub use wording::warnings;
