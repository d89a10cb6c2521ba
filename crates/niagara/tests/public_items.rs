//! What a crate shows is what others use: every public item is named by another crate or by its own tests, or stands in the signature of
//! one that is. The compiler warns of what nobody uses within a crate; of what a crate shows it cannot know.
//!
//! Names are compared as text: an item is taken to be used when its name stands in a file that also names its crate, a method
//! when its name stands anywhere in another crate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use regex::Regex;

type Names = BTreeSet<String>;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A pattern, compiled once: without optimisation that takes longer than all that it finds.
fn regex(pattern: &'static str) -> Regex {
    static KNOWN: Mutex<BTreeMap<&str, Regex>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().expect("no panic");
    let compile = || Regex::new(pattern).expect("a pattern of this file");
    known.entry(pattern).or_insert_with(compile).clone()
}

/// Every Rust file below `folder`, by its path, without comments and literals.
fn sources(folder: &Path, found: &mut BTreeMap<PathBuf, String>, noise: &Regex) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found, noise);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).expect("readable");
            found.insert(path, noise.replace_all(&text, "").into_owned());
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.split(move |letter| !is_word(letter))
}

/// The part of a file in front of its unit tests.
fn production(text: &str) -> &str {
    let end = text.find("#[cfg(test)]\nmod ");
    &text[..end.unwrap_or(text.len())]
}

/// The names that the module of `file` shows; `folder` has its submodules.
fn shown(file: &Path, folder: &Path, texts: &BTreeMap<PathBuf, String>, names: &mut Names) {
    let item = r"(?m)^pub (?:(?:const|unsafe) )*(?:fn|struct|enum|trait|type|static|const) (\w+)";
    let text = production(&texts[file]);
    names.extend(
        regex(item)
            .captures_iter(text)
            .map(|found| found[1].to_owned()),
    );
    for found in regex(r"(?m)^pub use ([^;]+);").captures_iter(text) {
        // Of `a::{b, c as d}` they are b and d.
        let last = regex(r"(\w+)\s*(?:,|\}|$)");
        names.extend(last.captures_iter(&found[1]).map(|name| name[1].to_owned()));
    }
    for found in regex(r"(?m)^pub mod (\w+);").captures_iter(text) {
        let module = folder.join(&found[1]);
        let mut files = [module.with_extension("rs"), module.join("mod.rs")].into_iter();
        let file = files.find(|file| texts.contains_key(file));
        shown(&file.expect("the module's file"), &module, texts, names);
    }
}

/// Words in signatures, public fields, and the definitions of public enums, traits and associated types.
fn in_signatures<'t>(texts: impl Iterator<Item = &'t str>) -> Names {
    let signatures = [
        r"(?m)^ *pub (?:(?:const|unsafe) )*fn [^{;]*",
        r"(?m)^ +pub \w+: [^\n]*",
        r"(?m)^pub (?:struct|type) [^;{]*",
        r"(?m)^pub (?:enum|trait) \w+[^{]*\{(?s:.*?)\n\}",
        r"(?m)^ +type \w+ = [^;]*",
    ]
    .map(regex);
    let mut names = Names::new();
    for text in texts {
        for found in signatures.iter().flat_map(|one| one.find_iter(text)) {
            // The first word that is not a keyword is the item's own name.
            let its_own = [
                "pub", "const", "unsafe", "fn", "struct", "type", "enum", "trait", "",
            ];
            let others = words(found.as_str()).skip_while(|word| its_own.contains(word));
            names.extend(others.skip(1).map(str::to_owned));
        }
    }
    names
}

/// The public methods of the types of these names.
fn methods(text: &str, types: &Names) -> Vec<String> {
    let block = regex(r"(?m)^impl(?:<[^{]*?>)? (\w+)[^{]*\{(?s:.*?)\n\}");
    let method = regex(r"(?m)^    pub (?:(?:const|unsafe) )*(?:fn|const) (\w+)");
    let mut found = Vec::new();
    for block in block.captures_iter(text) {
        if types.contains(&block[1]) {
            let names = method.captures_iter(&block[0]);
            found.extend(names.map(|name| format!("{}::{}", &block[1], &name[1])));
        }
    }
    found
}

#[test]
fn what_a_crate_shows_is_used_outside() {
    let mut texts = BTreeMap::new();
    // Raw strings, strings, letters, comments.
    let noise = regex(r##"r#"(?s:.*?)"#|"(?:[^"\\]|\\(?s:.))*"|'(?:[^'\\]|\\.)'|//[^\n]*"##);
    for folder in ["crates", "fuzz/fuzz_targets"] {
        sources(&root().join(folder), &mut texts, &noise);
    }
    // Once for each file, not for each crate: without optimisation that was nearly all of this test's time.
    let named_in: BTreeMap<&Path, BTreeSet<&str>> = texts
        .iter()
        .map(|(file, text)| (file.as_path(), words(text).collect()))
        .collect();
    let words_of = |(file, _): &(&PathBuf, &String)| &named_in[file.as_path()];
    let mut unused = Vec::new();
    for folder in std::fs::read_dir(root().join("crates"))
        .expect("crates")
        .flatten()
    {
        let (folder, name) = (folder.path(), folder.file_name());
        let library = folder.join("src/lib.rs");
        if !library.exists() {
            continue;
        }
        let name = name.to_string_lossy().replace('-', "_");
        let source = folder.join("src");
        let (own, others): (Vec<_>, Vec<_>) = texts
            .iter()
            .partition(|(file, _)| file.starts_with(&source));
        let mut face = Names::new();
        shown(&library, &source, &texts, &mut face);
        let named: BTreeSet<&str> = others
            .iter()
            .filter(|(file, text)| file.starts_with(&folder) || text.contains(&name))
            .flat_map(words_of)
            .copied()
            .collect();
        let called: BTreeSet<&str> = others.iter().flat_map(words_of).copied().collect();
        let signatures = in_signatures(own.iter().map(|(_, text)| production(text)));
        let idle = face.iter().filter(|item| !named.contains(item.as_str()));
        let idle = idle.filter(|item| !signatures.contains(*item));
        unused.extend(idle.map(|item| format!("{name}::{item}")));
        for method in own
            .iter()
            .flat_map(|(_, text)| methods(production(text), &face))
        {
            if !method
                .rsplit("::")
                .next()
                .is_some_and(|own| called.contains(own))
            {
                unused.push(format!("{name}::{method}"));
            }
        }
    }
    assert!(
        unused.is_empty(),
        "no other crate names these, so they need not be public:\n{}",
        unused.join("\n")
    );
}
