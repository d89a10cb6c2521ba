//! `niagara completions`: what a shell completes.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};

pub fn run(args: &CompletionsArgs) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "niagara", &mut script);
    say_text!("{}", String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}
