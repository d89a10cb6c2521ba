//! The first real error in a build's output, which is rarely the last line.

/// The line that says why a build failed: the first error of a compiler, a linker, cmake or ninja.
pub(crate) fn first_error(output: &str) -> Option<String> {
    let lines: Vec<&str> = output.lines().collect();
    let telling: [fn(&str) -> bool; 5] = [
        // The compiler itself died or found no room, whatever it complained of besides.
        |line| {
            [
                "internal compiler error",
                "No space left on device",
                "Killed signal",
                "virtual memory exhausted",
            ]
            .iter()
            .any(|phrase| line.contains(phrase))
        },
        |line| {
            (line.contains(": error:") || line.contains(": fatal error:"))
                && !line.contains("ld returned")
                && !line.contains("linker command failed")
        },
        |line| {
            [
                "undefined reference to",
                "multiple definition of",
                "undefined symbol:",
                "duplicate symbol:",
                "cannot find ",
            ]
            .iter()
            .any(|phrase| line.contains(phrase))
                || line.starts_with("ld.lld: error:")
                || line.starts_with("lto1: error:")
                || line.starts_with("error:")
        },
        |line| line.starts_with("CMake Error"),
        |line| {
            line.starts_with("FAILED:")
                || line.starts_with("ninja: error:")
                || line.starts_with("BOLT-ERROR")
        },
    ];
    let at = telling
        .iter()
        .find_map(|is| lines.iter().position(|line| is(line)))?;
    let line = lines[at].trim();
    // cmake says what is wrong in the lines below.
    if line.starts_with("CMake Error") {
        let more = lines[at + 1..]
            .iter()
            .map(|line| line.trim())
            .find(|line| !line.is_empty());
        return Some(more.map_or(line.to_owned(), |more| format!("{line} {more}")));
    }
    Some(line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_found_among_what_it_caused() {
        let cases = [
            (
                "[1/3] Building C object a.o\nFAILED: a.o\n/usr/bin/gcc -c a.c\na.c: In function 'f':\n\
                 a.c:3:5: error: unknown type name 'itn'\nb.c:1:1: error: later\nninja: build stopped: subcommand failed.",
                "a.c:3:5: error: unknown type name 'itn'",
            ),
            (
                "FAILED: m\n/usr/bin/ld: a.o: in function `main':\na.c:(.text+0x5): undefined reference to `g'\n\
                 collect2: error: ld returned 1 exit status",
                "a.c:(.text+0x5): undefined reference to `g'",
            ),
            (
                "-- Checking\nCMake Error at CMakeLists.txt:9 (message):\n  Cannot find libaio\n\n-- Configuring incomplete",
                "CMake Error at CMakeLists.txt:9 (message): Cannot find libaio",
            ),
            (
                "a.c:1:1: warning: x\nld.lld: error: unable to find library -lfoo\nclang: error: linker command failed",
                "ld.lld: error: unable to find library -lfoo",
            ),
            (
                "/usr/bin/ld: cannot find /usr/lib/rt.a: No such file\nclang: error: linker command failed with exit code 1",
                "/usr/bin/ld: cannot find /usr/lib/rt.a: No such file",
            ),
            ("FAILED: x.h\ncd /b && ./gen\n", "FAILED: x.h"),
            (
                "a.c:1:1: error: x\ng++: fatal error: Killed signal terminated program cc1plus",
                "g++: fatal error: Killed signal terminated program cc1plus",
            ),
        ];
        for (output, error) in cases {
            assert_eq!(first_error(output).as_deref(), Some(error));
        }
        assert_eq!(first_error("all is well\n"), None);
    }
}
