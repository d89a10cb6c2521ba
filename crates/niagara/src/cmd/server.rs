//! `niagara server get|list|remove`: private servers; nothing of the system is touched.

use std::process::ExitCode;

use anyhow::Result;
use niagara_server::Install;
use serde::Serialize;

use crate::args::{ServerArgs, ServerVerb};
use crate::setting::Setting;

pub fn run(args: ServerArgs) -> Result<ExitCode> {
    let setting = Setting::open(&args.servers, &[])?;
    match args.verb {
        ServerVerb::Get { names } => get(&setting, &names)?,
        ServerVerb::List { json } => list(&setting, json)?,
        ServerVerb::Remove { names } => remove(&setting, &names)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn get(setting: &Setting, names: &[String]) -> Result<()> {
    for name in names {
        let description = setting.catalog.get(name)?;
        let install = niagara_server::get(&setting.cache, description, &mut |text| {
            eprintln!("{text}");
        })?;
        println!("{name}: {}", install.version_string);
        println!("  {}", install.server.display());
    }
    Ok(())
}

#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    title: &'a str,
    installed: Option<&'a Install>,
}

fn list(setting: &Setting, json: bool) -> Result<()> {
    let installed = niagara_server::installed(&setting.cache)?;
    let lines: Vec<Line<'_>> = setting
        .catalog
        .iter()
        .map(|description| Line {
            name: &description.name,
            title: &description.title,
            installed: installed
                .iter()
                .find(|install| install.name == description.name),
        })
        .collect();
    if json {
        println!("{}", serde_json::to_string_pretty(&lines)?);
        return Ok(());
    }
    for line in lines {
        let state = match line.installed {
            Some(install) => format!("here: {}", install.version),
            None => format!("not here: niagara server get {}", line.name),
        };
        println!("{:<16} {:<28} {state}", line.name, line.title);
    }
    Ok(())
}

fn remove(setting: &Setting, names: &[String]) -> Result<()> {
    for name in names {
        let description = setting.catalog.get(name)?;
        match niagara_server::remove(&setting.cache, &description.name)? {
            0 => println!("{name}: was not here"),
            _ => println!("{name}: removed"),
        }
    }
    Ok(())
}
