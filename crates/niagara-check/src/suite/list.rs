//! Which tests of a server's own suite are run: `data/checks/NAME.tests`.

use anyhow::Result;
use niagara_error::bail;

use crate::outcome::{CheckItem, LeftOut, SkipReason};

/// A list of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestList {
    /// `suite.test`, in the order of the file.
    pub tests: Vec<String>,
    /// Left out by name, with the reason.
    pub left_out: Vec<LeftOut>,
}

impl TestList {
    /// Reads a list; errors name the file and the line.
    pub fn parse(file: &str, text: &str) -> Result<TestList> {
        let mut list = TestList {
            tests: Vec::new(),
            left_out: Vec::new(),
        };
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let (name, why) = match line.strip_prefix("- ") {
                Some(rest) => match rest.split_once(": ") {
                    Some((name, why)) => (name.trim(), Some(why.trim())),
                    None => bail!(
                        "{file}:{}: a test that is left out wants a reason", index + 1;
                        remedy: "write as in `- main.grant: needs a user who is not root`"
                    ),
                },
                None => (line, None),
            };
            let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
            if !name.contains('.') || !name.chars().all(plain) {
                bail!(
                    "{file}:{}: `{name}` is not a test", index + 1;
                    remedy: "write suite.test, as in main.select"
                );
            }
            match why {
                Some(why) => list.left_out.push(LeftOut {
                    what: CheckItem::Test {
                        test: name.to_owned(),
                    },
                    reason: SkipReason::Listed {
                        because: why.to_owned(),
                    },
                }),
                None => list.tests.push(name.to_owned()),
            }
        }
        let is_out = |name: &str| {
            let mut left_out = list.left_out.iter();
            left_out.any(|out| matches!(&out.what, CheckItem::Test { test } if test == name))
        };
        list.tests.retain(|test| !is_out(test));
        if list.tests.is_empty() {
            bail!("{file}: no test is listed"; remedy: "list some, one a line, as in main.select");
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn tests_and_those_left_out() {
        let text =
            "# words\nmain.select  # fast\n\ninnodb.x-1\n- main.grant: needs no root\nmain.grant\n";
        let list = TestList::parse("a.tests", text).expect("valid");
        assert_eq!(list.tests, ["main.select", "innodb.x-1"]);
        assert_eq!(list.left_out[0].reason.to_string(), "needs no root");
        for (text, told) in [
            ("main.a\nselect\n", "a.tests:2: `select` is not a test"),
            ("- main.a\n", "a.tests:1: a test that is left out"),
            ("main.a b\n", "a.tests:1:"),
            ("# none\n", "no test is listed"),
        ] {
            let error = TestList::parse("a.tests", text)
                .expect_err(text)
                .explain()
                .to_string();
            assert!(error.contains(told) && error.contains("remedy"), "{error}");
        }
    }
}
