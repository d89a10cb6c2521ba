//! Tables, charts and pages from what was measured.

mod all_time;
mod applying;
mod build;
mod chart;
mod deploy;
mod directives;
mod document;
mod duel_lengths;
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
pub use niagara_model::number;
mod profile;
mod render;
mod replay;
mod report;
mod side_by_side;
mod sides;
mod source;
mod step;
mod svg;
mod wording;

pub use deploy::{
    ARCHIVE as DEPLOY_ARCHIVE, DeployInput, DeployPlace, DeployRung, RECIPE as DEPLOY_RECIPE,
    deploy, deploy_elsewhere, deploy_files,
};
pub use handover::may_deploy;
pub use headline::headline;
pub use in_words::{BoundInWords, InWords, ReplayInWords};
pub use profile::{
    DiagnosedProfile, Graph, Profiles, diagnosed_profiles, headline as profile_headline,
    limits_in_short,
};
pub use render::{
    CSV_HEADER, Format, Label, OpenMetrics, Unwritable, View, html_page, wrapped, written,
};
pub use report::Report;
pub use side_by_side::{Common, Fact, Part, SideBySide, StudyInShort};
pub use sides::Sides;
pub use source::{Files, Source, Study, Subject};
pub use wording::WORTH_TELLING;

pub use wording::{CheckInWords, warnings};
