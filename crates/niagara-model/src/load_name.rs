//! The name of a load that a summary tells in one line.

/// What stands in front of a load's title and numbers: `commit` of `commit (Light SQL, a commit each), 2 tables of 100000 rows in all`,
/// `oltp_read_only` of `oltp_read_only, 1 table of 1000 rows, InnoDB`.
pub fn load_name(one_line: &str) -> &str {
    let end = one_line.find([',', '(']).unwrap_or(one_line.len());
    one_line[..end].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_with_a_comma_is_no_part_of_the_name() {
        let commit = "commit (Light SQL, a commit each), 2 tables of 100000 rows in all";
        assert_eq!(load_name(commit), "commit");
        assert_eq!(
            load_name("oltp_read_only, 1 table, 32 threads"),
            "oltp_read_only"
        );
        assert_eq!(load_name("tpcc"), "tpcc");
        assert_eq!(load_name(""), "");
    }
}
