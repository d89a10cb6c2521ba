//! What the runner prints of a test.

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    Failed,
    Skipped,
}

/// A test's line in the runner's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestLine {
    /// `main.select`, without its combination.
    pub test: String,
    pub verdict: Verdict,
    /// Milliseconds, or the reason for a skip.
    pub rest: String,
}

/// Reads `main.select 'nm'     w1 [ pass ]   1418`; none of a line that is not about the end of a test.
pub(crate) fn test_line(line: &str) -> Option<TestLine> {
    // MySQL's runner begins with how far it is: `[ 50%] main.select …`.
    let line = match line.split_once("%] ") {
        Some((percent, rest)) if percent.starts_with('[') => rest,
        _ => line,
    };
    let (head, tail) = line.split_once(" [ ")?;
    let (word, rest) = tail.split_once(']')?;
    let test = head.split_whitespace().next()?;
    if !test.contains('.') || !test.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let verdict = match word.trim() {
        "pass" | "retry-pass" => Verdict::Passed,
        // The runner expects these to fail in its own way.
        "exp-fail" => Verdict::Passed,
        "fail" | "retry-fail" => Verdict::Failed,
        "skipped" | "disabled" => Verdict::Skipped,
        _ => return None,
    };
    Some(TestLine {
        test: test.to_owned(),
        verdict,
        rest: rest.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_runners() {
        let line = |text: &str| test_line(text).map(|l| (l.test, l.verdict, l.rest));
        let told =
            |test: &str, verdict, rest: &str| Some((test.to_owned(), verdict, rest.to_owned()));
        assert_eq!(
            line("main.select 'nm'                         w1 [ pass ]   1418"),
            told("main.select", Verdict::Passed, "1418")
        );
        assert_eq!(
            line("main.x                                   w2 [ skipped ]  Need windows"),
            told("main.x", Verdict::Skipped, "Need windows")
        );
        assert_eq!(
            line("main.y                                   w2 [ fail ]"),
            told("main.y", Verdict::Failed, "")
        );
        assert_eq!(
            line("[  7%] innodb.z                          w1  [ fail ]"),
            told("innodb.z", Verdict::Failed, "")
        );
        for text in [
            "",
            "Completed: All 4 tests were successful.",
            "worker[01] Using MTR_BUILD_THREAD 300",
            "mysql-test-run: WARNING: x [ y ]",
            "TEST  WORKER RESULT",
        ] {
            assert_eq!(test_line(text), None, "{text}");
        }
    }
}
