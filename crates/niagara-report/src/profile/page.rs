//! A profile as one page: no network, no other file.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use niagara_profile::Profile;

use super::Section;
use super::content::{headline, sections};

const STYLE: &str = include_str!("../html/style.css");

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

/// The page of one profile, or of two side by side.
pub fn profile_html(profiles: &[Profile], graphs: &[Graph], command: &str) -> String {
    let headline = headline(profiles);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "Niagara " (env!("CARGO_PKG_VERSION")) };
                title { (headline) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    header {
                        p.masthead { span { "Niagara profile" } span { "Niagara " (env!("CARGO_PKG_VERSION")) } }
                        h1 { (headline) }
                        @for (index, profile) in profiles.iter().enumerate() {
                            p.lead {
                                @if profiles.len() > 1 {
                                    span class=(if index == 0 { "key a" } else { "key b" }) { (if index == 0 { "A" } else { "B" }) } " "
                                }
                                (profile.variant) " · " (profile.server_version) " · " (profile.workload)
                            }
                        }
                    }
                    @let all = sections(profiles);
                    @for section in all.iter().take(HEAD) { (part(section)) }
                    @for graph in graphs { (drawn(graph)) }
                    @for section in all.iter().skip(HEAD) { (part(section)) }
                    section {
                        h2 { "To repeat it" }
                        pre { code { (command) } }
                    }
                }
                footer { p { "Niagara " (env!("CARGO_PKG_VERSION")) ", from this profile alone." } }
            }
        }
    }
    .into_string()
}

/// Sections before the flame graphs: what limits, and the division of time.
const HEAD: usize = 3;

/// A document of its own within the page: several graphs would otherwise share names and scripts.
fn drawn(graph: &Graph) -> Markup {
    let height = drawn_height(&graph.svg).unwrap_or(700);
    let source = format!("data:image/svg+xml;base64,{}", STANDARD.encode(&graph.svg));
    html! {
        section {
            h2 { (graph.title) }
            figure {
                iframe.flame title=(graph.title) src=(source) width="100%" height=(height) loading="lazy"
                    style="border:1px solid var(--line);border-radius:6px;background:#fdfdfc" {}
                figcaption { (graph.caption) " Click a frame to look into it, Ctrl-F or the search at its upper right to find a function." }
            }
        }
    }
}

/// The height that a flame graph says of itself, in pixels.
fn drawn_height(svg: &str) -> Option<u32> {
    let (_, rest) = svg.split_once(" height=\"")?;
    let (height, _) = rest.split_once('"')?;
    // A frame around it adds a little.
    height.parse::<u32>().ok().map(|height| height + 6)
}

/// A section of a page.
pub(crate) fn part(section: &Section) -> Markup {
    let numbers = section.columns.len() - section.words;
    let class = |index: usize| (index > 0 && index < numbers).then_some("number");
    let table = html! {
        @if !section.intro.is_empty() { p.small { (section.intro) } }
        @if !section.rows.is_empty() {
            (crate::scroll::scroll(&section.title, html! {
                table {
                    thead { tr { @for (index, name) in section.columns.iter().enumerate() {
                        @if name.is_empty() { td {} } @else { th scope="col" class=[class(index)] { (name) } }
                    } } }
                    tbody {
                        @for row in &section.rows {
                            tr { @for (index, cell) in row.iter().enumerate() { td class=[class(index)] { (cell) } } }
                        }
                    }
                }
            }))
        }
        @if section.rows.is_empty() {
            ul { @for note in &section.notes { li { (note) } } }
        } @else {
            @for note in &section.notes { p.small { (note) } }
        }
    };
    html! {
        section { h2 { (section.title) } (table) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_documents_of_their_own() {
        let graph = Graph {
            title: "On CPU".to_owned(),
            caption: String::new(),
            svg: "<svg width=\"1200\" height=\"338\"><script>var x = '<b>';</script></svg>"
                .to_owned(),
        };
        assert_eq!(drawn_height(&graph.svg), Some(344));
        let page = profile_html(&[Profile::default()], &[graph], "niagara profile base");
        assert!(page.contains("data:image/svg+xml;base64,") && !page.contains("<script"));
        assert!(page.contains("height=\"344\""));
    }
}
