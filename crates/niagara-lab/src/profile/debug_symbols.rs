//! Where the functions of servers that are profiled have their names from.

use anyhow::Result;
use niagara_error::{Explanation, problem};

use crate::duels::inventory::Inventory;
use crate::duels::workbench::Workbench;
use crate::plans::observer::{Event, Observer};
use crate::profile::ShortProfile;
use crate::variants::variant::Variant;

/// Folders with symbols for what is mapped into these servers, and what is missing: of a packaged one from its
/// distribution, fetched where not done before; of one that was built or stands at a path, what the host and the binary
/// itself have. A file belongs to a binary by its build-id, so that they may all be looked up together.
///
/// # Errors
/// A variant that was not set up; a cache that cannot be written to.
pub fn debug_symbols<'v>(
    inventory: &Inventory,
    bench: &Workbench,
    variants: impl IntoIterator<Item = &'v Variant>,
    observer: &mut dyn Observer,
) -> Result<ShortProfile> {
    let mut known = ShortProfile::default();
    for variant in variants {
        let install = bench.install_of(variant)?;
        if variant.build.is_some() || install.packages.is_empty() {
            continue;
        }
        let description = inventory.catalog.get(&variant.server)?;
        let found =
            niagara_server::debug_symbols(&inventory.cache, install, description, &mut |text| {
                observer.see(Event::SettingUp(text));
            })?;
        if !known.symbols.0.contains(&found.folder) {
            known.symbols.0.insert(0, found.folder);
        }
        for package in found.missing {
            let missing = Explanation::from(problem!(
                "symbols of {package}: functions that are not exported have no name";
                remedy: "name an archive of debug packages in NIAGARA_DEBIAN_DEBUG_MIRROR (a URL that ends in /debian-debug)"
            ));
            if !known.missing.contains(&missing) {
                known.missing.push(missing);
            }
        }
    }
    Ok(known)
}
