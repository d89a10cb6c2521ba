//! From the command line to a load, and from this process to the command line again.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use niagara_lab::{Load, load_of};
use niagara_load::{WorkloadBuilder, WorkloadSpec, with_replay_options, workload_of_file};

use crate::shared_args::{LoadArgs, WorkloadArg};

/// The workload that the command line names, nothing set yet.
pub fn workload(arg: &WorkloadArg) -> Result<WorkloadSpec> {
    match arg {
        WorkloadArg::Named(kind) => Ok(WorkloadSpec::of(*kind)),
        WorkloadArg::File(path) => Ok(workload_of_file(path)?),
    }
}

/// The load that the options describe; --set has the last word.
pub fn load(args: &LoadArgs) -> Result<Load> {
    let named = workload(&args.workload)?;
    let of_capture = [
        ("commit_order", &args.commit_order),
        ("speed", &args.speed),
        ("tables_of", &args.tables_of),
    ];
    let of_capture: Vec<(&str, &str)> = of_capture
        .iter()
        .filter_map(|(name, value)| Some((*name, value.as_deref()?)))
        .collect();
    if let (None, Some((name, _))) = (named.capture(), of_capture.first()) {
        bail!(
            "--{} is for captures, and {} is none\nremedy: leave it out, or name a capture: --workload shop.capture",
            name.replace('_', "-"),
            named.spelling()
        );
    }
    let named = with_replay_options(named, &of_capture)?;
    let mut base = WorkloadBuilder::from(named);
    // Not every workload has each of these; its own defaults are not the command line's.
    base.set("tables", &args.tables.to_string())?;
    base.set("table_size", &args.table_size.to_string())?;
    base.set("warehouses", &args.warehouses.to_string())?;
    let set = args.set.iter();
    let options = set.map(|(name, value)| (name.as_str(), value.as_str()));
    load_of(base.build()?, options, &args.engine, args.threads)
}

/// This moment, milliseconds since the Unix epoch.
pub fn unix_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_millis() as i64
}

/// The command as typed, quoted where a shell would need it.
pub fn command_line() -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,/:+%@".contains(c);
    std::env::args()
        .enumerate()
        .map(|(index, word)| match index {
            0 => "niagara".to_owned(),
            _ if !word.is_empty() && word.chars().all(plain) => word,
            _ => format!("'{}'", word.replace('\'', r"'\''")),
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// Writes `content` to `path`, whole or not at all.
pub fn write(path: &Path, content: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = folder.join(format!(".{name}.part"));
    std::fs::write(&part, content)
        .and_then(|()| std::fs::rename(&part, path))
        .with_context(|| format!("cannot write {}", path.display()))
}
