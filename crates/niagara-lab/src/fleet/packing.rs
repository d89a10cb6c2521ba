//! Servers, data and sources that nodes need, packed into the shared folder by the head.

use std::path::Path;

use anyhow::Result;
use niagara_fleet::Waiting;
use niagara_fleet::content::{Content, Packer, publish};
use niagara_server::{Cancel, Cancelled};

use crate::fleet::cluster::PATIENCE;
use crate::plans::observer::{Event, Observer};

/// Packs `path` (below `cache`) for the nodes, once the shared `folder` has room for it.
///
/// # Errors
/// [`Cancelled`]; it cannot be packed; there was no room for too long.
pub(super) fn pack_for_nodes(
    folder: &Path,
    cache: &Path,
    path: &str,
    cancel: &Cancel,
    observer: &mut dyn Observer,
) -> Result<Content> {
    observer.see(Event::SettingUp(&format!("packing {path} for the nodes")));
    let mut waiting = Waiting {
        patience: PATIENCE,
        stop: &|| cancel.is_cancelled(),
        tell: &mut |text| observer.see(Event::Note(text)),
    };
    let packed = publish(folder, cache, path, Packer::Head, &mut waiting)?;
    Ok(packed.ok_or(Cancelled)?)
}
