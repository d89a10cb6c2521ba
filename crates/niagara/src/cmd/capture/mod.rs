//! `niagara capture`: a server's own traffic, from a running server or from its logs. docs/capture.md.

mod args;
mod connection;
mod figures;
mod guardian;
mod import;
mod info;
mod select;
mod server;
mod start;
mod statement;
mod stop_flag;
mod summary;

use std::process::ExitCode;

use anyhow::Result;

use args::Verb;
pub use args::{CaptureArgs, LimitArgs, NewFile, ReadingArgs, StartArgs};
pub use server::to_agree;
pub use start::on as capture_on;
pub(crate) use statement::ShownStatement;
pub use stop_flag::{interrupted, stop_flag};

pub fn run(args: CaptureArgs) -> Result<ExitCode> {
    match args.verb {
        Verb::Import(args) => import::run(&args),
        Verb::Info(args) => info::run(&args),
        Verb::Filter(args) => select::filter(&args),
        Verb::Export(args) => select::export(&args),
        Verb::Advise(args) => server::advise(&args),
        Verb::Start(args) => start::run(&args),
        Verb::Stop(args) => server::stop(&args),
        Verb::Guard => guardian::run(),
    }
}
