//! Variables that the user mistyped: told before a server is started with them.

use anyhow::Result;
use niagara_error::bail;

use crate::duels::workbench::Workbench;
use crate::variants::variant::Variant;

/// Refuses a variant with a variable that its server has not, and has under a name that is nearly the same. One that is far from all may
/// be a plugin's: the server tells of that when it is started.
///
/// # Errors
/// As said.
pub(super) fn refuse_mistyped(bench: &Workbench, variant: &Variant) -> Result<()> {
    let install = bench.install_of(variant)?;
    let Ok(options) = bench.options_of(install) else {
        return Ok(());
    };
    for name in variant.config.keys().filter(|name| !options.takes(name)) {
        if let Some(near) = niagara_toml::nearest(name, options.names()) {
            bail!(
                "{} has no variable {name}", install.name;
                remedy: "did you mean {near}?"
            );
        }
    }
    Ok(())
}
