//! Latency histograms as they are kept: HdrHistogram V2, deflated, base64, in microseconds.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

/// Significant digits kept: percentiles good to 1 % in a hundredth of the space of the recorder's three.
const DIGITS: u8 = 2;

/// `nanoseconds`, in microseconds, as text.
pub(crate) fn encode(nanoseconds: &Histogram<u64>) -> Result<String> {
    let mut microseconds = Histogram::<u64>::new(DIGITS).context("making a histogram")?;
    for step in nanoseconds.iter_recorded() {
        microseconds
            .record_n(step.value_iterated_to() / 1000, step.count_at_value())
            .context("converting a histogram")?;
    }
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(&microseconds, &mut bytes)
        .map_err(|error| anyhow::anyhow!("writing a histogram: {error}"))?;
    Ok(STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;

    #[test]
    fn a_histogram_survives_in_microseconds() -> Result<()> {
        let mut recorded = Histogram::<u64>::new_with_bounds(100, 3_600_000_000_000, 3)?;
        recorded.record_n(1_500_000, 90)?;
        recorded.record_n(20_000_000, 10)?;
        let bytes = STANDARD.decode(encode(&recorded)?)?;
        let back: Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| anyhow::anyhow!("{error}"))?;
        assert_eq!(back.len(), 100);
        assert!(back.equivalent(back.value_at_quantile(0.5), 1_500));
        assert!(back.equivalent(back.value_at_quantile(0.99), 20_000));
        Ok(())
    }
}
