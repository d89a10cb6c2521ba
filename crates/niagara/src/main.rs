//! The `niagara` command.

#![cfg_attr(test, allow(clippy::unwrap_used))]
// They panic when the reader has gone: `say` has what is used instead.
#![deny(clippy::print_stdout, clippy::print_stderr)]

#[macro_use]
mod say;

mod agreement;
mod announcement;
mod args;
mod client;
mod clock;
mod cmd;
mod command_line;
mod completion;
mod counting;
mod doctor;
mod fail_if;
mod interrupt;
mod json;
mod live;
mod load_args;
mod ordinary_user;
mod origin;
mod pack;
mod progress;
mod report_output;
mod shared_args;
mod shared_host;
mod steps;
mod whole_file;

use std::process::ExitCode;

use niagara_error::Explain as _;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    completion::answer_shell();
    niagara_script::install();
    let cli = Cli::read();
    let Some(command) = cli.command else {
        return say::ending(ended(cmd::first::run()));
    };
    let ended = ended(run(command));
    say::ending(ended)
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Tune(args) => cmd::tune::run(args),
        Command::Checkup(args) => cmd::checkup::run(*args),
        Command::Compare(args) => cmd::compare::run(args),
        Command::Advise(args) => cmd::advise::run(*args),
        Command::Bench(args) => cmd::bench::run(*args),
        Command::Profile(args) => cmd::profile::run(*args),
        Command::Pack(args) => cmd::pack::run(*args),
        Command::Capture(args) => cmd::capture::run(*args),
        Command::Server(args) => cmd::server::run(args),
        Command::Levers(args) => cmd::levers::run(args),
        Command::Doctor(args) => cmd::doctor::run(args),
        Command::Report(args) => cmd::report::run(args),
        Command::Run(args) => cmd::run::run(args),
        Command::Sweep(args) => cmd::sweep::run(args),
        Command::Study(args) => cmd::study::run(args),
        Command::Sysbench(args) => Ok(niagara_sysbench::run(&args.words, &interrupt::flag)),
        Command::Schema(args) => cmd::schema::run(&args),
        Command::Completions(args) => Ok(cmd::completions::run(&args)),
        Command::Man(args) => cmd::man::run(&args),
        Command::Fleet(args) => cmd::fleet::run(args),
        Command::LoadAgent => cmd::load_agent::run(),
    }
}

/// Tells an error, and how the process ends.
fn ended(result: anyhow::Result<ExitCode>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(error) if error.has::<niagara_server::Cancelled>() => {
            // Whatever was under way then is no failure.
            tell!("niagara: {}", niagara_server::Cancelled);
            interrupt::exit_code(true, false)
        }
        Err(error) => {
            tell!("niagara: {}", error.explain());
            ExitCode::FAILURE
        }
    }
}
