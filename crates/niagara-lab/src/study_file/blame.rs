//! Errors of what a study's file names, as mistakes of the file.

use niagara_error::Explanation;
use niagara_toml::Mistakes;

/// Notes an error of what a study's file names. A mistake in a file of its own comes with its place; where an error has no remedy,
/// `remedy` is it.
pub(super) fn blame(at: usize, told: Explanation, remedy: &str, mistakes: &mut Mistakes<'_>) {
    let all = std::iter::once((told.cause, told.remedies));
    let others = told
        .others
        .into_iter()
        .map(|other| (other.cause, other.remedies));
    for (cause, remedies) in all.chain(others) {
        match remedies.is_empty() {
            true => mistakes.add(at, cause, remedy),
            false => mistakes.add(at, cause, remedies.join("; or ")),
        }
    }
}
