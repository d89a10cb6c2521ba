//! Values as texts.

use super::rng::Rng;
use rand::Rng as _;
use rand::RngExt;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789AZ";

/// Appends letters and digits, at least `fewest` and at most `most` of them: an a-string (clause 4.3.2.2).
pub(crate) fn letters(out: &mut Vec<u8>, rng: &mut Rng, fewest: usize, most: usize) {
    let count = if fewest == most {
        most
    } else {
        rng.random_range(fewest..=most)
    };
    let start = out.len();
    out.resize(start + count, 0);
    // Ten letters of six bits from every draw.
    for chunk in out[start..].chunks_mut(10) {
        let mut bits = rng.next_u64();
        for byte in chunk {
            *byte = LETTERS[(bits & 63) as usize];
            bits >>= 6;
        }
    }
}

/// Hundredths as a decimal number, within the buffer.
pub(crate) fn decimal(value: i64, buffer: &mut [u8; 24]) -> &[u8] {
    let mut at = buffer.len();
    let mut rest = value.unsigned_abs();
    let mut digits = 0;
    while rest > 0 || digits < 3 {
        if digits == 2 {
            at -= 1;
            buffer[at] = b'.';
        }
        at -= 1;
        buffer[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        digits += 1;
    }
    if value < 0 {
        at -= 1;
        buffer[at] = b'-';
    }
    &buffer[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hundredths_as_the_server_reads_them() {
        for (value, text) in [
            (0, "0.00"),
            (7, "0.07"),
            (-7, "-0.07"),
            (123_456, "1234.56"),
            (i64::MAX, "92233720368547758.07"),
        ] {
            assert_eq!(decimal(value, &mut [0; 24]), text.as_bytes());
        }
    }
}
