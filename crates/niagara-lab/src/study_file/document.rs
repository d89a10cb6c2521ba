//! A study file as it stands, once its structure was checked: values with the places they stand at.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Spanned, Value};

#[derive(Debug, Deserialize)]
pub(crate) struct Document {
    pub kind: Spanned<String>,
    pub title: String,
    pub asked: String,
    pub changed: String,
    pub measured: String,
    pub source: Option<String>,
    pub published: Option<String>,
    pub server: Option<Spanned<String>>,
    pub engine: Option<Spanned<String>>,
    pub workload: Option<Spanned<Workload>>,
    pub workloads: Option<Spanned<Vec<Spanned<Workload>>>>,
    pub threads: Option<Spanned<Value>>,
    #[serde(default)]
    pub variants: BTreeMap<Spanned<String>, Spanned<Changes>>,
    pub a: Option<Spanned<String>>,
    pub b: Option<Spanned<String>>,
    pub start: Option<Spanned<String>>,
    pub rungs: Option<Spanned<Vec<Spanned<Rung>>>>,
    pub axes: Option<Spanned<Vec<Spanned<Axis>>>>,
    pub combine: Option<Spanned<String>>,
    pub sweep: Option<Spanned<Vec<Spanned<String>>>>,
    pub protocol: Option<Spanned<String>>,
    pub goal: Option<Spanned<String>>,
    pub rate: Option<Spanned<String>>,
    pub alpha: Option<f64>,
    pub min_effect: Option<Value>,
    pub seed: Option<u64>,
    pub budget: Option<Value>,
    pub duels: Option<u64>,
    pub couples: Option<u64>,
    pub slice: Option<Value>,
    pub warm_up: Option<Value>,
    pub disturbance: Option<Value>,
    pub client_host: Option<Spanned<String>>,
    pub config_file: Option<Spanned<String>>,
    pub data: Option<Spanned<String>>,
    pub schema: Option<Spanned<String>>,
    pub memory: Option<Spanned<String>>,
    pub cpus: Option<u32>,
    #[serde(default)]
    pub size: Sizes,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Sizes {
    pub small: Option<SizeEntry>,
    pub original: Option<SizeEntry>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct SizeEntry {
    pub note: Option<String>,
    pub threads: Option<Spanned<Value>>,
    pub budget: Option<Value>,
    pub duels: Option<u64>,
    pub couples: Option<u64>,
    pub slice: Option<Value>,
    pub warm_up: Option<Value>,
    #[serde(default)]
    pub options: BTreeMap<String, Spanned<Value>>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Workload {
    pub name: Spanned<String>,
    pub title: Option<Spanned<String>>,
    #[serde(default)]
    pub options: BTreeMap<String, Spanned<Value>>,
    #[serde(default)]
    pub trained: bool,
}

/// What a variant, a rung or a level changes.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Changes {
    pub title: Option<String>,
    pub server: Option<Spanned<String>>,
    pub engine: Option<Spanned<String>>,
    #[serde(default)]
    pub build: BTreeMap<String, Spanned<Value>>,
    #[serde(default)]
    pub levers: Vec<Spanned<String>>,
    #[serde(default)]
    pub config: BTreeMap<String, Spanned<Value>>,
    #[serde(default)]
    pub runtime: Runtime,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Runtime {
    pub malloc: Option<String>,
    pub huge_pages_heap: Option<bool>,
    pub transport: Option<String>,
    pub server_cpus: Option<Spanned<String>>,
    pub client_cpus: Option<Spanned<String>>,
    #[serde(default)]
    pub environment: BTreeMap<String, Value>,
    pub lock_memory: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Rung {
    pub title: Spanned<String>,
    pub published: Option<String>,
    pub why: Option<String>,
    pub cannot: Option<String>,
    #[serde(default)]
    pub build: BTreeMap<String, Spanned<Value>>,
    #[serde(default)]
    pub levers: Vec<Spanned<String>>,
    #[serde(default)]
    pub config: BTreeMap<String, Spanned<Value>>,
    #[serde(default)]
    pub runtime: Runtime,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Axis {
    pub name: Spanned<String>,
    pub levels: Vec<Spanned<Level>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Level {
    pub name: Spanned<String>,
    #[serde(default)]
    pub build: BTreeMap<String, Spanned<Value>>,
    #[serde(default)]
    pub levers: Vec<Spanned<String>>,
    #[serde(default)]
    pub config: BTreeMap<String, Spanned<Value>>,
    #[serde(default)]
    pub runtime: Runtime,
}

/// A value as the server, a workload's option or a list reads it.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Boolean(true) => "ON".to_owned(),
        Value::Boolean(false) => "OFF".to_owned(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}
