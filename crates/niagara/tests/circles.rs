//! Rooms of niagara-lab use each other in one direction, and so do the files of every crate: whoever reads one reads what is below it, and
//! no more. What is used is told by text: by use declarations and qualified paths, re-exports followed to the file that has the item.
//! A folder and what is in it are one thing here: `mod.rs` and its files may use each other. Tests may use whatever they like.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use regex::{Captures, Regex};

/// Uses that are not counted, with the reason: crate, from, to.
const RECURSIVE: [(&str, &str, &str); 1] = [
    // A type that is recursive: a capture names the workload whose tables it ran on.
    (
        "niagara-load",
        "workload::capture::workload",
        "workload::spec",
    ),
];

/// A pattern, compiled once: without optimisation that takes longer than what it finds.
macro_rules! pattern {
    ($pattern:expr) => {{
        static COMPILED: OnceLock<Regex> = OnceLock::new();
        COMPILED.get_or_init(|| Regex::new($pattern).expect("a pattern"))
    }};
}

/// A file of a crate.
struct Module {
    file: PathBuf,
    /// Without comments, literals and tests; lines are where they were.
    code: String,
    /// What its use declarations bring, by the name that it has here.
    imports: BTreeMap<String, String>,
}

/// The files of a crate by their paths, `duels::arena`; that of the crate's root is empty.
struct Source {
    modules: BTreeMap<String, Module>,
}

/// Where a module uses another one.
struct Use {
    to: String,
    place: String,
}

/// Code without comments, literals and tests.
fn code(text: &str) -> String {
    // Raw strings, strings, letters, comments.
    let noise = pattern!(
        r##"r#"(?s:.*?)"#|\br"[^"]*"|"(?:[^"\\]|\\(?s:.))*"|'(?:[^'\\\n]|\\[^\n])'|//[^\n]*"##
    );
    let mut code = noise
        .replace_all(text, |found: &Captures<'_>| lines_of(&found[0]))
        .into_owned();
    let test = pattern!(r"#\[cfg\([^\]]*\btest\b[^\]]*\)\]");
    let mut seen = 0;
    while let Some(found) = test.find_at(&code, seen) {
        let range = found.start()..found.end() + item(&code[found.end()..]);
        let lines = lines_of(&code[range.clone()]);
        seen = range.start;
        code.replace_range(range, &lines);
    }
    code
}

/// The length of the item that `text` begins with, its other attributes included: up to its `;` or its closing brace; of a field or a
/// variant up to its comma.
fn item(text: &str) -> usize {
    let items = [
        "fn", "impl", "struct", "enum", "trait", "type", "mod", "const", "static", "use",
    ];
    let (mut depth, mut is_item) = (0, false);
    let mut word = String::new();
    for (place, letter) in text.char_indices() {
        match letter {
            'a'..='z' => word.push(letter),
            _ => {
                is_item |= depth == 0 && items.contains(&word.as_str());
                word.clear();
            }
        }
        match letter {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            _ => {}
        }
        let ends = match letter {
            '}' => depth <= 0,
            ';' => depth == 0,
            ',' => depth == 0 && !is_item,
            _ => false,
        };
        if ends {
            return place + 1;
        }
    }
    text.len()
}

/// The paths of a use declaration, each with the name that it brings.
fn expand(tree: &str) -> Vec<(String, String)> {
    let tree = tree.trim();
    if let Some((before, inside)) = tree.split_once('{') {
        let inside = inside.trim_end().strip_suffix('}').unwrap_or(inside);
        let (mut depth, mut parts) = (0, vec![String::new()]);
        for letter in inside.chars() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            match (letter, depth) {
                (',', 0) => parts.push(String::new()),
                _ => parts.last_mut().expect("one at least").push(letter),
            }
        }
        let before = before.trim();
        return parts
            .iter()
            .filter(|part| !part.trim().is_empty())
            .flat_map(|part| expand(&format!("{before}{}", part.trim())))
            .collect();
    }
    let (path, name) = match tree.split_once(" as ") {
        Some((path, name)) => (path.trim(), name.trim()),
        None => (tree, ""),
    };
    let path = path.strip_suffix("::self").unwrap_or(path);
    let last = path.rsplit("::").next().unwrap_or(path);
    let name = if name.is_empty() { last } else { name };
    vec![(path.to_owned(), name.to_owned())]
}

/// Qualified paths in code, use declarations aside, each with its line.
fn qualified(code: &str) -> Vec<(String, usize)> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_:".contains(letter);
    let code = declaration().replace_all(code, |found: &Captures<'_>| lines_of(&found[0]));
    let lines = code.lines().enumerate();
    let paths = lines.flat_map(|(place, line)| {
        let paths = line.split(move |letter| !is_part(letter));
        let paths = paths.map(|path| path.trim_end_matches(':'));
        let paths = paths.filter(|path| path.contains("::") && !path.starts_with(':'));
        paths.map(move |path| (path.to_owned(), place + 1))
    });
    paths.collect()
}

/// A use declaration.
fn declaration() -> &'static Regex {
    pattern!(r"\buse\s+([^;]+);")
}

/// As many line ends as `text` has.
fn lines_of(text: &str) -> String {
    "\n".repeat(text.matches('\n').count())
}

fn join(path: &str, name: &str) -> String {
    match (path, name) {
        ("", name) => name.to_owned(),
        (path, "") => path.to_owned(),
        (path, name) => format!("{path}::{name}"),
    }
}

impl Source {
    /// The crate of this root, `src/lib.rs` or `src/main.rs`.
    fn read(root: &Path) -> Self {
        let mut source = Self {
            modules: BTreeMap::new(),
        };
        let folder = root.parent().expect("a folder");
        source.add("", root, folder);
        for path in source.modules.keys().cloned().collect::<Vec<_>>() {
            let imports = source.declared(&path).into_iter();
            let imports = imports.filter(|(name, ..)| name != "*");
            let imports = imports.map(|(name, to, _)| (name, to)).collect();
            source.modules.get_mut(&path).expect("read").imports = imports;
        }
        source
    }

    fn add(&mut self, path: &str, file: &Path, folder: &Path) {
        let code = code(&fs::read_to_string(file).expect("readable"));
        let children: Vec<String> = pattern!(r"\bmod (\w+);")
            .captures_iter(&code)
            .map(|found| found[1].to_owned())
            .collect();
        let module = Module {
            file: file.to_owned(),
            code,
            imports: BTreeMap::new(),
        };
        self.modules.insert(path.to_owned(), module);
        for name in children {
            let inside = folder.join(&name);
            let files = [inside.with_extension("rs"), inside.join("mod.rs")];
            let file = files.iter().find(|file| file.exists());
            self.add(
                &join(path, &name),
                file.expect("the module's file"),
                &inside,
            );
        }
    }

    /// The use declarations of a module: the name that each brings, the path from the crate's root, the line.
    fn declared(&self, module: &str) -> Vec<(String, String, usize)> {
        let code = &self.modules[module].code;
        let mut all = Vec::new();
        for found in declaration().captures_iter(code) {
            let place = found.get(0).map_or(0, |whole| whole.start());
            let line = code[..place].matches('\n').count() + 1;
            for (path, name) in expand(&found[1]) {
                if let Some(path) = self.absolute(module, &path) {
                    all.push((name, path, line));
                }
            }
        }
        all
    }

    /// A path of `module` from the crate's root; `None` of another crate's.
    fn absolute(&self, module: &str, path: &str) -> Option<String> {
        let (first, mut rest) = path.split_once("::").unwrap_or((path, ""));
        match first {
            "crate" => Some(rest.to_owned()),
            "self" => Some(join(module, rest)),
            "super" => {
                let mut above = parent(module);
                while let Some(further) = rest.strip_prefix("super::") {
                    (above, rest) = (parent(above), further);
                }
                Some(join(above, rest))
            }
            _ if self.modules.contains_key(&join(module, first)) => Some(join(module, path)),
            _ if rest.is_empty() => None,
            _ => {
                let imported = self.modules[module].imports.get(first)?;
                Some(join(imported, rest))
            }
        }
    }

    /// The module that has the item of a path from the crate's root, re-exports followed; `None` of a path of a module itself.
    fn home(&self, path: &str, hops: usize) -> Option<String> {
        let (mut module, mut rest) = (String::new(), path);
        loop {
            let (first, further) = rest.split_once("::").unwrap_or((rest, ""));
            let inner = join(&module, first);
            if first.is_empty() {
                return None;
            }
            if !self.modules.contains_key(&inner) {
                let imported = self.modules[&module].imports.get(first);
                return match imported.filter(|to| **to != inner && hops < 20) {
                    Some(to) => self.home(&join(to, further), hops + 1),
                    None => Some(module),
                };
            }
            (module, rest) = (inner, further);
        }
    }

    /// What a module uses of others that are neither in it nor around it, each with the first place.
    fn uses(&self, module: &str) -> Vec<Use> {
        let of = &self.modules[module];
        let declared = self.declared(module).into_iter();
        let declared = declared.map(|(_, path, line)| (path, line));
        let named = qualified(&of.code).into_iter();
        let named = named.filter_map(|(path, line)| Some((self.absolute(module, &path)?, line)));
        let (mut known, mut uses) = (BTreeSet::new(), Vec::new());
        for (path, line) in declared.chain(named) {
            let Some(to) = self.home(&path, 0) else {
                continue;
            };
            let is_apart = to != module && !is_in(&to, module) && !is_in(module, &to);
            if is_apart && known.insert(to.clone()) {
                let place = format!("{}:{line} uses crate::{path}", of.file.display());
                uses.push(Use { to, place });
            }
        }
        uses
    }

    /// Modules, by their paths, with what they use; `is_counted` is asked of each use.
    fn graph(&self, is_counted: impl Fn(&str, &str) -> bool) -> BTreeMap<String, Vec<Use>> {
        let modules = self.modules.keys();
        modules
            .map(|module| {
                let mut uses = self.uses(module);
                uses.retain(|one| is_counted(module, &one.to));
                (module.clone(), uses)
            })
            .collect()
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once("::").map_or("", |(above, _)| above)
}

/// Whether a module is below another one.
fn is_in(module: &str, other: &str) -> bool {
    other.is_empty() || module.starts_with(&format!("{other}::"))
}

/// The places of the shortest way round that begins with this use; none where none leads back.
fn circle(graph: &BTreeMap<String, Vec<Use>>, from: &str, first: &Use) -> Option<Vec<String>> {
    let mut seen = BTreeSet::from([first.to.clone()]);
    let mut waiting = VecDeque::from([(first.to.as_str(), vec![first.place.clone()])]);
    while let Some((module, places)) = waiting.pop_front() {
        if module == from {
            return Some(places);
        }
        for next in &graph[module] {
            if seen.insert(next.to.clone()) {
                let mut places = places.clone();
                places.push(next.place.clone());
                waiting.push_back((next.to.as_str(), places));
            }
        }
    }
    None
}

/// Circles of files, each once, as the places that make it.
fn circles(graph: &BTreeMap<String, Vec<Use>>) -> BTreeSet<String> {
    let uses = graph
        .iter()
        .flat_map(|(from, uses)| uses.iter().map(move |one| (from, one)));
    let circles = uses.filter_map(|(from, one)| circle(graph, from, one));
    circles
        .map(|mut places| {
            places.sort();
            places.join("\n  ")
        })
        .collect()
}

/// Pairs of rooms (the folders and files at the top of a crate) that use each other, each with both places.
fn ties(graph: &BTreeMap<String, Vec<Use>>) -> Vec<String> {
    let room = |path: &str| path.split("::").next().unwrap_or_default().to_owned();
    let mut places: BTreeMap<(String, String), &str> = BTreeMap::new();
    for (from, uses) in graph {
        for one in uses {
            places
                .entry((room(from), room(&one.to)))
                .or_insert(&one.place);
        }
    }
    let pairs = places.iter().filter_map(|((a, b), place)| {
        let back = places.get(&(b.clone(), a.clone())).filter(|_| a < b)?;
        Some(format!("{a} and {b}:\n  {place}\n  {back}"))
    });
    pairs.collect()
}

/// The folders of all crates.
fn crates() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = fs::read_dir(folder).expect("crates").flatten();
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

#[test]
fn rooms_use_each_other_in_one_direction() {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR")).join("../niagara-lab/src/lib.rs");
    let found = ties(&Source::read(&lab).graph(|_, _| true));
    assert!(
        found.is_empty(),
        "rooms that use each other; move what both need into the lower one:\n{}",
        found.join("\n")
    );
}

/// What niagara-model may be compiled with. Of niagara-capture it takes the types of how a replay went.
const MODEL_USES: [&str; 8] = [
    "jiff",
    "niagara-capture",
    "niagara-error",
    "niagara-settings",
    "niagara-stats",
    "schemars",
    "serde",
    "serde_json",
];

/// What is not pure in this code of niagara-model.
fn impure(code: &str) -> Vec<String> {
    let outside = pattern!(
        r"\bstd::(?:process|net|fs|env|thread|os|io|\{)|\b(?:Instant|SystemTime)\b|::now\("
    );
    let of_captures = pattern!(r"\bniagara_capture::\{?\w+");
    let captures = of_captures.find_iter(code);
    let captures = captures.filter(|found| found.as_str() != "niagara_capture::fidelity");
    let found = outside.find_iter(code).chain(captures);
    found.map(|found| found.as_str().to_owned()).collect()
}

#[test]
fn the_model_is_pure() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../niagara-model");
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
    let (_, uses) = manifest
        .split_once("[dependencies]\n")
        .expect("dependencies");
    let uses = uses.split("\n[").next().unwrap_or_default().lines();
    let names: Vec<&str> = uses
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| !name.is_empty())
        .collect();
    assert_eq!(names, MODEL_USES);
    let mut found = Vec::new();
    for module in Source::read(&folder.join("src/lib.rs")).modules.values() {
        let file = module.file.display().to_string();
        let words = impure(&module.code).into_iter();
        found.extend(words.map(|word| format!("{file}: {word}")));
    }
    assert!(found.is_empty(), "not pure:\n{}", found.join("\n"));
    for code in [
        "use std::fs::File;",
        "use std::{fs, io};",
        "std::time::Instant::now()",
        "jiff::Timestamp::now()",
        "use niagara_capture::file::CaptureReader;",
    ] {
        assert!(!impure(code).is_empty(), "{code}");
    }
    assert!(impure("use niagara_capture::fidelity::Fidelity;").is_empty());
}

#[test]
fn files_use_each_other_in_one_direction() {
    let mut found = Vec::new();
    for folder in crates() {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        for root in ["src/lib.rs", "src/main.rs"].map(|root| folder.join(root)) {
            if !root.exists() {
                continue;
            }
            let is_counted = |from: &str, to: &str| !RECURSIVE.contains(&(&*name, from, to));
            found.extend(circles(&Source::read(&root).graph(is_counted)));
        }
    }
    assert!(
        found.is_empty(),
        "files that use each other; move what both need into a file of its own:\n{}",
        found.join("\n")
    );
}

/// A crate of these files.
fn planted(files: &[(&str, &str)]) -> (tempfile::TempDir, Source) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        fs::write(file, text).expect("written");
    }
    let source = Source::read(&folder.path().join("lib.rs"));
    (folder, source)
}

#[test]
fn planted_circles_of_files_are_found() {
    let lib = ("lib.rs", "mod a;\nmod b;\nmod c;\npub use c::C;\n");
    for (name, a, b, c) in [
        (
            "a pair",
            "use crate::b::B;",
            "use super::a::{A, Other};",
            "",
        ),
        (
            "a qualified path",
            "fn f() { crate::b::g() }",
            "use crate::a::f;",
            "",
        ),
        (
            "over a third one",
            "use crate::b::B;",
            "use crate::c::C;",
            "use crate::a::A;",
        ),
        (
            "a re-export",
            "use crate::C;",
            "",
            "use crate::{\n    a::A,\n};",
        ),
        (
            "an imported module",
            "use crate::b;\nfn f() { b::g() }",
            "use crate::a::f;",
            "",
        ),
    ] {
        let (_folder, source) = planted(&[lib, ("a.rs", a), ("b.rs", b), ("c.rs", c)]);
        let found = circles(&source.graph(|_, _| true));
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        let found = found.first().expect("one");
        assert!(
            found.contains("a.rs:1 uses ") || found.contains("a.rs:2 uses "),
            "{name}: {found}"
        );
    }
}

#[test]
fn tests_comments_and_folders_make_no_circle() {
    let (_folder, source) = planted(&[
        ("lib.rs", "mod a;\nmod b;\nmod room;\n"),
        ("a.rs", "use crate::b::B;\nuse crate::room::Inner;\n"),
        (
            "b.rs",
            "//! As crate::a::A has it.\nfn text() -> &'static str { \"use crate::a::A;\" }\n\
             #[cfg(test)]\n#[derive(Debug)]\nstruct S { a: crate::a::A }\n\
             #[cfg(test)]\nmod tests {\n    use crate::a::A;\n    fn f() { if true { A::new() } }\n}\n",
        ),
        (
            "room/mod.rs",
            "mod inner;\npub use inner::Inner;\nstruct Shared;\n",
        ),
        (
            "room/inner.rs",
            "use super::Shared;\n#[cfg(test)]\nmod tests;\n",
        ),
        ("room/inner/tests.rs", "use crate::a::A;\n"),
    ]);
    assert!(!source.modules.contains_key("room::inner::tests"));
    let uses: Vec<String> = source.uses("a").into_iter().map(|one| one.to).collect();
    assert_eq!(uses, ["b", "room::inner"]);
    let found = circles(&source.graph(|_, _| true));
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn planted_ties_of_rooms_are_found() {
    let (_folder, source) = planted(&[
        ("lib.rs", "mod low;\nmod high;\n"),
        ("low/mod.rs", "mod one;\nmod two;\n"),
        ("low/one.rs", "pub struct One;\n"),
        ("low/two.rs", "\nuse crate::high::three::Three;\n"),
        ("high/mod.rs", "pub mod three;\npub mod four;\n"),
        ("high/three.rs", "pub struct Three;\n"),
        ("high/four.rs", "use crate::low::one::One;\n"),
    ]);
    let graph = source.graph(|_, _| true);
    assert!(circles(&graph).is_empty(), "no file uses its user");
    let found = ties(&graph);
    assert_eq!(found.len(), 1, "{found:?}");
    for part in [
        "high and low",
        "four.rs:1 uses crate::low::one::One",
        "two.rs:2 uses crate::high::three::Three",
    ] {
        assert!(found[0].contains(part), "{found:?}");
    }
}
