//! Room in a server's variables for the load's connections.

use crate::variants::variant::Variant;

/// Connections beyond the server's default of 151 need room in its variables; what the variant says itself stands.
pub(crate) fn with_max_connections(variant: &Variant, threads: u32) -> Variant {
    let mut variant = variant.clone();
    if threads > 120 {
        variant
            .config
            .entry("max_connections".to_owned())
            .or_insert_with(|| (threads + 50).to_string());
    }
    variant
}
