//! `niagara levers`: what can be changed, whether it applies here, and why not.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use niagara_lab::lever::{Change, Condition, Context, Lever, Measured, Span, meant};
use niagara_lab::{Inventory, lever_context, server_name};
use niagara_model::{Reason, number};
use niagara_server::Cancel;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::{Cli, LeversArgs, LoadArgs};
use crate::json::{self, Document, Listed};
use crate::progress::Terminal;

/// Bytes of data that levers are shown for: more than the default buffer pool holds, so that those for larger data are shown, too.
const SHOWN_DATA: u64 = 1 << 30;

/// A lever and what it is here.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LeverRow<'a> {
    /// Its name.
    id: &'a str,
    /// For people.
    title: &'a str,
    /// What it is about.
    theme: &'a str,
    /// How it is written on a command line: `malloc=jemalloc`.
    spelling: String,
    /// What it may cost besides time.
    risk: String,
    /// What whoever installs it has to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    caution: Option<&'a str>,
    /// Why it may help.
    why: &'a str,
    /// Where that is written.
    source: &'a str,
    /// What it changes here; none where it does not apply.
    change: Option<Change>,
    /// The values that `tune` may search here.
    range: Option<Span>,
    /// What it cannot be together with.
    excludes: Vec<&'a str>,
    /// What it did where it was measured.
    measured: &'a [Measured],
    /// What the server must run with for it to matter: known once the server has been started.
    needs_variables: &'a BTreeMap<String, Condition>,
    /// Why it does not apply here, or is not tried by itself.
    reason: Option<Reason>,
}

impl Listed for LeverRow<'_> {
    const DOCUMENT: Document = Document::Levers;
}

impl LeverRow<'_> {
    /// ` (where log_bin = ON)`, or nothing.
    fn provided(&self) -> String {
        let needs: Vec<String> = self
            .needs_variables
            .iter()
            .map(|(name, wanted)| format!("{name} {wanted}"))
            .collect();
        if needs.is_empty() {
            String::new()
        } else {
            format!(" (where {})", needs.join(", "))
        }
    }

    /// `not here: MariaDB has no such variable`; a lever that has to be asked for is here.
    fn why_not(&self) -> String {
        match &self.reason {
            Some(reason @ Reason::OnlyByName { .. }) => reason.detail(),
            Some(reason) => format!("not here: {}", reason.detail()),
            None => String::new(),
        }
    }
}

pub fn run(args: LeversArgs) -> Result<ExitCode> {
    let inventory = Inventory::open(&args.servers, &args.levers)?;
    // A name that is wrong is said before a server is fetched.
    let shown: Vec<&Lever> = match &args.show {
        Some(name) => meant(name, &inventory.levers)?,
        None => inventory.levers.iter().collect(),
    };
    let load = LoadArgs::small().load()?;
    let mut terminal = Terminal::new(std::time::Duration::ZERO);
    let mut bench = inventory.workbench(load, Cancel::default());
    let server = server_name(&args.server)?;
    bench.set_up(&server, &mut terminal)?;
    terminal.finish();
    let fingerprint = inventory.fingerprint()?;
    let mut context = lever_context(&fingerprint, &bench, &server)?;
    // The list is about the server and the machine, whatever the load writes and however much data there is.
    context.writes = true;
    context.data_bytes = SHOWN_DATA;
    let rows: Vec<LeverRow<'_>> = shown
        .into_iter()
        .map(|lever| row(lever, &context))
        .collect();
    if args.json {
        json::print_list(&rows)?;
    } else if args.show.is_some() {
        rows.iter().for_each(show);
    } else {
        list(&rows);
    }
    Ok(ExitCode::SUCCESS)
}

fn row<'a>(lever: &'a Lever, context: &Context) -> LeverRow<'a> {
    let applies = lever.applicability(context);
    // No server is started for the list: what its binary says of its defaults is all that is known.
    let applies = applies.and_then(|change| match lever.idle_by_default(&change, context) {
        Some(reason) => Err(reason),
        None => Ok(change),
    });
    let (change, reason) = match applies {
        Ok(change) => (Some(change), None),
        Err(reason) => (None, Some(reason)),
    };
    LeverRow {
        id: lever.id(),
        title: lever.title(),
        theme: lever.theme(),
        spelling: lever.spelling(),
        risk: lever.risk().to_string(),
        caution: lever.caution(),
        why: lever.why(),
        source: lever.source(),
        change,
        range: lever.span(context),
        excludes: lever.excludes().collect(),
        measured: lever.measured(),
        needs_variables: &lever.when().variables,
        reason,
    }
}

fn show(row: &LeverRow<'_>) {
    say!("{} ({})", row.title, row.spelling);
    if row.id != row.spelling {
        say!("  id: {}", row.id);
    }
    say!("  risk: {}; theme: {}", row.risk, row.theme);
    match (&row.change, &row.reason) {
        (Some(change), _) => say!("  here: {}{}", change.one_line(), row.provided()),
        (None, _) => say!("  {}", row.why_not()),
    }
    if let Some(caution) = row.caution {
        say!("  note: {caution}");
    }
    if !row.excludes.is_empty() {
        say!("  cannot be together with: {}", row.excludes.join(", "));
    }
    if let Some(range) = &row.range {
        say!("  range searched: {}", range.one_line());
    }
    for measured in row.measured {
        let machine = measured.machine.iter().map(|cpu| format!(" ({cpu})"));
        let over = measured.over.iter().map(|over| format!(" over {over}"));
        say!(
            "  measured: {}{}{}, {} on {} ({})",
            number::estimate(&measured.estimate()),
            machine.collect::<String>(),
            over.collect::<String>(),
            measured.workload,
            measured.server,
            measured.source
        );
    }
    say!("\n{}\n\nSource: {}", row.why.trim(), row.source.trim());
}

fn list(rows: &[LeverRow<'_>]) {
    let mut theme = "";
    let mut sorted: Vec<&LeverRow<'_>> = rows.iter().collect();
    sorted.sort_by_key(|row| row.theme);
    for row in sorted {
        if row.theme != theme {
            say!("{}{}", if theme.is_empty() { "" } else { "\n" }, row.theme);
            theme = row.theme;
        }
        let here = match (&row.change, &row.reason) {
            (Some(change), _) => format!("{}{}", change.one_line(), row.provided()),
            (None, _) => row.why_not(),
        };
        say!("  {:<34} {here}", row.spelling);
    }
    say!(
        "\nSizes that follow the data are shown for 1 GiB of it; `niagara tune` works them out for the data it has."
    );
}

impl LoadArgs {
    /// The smallest load: for commands that need a server but no measurement.
    fn small() -> Self {
        use clap::Parser as _;
        match Cli::parse_from(["niagara", "tune", "--table-size", "1000"]).command {
            Some(crate::args::Command::Tune(args)) => args.load,
            _ => unreachable!("`niagara tune` is the tune command"),
        }
    }
}
