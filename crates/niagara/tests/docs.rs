//! What README and docs/ say can be followed: links lead somewhere, commands are understood, and those that take seconds run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// Folders that hold no text of the project's own.
const ASIDE: [&str; 3] = ["target", ".git", "book"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the repository")
}

/// Every Markdown file of the repository.
fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("readable").flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() && !ASIDE.iter().any(|aside| name == *aside) {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .display()
        .to_string()
}

/// A page as far as these tests go.
#[derive(Default)]
struct Page {
    links: Vec<String>,
    anchors: BTreeSet<String>,
    code: Vec<String>,
}

fn read(path: &Path) -> Page {
    let text = std::fs::read_to_string(path).expect("readable");
    let mut page = Page::default();
    let mut heading: Option<String> = None;
    let mut code: Option<String> = None;
    for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                page.links.push(dest_url.into_string());
            }
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                page.anchors
                    .insert(anchor(&heading.take().unwrap_or_default()));
            }
            // Blocks of TOML and the like hold no commands.
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language)))
                if ["", "sh", "console"].contains(&&*language) =>
            {
                code = Some(String::new());
            }
            Event::End(TagEnd::CodeBlock) => page.code.extend(code.take()),
            Event::Text(words) | Event::Code(words) => {
                for into in [&mut heading, &mut code].into_iter().flatten() {
                    into.push_str(&words);
                }
            }
            _ => {}
        }
    }
    page
}

/// A heading as links name it.
fn anchor(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        })
        .collect()
}

#[test]
fn every_link_within_the_repository_leads_somewhere() {
    let pages: BTreeMap<PathBuf, Page> = pages()
        .into_iter()
        .map(|path| {
            let page = read(&path);
            (path, page)
        })
        .collect();
    let mut dead = Vec::new();
    for (path, page) in &pages {
        for link in &page.links {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, wanted) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => path.clone(),
                file => path.parent().expect("a file").join(file),
            };
            let Ok(target) = target.canonicalize() else {
                dead.push(format!("{}: {link}", shown(path)));
                continue;
            };
            let known = pages.get(&target);
            if !wanted.is_empty() && known.is_some_and(|page| !page.anchors.contains(wanted)) {
                dead.push(format!("{}: {link} (no such heading)", shown(path)));
            }
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
    assert!(pages.len() > 20, "the pages were found");
}

#[test]
fn every_page_of_the_docs_is_in_the_contents() {
    let contents = read(&root().join("docs/SUMMARY.md"));
    let listed: BTreeSet<PathBuf> = contents
        .links
        .iter()
        .filter_map(|link| root().join("docs").join(link).canonicalize().ok())
        .collect();
    let missing: Vec<String> = pages()
        .into_iter()
        .filter(|page| page.starts_with(root().join("docs")) && !page.ends_with("SUMMARY.md"))
        .filter(|page| !listed.contains(page))
        .map(|page| shown(&page))
        .collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
}

/// Commands in blocks of code, with the page that has them. What explains one stands behind two spaces or in parentheses.
fn commands(program: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for path in pages() {
        for block in read(&path).code {
            let block = block.replace("\\\n", " ");
            for line in block.lines() {
                let line = line.trim_start_matches("$ ");
                let words: Vec<&str> = line.split_whitespace().collect();
                if words.first() != Some(&program) {
                    continue;
                }
                let joined = without_explanation(line);
                found.push((shown(&path), joined));
            }
        }
    }
    found
}

fn without_explanation(line: &str) -> String {
    let mut line = line.trim();
    for mark in ["   ", "  (", "  ", " # ", " > ", " 2>", " | "] {
        line = line.split(mark).next().unwrap_or(line);
    }
    line.trim().to_owned()
}

/// A command with a place for the reader's own words in it.
fn is_form(command: &str) -> bool {
    command.contains('…')
        || command.contains(['[', '<'])
        || command.split_whitespace().skip(1).any(|word| {
            word.len() > 1
                && word
                    .chars()
                    .all(|c| c.is_ascii_uppercase() || c == '_' || c == '/')
        })
}

fn niagara(arguments: &[String], work: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_niagara"))
        .args(arguments)
        .current_dir(root())
        .env("NIAGARA_WORK", work)
        .output()
        .expect("the program runs")
}

#[test]
fn every_command_that_is_shown_is_understood() {
    let work = tempfile::tempdir().expect("a folder");
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for (page, command) in commands("niagara") {
        if is_form(&command) || !seen.insert(command.clone()) {
            continue;
        }
        let Some(mut words) = shlex::split(&command) else {
            wrong.push(format!("{page}: {command}: a quote is not closed"));
            continue;
        };
        words.remove(0);
        // sysbench's words are its own, its help too.
        if words.first().is_none_or(|word| word == "sysbench") {
            continue;
        }
        // What stands before --help is read and judged; nothing is done.
        words.push("--help".to_owned());
        let output = niagara(&words, work.path());
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            wrong.push(format!(
                "{page}: {command}\n    {}",
                why.trim().replace('\n', "\n    ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen.len() > 50, "the commands were found: {seen:?}");
}

/// Runs every command that is shown and `fits`, in `folder`, as a shell would, for its * are the shell's; what was run.
fn run_shown(folder: &Path, work: &Path, fits: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let mut done = BTreeSet::new();
    for (page, command) in commands("niagara") {
        if !fits(&command) || is_form(&command) || !done.insert(command.clone()) {
            continue;
        }
        let binary = env!("CARGO_BIN_EXE_niagara");
        let output = Command::new("sh")
            .args(["-c", &command.replacen("niagara", binary, 1)])
            .current_dir(folder)
            .env("NIAGARA_WORK", work)
            .output()
            .expect("a shell");
        assert!(
            output.status.success(),
            "{page}: {command}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    done
}

#[test]
fn the_commands_that_take_seconds_run() {
    let work = tempfile::tempdir().expect("a folder");
    let quick = [
        "niagara doctor",
        "niagara study schema",
        "niagara completions bash",
        "niagara levers",
        "niagara levers mariadb-10.11",
        "niagara run studies/t2000-ladder.toml --plan",
    ];
    let done = run_shown(&root(), work.path(), |command| {
        quick.contains(&command)
            || command.starts_with("niagara study check ")
            || command.starts_with("niagara server list")
    });
    for needed in quick {
        assert!(done.contains(needed), "no page shows `{needed}`");
    }
}

/// A private server is started, loaded and measured for ten seconds, each time.
#[test]
fn the_commands_that_measure_one_server_shortly_run() {
    let work = tempfile::tempdir().expect("a folder");
    let short = [
        "niagara bench oltp_read_only",
        "niagara bench commit --threads 64",
    ];
    let done = run_shown(&root(), work.path(), |command| short.contains(&command));
    assert_eq!(done.len(), short.len(), "not all are shown: {done:?}");
}

/// A log of a real server stands in for the reader's own.
#[test]
fn the_commands_on_captures_run() {
    let place = tempfile::tempdir().expect("a folder");
    let log = root().join("crates/niagara-capture/tests/logs/mariadb-10.11.19-a-slow.log");
    std::fs::copy(log, place.path().join("slow.log")).expect("the log");
    let run = |wanted: &[&str]| {
        let done = run_shown(place.path(), place.path(), |command| {
            wanted.contains(&command)
        });
        assert_eq!(done.len(), wanted.len(), "not all are shown: {done:?}");
    };
    // It makes shop.capture, as the pages say.
    run(&["niagara capture import slow.log*"]);
    run(&[
        "niagara capture info shop.capture",
        "niagara capture filter shop.capture -o reads.capture --read-only",
        "niagara capture export shop.capture",
    ]);
}

#[test]
fn what_make_is_asked_for_it_can_do() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).expect("readable");
    let targets: BTreeSet<&str> = makefile
        .lines()
        .filter(|line| !line.starts_with(['\t', ' ', '#', '.']))
        .filter_map(|line| line.split_once(':'))
        .flat_map(|(targets, _)| targets.split_whitespace())
        .collect();
    let mut asked = 0;
    for (page, command) in commands("make") {
        let wanted = command
            .split_whitespace()
            .skip(1)
            .take_while(|word| !word.contains('='));
        for target in wanted {
            asked += 1;
            assert!(
                targets.contains(target),
                "{page}: {command}: no target {target}"
            );
        }
    }
    assert!(asked >= 2, "README shows what to make");
}

/// What `make lint` looks for in prose, it finds.
#[test]
fn prose_check_finds_long_sentences_and_phrases() {
    let folder = tempfile::tempdir().expect("a folder");
    let check = |text: &str| {
        let page = folder.path().join("page.md");
        std::fs::write(&page, text).expect("written");
        let output = Command::new(root().join("scripts/check-prose"))
            .arg(&page)
            .output()
            .expect("python3 runs");
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    };
    let words = |count: usize| "word ".repeat(count);
    assert!(check(&format!("A {}end.\n", words(23))).0);
    let (passes, told) = check(&format!("# Title\n\nA {}end.\n", words(24)));
    assert!(!passes && told.contains(":3: 26 words"), "{told}");
    let (passes, told) = check("It begins anew.\n");
    assert!(!passes && told.contains("remedy: again"), "{told}");
    let code = format!("```\nanew {}\n```\n\n| {} |\n", words(40), words(40));
    assert!(check(&code).0, "code and tables are no prose");
}

/// A script that forgot the command is told; on a terminal there is a first screen instead.
#[test]
fn without_a_command_and_a_terminal_the_usage_is_an_error() {
    let work = tempfile::tempdir().expect("a folder");
    let output = niagara(&[], work.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.starts_with("Examples:\n  sudo niagara checkup"),
        "{told}"
    );
}
