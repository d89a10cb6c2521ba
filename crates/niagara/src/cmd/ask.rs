//! How every study is run from the command line: a question is asked of the lab, its progress shown, its answer printed
//! and written.

use std::process::ExitCode;

use anyhow::Result;
use niagara_lab::lever::{self, Lever};
use niagara_lab::{Found, Inventory, Question, Session, StudyDescription, answer};
use niagara_server::Catalog;

use crate::args::{ClientArgs, FleetArgs, StudyArgs};
use crate::client;
use crate::cmd::fleet::{fleet_options, in_words, too_many_nodes};
use crate::cmd::report::{Shown, print_result, write_files};
use crate::cmd::study::server_names;
use crate::interrupt::{exit_code, on_ctrl_c};
use crate::progress::Terminal;
use crate::setting::command_line;
use crate::steps;

/// How a question is asked.
pub struct Asking<'a> {
    /// What the results folder is called by.
    pub name: &'a str,
    /// Folder, further servers and levers, what is printed.
    pub study: &'a StudyArgs,
    /// How the question's client host is reached.
    pub client: ClientArgs,
    /// Where its duels are run.
    pub fleet: &'a FleetArgs,
}

/// The levers and the names of the servers that questions may speak of.
pub fn known(args: &StudyArgs) -> Result<(Vec<Lever>, Vec<String>)> {
    let levers = lever::load(&args.levers)?;
    Ok((levers, server_names(&Catalog::load(&args.servers)?)))
}

/// Asks `question` until it is answered, its time ends, or Ctrl-C; then writes and prints the answer. `first` is said
/// before anything is set up.
pub fn ask(
    question: &StudyDescription,
    asking: &Asking<'_>,
    first: impl FnOnce(&Inventory) -> Option<String>,
) -> Result<ExitCode> {
    let args = asking.study;
    let cancel = on_ctrl_c()?;
    let fleet = fleet_options(asking.fleet, question, args)?;
    let cache = fleet.as_ref().map(|fleet| fleet.node_dir.as_path());
    let mut inventory = Inventory::open_in(cache, &args.servers, &args.levers)?;
    let mut terminal = Terminal::new(question.budget);
    let client = ClientArgs {
        client_host: question.client_host.clone(),
        ..asking.client.clone()
    };
    inventory.client = client::open(&client, &cancel, &mut terminal)?;
    let too_many = fleet
        .as_ref()
        .and_then(|fleet| too_many_nodes(fleet, question));
    if let Some(text) = too_many {
        terminal.line(&text);
    }
    if let Some(text) = first(&inventory) {
        terminal.line(&text);
    }
    let session = Session {
        inventory: &inventory,
        cancel: &cancel,
        name: asking.name,
        folder: args.out.as_deref(),
        command: &command_line(),
        fleet: fleet.as_ref(),
    };
    let answered = answer(question, &session, &mut terminal);
    terminal.finish();
    let answered = answered?;
    let study = &answered.study;
    if let Some(report) = study.fleet_report()? {
        tell!("{}", in_words(&report));
    }
    if let Found::Summary(summary) = &answered.found {
        write_files(study.folder(), study.store())?;
        print_result(summary, study.store(), study.folder(), Shown::asked(args))?;
    }
    let is_job = question.workloads[0].load.workload.is_job();
    if is_job && matches!(question.question, Question::Compare { .. }) {
        steps::hand_over(study, question.alpha, args.json)?;
    }
    Ok(exit_code(
        cancel.is_cancelled(),
        answered.found.is_complete(),
    ))
}
