//! How the ends of an interval are written.

/// In units of the last decimal: `1.43` is a little less than that in binary and still stays 1.43.
const REPRESENTATION: f64 = 1e-6;

/// An interval's ends with so many decimals, the lower one rounded down and the upper one up: what is written covers at
/// least what was found, and never promises more. Infinite ends stay so.
pub fn outwards([low, high]: [f64; 2], decimals: usize) -> [f64; 2] {
    let scale = 10f64.powi(decimals as i32);
    let ends = [
        (low * scale + REPRESENTATION).floor(),
        (high * scale - REPRESENTATION).ceil(),
    ];
    // No end is -0.
    ends.map(|end| end / scale + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_rounded_away_from_each_other() {
        assert_eq!(outwards([1.4257, 1.4861], 2), [1.42, 1.49]);
        assert_eq!(outwards([-0.0312, 0.0051], 2), [-0.04, 0.01]);
        assert_eq!(outwards([0.0, f64::INFINITY], 3), [0.0, f64::INFINITY]);
        assert!(outwards([0.0; 2], 3)[1].is_sign_positive());
    }

    #[test]
    fn what_has_no_more_decimals_stays() {
        for hundredths in -300..300 {
            let end = f64::from(hundredths) / 100.0;
            assert_eq!(outwards([end, end], 2), [end, end]);
        }
    }
}
