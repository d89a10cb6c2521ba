//! How a value is drawn, as a workload's file says it.

use super::format::{Number, Way};
use super::generator::Generator;
use super::numbers::{Numbers, number};
use crate::workload::draw::Distribution;
use niagara_toml::{At, Found, finding};
use serde::Deserialize;

/// Greatest whole number that is drawn: parameters are 32-bit integers with a sign.
const GREATEST: u64 = i32::MAX as u64;
/// A parameter's length is written into one byte.
const LONGEST: usize = 250;

/// The ways, as a file writes them.
const GENERATORS: &str = "{ int = [FROM, TO] }, { decimal = [FROM, TO] }, { text = [FEWEST, MOST] }, \
                              { pattern = \"##-##\" }, { one_of = [\"a\", \"b\"] }, { unique = true }";

/// What is wrong with a way at `at`, and which ways there are.
pub(super) fn no_way<T>(at: usize, cause: impl Into<String>) -> Found<T> {
    finding(at, cause, format!("write one of: {GENERATORS}"))
}

/// A generator, for a value of a transaction (`in_load`) or a column of a table.
pub(super) fn generator(
    at: usize,
    way: &Way,
    numbers: &Numbers,
    in_load: bool,
) -> Found<Generator> {
    let ways = [
        ("int", way.int.is_some()),
        ("decimal", way.decimal.is_some()),
        ("text", way.text.is_some()),
        ("pattern", way.pattern.is_some()),
        ("one_of", way.one_of.is_some()),
        ("unique", way.unique.is_some()),
    ];
    let there: Vec<&str> = ways
        .iter()
        .filter(|(_, there)| *there)
        .map(|(name, _)| *name)
        .collect();
    let [name] = there[..] else {
        return no_way(
            at,
            match there.as_slice() {
                [] => "it does not say how the value is drawn".to_owned(),
                several => format!("{} at once", several.join(" and ")),
            },
        );
    };
    let foreign = [
        ("distribution", way.distribution.is_some(), "int"),
        ("weights", way.weights.is_some(), "one_of"),
    ];
    if let Some((other, ..)) = foreign
        .into_iter()
        .find(|(_, there, of)| *there && *of != name)
    {
        return no_way(at, format!("`{other}` means nothing beside `{name}`"));
    }
    if let Some(ends) = &way.int {
        return int(ends, way.distribution.as_ref(), numbers);
    }
    if let Some(ends) = &way.decimal {
        return decimal(ends);
    }
    if let Some(lengths) = &way.text {
        let most = if in_load { LONGEST as u64 } else { 65_535 };
        let (fewest, most) = pair("text", lengths, numbers, most)?;
        return Ok(Generator::Text(fewest as usize, most as usize));
    }
    if let Some(words) = &way.one_of {
        return one_of(words, way.weights.as_ref());
    }
    if let Some(pattern) = &way.pattern {
        if pattern.len() <= LONGEST {
            return Ok(Generator::Pattern(pattern.as_str().into()));
        }
        return finding(
            pattern.at,
            format!("`pattern` takes a text of at most {LONGEST} bytes"),
            "write pattern = \"###-##\": every # becomes a digit",
        );
    }
    if in_load && way.unique.as_ref().is_some_and(|unique| unique.value) {
        return Ok(Generator::Unique);
    }
    finding(
        way.unique.as_ref().map_or(at, |unique| unique.at),
        "`unique` is for values of transactions",
        "in a table, write \"row\" for the number of the row",
    )
}

/// Two numbers of which the second is not less.
fn pair(name: &str, ends: &At<Vec<Number>>, numbers: &Numbers, most: u64) -> Found<(u64, u64)> {
    let [first, last] = ends.as_slice() else {
        return finding(
            ends.at,
            format!("`{name}` takes two numbers"),
            format!("write {name} = [1, 10]"),
        );
    };
    let (first, last) = (number(first, numbers, most)?, number(last, numbers, most)?);
    if first > last {
        return finding(
            ends.at,
            format!("`{name}` ends at {last} before it begins at {first}"),
            "write the lesser number first",
        );
    }
    Ok((first, last))
}

fn int(
    ends: &At<Vec<Number>>,
    distribution: Option<&At<toml::Value>>,
    numbers: &Numbers,
) -> Found<Generator> {
    let (first, last) = pair("int", ends, numbers, GREATEST)?;
    let distribution = match distribution {
        None => Distribution::Uniform,
        Some(how) => {
            let remedy = || format!("write one of: {}", Distribution::NAMES.join(", "));
            let read = Distribution::deserialize(how.value.clone());
            let read = read.or_else(|error| finding(how.at, error.message(), remedy()))?;
            read.validate()
                .or_else(|cause| finding(how.at, cause, "change the parameter"))?;
            read
        }
    };
    Ok(Generator::Int(first as u32, last as u32, distribution))
}

fn decimal(ends: &At<Vec<f64>>) -> Found<Generator> {
    let hundredths = |end: f64| (end.abs() < 1e15).then(|| (end * 100.0).round() as i64);
    let both = match ends[..] {
        [first, last] => hundredths(first).zip(hundredths(last)),
        _ => None,
    };
    match both {
        Some((first, last)) if first <= last => Ok(Generator::Decimal(first, last)),
        _ => finding(
            ends.at,
            "`decimal` takes two numbers, the lesser first",
            "write decimal = [0.01, 99.99]",
        ),
    }
}

fn one_of(words: &At<Vec<String>>, weights: Option<&At<Vec<u32>>>) -> Found<Generator> {
    if words.is_empty() || words.iter().any(|word| word.len() > LONGEST) {
        let cause = format!("`one_of` takes texts of at most {LONGEST} bytes");
        return finding(words.at, cause, "write one_of = [\"new\", \"paid\"]");
    }
    let equal = vec![1; words.len()];
    let weights = match weights {
        Some(weights) if weights.len() != words.len() => {
            let cause = "`weights` takes a number for each text";
            return finding(weights.at, cause, "write weights = [3, 1]");
        }
        Some(weights) => &weights.value,
        None => &equal,
    };
    let mut sum = 0;
    let words = words.iter().zip(weights).map(|(word, weight)| {
        sum += weight;
        (word.clone(), sum)
    });
    Ok(Generator::OneOf(words.collect()))
}
