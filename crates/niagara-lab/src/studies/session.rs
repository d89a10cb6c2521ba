//! Where a question is asked, and what it may use.

use std::path::Path;

use niagara_server::Cancel;

use crate::asking::wanted_level::WantedLevel;
use crate::duels::inventory::Inventory;
use crate::fleet::FleetOptions;

/// Where a question is asked, and what it may use.
pub struct Session<'a> {
    /// What it draws on.
    pub inventory: &'a Inventory,
    /// The flag that stops it.
    pub cancel: &'a Cancel,
    /// What the results folder is called by, unless it is named.
    pub name: &'a str,
    /// The results folder, where named.
    pub folder: Option<&'a Path>,
    /// The command that continues it.
    pub command: &'a str,
    /// Niagara's version, as results name it.
    pub version: &'a str,
    /// The command that measures a part of it, of these levels.
    pub command_of_part: fn(&[WantedLevel]) -> String,
    /// Where its duels are run, if not here.
    pub fleet: Option<&'a FleetOptions>,
}
