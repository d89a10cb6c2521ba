//! A profile, or two side by side, as a document.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::html;
use niagara_profile::Profile;

use super::content::{headline, sections};
use super::figures::small;
use crate::document::{Block, Depth, Document, Figure, Introduction, Section};

/// Sections before the flame graphs: what limits, and the division of time.
const HEAD: usize = 3;

/// A flame graph.
#[derive(Debug, Clone)]
pub struct Graph {
    /// Its heading.
    pub title: String,
    /// What it shows.
    pub caption: String,
    /// The interactive SVG.
    pub svg: String,
}

/// One profile, or two.
#[derive(Debug, Clone, Copy)]
pub struct Profiles<'a> {
    /// The profiles.
    pub profiles: &'a [Profile],
    /// Their flame graphs.
    pub graphs: &'a [Graph],
    /// The command that took them.
    pub command: &'a str,
    /// Where their page is.
    pub page: Option<&'a Path>,
}

/// Profiles as a document.
pub(crate) fn document(source: &Profiles<'_>) -> Document {
    let Profiles {
        profiles,
        graphs,
        command,
        ..
    } = *source;
    let mut all: Vec<Section> = sections(profiles).into_iter().map(Section::from).collect();
    let rest = all.split_off(HEAD.min(all.len()));
    all.extend(graphs.iter().map(drawn));
    all.extend(rest);
    let repeat = Section::new(Depth::Long, "To repeat it");
    all.push(repeat.with(Block::Code(command.to_owned())));
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let lead = profiles.iter().enumerate().map(|(index, profile)| {
        let side = match (profiles.len(), index) {
            (1, _) => "",
            (_, 0) => "A: ",
            _ => "B: ",
        };
        let Profile {
            variant,
            server_version,
            workload,
            ..
        } = profile;
        let rate = match (&profile.live, profile.queries_per_second) {
            (Some(_), Some(rate)) => format!(", {} queries a second", small(rate)),
            _ => String::new(),
        };
        let lead = format!("{side}{variant} · {server_version} · {workload}{rate}");
        (Depth::Every, lead)
    });
    Document {
        masthead: ["Niagara profile".to_owned(), format!("Niagara {version}")],
        introduction: Introduction::of_headline(headline(profiles)),
        lead: lead.collect(),
        warnings: Vec::new(),
        sections: all,
        version,
        source: "from this profile alone",
    }
}

/// A document of its own within the page: several graphs would otherwise share names and scripts.
fn drawn(graph: &Graph) -> Section {
    let height = drawn_height(&graph.svg).unwrap_or(700);
    let source = format!("data:image/svg+xml;base64,{}", STANDARD.encode(&graph.svg));
    let picture = html! {
        iframe.flame title=(graph.title) src=(source) width="100%" height=(height) loading="lazy"
            style="border:1px solid var(--line);border-radius:6px;background:#fdfdfc" {}
    };
    Section::new(Depth::Page, graph.title.clone()).with(Block::Figure(Figure {
        title: String::new(),
        picture,
        caption: format!(
            "{} Click a frame to look into it, Ctrl-F or the search at its upper right to find a function.",
            graph.caption
        ),
    }))
}

/// The height that a flame graph says of itself, in pixels.
fn drawn_height(svg: &str) -> Option<u32> {
    let (_, rest) = svg.split_once(" height=\"")?;
    let (height, _) = rest.split_once('"')?;
    // A frame around it adds a little.
    height.parse::<u32>().ok().map(|height| height + 6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Source, Subject, View, written};

    #[test]
    fn graphs_are_documents_of_their_own() {
        let graph = Graph {
            title: "On CPU".to_owned(),
            caption: String::new(),
            svg: "<svg width=\"1200\" height=\"338\"><script>var x = '<b>';</script></svg>"
                .to_owned(),
        };
        assert_eq!(drawn_height(&graph.svg), Some(344));
        let profiles = Profiles {
            profiles: &[Profile::default()],
            graphs: &[graph],
            command: "niagara profile base",
            page: None,
        };
        let source = Source::of(Subject::Profiles(profiles));
        let page = written(&source, Format::Html, &View::default()).expect("a page");
        assert!(page.contains("data:image/svg+xml;base64,") && !page.contains("<script"));
        assert!(page.contains("height=\"344\""));
    }
}
