//! `niagara completions`: what a shell completes.

use std::process::ExitCode;

use crate::args::CompletionsArgs;
use crate::completion::registration;

pub fn run(args: &CompletionsArgs) -> ExitCode {
    say_text!("{}", registration(args.shell));
    ExitCode::SUCCESS
}
