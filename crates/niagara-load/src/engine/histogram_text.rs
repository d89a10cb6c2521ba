//! A histogram as text: HdrHistogram's V2 format, base64. For `#[serde(with = "…")]`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, de, ser};

/// Writes every count, and the bounds and digits that the histogram was made with.
pub(crate) fn serialize<S: ser::Serializer>(
    histogram: &Histogram<u64>,
    to: S,
) -> Result<S::Ok, S::Error> {
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(ser::Error::custom)?;
    to.serialize_str(&STANDARD.encode(bytes))
}

/// Reads what [`serialize`] wrote.
pub(crate) fn deserialize<'de, D: de::Deserializer<'de>>(
    from: D,
) -> Result<Histogram<u64>, D::Error> {
    let text = String::deserialize(from)?;
    let bytes = STANDARD.decode(text).map_err(de::Error::custom)?;
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use crate::engine::histogram::fine_histogram;
    use crate::engine::stats::TypeStats;

    #[test]
    fn a_histogram_comes_back_with_its_counts_bounds_and_digits() {
        let mut latency = fine_histogram();
        latency.record_n(1_234_567, 90).unwrap();
        latency.record_n(2_000_000_000, 10).unwrap();
        let sent = TypeStats {
            name: "new_order".into(),
            latency,
        };
        let text = serde_json::to_string(&sent).unwrap();
        let mut back: TypeStats = serde_json::from_str(&text).unwrap();
        assert_eq!(back.latency, sent.latency);
        assert_eq!(back.latency.high(), sent.latency.high());
        assert_eq!(back.latency.sigfig(), sent.latency.sigfig());
        back.latency.add(fine_histogram()).unwrap();
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        for latency in ["", "AAAA", "nothing"] {
            let text = format!(r#"{{"name": "x", "latency": "{latency}"}}"#);
            assert!(
                serde_json::from_str::<TypeStats>(&text).is_err(),
                "{latency}"
            );
        }
    }
}
