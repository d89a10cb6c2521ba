//! Statements with placeholders, filled from a seeded source: the same seed, the same statements.

use niagara_load::sql_text;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Fills the placeholders of `text`: `{int 1 9}`, `{word}`, `{maybe 10 date}`… `row` is what `{row}` stands for.
///
/// # Errors
/// A placeholder that is not known, or whose numbers are missing.
pub fn fill(
    text: &str,
    row: usize,
    words: &[&str],
    rng: &mut ChaCha8Rng,
) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        // JSON in a statement has braces too: only a brace before a letter is a placeholder.
        if !after.starts_with(|c: char| c.is_ascii_lowercase()) {
            filled.push('{');
            rest = after;
            continue;
        }
        let end = closing(after).ok_or_else(|| format!("`{{{after}` has no closing brace"))?;
        filled.push_str(&value(&after[..end], row, words, rng)?);
        rest = &after[end + 1..];
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Where the brace closes that was opened before `text`; choices may hold JSON.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    text.char_indices().find_map(|(at, c)| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        (depth == 0).then_some(at)
    })
}

fn value(
    placeholder: &str,
    row: usize,
    words: &[&str],
    rng: &mut ChaCha8Rng,
) -> Result<String, String> {
    let (kind, rest) = placeholder.split_once(' ').unwrap_or((placeholder, ""));
    let bad = || format!("`{{{placeholder}}}` is not a placeholder: see data/checks/README.md");
    let numbers: Option<Vec<i64>> = rest.split(' ').map(|word| word.parse().ok()).collect();
    let range = || match numbers.as_deref() {
        Some([low, high]) if low <= high => Ok(*low..=*high),
        _ => Err(bad()),
    };
    let mut word = || words[rng.random_range(0..words.len())];
    Ok(match kind {
        "row" => row.to_string(),
        "word" => sql_text(word()),
        "words" => {
            let range = range()?;
            let count = rng.random_range(range);
            let picked: Vec<&str> = (0..count)
                .map(|_| words[rng.random_range(0..words.len())])
                .collect();
            sql_text(&picked.join(" "))
        }
        "int" => rng.random_range(range()?).to_string(),
        // Eighths have exact doubles, so that sums do not depend on their order.
        "eighth" => (rng.random_range(range()?) as f64 / 8.0).to_string(),
        "cents" => {
            let cents = rng.random_range(range()?);
            let sign = if cents < 0 { "-" } else { "" };
            let cents = cents.unsigned_abs();
            format!("{sign}{}.{:02}", cents / 100, cents % 100)
        }
        "date" => format!("'{}'", date(rng)),
        "datetime" => format!("'{} {}'", date(rng), time(rng)),
        "micros" => format!(
            "'{} {}.{:06}'",
            date(rng),
            time(rng),
            rng.random_range(0..1_000_000)
        ),
        "time" => format!("'{}.{:03}'", time(rng), rng.random_range(0..1000)),
        "hex" => {
            let Some([length]) = numbers.as_deref() else {
                return Err(bad());
            };
            let bytes: String = (0..*length)
                .map(|_| format!("{:02x}", rng.random_range(0..=255)))
                .collect();
            format!("x'{bytes}'")
        }
        "pick" => {
            let choices: Vec<&str> = rest.split('|').collect();
            choices[rng.random_range(0..choices.len())].to_owned()
        }
        "maybe" => {
            let (percent, inner) = rest.split_once(' ').ok_or_else(bad)?;
            let percent: i64 = percent.parse().map_err(|_| bad())?;
            let null = rng.random_range(0..100) < percent;
            let inner = value(inner, row, words, rng)?;
            if null { "NULL".to_owned() } else { inner }
        }
        _ => return Err(bad()),
    })
}

fn date(rng: &mut ChaCha8Rng) -> String {
    format!(
        "{:04}-{:02}-{:02}",
        rng.random_range(1950..2030),
        rng.random_range(1..=12),
        rng.random_range(1..=28)
    )
}

fn time(rng: &mut ChaCha8Rng) -> String {
    format!(
        "{:02}:{:02}:{:02}",
        rng.random_range(0..24),
        rng.random_range(0..60),
        rng.random_range(0..60)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    const WORDS: &[&str] = &["it's", "straße", "日本"];

    fn filled(text: &str, seed: u64) -> Result<String, String> {
        fill(text, 7, WORDS, &mut ChaCha8Rng::seed_from_u64(seed))
    }

    #[test]
    fn placeholders_are_filled_the_same_for_a_seed() {
        let text = "({row}, {int 1 9}, {cents -500 500}, {eighth 0 80}, {word}, {words 2 2}, {date}, {datetime}, {micros}, {time}, \
                    {hex 3}, {pick 'a'|NULL}, {maybe 50 int 3 3}, {pick '{\"b\": {}}'}, '{\"a\": 1}')";
        assert_eq!(filled(text, 3), filled(text, 3));
        assert_ne!(filled(text, 3), filled(text, 4));
        let one = filled(text, 3).expect("valid");
        assert!(
            one.starts_with("(7, ") && one.ends_with("'{\"b\": {}}', '{\"a\": 1}')"),
            "{one}"
        );
        assert!((0..50).any(|seed| filled("{word}", seed).expect("valid") == "'it''s'"));
        let nulls = (0..100).filter(|s| filled("{maybe 30 int 1 1}", *s).expect("valid") == "NULL");
        assert!((10..60).contains(&nulls.count()));
        for cents in (0..50).map(|s| filled("{cents -3 3}", s).expect("valid")) {
            assert!(cents.trim_start_matches('-').starts_with("0.0"), "{cents}");
        }
    }

    #[test]
    fn unknown_placeholders_are_errors() {
        for text in [
            "{nonsense}",
            "{int 3}",
            "{int 5 1}",
            "{int 1 2",
            "{maybe x}",
            "{hex}",
            "{maybe 10 nonsense}",
        ] {
            assert!(filled(text, 1).is_err(), "{text}");
        }
    }
}
