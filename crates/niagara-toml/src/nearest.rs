//! The known name nearest to a mistyped one.

/// The name of `known` that `name` most likely meant: mistyped, or the one that ends or begins with it as a word. None when
/// all are far, or several are as likely.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let far = (name.chars().count() / 3).clamp(2, 5);
    let mistyped = known
        .iter()
        .map(|candidate| (distance(name, candidate), *candidate))
        .filter(|(distance, _)| *distance <= far)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate);
    let part = |rest: fn(&'a str, &str) -> Option<&'a str>, joined: fn(&str) -> bool| {
        let having = || {
            let all = known.iter().copied();
            all.filter(|candidate| rest(candidate, name).is_some_and(joined))
        };
        // Of several the one with the fewest words, where there is one: the plainest.
        let fewest = having().map(words).min()?;
        let mut plainest = having().filter(|candidate| words(candidate) == fewest);
        let first = plainest.next();
        first.filter(|_| plainest.next().is_none())
    };
    if name.chars().count() < MIN_PART {
        return mistyped;
    }
    mistyped
        .or_else(|| {
            part(
                |whole, end| whole.strip_suffix(end),
                |rest| rest.ends_with(JOINTS),
            )
        })
        .or_else(|| {
            part(
                |whole, start| whole.strip_prefix(start),
                |rest| rest.starts_with(JOINTS),
            )
        })
}

fn words(name: &str) -> usize {
    name.split(JOINTS).count()
}

/// What the words of a name are joined by.
const JOINTS: [char; 3] = ['-', '_', '='];
/// Letters of the shortest word that is looked for within names.
const MIN_PART: usize = 3;

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

    #[test]
    fn a_word_of_a_name_is_enough_where_one_name_has_it() {
        let levers = [
            "malloc-jemalloc",
            "malloc-jemalloc-huge",
            "build-clang-pgo-lto-jemalloc",
            "transport-unix",
            "oltp_read_only",
        ];
        assert_eq!(nearest("jemalloc", levers), Some("malloc-jemalloc"));
        assert_eq!(nearest("unix", levers), Some("transport-unix"));
        assert_eq!(nearest("read_only", levers), Some("oltp_read_only"));
        let servers = ["mariadb-10.11", "mariadb-11.8", "mysql-9.7"];
        assert_eq!(nearest("mysql", servers), Some("mysql-9.7"));
        assert_eq!(nearest("mariadb", servers), None);
        assert_eq!(nearest("-", servers), None);
    }
}
