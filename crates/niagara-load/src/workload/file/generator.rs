//! Values that are drawn.

use crate::workload::draw::{Distribution, Rng, Sampler, UniqueIds, decimal, letters};
use rand::RngExt;

/// How a value is drawn, as the file says it.
#[derive(Debug, Clone)]
pub(crate) enum Generator {
    /// A whole number, both ends included.
    Int(u32, u32, Distribution),
    /// A number with two digits after the point, in hundredths, both ends included.
    Decimal(i64, i64),
    /// Letters and digits, between these two lengths.
    Text(usize, usize),
    /// A text with digits in place of every `#`.
    Pattern(String),
    /// One of these, and the sums of their weights so far.
    OneOf(Vec<(String, u32)>),
    /// A number that no connection of the run draws twice.
    Unique,
}

impl Generator {
    /// Whether its values are whole numbers and go as such.
    pub(crate) fn is_int(&self) -> bool {
        matches!(self, Generator::Int(..) | Generator::Unique)
    }

    /// The most bytes that a value of it has as text.
    pub(crate) fn longest(&self) -> usize {
        match self {
            Generator::Int(..) | Generator::Unique => 11,
            Generator::Decimal(..) => 24,
            Generator::Text(_, most) => *most,
            Generator::Pattern(pattern) => pattern.len(),
            Generator::OneOf(words) => words.iter().map(|(word, _)| word.len()).max().unwrap_or(0),
        }
    }
}

/// A generator at work.
#[derive(Debug)]
pub(super) struct Drawer {
    generator: Generator,
    sampler: Option<Sampler>,
    unique: Option<UniqueIds>,
}

/// What was drawn; a text is in the buffer it was drawn into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawn {
    Int(i32),
    Text,
}

impl Drawer {
    /// For connection `number` (from 0) of `connections`.
    pub(super) fn new(generator: &Generator, seed: u64, number: u32, connections: u32) -> Self {
        Drawer {
            sampler: match *generator {
                Generator::Int(first, last, distribution) => {
                    Some(Sampler::between(distribution, first, last))
                }
                _ => None,
            },
            unique: matches!(generator, Generator::Unique)
                .then(|| UniqueIds::new(seed, number, connections)),
            generator: generator.clone(),
        }
    }

    /// Draws a value; a text replaces what `text` holds.
    pub(super) fn draw(&mut self, rng: &mut Rng, text: &mut Vec<u8>) -> Drawn {
        if let Some(sampler) = &self.sampler {
            return Drawn::Int(sampler.draw(rng));
        }
        if let Some(unique) = &mut self.unique {
            return Drawn::Int(unique.draw());
        }
        text.clear();
        match &self.generator {
            Generator::Decimal(first, last) => {
                let value = rng.random_range(*first..=*last);
                text.extend_from_slice(decimal(value, &mut [0; 24]));
            }
            Generator::Text(fewest, most) => letters(text, rng, *fewest, *most),
            Generator::Pattern(pattern) => {
                text.extend(pattern.bytes().map(|byte| match byte {
                    b'#' => b'0' + rng.random_range(0..10u8),
                    other => other,
                }));
            }
            Generator::OneOf(words) => {
                let all = words.last().map_or(1, |(_, sum)| *sum);
                let draw = rng.random_range(0..all);
                let word = words.iter().find(|(_, sum)| draw < *sum);
                text.extend_from_slice(word.map_or("", |(word, _)| word).as_bytes());
            }
            // Drawn above.
            Generator::Int(..) | Generator::Unique => {}
        }
        Drawn::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn texts(generator: Generator, count: usize) -> Vec<String> {
        let mut drawer = Drawer::new(&generator, 1, 0, 1);
        let mut rng = Rng::seed_from_u64(5);
        let mut text = Vec::new();
        (0..count)
            .map(|_| {
                match drawer.draw(&mut rng, &mut text) {
                    Drawn::Int(number) => text = number.to_string().into_bytes(),
                    Drawn::Text => {}
                }
                assert!(text.len() <= generator.longest());
                String::from_utf8(text.clone()).unwrap()
            })
            .collect()
    }

    #[test]
    fn values_are_as_they_were_asked_for() {
        for text in texts(Generator::Decimal(-150, 99), 1000) {
            let value: f64 = text.parse().unwrap();
            assert!((-1.5..=0.99).contains(&value), "{text}");
            assert_eq!(text.split('.').nth(1).map(str::len), Some(2));
        }
        for text in texts(Generator::Pattern("A-##".into()), 100) {
            assert!(
                text.starts_with("A-") && text[2..].parse::<u8>().is_ok(),
                "{text}"
            );
        }
        assert!(
            texts(Generator::Text(3, 5), 100)
                .iter()
                .all(|text| (3..=5).contains(&text.len()))
        );
        let numbers = texts(Generator::Int(5, 7, Distribution::Uniform), 1000);
        for number in ["5", "6", "7"] {
            assert!(numbers.iter().any(|one| one == number));
        }
    }

    /// Three to one, by χ² with one degree of freedom at 1 in 10 000.
    #[test]
    fn words_come_by_their_weights() {
        let words = vec![("often".to_owned(), 3), ("rarely".to_owned(), 4)];
        let drawn = texts(Generator::OneOf(words), 10_000);
        let often = drawn.iter().filter(|word| *word == "often").count() as f64;
        let statistic = (often - 7500.0).powi(2) / 7500.0 + (often - 7500.0).powi(2) / 2500.0;
        assert!(statistic < 15.1, "{often} of 10000");
    }
}
