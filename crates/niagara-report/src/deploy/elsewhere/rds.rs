//! A script of the AWS command line that makes a parameter group.

use serde_json::json;

use super::{DeployInput, Means, head, left_out};

pub(super) const NAME: &str = "rds.sh";

/// Parameters that one call may change.
const MOST: usize = 20;
const STEPS: &str = "A script for the AWS command line (version 2, and jq). It asks first which parameters this family has and lets you change, and stops where
one is missing. It makes a parameter group and changes no instance. Then, when a restart may interrupt every connection:
  aws rds modify-db-instance --db-instance-identifier INSTANCE --db-parameter-group-name niagara
  aws rds reboot-db-instance --db-instance-identifier INSTANCE
Undo: the same two commands with the group that the instance had; note it before:
  aws rds describe-db-instances --db-instance-identifier INSTANCE --query 'DBInstances[].DBParameterGroups'
FAMILY and GROUP in the environment choose others; SKIP='a b' leaves parameters out. Aurora (FAMILY=aurora-mysql8.0) has storage of its
own in place of InnoDB's files: what concerns redo log, doublewrite and flushing was measured on another storage.";

/// `None` where it sets no variable.
pub(super) fn script(input: &DeployInput) -> Option<String> {
    let variant = &input.variant;
    let (names_alone, set): (Vec<_>, Vec<_>) = variant
        .config
        .iter()
        .partition(|(name, _)| variant.flags.contains(name));
    if set.is_empty() {
        return None;
    }
    let mut missing = left_out(input, Means::Variables);
    let alone = names_alone.into_iter();
    missing.extend(alone.map(|(name, _)| format!("{name}, which is no parameter but an option")));
    let parameters: Vec<(String, serde_json::Value)> = set
        .into_iter()
        .map(|(name, value)| {
            let name = name.replace('-', "_").to_ascii_lowercase();
            let parameter = json!({
                "ParameterName": name,
                "ParameterValue": as_parameter(value),
                "ApplyMethod": "pending-reboot",
            });
            (name, parameter)
        })
        .collect();
    let names: Vec<&str> = parameters.iter().map(|(name, _)| name.as_str()).collect();
    let values: Vec<&serde_json::Value> = parameters.iter().map(|(_, value)| value).collect();
    let parameters = serde_json::to_string_pretty(&values).ok()?;
    let family = match family(&input.server) {
        Some(family) => format!("FAMILY=${{FAMILY:-{family}}}"),
        None => "FAMILY=${FAMILY:?name the parameter group's family, as in mysql8.4}".to_owned(),
    };
    Some(format!(
        r#"#!/bin/sh
{head}
set -eu
{family}
GROUP=${{GROUP:-niagara}}
SKIP=${{SKIP:-}}

parameters=$(cat <<'END'
{parameters}
END
)
parameters=$(printf '%s' "$parameters" | jq -c --arg skip "$SKIP" 'map(select(.ParameterName as $name | $skip | split(" ") | index($name) | not))')

known=$(aws rds describe-engine-default-parameters --db-parameter-group-family "$FAMILY" --output json \
  --query 'EngineDefaults.Parameters[?IsModifiable].ParameterName')
missing=
for name in {names}; do
  case " $SKIP " in *" $name "*) continue ;; esac
  printf '%s' "$known" | jq -e --arg name "$name" 'index($name)' >/dev/null || missing="$missing $name"
done
if [ -n "$missing" ]; then
  echo "$FAMILY does not let you change:$missing" >&2
  echo "remedy: measure again without them, or leave them out: SKIP='${{missing# }}' $0" >&2
  exit 1
fi

aws rds create-db-parameter-group --db-parameter-group-name "$GROUP" --db-parameter-group-family "$FAMILY" \
  --description 'Found by Niagara' >/dev/null
count=$(printf '%s' "$parameters" | jq length)
from=0
while [ "$from" -lt "$count" ]; do
  aws rds modify-db-parameter-group --db-parameter-group-name "$GROUP" \
    --parameters "$(printf '%s' "$parameters" | jq -c --argjson from "$from" '.[$from:$from + {MOST}]')" >/dev/null
  from=$((from + {MOST}))
done
echo "the parameter group $GROUP has $count parameters; no instance uses it yet"
"#,
        head = head(input, STEPS, &missing).trim_end(),
        names = names.join(" "),
    ))
}

/// The family of the groups for a server of the catalogue: `mysql8.4`.
fn family(server: &str) -> Option<String> {
    let (name, series) = server.split_once('-')?;
    let is_series = series.split('.').all(|part| part.parse::<u32>().is_ok());
    let engine = match name {
        "mariadb" => "mariadb",
        "mysql" | "percona" => "mysql",
        _ => return None,
    };
    is_series.then(|| format!("{engine}{series}"))
}

/// A value as parameter groups take it: bytes without a unit, 1 and 0 for ON and OFF.
fn as_parameter(value: &str) -> String {
    match value.to_ascii_uppercase().as_str() {
        "ON" | "TRUE" => return "1".to_owned(),
        "OFF" | "FALSE" => return "0".to_owned(),
        _ => {}
    }
    let shift = match value.chars().next_back() {
        Some('k' | 'K') => 10,
        Some('m' | 'M') => 20,
        Some('g' | 'G') => 30,
        Some('t' | 'T') => 40,
        _ => return value.to_owned(),
    };
    let number = value[..value.len() - 1].parse::<u64>();
    match number
        .ok()
        .and_then(|number| number.checked_mul(1 << shift))
    {
        Some(bytes) => bytes.to_string(),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_families_are_those_of_parameter_groups() {
        for (value, expected) in [
            ("8G", "8589934592"),
            ("512k", "524288"),
            ("ON", "1"),
            ("off", "0"),
            ("pool-of-threads", "pool-of-threads"),
            ("O_DIRECT", "O_DIRECT"),
            ("", ""),
        ] {
            assert_eq!(as_parameter(value), expected);
        }
        assert_eq!(family("mariadb-10.11").as_deref(), Some("mariadb10.11"));
        assert_eq!(family("percona-8.0").as_deref(), Some("mysql8.0"));
        assert_eq!(family("/usr/sbin/mysqld-8.0"), None);
    }
}
