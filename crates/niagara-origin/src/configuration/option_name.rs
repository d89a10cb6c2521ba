//! Names of options that differ from those of the variables that they set.

/// The option that loads plugins; its value is a list.
pub(super) const PLUGINS: &str = "plugin_load_add";

/// The option that sets a variable of another name.
pub(super) fn option_of(variable: String) -> String {
    match variable.as_str() {
        "tx_isolation" => "transaction_isolation".to_owned(),
        "tx_read_only" => "transaction_read_only".to_owned(),
        _ => variable,
    }
}
