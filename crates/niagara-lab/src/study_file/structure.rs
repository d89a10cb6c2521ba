//! Does the file have the keys of a study, with values of the right kind? Needs nothing but the text.

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::mistake::Mistakes;
use super::shape::{FILE, Group, Shape, WEIGHT};
use crate::asking::quantity;
use niagara_server::did_you_mean;

/// Notes every key that is not known or missing and every value of the wrong kind.
pub(crate) fn check(text: &str, mistakes: &mut Mistakes<'_>) {
    match DeTable::parse(text) {
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            mistakes.add(at, error.message().trim_end(), "correct the TOML here");
        }
        Ok(table) => check_table(table.get_ref(), 0, &FILE, mistakes),
    }
}

fn check_table(table: &DeTable<'_>, at: usize, group: &Group, mistakes: &mut Mistakes<'_>) {
    for (key, value) in table {
        let name: &str = key.get_ref();
        match group.key(name) {
            Some(known) => check_value(name, value, known.shape, mistakes),
            None => {
                let names = group.names();
                mistakes.add(
                    key.span().start,
                    format!("unknown key `{name}` in {}", group.name),
                    format!(
                        "{}keys: {}",
                        did_you_mean(name, names.iter().copied()),
                        names.join(", ")
                    ),
                );
            }
        }
    }
    for key in group.keys.iter().filter(|key| key.required) {
        if table.get(key.name).is_none() {
            mistakes.add(
                at,
                format!("`{}` is missing in {}", key.name, group.name),
                format!("add {}: {}", key.name, key.help),
            );
        }
    }
}

fn check_value(
    name: &str,
    value: &Spanned<DeValue<'_>>,
    shape: Shape,
    mistakes: &mut Mistakes<'_>,
) {
    let at = value.span().start;
    let inner = value.get_ref();
    match shape {
        Shape::Table(group) => match inner {
            DeValue::Table(table) => check_table(table, at, group, mistakes),
            _ => mistakes.add(
                at,
                format!("`{name}` is not a table"),
                format!("write [{name}] on a line of its own, then its keys"),
            ),
        },
        Shape::Tables(group) => match inner {
            DeValue::Array(items) => {
                if items.is_empty() {
                    mistakes.add(at, format!("`{name}` is empty"), "write at least one");
                }
                for item in items {
                    match item.get_ref() {
                        DeValue::Table(table) => {
                            check_table(table, item.span().start, group, mistakes);
                        }
                        _ => mistakes.add(
                            item.span().start,
                            format!("an entry of `{name}` is not a table"),
                            format!("write [[{name}]] before each, or {{ name = … }} in a list"),
                        ),
                    }
                }
            }
            _ => mistakes.add(
                at,
                format!("`{name}` is not a list of tables"),
                format!("write [[{name}]] before each"),
            ),
        },
        Shape::Named(group) => match inner {
            DeValue::Table(table) => {
                for (own, value) in table {
                    match value.get_ref() {
                        DeValue::Table(table) => {
                            check_table(table, value.span().start, group, mistakes);
                        }
                        _ => mistakes.add(
                            value.span().start,
                            format!("`{}` of {name} is not a table", own.get_ref()),
                            format!("write [{name}.{}], then its keys", own.get_ref()),
                        ),
                    }
                }
            }
            _ => mistakes.add(
                at,
                format!("`{name}` is not a table"),
                format!("write [{name}.NAME], then its keys"),
            ),
        },
        Shape::Map => match inner {
            DeValue::Table(table) => {
                for (_, value) in table {
                    if let Err((cause, remedy)) = plain(value.get_ref(), Shape::Scalar) {
                        mistakes.add(value.span().start, cause, remedy);
                    }
                }
            }
            _ => mistakes.add(
                at,
                format!("`{name}` is not a table"),
                format!("write as in {name} = {{ key = value }}"),
            ),
        },
        Shape::Words | Shape::Weights => match (inner, shape) {
            (DeValue::Array(items), _) => check_texts(items, mistakes),
            (DeValue::Table(weights), Shape::Weights) => {
                for (_, weight) in weights {
                    if let Err((cause, remedy)) = plain(weight.get_ref(), WEIGHT) {
                        mistakes.add(weight.span().start, cause, remedy);
                    }
                }
            }
            _ => {
                if let Err((cause, _)) = plain(inner, Shape::Text) {
                    let remedy = "write a text, or a list of texts";
                    mistakes.add(at, format!("{name}: {cause}"), remedy);
                }
            }
        },
        Shape::TextOr(group) => match inner {
            DeValue::Table(table) => check_table(table, at, group, mistakes),
            _ => {
                if let Err((cause, _)) = plain(inner, Shape::Text) {
                    let remedy = format!("write a text, or a table: {}", group.names().join(", "));
                    mistakes.add(at, format!("{name}: {cause}"), remedy);
                }
            }
        },
        Shape::Texts => match inner {
            DeValue::Array(items) => check_texts(items, mistakes),
            _ => mistakes.add(
                at,
                format!("`{name}` is not a list"),
                format!("write as in {name} = [\"…\"]"),
            ),
        },
        plain_shape => {
            if let Err((cause, remedy)) = plain(inner, plain_shape) {
                mistakes.add(at, format!("{name}: {cause}"), remedy);
            }
        }
    }
}

fn check_texts(items: &DeArray<'_>, mistakes: &mut Mistakes<'_>) {
    for item in items {
        if let Err((cause, remedy)) = plain(item.get_ref(), Shape::Text) {
            mistakes.add(item.span().start, cause, remedy);
        }
    }
}

/// A value that is no table and no list, apart from a list of thread counts.
fn plain(value: &DeValue<'_>, shape: Shape) -> Result<(), (String, String)> {
    let wrong = |cause: &str, remedy: &str| -> Result<(), (String, String)> {
        Err((cause.into(), remedy.into()))
    };
    match (shape, value) {
        (Shape::Text, DeValue::String(text)) if text.trim().is_empty() => {
            wrong("the text is empty", "write something, or leave the key out")
        }
        (Shape::Text, DeValue::String(_)) | (Shape::YesNo, DeValue::Boolean(_)) => Ok(()),
        (Shape::Text, _) => wrong("a text was expected here", "write it in quotes"),
        (Shape::YesNo, _) => wrong(
            "true or false was expected here",
            "write true or false, without quotes",
        ),
        (Shape::Word(words), DeValue::String(text)) => {
            if words.contains(&text.as_ref()) {
                return Ok(());
            }
            Err((
                format!("`{text}` is none of the words known here"),
                format!(
                    "{}known: {}",
                    did_you_mean(text, words.iter().copied()),
                    words.join(", ")
                ),
            ))
        }
        (Shape::Word(words), _) => Err((
            "a word was expected here".into(),
            format!("write one of these in quotes: {}", words.join(", ")),
        )),
        (Shape::Whole(least, most), _) => {
            let number = match value {
                DeValue::Integer(number) => number.to_string().parse::<u64>().ok(),
                _ => None,
            };
            match number {
                Some(number) if (least..=most).contains(&number) => Ok(()),
                _ => Err((
                    "a whole number within bounds was expected here".into(),
                    format!("write a number from {least} to {most}, without quotes"),
                )),
            }
        }
        (Shape::Share, _) => scalar(value)
            .and_then(|text| quantity::share(&text).ok())
            .map(drop)
            .ok_or_else(|| {
                (
                    "a share was expected here".into(),
                    "write as in \"0.5%\" or 0.005".into(),
                )
            }),
        (Shape::Probability, _) => scalar(value)
            .and_then(|text| text.parse::<f64>().ok())
            .filter(|number| (0.0001..=0.5).contains(number))
            .map(drop)
            .ok_or_else(|| {
                (
                    "a probability was expected here".into(),
                    "write a number from 0.0001 to 0.5, such as 0.05".into(),
                )
            }),
        (Shape::Duration, _) => scalar(value)
            .and_then(|text| quantity::duration(&text).ok())
            .map(drop)
            .ok_or_else(|| {
                (
                    "a duration was expected here".into(),
                    "write as in \"500ms\", \"90s\", \"10m\" or \"1h30m\"".into(),
                )
            }),
        (Shape::Threads, _) => thread_counts(value).map(drop).map_err(|expected| {
            (
                "thread counts were expected here".into(),
                expected.replace("expected", "write").to_owned(),
            )
        }),
        (Shape::Scalar, _) => scalar(value).map(drop).ok_or_else(|| {
            (
                "a value was expected here".into(),
                "write a text, a number, true or false".into(),
            )
        }),
        // Tables and lists are handled above.
        _ => Ok(()),
    }
}

fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        DeValue::Boolean(yes) => Some(if *yes { "ON" } else { "OFF" }.to_owned()),
        _ => None,
    }
}

fn thread_counts(value: &DeValue<'_>) -> Result<Vec<u32>, String> {
    match value {
        DeValue::Array(items) => {
            let words: Option<Vec<String>> =
                items.iter().map(|item| scalar(item.get_ref())).collect();
            quantity::threads(&words.unwrap_or_default().join(","))
        }
        other => quantity::threads(&scalar(other).unwrap_or_default()),
    }
}
