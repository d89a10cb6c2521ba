//! Ids that no two connections of a load draw twice, spread over all of INTEGER.

/// One connection's ids. Connection i of n takes numbers i, i + n, i + 2n … of one sequence, so that connections
/// share nothing while they run. The sequence has 2^32 numbers before it begins again.
#[derive(Debug)]
pub(crate) struct UniqueIds {
    next: u32,
    step: u32,
}

impl UniqueIds {
    /// For connection `number` (from 0) of `connections`; `seed` says where the sequence starts.
    pub(crate) fn new(seed: u64, number: u32, connections: u32) -> Self {
        // Seeds that differ little start far apart.
        let start = scatter(seed as u32 ^ scatter((seed >> 32) as u32));
        UniqueIds {
            next: start.wrapping_add(number),
            step: connections.max(1),
        }
    }

    pub(crate) fn draw(&mut self) -> i32 {
        let id = scatter(self.next);
        self.next = self.next.wrapping_add(self.step);
        // every one of the 2^32 values once, negative ones among them
        id as i32
    }
}

/// A permutation of the 32-bit numbers that looks random: the last step of the hash MurmurHash3 (A. Appleby,
/// public domain). Multiplication by an odd number and `x ^ x >> n` can both be undone, so nothing comes twice.
fn scatter(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x85eb_ca6b);
    x ^= x >> 13;
    x = x.wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_permutation_is_a_bijection() {
        let mut seen = HashSet::new();
        let mut halves = [0; 16];
        for number in 0..7 {
            let mut ids = UniqueIds::new(3, number, 7);
            for _ in 0..10_000 {
                let id = ids.draw();
                assert!(seen.insert(id), "{id} came twice");
                halves[((i64::from(id) - i64::from(i32::MIN)) >> 28) as usize] += 1;
            }
        }
        for count in halves {
            assert!((4000..4750).contains(&count), "{halves:?}");
        }
        let (mut a, mut b) = (UniqueIds::new(1, 0, 1), UniqueIds::new(2, 0, 1));
        let first: HashSet<_> = (0..10_000).map(|_| a.draw()).collect();
        assert!((0..10_000).all(|_| !first.contains(&b.draw())));
    }
}
