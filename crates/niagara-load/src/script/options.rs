//! The options that a script finds when it is a workload, rather than run by sysbench's command line.

use super::runtime::ScriptValue;
use crate::error::LoadError;
use crate::net::endpoint::{Endpoint, Transport};
use crate::size::size_in_bytes;
use crate::workload::CommonOptions;
use crate::workload::script::{ScriptInfo, ScriptOptionKind};
use std::collections::BTreeMap;

/// Those of every test, with sysbench's names and defaults, as far as scripts look at them.
pub(crate) fn general_options(
    common: &CommonOptions,
    endpoint: &Endpoint,
    threads: u32,
) -> BTreeMap<String, ScriptValue> {
    let (mut host, mut port, mut socket) = ("localhost".to_owned(), 3306, Vec::new());
    match &endpoint.transport {
        Transport::Unix(path) => socket.push(path.display().to_string()),
        Transport::Tcp(address) => (host, port) = (address.ip().to_string(), address.port()),
        Transport::Host { name, port: own } => (host, port) = (name.clone(), *own),
    }
    let text = |text: &str| ScriptValue::Text(text.to_owned());
    let number = |number: f64| ScriptValue::Number(number);
    let prepared = match common.as_text() {
        true => "disable",
        false => "auto",
    };
    let named = [
        ("threads", number(f64::from(threads))),
        ("num_threads", number(f64::from(threads))),
        ("events", number(0.0)),
        ("time", number(0.0)),
        ("rate", number(0.0)),
        ("warmup_time", number(0.0)),
        ("report_interval", number(0.0)),
        ("percentile", number(95.0)),
        ("verbosity", number(3.0)),
        ("histogram", ScriptValue::Flag(false)),
        ("debug", ScriptValue::Flag(false)),
        ("validate", ScriptValue::Flag(false)),
        ("rand_type", text("special")),
        ("rand_spec_iter", number(12.0)),
        ("rand_spec_pct", number(1.0)),
        ("rand_spec_res", number(75.0)),
        ("rand_pareto_h", number(0.2)),
        ("rand_seed", number(0.0)),
        ("db_driver", text("mysql")),
        ("db_ps_mode", text(prepared)),
        ("mysql_host", ScriptValue::List(vec![host])),
        ("mysql_port", ScriptValue::List(vec![port.to_string()])),
        ("mysql_socket", ScriptValue::List(socket)),
        ("mysql_user", text(&endpoint.user)),
        ("mysql_password", text(&endpoint.password)),
        ("mysql_db", text(&endpoint.database)),
        ("mysql_storage_engine", text(&common.mysql_storage_engine)),
        ("mysql_table_engine", text(&common.mysql_storage_engine)),
    ];
    named
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Those of the script: as they were given, else by default.
///
/// # Errors
/// A value is none of its option's kind.
pub(crate) fn own_options(
    info: &ScriptInfo,
    given: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, ScriptValue>, LoadError> {
    let mut values = BTreeMap::new();
    for option in info.options.iter().flatten() {
        let text = given.get(&option.name).or(option.default.as_ref());
        let value = value(option.kind, text.map(String::as_str)).ok_or_else(|| {
            LoadError::invalid(format!(
                "{} = {}: no value for this option of the script, which is {}",
                option.name,
                text.map_or("", String::as_str),
                match option.kind {
                    ScriptOptionKind::Flag => "on or off",
                    ScriptOptionKind::Size => "a size such as 16K",
                    _ => "a number",
                }
            ))
        })?;
        values.insert(option.name.replace('-', "_"), value);
    }
    for (name, text) in given {
        values
            .entry(name.clone())
            .or_insert_with(|| ScriptValue::Text(text.clone()));
    }
    Ok(values)
}

/// A text as a value of this kind; `None`: it is none.
fn value(kind: ScriptOptionKind, text: Option<&str>) -> Option<ScriptValue> {
    let text = text.unwrap_or_default();
    Some(match kind {
        ScriptOptionKind::Flag => match text {
            "on" | "true" | "1" => ScriptValue::Flag(true),
            "off" | "false" | "0" | "" => ScriptValue::Flag(false),
            _ => return None,
        },
        ScriptOptionKind::Integer | ScriptOptionKind::Number if text.is_empty() => {
            ScriptValue::Number(0.0)
        }
        ScriptOptionKind::Integer | ScriptOptionKind::Number => {
            ScriptValue::Number(text.trim().replace('_', "").parse().ok()?)
        }
        ScriptOptionKind::Size if text.is_empty() => ScriptValue::Number(0.0),
        ScriptOptionKind::Size => ScriptValue::Number(size_in_bytes(text.trim())? as f64),
        ScriptOptionKind::List => ScriptValue::List(
            text.split(',')
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect(),
        ),
        ScriptOptionKind::Text | ScriptOptionKind::File => ScriptValue::Text(text.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::script::ScriptOption;

    #[test]
    fn values_are_of_their_kind() {
        let option = |name: &str, kind, default: Option<&str>| ScriptOption {
            name: name.into(),
            help: String::new(),
            default: default.map(str::to_owned),
            kind,
        };
        let info = ScriptInfo {
            options: Some(vec![
                option("size", ScriptOptionKind::Size, Some("4K")),
                option("on", ScriptOptionKind::Flag, Some("off")),
                option("rows", ScriptOptionKind::Number, Some("10")),
                option("names", ScriptOptionKind::List, Some("a,b")),
            ]),
            ..ScriptInfo::default()
        };
        let given = BTreeMap::from([("on".to_owned(), "1".to_owned())]);
        let values = own_options(&info, &given).unwrap();
        assert_eq!(values["size"], ScriptValue::Number(4096.0));
        let given = BTreeMap::from([
            ("on".to_owned(), "1".to_owned()),
            ("size".to_owned(), "2MB".to_owned()),
        ]);
        let values = own_options(&info, &given).unwrap();
        assert_eq!(values["size"], ScriptValue::Number(2_097_152.0));
        assert_eq!(values["on"], ScriptValue::Flag(true));
        assert_eq!(values["rows"], ScriptValue::Number(10.0));
        assert_eq!(
            values["names"],
            ScriptValue::List(vec!["a".into(), "b".into()])
        );
        let wrong = BTreeMap::from([("rows".to_owned(), "many".to_owned())]);
        let error = own_options(&info, &wrong).unwrap_err().to_string();
        assert!(error.contains("rows = many"), "{error}");
    }
}
