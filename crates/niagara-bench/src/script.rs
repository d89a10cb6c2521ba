//! The script that Niagara and sysbench both run.

use crate::ground::TABLE_SIZE;
use anyhow::{Context, Result};
use niagara_load::{WorkloadSpec, read_script};
use std::io::Write;
use std::path::Path;
use tempfile::NamedTempFile;

/// How the script sends its statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statements {
    /// Prepared once, executed with bound values.
    Prepared,
    /// As texts.
    Text,
}

/// The script in a file of its own, with its options; the file goes when this is dropped.
pub struct Script {
    file: NamedTempFile,
    /// The workload that it is to Niagara.
    pub spec: WorkloadSpec,
}

impl Script {
    /// Writes the script down and reads it as a workload.
    pub fn new(statements: Statements) -> Result<Script> {
        let mut file = tempfile::Builder::new()
            .prefix("read_only")
            .suffix(".lua")
            .tempfile()
            .context("a file for the script")?;
        file.write_all(include_bytes!("read_only.lua"))?;
        file.flush()?;
        let mut script = read_script(file.path())?;
        script.give("table_size", &TABLE_SIZE.to_string());
        script.give(
            "prepared",
            match statements {
                Statements::Prepared => "on",
                Statements::Text => "off",
            },
        );
        Ok(Script {
            file,
            spec: WorkloadSpec::of(script),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.file.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use niagara_load::Workload;

    #[test]
    fn the_script_takes_its_options() {
        niagara_script::install();
        let script = Script::new(Statements::Text).unwrap();
        script.spec.validate().unwrap();
        let Workload::Script(workload) = &script.spec.workload else {
            panic!("{:?}", script.spec);
        };
        let known = workload.info().options.iter().flatten();
        let known: Vec<&str> = known.map(|option| option.name.as_str()).collect();
        for given in workload.options().keys() {
            assert!(known.contains(&given.as_str()), "{given}");
        }
        // It waits for nothing but the server, so that one loop drives many of its threads.
        assert!(!workload.info().blocks);
    }
}
