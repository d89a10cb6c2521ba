//! What may be wider than the screen.

use maud::{Markup, html};

/// `content` that scrolls by itself where it is wider than the screen, with the keyboard too; `name` is what a screen reader
/// calls it.
pub fn scroll(name: &str, content: Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(name) { (content) }
    }
}
