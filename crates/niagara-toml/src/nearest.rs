//! The known name nearest to a mistyped one.

/// The name of `known` that `name` most likely meant; none when all are far.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let far = (name.chars().count() / 3).clamp(2, 5);
    known
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= far)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `did you mean X? ` in front of a remedy, or nothing.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |known| format!("did you mean `{known}`? "))
}

/// Edits (insert, delete, replace) from one name to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, left) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_near_and_other_words_are_not() {
        let known = ["jemalloc", "tcmalloc", "mimalloc"];
        assert_eq!(nearest("jemaloc", known), Some("jemalloc"));
        assert_eq!(nearest("hoard", known), None);
        assert_eq!(did_you_mean("tcmaloc", known), "did you mean `tcmalloc`? ");
    }
}
