//! How a value is drawn, as a workload's file says it.

use super::generator::Generator;
use super::numbers::{Numbers, number};
use super::toml_table::{Item, Read, Table, mistake};
use crate::workload::draw::Distribution;

/// Greatest whole number that is drawn: parameters are 32-bit integers with a sign.
const GREATEST: u64 = i32::MAX as u64;
/// A parameter's length is written into one byte.
const LONGEST: usize = 250;

/// Ways to draw, and what else may stand beside each.
const WAYS: [(&str, &str); 6] = [
    ("int", "distribution"),
    ("decimal", ""),
    ("text", ""),
    ("pattern", ""),
    ("one_of", "weights"),
    ("unique", ""),
];

/// The ways, as a file writes them.
pub(super) const GENERATORS: &str = "{ int = [FROM, TO] }, { decimal = [FROM, TO] }, { text = [FEWEST, MOST] }, \
                              { pattern = \"##-##\" }, { one_of = [\"a\", \"b\"] }, { unique = true }";

/// A generator, for a value of a transaction (`in_load`) or a column of a table.
pub(super) fn generator(item: Item<'_>, numbers: &Numbers, in_load: bool) -> Read<Generator> {
    let wrong = |cause: String| mistake(item.at, cause, format!("write one of: {GENERATORS}"));
    if !item.is_table() {
        return wrong("how the value is drawn was expected here".into());
    }
    let keys = WAYS.map(|(way, extra)| [way, extra]).concat();
    let table = item.table("how a value is drawn", &keys)?;
    let found: Vec<(&str, &str, Item<'_>)> = WAYS
        .into_iter()
        .filter_map(|(way, extra)| Some((way, extra, table.get(way)?)))
        .collect();
    let [(way, extra, body)] = found.as_slice() else {
        return wrong(match found.as_slice() {
            [] => "it does not say how the value is drawn".into(),
            several => {
                let names: Vec<&str> = several.iter().map(|(way, ..)| *way).collect();
                format!("{} at once", names.join(" and "))
            }
        });
    };
    let foreign = WAYS.iter().map(|(_, other)| *other);
    let mut foreign = foreign.filter(|other| !other.is_empty() && other != extra);
    if let Some(other) = foreign.find(|other| table.get(other).is_some()) {
        return wrong(format!("`{other}` means nothing beside `{way}`"));
    }
    match *way {
        "int" => int(table, *body, numbers),
        "decimal" => decimal(*body),
        "text" => {
            let most = if in_load { LONGEST as u64 } else { 65_535 };
            let (fewest, most) = pair(*body, numbers, most)?;
            Ok(Generator::Text(fewest as usize, most as usize))
        }
        "pattern" => match body.as_text() {
            Some(pattern) if pattern.len() <= LONGEST => Ok(Generator::Pattern(pattern.into())),
            _ => mistake(
                body.at,
                format!("`pattern` takes a text of at most {LONGEST} bytes"),
                "write pattern = \"###-##\": every # becomes a digit",
            ),
        },
        "one_of" => one_of(*body, table.get("weights")),
        _ => match (body.yes_or_no()?, in_load) {
            (true, true) => Ok(Generator::Unique),
            _ => mistake(
                body.at,
                "`unique` is for values of transactions",
                "in a table, write \"row\" for the number of the row",
            ),
        },
    }
}

/// Two numbers of which the second is not less.
fn pair(body: Item<'_>, numbers: &Numbers, most: u64) -> Read<(u64, u64)> {
    let example = format!("write {} = [1, 10]", body.name);
    let ends = body.list(&example)?;
    let [first, last] = ends.as_slice() else {
        return mistake(
            body.at,
            format!("`{}` takes two numbers", body.name),
            example,
        );
    };
    let ends = (
        number(*first, numbers, most)?,
        number(*last, numbers, most)?,
    );
    if ends.0 > ends.1 {
        return mistake(
            body.at,
            format!(
                "`{}` ends at {} before it begins at {}",
                body.name, ends.1, ends.0
            ),
            "write the lesser number first",
        );
    }
    Ok(ends)
}

fn int(table: Table<'_>, body: Item<'_>, numbers: &Numbers) -> Read<Generator> {
    let (first, last) = pair(body, numbers, GREATEST)?;
    let mut distribution = Distribution::Uniform;
    if let Some(how) = table.get("distribution") {
        let remedy = format!("write one of: {}", Distribution::NAMES.join(", "));
        distribution = how.parse(&remedy)?;
        if let Err(cause) = distribution.validate() {
            return mistake(how.at, cause, "change the parameter");
        }
    }
    Ok(Generator::Int(first as u32, last as u32, distribution))
}

fn decimal(body: Item<'_>) -> Read<Generator> {
    let hundredths = |end: &Item<'_>| match (end.as_whole(), end.as_real()) {
        (Some(number), _) => number.checked_mul(100),
        (_, Some(number)) if number.abs() < 1e15 => Some((number * 100.0).round() as i64),
        _ => None,
    };
    let example = "write decimal = [0.01, 99.99]";
    let ends = body.list(example)?;
    let ends = match ends.as_slice() {
        [first, last] => hundredths(first).zip(hundredths(last)),
        _ => None,
    };
    match ends {
        Some((first, last)) if first <= last => Ok(Generator::Decimal(first, last)),
        _ => mistake(
            body.at,
            "`decimal` takes two numbers, the lesser first",
            example,
        ),
    }
}

fn one_of(words: Item<'_>, weights: Option<Item<'_>>) -> Read<Generator> {
    let example = "write one_of = [\"new\", \"paid\"]";
    let items = words.list(example)?;
    let texts: Option<Vec<&str>> = items.iter().map(Item::as_text).collect();
    let Some(texts) =
        texts.filter(|texts| !texts.is_empty() && texts.iter().all(|text| text.len() <= LONGEST))
    else {
        return mistake(words.at, "`one_of` takes texts", example);
    };
    let weights: Vec<u64> = match weights {
        None => vec![1; texts.len()],
        Some(weights) => {
            let example = "write weights = [3, 1]";
            let items = weights.list(example)?;
            if items.len() != texts.len() {
                return mistake(
                    weights.at,
                    "`weights` takes a number for each text",
                    example,
                );
            }
            let weights = items.iter().map(|weight| weight.whole(1..=1_000_000));
            weights.collect::<Read<_>>()?
        }
    };
    let mut sum = 0;
    let words = texts.iter().zip(weights).map(|(text, weight)| {
        sum += weight as u32;
        ((*text).to_owned(), sum)
    });
    Ok(Generator::OneOf(words.collect()))
}
