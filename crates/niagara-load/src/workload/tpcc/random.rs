//! What the specification draws: non-uniform numbers, names, strings (clauses 2.1.6 and 4.3.2).

use crate::workload::draw::{Rng, letters};
use rand::RngExt;

/// The constant C of the last names when the tables are loaded.
const LOAD_C: i32 = 100;
/// Differences between the constants of load and run: from 65 to 119, and neither 96 nor 112 (clause 2.1.6.1).
const DELTAS: std::ops::RangeInclusive<i32> = 65..=119;
const EXCLUDED: [i32; 2] = [96, 112];

/// The constants C of NURand. All connections of a run share them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Constants {
    last_name: i32,
    customer: i32,
    item: i32,
}

impl Constants {
    /// Those of the load.
    pub(crate) fn load() -> Self {
        Constants {
            last_name: LOAD_C,
            customer: 0,
            item: 0,
        }
    }

    /// Those of a run, drawn.
    pub(crate) fn run(rng: &mut Rng) -> Self {
        let delta = loop {
            let delta = rng.random_range(DELTAS);
            if !EXCLUDED.contains(&delta) {
                break delta;
            }
        };
        Constants {
            last_name: LOAD_C + delta,
            customer: rng.random_range(0..=1023),
            item: rng.random_range(0..=8191),
        }
    }

    /// The number of a last name, 0 to 999.
    pub(crate) fn last_name(&self, rng: &mut Rng) -> i32 {
        nurand(rng, 255, self.last_name, 0, 999)
    }

    /// A customer of a district, 1 to 3000.
    pub(crate) fn customer(&self, rng: &mut Rng) -> i32 {
        nurand(rng, 1023, self.customer, 1, super::CUSTOMERS)
    }

    /// An item, 1 to 100 000.
    pub(crate) fn item(&self, rng: &mut Rng) -> i32 {
        nurand(rng, 8191, self.item, 1, super::ITEMS)
    }
}

/// NURand(A, x, y) = (((random(0, A) | random(x, y)) + C) % (y − x + 1)) + x (clause 2.1.6).
fn nurand(rng: &mut Rng, a: i32, c: i32, x: i32, y: i32) -> i32 {
    (((rng.random_range(0..=a) | rng.random_range(x..=y)) + c) % (y - x + 1)) + x
}

const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];

/// Bytes of the longest last name.
pub(super) const MAX_NAME: usize = 15;

/// The last name of `number` (0 to 999): a syllable for each of its digits (clause 4.3.2.3). Its bytes and how many.
pub(super) fn last_name(number: i32) -> ([u8; MAX_NAME], usize) {
    let mut name = [0; MAX_NAME];
    let mut length = 0;
    for digit in [number / 100, number / 10 % 10, number % 10] {
        let syllable = SYLLABLES[digit.clamp(0, 9) as usize].as_bytes();
        name[length..length + syllable.len()].copy_from_slice(syllable);
        length += syllable.len();
    }
    (name, length)
}

/// Appends `count` digits: an n-string.
pub(super) fn digits(out: &mut Vec<u8>, rng: &mut Rng, count: usize) {
    for _ in 0..count {
        out.push(b'0' + rng.random_range(0..10u8));
    }
}

/// Appends a text of 26 to 50 letters that in one case of ten has `ORIGINAL` somewhere (clause 4.3.3.1).
pub(super) fn data(out: &mut Vec<u8>, rng: &mut Rng) {
    const MARK: &[u8] = b"ORIGINAL";
    let start = out.len();
    letters(out, rng, 26, 50);
    if rng.random_range(0..10) == 0 {
        let at = start + rng.random_range(0..=out.len() - start - MARK.len());
        out[at..at + MARK.len()].copy_from_slice(MARK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn name(number: i32) -> String {
        let (name, length) = last_name(number);
        String::from_utf8(name[..length].to_vec()).unwrap()
    }

    #[test]
    fn last_names_as_the_specification_has_them() {
        assert_eq!(name(371), "PRICALLYOUGHT");
        assert_eq!(name(40), "BARPRESBAR");
        assert_eq!(name(999), "EINGEINGEING");
        let longest = (0..1000).map(|number| name(number).len()).max();
        assert_eq!(longest, Some(MAX_NAME));
    }

    #[test]
    fn constants_keep_their_distance() {
        for seed in 0..1000 {
            let run = Constants::run(&mut Rng::seed_from_u64(seed));
            let delta = (run.last_name - Constants::load().last_name).abs();
            assert!(DELTAS.contains(&delta) && !EXCLUDED.contains(&delta));
            assert!((0..=255).contains(&run.last_name));
        }
    }

    /// The exact probabilities by counting all pairs, against a million draws.
    #[test]
    fn nurand_has_its_distribution() {
        let (a, c, x, y) = (255, 123, 0, 999);
        let mut expected = vec![0.0; 1000];
        for one in 0..=a {
            for other in x..=y {
                expected[((((one | other) + c) % (y - x + 1)) + x) as usize] +=
                    1.0 / f64::from((a + 1) * (y - x + 1));
            }
        }
        let draws = 1_000_000;
        let mut counts = vec![0u32; 1000];
        let mut rng = Rng::seed_from_u64(7);
        for _ in 0..draws {
            counts[nurand(&mut rng, a, c, x, y) as usize] += 1;
        }
        let cells = expected.iter().filter(|share| **share > 0.0).count();
        let statistic: f64 = counts
            .iter()
            .zip(&expected)
            .filter(|(_, share)| **share > 0.0)
            .map(|(count, share)| {
                let expected = share * f64::from(draws);
                (f64::from(*count) - expected).powi(2) / expected
            })
            .sum();
        let freedom = (cells - 1) as f64;
        let excess = (statistic - freedom) / (2.0 * freedom).sqrt();
        assert!(
            excess.abs() < 4.0,
            "{statistic} with {freedom} degrees of freedom"
        );
        // Uniform it is not.
        let uniform: f64 = counts
            .iter()
            .map(|count| (f64::from(*count) - 1000.0).powi(2) / 1000.0)
            .sum();
        assert!(uniform > 10_000.0, "{uniform}");
    }

    #[test]
    fn strings_have_their_lengths() {
        let mut rng = Rng::seed_from_u64(1);
        let mut originals = 0;
        for _ in 0..10_000 {
            let mut text = Vec::new();
            data(&mut text, &mut rng);
            assert!((26..=50).contains(&text.len()));
            originals += u32::from(text.windows(8).any(|part| part == b"ORIGINAL"));
            text.clear();
            letters(&mut text, &mut rng, 8, 16);
            assert!((8..=16).contains(&text.len()));
            assert!(text.iter().all(u8::is_ascii_alphanumeric));
        }
        assert!((850..1150).contains(&originals), "{originals}");
    }
}
