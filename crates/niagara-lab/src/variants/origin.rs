//! What of the user's own server a study starts from: its configuration, its data, the size of its machine.

use niagara_origin::configuration::ConfigSource;
use niagara_origin::data::DataSource;
use serde::Serialize;

use crate::lever::ProductionMachine;

/// The user's own server as the start. The default is a server as it comes, on the workload's own data.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Origin {
    /// Its configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<ConfigSource>,
    /// Its data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
    /// The machine that the server runs on in production, where it is not this one.
    #[serde(skip_serializing_if = "ProductionMachine::is_unknown")]
    pub machine: ProductionMachine,
}

/// The user's data that the load finds, in place of the workload's own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Data {
    /// Where they are, and what stands for their content.
    pub source: DataSource,
    /// The database that the load is in; the only one of the data where none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
}

impl Origin {
    /// Whether nothing of the user's is in it.
    pub(crate) fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}
