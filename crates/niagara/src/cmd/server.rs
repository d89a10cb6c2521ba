//! `niagara server get|build|list|check|remove`: private servers; nothing of the system is touched.

use std::process::ExitCode;

use anyhow::Result;
use niagara_lab::{Inventory, looks_like_path, server_name};
use niagara_server::{ImageRecord, ImageStore, Install, Removed};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::{ServerArgs, ServerVerb};
use crate::cmd::fleet::nodes_of;
use crate::json::{self, Document, Listed};

pub fn run(args: ServerArgs) -> Result<ExitCode> {
    let fleet = match &args.verb {
        ServerVerb::Build(build) => nodes_of(&build.fleet, &args.servers)?,
        _ => None,
    };
    // What nodes make is kept where they keep it.
    let cache = fleet.as_ref().map(|fleet| fleet.node_dir.as_path());
    let inventory = Inventory::open_in(cache, &args.servers, &[])?;
    match args.verb {
        ServerVerb::Get { names } => get(&inventory, &names)?,
        ServerVerb::Build(args) => return super::build::run(&inventory, *args, fleet.as_ref()),
        ServerVerb::List { json } => list(&inventory, json)?,
        ServerVerb::Check(args) => return super::check::run(&inventory, &args),
        ServerVerb::Remove { names } => remove(&inventory, &names)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn get(inventory: &Inventory, names: &[String]) -> Result<()> {
    for name in names {
        let description = inventory.catalog.get(name)?;
        let install = niagara_server::get(&inventory.cache, description, &mut |text| {
            tell!("{text}");
        })?;
        say!("{name}: {}", install.version_string);
        say!("  {}", install.server.display());
    }
    Ok(())
}

/// A server, and what is here of it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ServerLine {
    /// The catalogue's name, or the path of a server of this machine.
    name: String,
    /// For people.
    title: String,
    /// What was fetched; none where it was not.
    installed: Option<Install>,
    /// Of the fetched server on disk.
    bytes: u64,
    /// Datasets that are kept for it.
    images: Vec<ImageLine>,
}

impl Listed for ServerLine {
    const DOCUMENT: Document = Document::Servers;
}

/// An image of a dataset.
#[derive(Serialize, JsonSchema)]
struct ImageLine {
    #[serde(flatten)]
    record: ImageRecord,
    /// What it takes on disk.
    bytes: u64,
}

/// The images of a cache with what they take on disk.
fn images(inventory: &Inventory) -> Result<Vec<ImageLine>> {
    let mut lines = Vec::new();
    for image in ImageStore::new(&inventory.cache).images()? {
        lines.push(ImageLine {
            record: image.record()?,
            bytes: image.bytes()?,
        });
    }
    lines.sort_by(|x, y| (&x.record.key, &x.record.made).cmp(&(&y.record.key, &y.record.made)));
    Ok(lines)
}

/// The servers of the catalogue; behind them, servers of this machine that have images here.
fn lines(inventory: &Inventory) -> Result<Vec<ServerLine>> {
    let mut installed = niagara_server::installed(&inventory.cache)?;
    let mut images = images(inventory)?;
    let mut lines: Vec<ServerLine> = inventory
        .catalog
        .iter()
        .map(|description| {
            let name = &description.name;
            let here = installed.iter().position(|install| install.name == *name);
            let install = here.map(|index| installed.swap_remove(index));
            ServerLine {
                name: name.clone(),
                title: description.title.clone(),
                bytes: install.as_ref().map_or(0, Install::bytes),
                installed: install,
                images: images
                    .extract_if(.., |image| image.record.is_of(name))
                    .collect(),
            }
        })
        .collect();
    while let Some(record) = images.first().map(|image| image.record.clone()) {
        let whose =
            |other: &ImageRecord| (other.name == record.name) && (other.server == record.server);
        lines.push(ServerLine {
            images: images
                .extract_if(.., |image| whose(&image.record))
                .collect(),
            name: record.name.unwrap_or(record.server),
            title: "a server of this machine".to_owned(),
            installed: None,
            bytes: 0,
        });
    }
    Ok(lines)
}

fn list(inventory: &Inventory, json: bool) -> Result<()> {
    let lines = lines(inventory)?;
    if json {
        json::print_list(&lines)?;
        return Ok(());
    }
    let mut all = 0;
    for line in &lines {
        let state = match &line.installed {
            Some(install) => format!("here: {}, {}", install.version, megabytes(line.bytes)),
            None if looks_like_path(&line.name) => String::new(),
            None => format!("not here: niagara server get {}", line.name),
        };
        say!("{:<16} {:<28} {state}", line.name, line.title);
        line.images.iter().for_each(show_image);
        all += line.bytes + line.images.iter().map(|image| image.bytes).sum::<u64>();
    }
    say!(
        "\n{} in {}; `niagara server remove NAME` frees a server's part of it",
        megabytes(all),
        inventory.cache.root().display()
    );
    Ok(())
}

fn show_image(image: &ImageLine) {
    let ImageRecord { key, engine, .. } = &image.record;
    say!("  image {key}, {engine}: {}", megabytes(image.bytes));
}

fn megabytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}

fn remove(inventory: &Inventory, names: &[String]) -> Result<()> {
    for name in names {
        // A path names a server of the host: it stays, its images go.
        if !looks_like_path(name) {
            inventory.catalog.get(name)?;
        }
        let removed = niagara_server::remove(&inventory.cache, &server_name(name)?)?;
        if removed == Removed::default() {
            say!("{name}: was not here");
            continue;
        }
        let images = match removed.images {
            1 => "1 dataset image".to_owned(),
            count => format!("{count} dataset images"),
        };
        let what = match removed.servers {
            0 => images,
            _ => format!("the server and {images}"),
        };
        say!("{name}: removed {what}, {} freed", megabytes(removed.bytes));
    }
    Ok(())
}
