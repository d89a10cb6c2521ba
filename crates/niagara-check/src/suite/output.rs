//! What the runner prints of a test, and of a server that did not shut down as it should.

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
    let (test, word, rest) = verdict_line(line)?;
    if !is_test(test) {
        return None;
    }
    let verdict = match word {
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
        rest: rest.to_owned(),
    })
}

/// The name, the verdict and what follows it, of a line that tells how something ended.
fn verdict_line(line: &str) -> Option<(&str, &str, &str)> {
    // MySQL's runner begins with how far it is: `[ 50%] main.select …`.
    let line = match line.split_once("%] ") {
        Some((percent, rest)) if percent.starts_with('[') => rest,
        _ => line,
    };
    let (head, tail) = line.split_once(" [ ")?;
    let (word, rest) = tail.split_once(']')?;
    Some((head.split_whitespace().next()?, word.trim(), rest.trim()))
}

fn is_test(word: &str) -> bool {
    word.contains('.') && word.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// A line about servers that did not shut down as they should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShutdownLine {
    /// MariaDB's: there are errors in a log, of after these tests.
    After(Vec<String>),
    /// MySQL's: a server ended with an error; the next line has the tests before it.
    TestsFollow,
    /// MySQL's last test, which is none: a server ended with an error.
    Failed,
}

/// Reads what the runners say of a server that crashed while it was shut down, or logged errors then: no test has failed by
/// that for them. None of a line that is not about it.
pub(crate) fn shutdown_line(line: &str) -> Option<ShutdownLine> {
    const MARIADB: &str =
        "***Warnings generated in error logs during shutdown after running tests:";
    if let Some((_, tests)) = line.split_once(MARIADB) {
        return Some(ShutdownLine::After(test_names(tests)));
    }
    if line.contains("Shutdown report from ") && line.trim_end().ends_with(" after tests:") {
        return Some(ShutdownLine::TestsFollow);
    }
    let (name, word, _) = verdict_line(line)?;
    (name == "shutdown_report" && word == "fail").then_some(ShutdownLine::Failed)
}

/// The tests of a line that holds nothing else; of others none.
pub(crate) fn test_names(line: &str) -> Vec<String> {
    match line.split_whitespace().all(is_test) {
        true => line.split_whitespace().map(str::to_owned).collect(),
        false => Vec::new(),
    }
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

    #[test]
    fn servers_that_did_not_shut_down_as_they_should() {
        let after = |tests: &[&str]| {
            let tests = tests.iter().map(|test| (*test).to_owned());
            Some(ShutdownLine::After(tests.collect()))
        };
        let mariadb = "***Warnings generated in error logs during shutdown after running tests: ";
        assert_eq!(
            shutdown_line(&format!("{mariadb}main.alias innodb.x-1")),
            after(&["main.alias", "innodb.x-1"])
        );
        assert_eq!(shutdown_line(mariadb), after(&[]));
        assert_eq!(
            shutdown_line("worker[02] Shutdown report from /v/log/mysqld.1.err after tests:"),
            Some(ShutdownLine::TestsFollow)
        );
        assert_eq!(
            test_names(" main.alias main.xml"),
            ["main.alias", "main.xml"]
        );
        for line in ["", "main.xml w1 [ pass ] 3", "2026-01-01 main.xml"] {
            assert_eq!(test_names(line), [""; 0], "{line}");
        }
        for line in [
            "[100%] shutdown_report                          w0  [ fail ]",
            "shutdown_report                          [ fail ]",
        ] {
            assert_eq!(shutdown_line(line), Some(ShutdownLine::Failed), "{line}");
            assert_eq!(test_line(line), None, "{line}");
        }
        for line in [
            "[100%] shutdown_report                          w0  [ pass ]       ",
            "main.shutdown                            w1 [ fail ]",
            "",
        ] {
            assert_eq!(shutdown_line(line), None, "{line}");
        }
    }
}
