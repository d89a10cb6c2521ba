//! Seeds for the parts of a study, all from the study's one seed.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The seed of part `index` of the stream `purpose`; distinct parts get unrelated seeds.
pub fn derive_seed(study: u64, purpose: &str, index: u64) -> u64 {
    // FNV-1a (Fowler, Noll, Vo) gives every purpose its own ChaCha stream.
    let stream = purpose
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    let mut rng = ChaCha8Rng::seed_from_u64(study);
    rng.set_stream(stream);
    rng.set_word_pos(u128::from(index) * 2);
    // Databases and JSON readers hold 53 or 63 bits without loss.
    rng.next_u64() >> 16
}

#[cfg(test)]
mod tests {
    use super::derive_seed;

    #[test]
    fn parts_of_a_study_get_seeds_of_their_own() {
        let mut seeds: Vec<u64> = (0..100)
            .flat_map(|i| {
                [
                    derive_seed(7, "screen", i),
                    derive_seed(7, "total", i),
                    derive_seed(8, "total", i),
                ]
            })
            .collect();
        assert_eq!(derive_seed(7, "screen", 3), derive_seed(7, "screen", 3));
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 300);
    }
}
