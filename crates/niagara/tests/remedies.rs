//! An error's cause and its remedies are data: no message of the code has a remedy in it, and whoever asks an error for its type
//! finds it below a remedy, too.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// The crate that has remedies as data, and the one place that writes them for people.
const CRATE: &str = "niagara-error";
/// A script that is handed over writes its own messages.
const SCRIPT: &str = "niagara-report/src/deploy/elsewhere/rds.rs";

/// The sources of all crates but their tests.
fn sources() -> Vec<(PathBuf, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<PathBuf> = fs::read_dir(crates)
        .expect("the crates")
        .map(|entry| entry.expect("an entry").path().join("src"))
        .collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs")
                && !path.ends_with("tests.rs")
            {
                let text = fs::read_to_string(&path).expect("a source");
                found.push((path, production(&text)));
            }
        }
    }
    found
}

/// A file without its comments and its tests, which stand at its end.
fn production(text: &str) -> String {
    let tests = text.find("#[cfg(test)]\nmod tests {");
    let code = &text[..tests.unwrap_or(text.len())];
    let comment = Regex::new(r"(?m)^\s*//.*$").expect("a pattern");
    comment.replace_all(code, "").into_owned()
}

/// What must not stand in code, and what does instead.
fn mistakes() -> [(Regex, &'static str); 3] {
    let pattern = |text: &str| Regex::new(text).expect("a pattern");
    [
        (
            // Behind a line's end within a text, or where it begins.
            pattern(r#"(?:\\n(?:\\\n\s*)?|")remedy: "#),
            "a remedy in a message: bail!(\"cause\"; remedy: \"…\"), .remedy(\"…\")",
        ),
        (
            pattern(r"\berror\s*\.(?:is|downcast_ref)::<"),
            "anyhow does not look below a remedy: error.has::<T>(), error.find::<T>()",
        ),
        (
            pattern(r"context\((?:\|\|\s*\{?\s*)?(?:problem!|Problem::)"),
            "a context hides its remedies: .context(\"cause\").remedy(\"…\")",
        ),
    ]
}

fn found_in(code: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for (pattern, instead) in mistakes() {
        let places = pattern.find_iter(code);
        found.extend(places.map(|place| (place.start(), instead)));
    }
    found
}

#[test]
fn remedies_are_apart_from_messages() {
    let mut found = Vec::new();
    for (path, code) in sources() {
        if path.components().any(|part| part.as_os_str() == CRATE) || path.ends_with(SCRIPT) {
            continue;
        }
        for (at, instead) in found_in(&code) {
            let line = code[..at].matches('\n').count() + 1;
            found.push(format!("{}:{line}: {instead}", path.display()));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn planted_mistakes_are_found() {
    for code in [
        r#"bail!("no cmake\nremedy: apt install cmake")"#,
        "bail!(\"no cmake\\n\\\n     remedy: apt install cmake\")",
        r#"lines.push("remedy: wait")"#,
        "error.is::<Cancelled>()",
        "match error.downcast_ref::<LoadError>() {",
        r#".with_context(|| problem!("no"; remedy: "yes"))"#,
    ] {
        assert_eq!(found_in(code).len(), 1, "{code}");
    }
    for code in [
        r#"bail!("no cmake"; remedy: "apt install cmake")"#,
        "let told = error.find::<LoadError>();",
        "let mistake = Mistake { remedy: String::new() };",
    ] {
        assert_eq!(found_in(code), [], "{code}");
    }
    let tested = "code\n// \"\\nremedy: x\n#[cfg(test)]\nmod tests {\n\"\\nremedy: x\"";
    assert!(found_in(&production(tested)).is_empty());
}
