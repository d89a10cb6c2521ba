//! The random texts of columns c and pad: groups of eleven digits with dashes between.

use crate::workload::draw::Rng;
use rand::Rng as _;

/// Bytes of a value for column c: ten groups.
pub(super) const C_LENGTH: u8 = 119;
/// Bytes of a value for column pad: five groups.
pub(super) const PAD_LENGTH: u8 = 59;

const GROUP: usize = 11;
const GROUP_VALUES: u128 = 100_000_000_000;

/// Fills `text` with groups of digits; its length must be that of whole groups.
pub(super) fn fill_digits(text: &mut [u8], rng: &mut Rng) {
    for group in text.chunks_mut(GROUP + 1) {
        let (digits, dash) = group.split_at_mut(GROUP.min(group.len()));
        // One draw for eleven digits: the high half of a product is even to 1 in 10^8.
        let mut value = ((u128::from(rng.next_u64()) * GROUP_VALUES) >> 64) as u64;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (value % 10) as u8;
            value /= 10;
        }
        dash.fill(b'-');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn groups_of_digits() {
        let mut rng = Rng::seed_from_u64(1);
        for (length, groups) in [(C_LENGTH, 10), (PAD_LENGTH, 5)] {
            let mut text = vec![0; usize::from(length)];
            fill_digits(&mut text, &mut rng);
            let text = String::from_utf8(text).unwrap();
            let parts: Vec<_> = text.split('-').collect();
            assert_eq!(parts.len(), groups);
            for part in parts {
                assert_eq!(part.len(), 11);
                assert!(part.bytes().all(|byte| byte.is_ascii_digit()), "{part}");
            }
        }
    }

    #[test]
    fn every_digit_is_even_at_every_place() {
        let mut rng = Rng::seed_from_u64(2);
        let mut counts = [[0u32; 10]; GROUP];
        let mut text = [0; GROUP];
        for _ in 0..100_000 {
            fill_digits(&mut text, &mut rng);
            for (place, digit) in text.iter().enumerate() {
                counts[place][usize::from(digit - b'0')] += 1;
            }
        }
        for place in counts {
            for count in place {
                assert!((9_500..10_500).contains(&count), "{count}");
            }
        }
    }
}
