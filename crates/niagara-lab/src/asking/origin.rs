//! What of the user's own server a study starts from: its configuration, its data, the size of its machine.

use niagara_origin::configuration::ConfigSource;
use serde::Serialize;

use crate::lever::ProductionMachine;

/// The user's own server as the start. The default is a server as it comes, on the workload's own data.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Origin {
    /// Its configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<ConfigSource>,
    /// The machine that the server runs on in production, where it is not this one.
    #[serde(skip_serializing_if = "ProductionMachine::is_unknown")]
    pub machine: ProductionMachine,
}

impl Origin {
    /// Whether nothing of the user's is in it: studies begun before there was anything go on.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}
