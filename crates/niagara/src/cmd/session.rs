//! What every study on the command line begins and ends with: what it draws on is opened, the answer is printed and written.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use niagara_error::{Remedy as _, bail};
use niagara_lab::lever::{self, Lever};
use niagara_lab::{Answer, FleetOptions, Found, Inventory, Question, Session, StudyDescription};
use niagara_server::{Cancel, Catalog};

use crate::client;
use crate::cmd::fleet::{fleet_options, too_many_nodes};
use crate::cmd::report::{Shown, Target, print_result, write_files};
use crate::cmd::study::server_names;
use crate::command_line::{VERSION, command_line, command_of_part};
use crate::interrupt::{exit_code, on_ctrl_c};
use crate::load_args::check_data;
use crate::progress::Terminal;
use crate::shared_args::{ClientArgs, FleetArgs, StudyArgs};
use crate::steps;

/// The levers and the names of the servers that questions may speak of.
pub fn known(args: &StudyArgs) -> Result<(Vec<Lever>, Vec<String>)> {
    let levers = lever::load(&args.levers)?;
    Ok((levers, server_names(&Catalog::load(&args.servers)?)))
}

/// All that a question is asked with, opened.
pub struct OpenSession {
    pub inventory: Inventory,
    cancel: Cancel,
    fleet: Option<FleetOptions>,
    name: String,
    folder: Option<PathBuf>,
    command: String,
}

impl OpenSession {
    /// Opens what `question` is asked with; the results folder is called by `name` unless one is named.
    ///
    /// # Errors
    /// A cache that cannot be written to, a mistake in a data file; a client host or a fleet that cannot be had.
    pub fn open(
        question: &StudyDescription,
        name: &str,
        study: &StudyArgs,
        client: &ClientArgs,
        fleet: &FleetArgs,
        terminal: &mut Terminal,
    ) -> Result<Self> {
        if question.replays_a_capture() && question.client_host.is_some() {
            bail!(
                "a capture is replayed from the machine that it lies on";
                remedy: "leave out --client-host"
            );
        }
        for workload in &question.workloads {
            check_data(&workload.load.workload, &question.origin)?;
        }
        let cancel = on_ctrl_c()?;
        let fleet = fleet_options(fleet, question, study)?;
        let cache = fleet.as_ref().map(|fleet| fleet.node_dir.as_path());
        let mut inventory = Inventory::open_in(cache, &study.servers, &study.levers)?;
        let client = ClientArgs {
            client_host: question.client_host.clone(),
            ..client.clone()
        };
        inventory.client = client::open(&client, &cancel, terminal)?;
        let too_many = fleet
            .as_ref()
            .and_then(|fleet| too_many_nodes(fleet, question));
        if let Some(text) = too_many {
            terminal.line(&text);
        }
        Ok(Self {
            inventory,
            cancel,
            fleet,
            name: name.to_owned(),
            folder: study.out.clone(),
            command: command_line(),
        })
    }

    /// The flag that stops it.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// As the lab takes it.
    pub fn session(&self) -> Session<'_> {
        Session {
            inventory: &self.inventory,
            cancel: &self.cancel,
            name: &self.name,
            folder: self.folder.as_deref(),
            command: &self.command,
            version: VERSION,
            command_of_part,
            fleet: self.fleet.as_ref(),
        }
    }

    /// Writes and prints what came of `question`; how the process ends.
    ///
    /// # Errors
    /// Results that cannot be read, files that cannot be written.
    pub fn show(
        &self,
        question: &StudyDescription,
        answered: &Answer,
        args: &StudyArgs,
    ) -> Result<ExitCode> {
        self.show_as(question, answered, args, Shown::asked(args))
    }

    /// The same, printed as `shown`.
    ///
    /// # Errors
    /// As [`show`](Self::show).
    pub fn show_as(
        &self,
        question: &StudyDescription,
        answered: &Answer,
        args: &StudyArgs,
        shown: Shown,
    ) -> Result<ExitCode> {
        let study = &answered.study;
        let mut written = Ok(());
        if let Found::Summary(_) = &answered.found {
            // A page that cannot be written, as on a full disk, keeps no result from whoever waited for it.
            written = write_files(study.folder(), study.store(), &Target::default());
            print_result(study.store(), study.folder(), shown)?;
        }
        let mut steps = Ok(());
        let is_job = question.workloads[0].load.workload.is_job();
        if is_job && matches!(question.question, Question::Compare { .. }) {
            steps = steps::hand_over(study, question.alpha, args.json);
        }
        written
            .context("the results are kept, but not all files were made of them")
            .remedy_with(|| {
                let folder = study.folder().display();
                format!("mend that (make room, say), then: niagara report {folder} --format files")
            })?;
        steps?;
        Ok(exit_code(
            self.cancel.is_cancelled(),
            answered.found.is_complete(),
        ))
    }
}
