//! A script of the AWS command line that makes a parameter group.

use niagara_model::{Follows, TargetSize};
use serde_json::json;

use super::{DeployInput, Means, head, left_out};

pub(super) const NAME: &str = "rds.sh";

/// Parameters that one call may change.
const MOST: usize = 20;
const STEPS: &str = "A script for the AWS command line (version 2, and jq). It needs the name of the parameter group that the instance has:
  aws rds describe-db-instances --db-instance-identifier INSTANCE --query 'DBInstances[].DBParameterGroups'
  FROM=GROUP sh rds.sh
The group that it makes is that one with what was measured, so that nothing of it is lost; no instance is changed. It stops before that:
- where that group does not let a parameter be changed: SKIP='a b' leaves those out,
- where a number is smaller than that group's, or takes the place of a formula: SKIP keeps what is there, LOWER='a b' sets them.
Then, when a restart may interrupt every connection:
  aws rds modify-db-instance --db-instance-identifier INSTANCE --db-parameter-group-name niagara
  aws rds reboot-db-instance --db-instance-identifier INSTANCE
Undo: the same two commands with the group that the instance had.
GROUP in the environment names the new group otherwise. Aurora has storage of its own in place of InnoDB's files: what concerns redo
log, doublewrite and flushing was measured on another storage.";

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
    let steps = format!("{STEPS}{}", sizes(input));
    Some(format!(
        r#"#!/bin/sh
{head}
set -eu
FROM=${{FROM:?name the parameter group that the instance has: the first lines of this file say how to ask for it}}
GROUP=${{GROUP:-niagara}}
SKIP=${{SKIP:-}}
LOWER=${{LOWER:-}}

parameters=$(cat <<'END'
{parameters}
END
)
parameters=$(printf '%s' "$parameters" | jq -c --arg skip "$SKIP" 'map(select(.ParameterName as $name | $skip | split(" ") | index($name) | not))')

family=$(aws rds describe-db-parameter-groups --db-parameter-group-name "$FROM" --output text \
  --query 'DBParameterGroups[0].DBParameterGroupFamily')
{note}there=$(aws rds describe-db-parameters --db-parameter-group-name "$FROM" --output json \
  --query 'Parameters[?IsModifiable].{{name: ParameterName, value: ParameterValue}}')
missing=
for name in {names}; do
  case " $SKIP " in *" $name "*) continue ;; esac
  printf '%s' "$there" | jq -e --arg name "$name" 'any(.[]; .name == $name)' >/dev/null || missing="$missing $name"
done
if [ -n "$missing" ]; then
  echo "$FROM ($family) does not let you change:$missing" >&2
  echo "remedy: measure again without them, or leave them out: SKIP='${{missing# }}'" >&2
  exit 1
fi

lowered=$(printf '%s\n%s' "$there" "$parameters" | jq -rs --arg lower "$LOWER" '
  .[0] as $there | .[1][] | .ParameterName as $name | .ParameterValue as $new
  | select($lower | split(" ") | index($name) | not)
  | $there[] | select(.name == $name) | (.value // "") as $old
  | select(($old | contains("{{")) or
      (([$old, $new] | all(test("^[0-9]+$"))) and ($old | tonumber) > 1 and ($new | tonumber) < ($old | tonumber)))
  | "\($name): \($old) in the group that is there, \($new) measured"')
if [ -n "$lowered" ]; then
  printf '%s\n' "$lowered" >&2
  echo "remedy: keep what is there by SKIP, or set what was measured by LOWER: '$(printf '%s\n' "$lowered" | cut -d : -f 1 | paste -s -d ' ' -)'" >&2
  exit 1
fi

# A default group cannot be copied, and has nothing of its own.
case $FROM in
  default.*)
    aws rds create-db-parameter-group --db-parameter-group-name "$GROUP" --db-parameter-group-family "$family" \
      --description 'Found by Niagara' >/dev/null ;;
  *)
    aws rds copy-db-parameter-group --source-db-parameter-group-identifier "$FROM" --target-db-parameter-group-identifier "$GROUP" \
      --target-db-parameter-group-description 'Found by Niagara' >/dev/null ;;
esac
count=$(printf '%s' "$parameters" | jq length)
from=0
while [ "$from" -lt "$count" ]; do
  aws rds modify-db-parameter-group --db-parameter-group-name "$GROUP" \
    --parameters "$(printf '%s' "$parameters" | jq -c --argjson from "$from" '.[$from:$from + {MOST}]')" >/dev/null
  from=$((from + {MOST}))
done
echo "the parameter group $GROUP is $FROM with $count parameters from here; no instance uses it yet"
"#,
        head = head(input, &steps, &missing).trim_end(),
        note = family(&input.server).map_or_else(String::new, |family| format!(
            "[ \"$family\" = {family} ] || echo \"note: $FROM is of $family, and it was measured with {family}\" >&2\n"
        )),
        names = names.join(" "),
    ))
}

/// What is said where values follow the machine, and nobody has told which one it is.
fn sizes(input: &DeployInput) -> String {
    let open = |size: &&TargetSize| size.target.is_none();
    let follows = |what| {
        let mut open = input.variant.sizes.iter().filter(open);
        open.any(|size| size.follows == what)
    };
    let options = match [Follows::Cpus, Follows::Memory].map(follows) {
        [false, false] => return String::new(),
        [true, false] => "--cpus N",
        [false, true] => "--memory SIZE",
        [true, true] => "--cpus N --memory SIZE",
    };
    format!(
        "\nSizes and counts are those of the machine that it was measured on. For the instance's own:\n  \
         niagara report DIR --format files --for rds {options}"
    )
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
