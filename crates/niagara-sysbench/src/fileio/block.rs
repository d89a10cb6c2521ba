//! What stands in a block while contents are checked: random bytes, their CRC-32, the block's place in its file. The layout is
//! sysbench's, so that files that one has made can be checked by the other.

use rand::Rng;

/// Bytes of the checksum and of the place, which come last.
const CHECKSUM: usize = 4;
const PLACE: usize = 8;

/// Fills a block that will stand at `offset` of its file. One that is too short for it stays as it is.
pub fn fill(block: &mut [u8], offset: u64, rng: &mut (impl Rng + ?Sized)) {
    let Some(end) = block.len().checked_sub(CHECKSUM + PLACE) else {
        return;
    };
    rng.fill_bytes(&mut block[..end]);
    let checksum = crc32fast::hash(&block[..end]);
    block[end..end + CHECKSUM].copy_from_slice(&checksum.to_ne_bytes());
    block[end + CHECKSUM..].copy_from_slice(&offset.to_ne_bytes());
}

/// Checks a block that was read from `offset` of its file.
///
/// # Errors
/// What is wrong with it.
pub fn check(block: &[u8], offset: u64) -> Result<(), String> {
    let Some(end) = block.len().checked_sub(CHECKSUM + PLACE) else {
        return Ok(());
    };
    let (contents, rest) = block.split_at(end);
    let (checksum, place) = rest.split_at(CHECKSUM);
    let stored = checksum.try_into().map_or(0, u32::from_ne_bytes);
    let calculated = crc32fast::hash(contents);
    if stored != calculated {
        return Err(format!(
            "Checksum mismatch in block with offset: {offset}\n    Calculated value: 0x{calculated:x}    Stored value: \
             0x{stored:x}"
        ));
    }
    let stored = place.try_into().map_or(0, u64::from_ne_bytes);
    if stored != offset {
        return Err(format!(
            "Offset mismatch in block:\n   Actual offset: {offset}    Stored offset: {stored}"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    #[test]
    fn a_block_is_known_again() {
        let mut rng = SmallRng::seed_from_u64(1);
        let mut block = vec![0; 4096];
        fill(&mut block, 8192, &mut rng);
        check(&block, 8192).unwrap();
        assert!(
            check(&block, 4096)
                .unwrap_err()
                .starts_with("Offset mismatch")
        );
        block[17] ^= 1;
        assert!(
            check(&block, 8192)
                .unwrap_err()
                .starts_with("Checksum mismatch")
        );
        let mut short = [7; 5];
        fill(&mut short, 0, &mut rng);
        check(&short, 0).unwrap();
    }
}
