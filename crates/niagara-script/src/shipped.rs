//! The scripts that sysbench ships, as scripts require them: written for Niagara, for the same tables, statements and options.

/// The text of a module of this name.
pub fn module(name: &str) -> Option<&'static str> {
    Some(match name {
        "oltp_common" => include_str!("lua/oltp_common.lua"),
        _ => return None,
    })
}
