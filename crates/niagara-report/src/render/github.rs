//! A document as annotations of GitHub Actions: workflow commands, a line each.

use crate::document::Document;

/// The headline, as an error where `failed` names a condition that holds, and each warning.
pub(crate) fn text(document: &Document, failed: Option<&str>) -> String {
    let finding = document.introduction.in_one_line();
    let first = match failed {
        Some(condition) => annotation("error", &format!("niagara: {condition}"), &finding),
        None => annotation("notice", "niagara", &finding),
    };
    let warnings = document.warnings.iter();
    let warnings = warnings.map(|warning| annotation("warning", "niagara", warning));
    std::iter::once(first).chain(warnings).collect()
}

/// A workflow command with its line's end; what would end it early is escaped as GitHub reads it.
fn annotation(level: &str, title: &str, message: &str) -> String {
    let message = message
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A");
    let title = title
        .replace('%', "%25")
        .replace(['\r', '\n'], " ")
        .replace(':', "%3A")
        .replace(',', "%2C");
    format!("::{level} title={title}::{message}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotation_is_one_line() {
        assert_eq!(
            annotation("error", "niagara: slower>2%", "B is slower by 3 %\nthan A"),
            "::error title=niagara%3A slower>2%25::B is slower by 3 %25%0Athan A\n"
        );
    }
}
