//! The consistency conditions of TPC-C, after a run and on request.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use niagara_error::bail;
use niagara_lab::{Event, Load, Observer};
use niagara_load::{Conditions, Finding, check_tpcc};

use super::target::Target;
use crate::json::{self, Document, Listed};
use crate::progress::Terminal;

/// What the conditions say after a run; none for workloads without any.
///
/// # Errors
/// The server is lost, or the tables are not there.
pub fn after(target: &Target, load: &Load) -> Result<Option<Vec<Finding>>> {
    if !load.workload.has_conditions() {
        return Ok(None);
    }
    let mut terminal = Terminal::new(Duration::ZERO);
    let found = check_tpcc(
        &target.endpoint,
        &load.workload,
        Conditions::All,
        &mut |condition| {
            terminal.see(Event::SettingUp(&format!(
                "checking consistency condition {condition} of 12"
            )));
        },
    );
    terminal.finish();
    found.map(Some).map_err(|error| target.explain(error))
}

impl Listed for Finding {
    const DOCUMENT: Document = Document::Conditions;
}

/// `check`: prints what the conditions say.
///
/// # Errors
/// As [`after`]; another workload; a condition that does not hold.
pub fn report(target: &Target, load: &Load, json: bool) -> Result<ExitCode> {
    let Some(findings) = after(target, load)? else {
        bail!(
            "{} has no consistency conditions", load.workload.name();
            remedy: "`check` is for tpcc"
        );
    };
    if json {
        json::print_list(&findings)?;
    } else {
        for finding in &findings {
            say!("{}", line(finding));
        }
    }
    refuse(&findings)?;
    Ok(ExitCode::SUCCESS)
}

/// `condition 3  holds: the new orders of a district …`
pub fn line(finding: &Finding) -> String {
    let verdict = match finding.violations {
        0 => "holds".to_owned(),
        count => format!("BROKEN {count} times"),
    };
    format!(
        "condition {:>2} {verdict}: {}",
        finding.condition, finding.says
    )
}

/// An error if a condition does not hold.
///
/// # Errors
/// A condition does not hold.
pub fn refuse(findings: &[Finding]) -> Result<()> {
    let broken: Vec<String> = findings
        .iter()
        .filter(|finding| !finding.holds())
        .map(line)
        .collect();
    if broken.is_empty() {
        return Ok(());
    }
    bail!(
        "the data are not consistent: the server has lost or mixed up what it committed, somebody else has written to the \
         tables, or their engine knows no transactions\n{}",
        broken.join("\n")
    );
}
