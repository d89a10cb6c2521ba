//! `niagara man`: a manual page for each command, or all of them on one page of Markdown.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};

use crate::args::{Cli, ManArgs};
use crate::cmd::formats_page;
use crate::whole_file::write;

/// The page that `--markdown` writes.
const PAGE: &str = "commands.md";

/// The page of file formats beside it.
const FORMATS: &str = "formats.md";

/// Columns of the help.
const WIDTH: usize = 100;

pub fn run(args: &ManArgs) -> Result<ExitCode> {
    std::fs::create_dir_all(&args.folder)
        .with_context(|| format!("cannot make the folder {}", args.folder.display()))?;
    if args.markdown {
        for (name, text) in [(PAGE, markdown()), (FORMATS, formats_page::page()?)] {
            let page = args.folder.join(name);
            write(&page, &text)?;
            say!("{}", page.display());
        }
        return Ok(ExitCode::SUCCESS);
    }
    clap_mangen::generate_to(Cli::command(), &args.folder)
        .with_context(|| format!("cannot write manual pages to {}", args.folder.display()))?;
    say!("{}", args.folder.join("niagara.1").display());
    Ok(ExitCode::SUCCESS)
}

fn markdown() -> String {
    let mut page = "# Commands\n\nAll options, command by command.\n".to_owned();
    let mut command = Cli::command().term_width(WIDTH);
    command.build();
    section(&mut page, &command);
    page
}

fn section(page: &mut String, command: &Command) {
    let mut shown = command.clone();
    let name = shown
        .get_bin_name()
        .unwrap_or_else(|| shown.get_name())
        .to_owned();
    // Writing to a string cannot fail.
    let _ = write!(
        page,
        "\n## {name}\n\n```text\n{}\n```\n",
        shown.render_long_help().to_string().trim_end()
    );
    for inner in command.get_subcommands() {
        if !inner.is_hide_set() && inner.get_name() != "help" {
            section(page, inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_command() {
        let page = markdown();
        for heading in [
            "## niagara\n",
            "## niagara tune\n",
            "## niagara server build gc\n",
            "## niagara study schema\n",
        ] {
            assert!(page.contains(heading), "{heading}");
        }
        assert!(page.contains("--min-effect"));
        assert!(!page.contains("load-agent"));
    }

    #[test]
    fn each_command_has_a_manual_page() {
        let folder = tempfile::tempdir().unwrap();
        let args = ManArgs {
            markdown: false,
            folder: folder.path().join("man1"),
        };
        run(&args).unwrap();
        for page in ["niagara.1", "niagara-tune.1", "niagara-server-build-gc.1"] {
            let text = std::fs::read_to_string(folder.path().join("man1").join(page)).unwrap();
            assert!(text.contains(".TH niagara"), "{page}: {text}");
        }
        assert!(!folder.path().join("man1/niagara-load-agent.1").exists());
    }
}
