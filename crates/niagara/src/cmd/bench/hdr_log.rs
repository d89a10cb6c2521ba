//! The latencies of every interval in the HdrHistogram log format, which HistogramLogProcessor and others read.
//! Values are nanoseconds; the column of maxima is in milliseconds, as those tools expect.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow};
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriter, IntervalLogWriterBuilder};
use niagara_load::Histogram;

const NANOSECONDS_PER_MILLISECOND: f64 = 1e6;

/// Where a log goes.
pub struct HdrFile {
    file: File,
    serializer: V2DeflateSerializer,
    name: String,
}

impl HdrFile {
    /// Makes the file, or empties it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(path: &Path) -> Result<HdrFile> {
        Ok(HdrFile {
            file: File::create(path)
                .with_context(|| format!("cannot write the log {}", path.display()))?,
            serializer: V2DeflateSerializer::new(),
            name: path.display().to_string(),
        })
    }

    /// Writes the head of the log; `title` says what was measured.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(&mut self, title: &str) -> Result<HdrLog<'_>> {
        let base = SystemTime::now();
        let writer = IntervalLogWriterBuilder::new()
            .add_comment(title)
            .add_comment("[Histogram log format version 1.3]")
            .with_start_time(base)
            .with_base_time(base)
            .with_max_value_divisor(NANOSECONDS_PER_MILLISECOND)
            .begin_log_with(&mut self.file, &mut self.serializer)
            .with_context(|| format!("cannot write the log {}", self.name))?;
        Ok(HdrLog {
            writer,
            base,
            name: &self.name,
        })
    }
}

/// A log whose head is written.
pub struct HdrLog<'a> {
    writer: IntervalLogWriter<'a, 'a, File, V2DeflateSerializer>,
    base: SystemTime,
    name: &'a str,
}

impl HdrLog<'_> {
    /// A line of text that readers pass over.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn comment(&mut self, text: &str) -> Result<()> {
        self.writer
            .write_comment(text)
            .with_context(|| format!("cannot write the log {}", self.name))
    }

    /// An interval that began at `start` and lasted `seconds`; `latency` is in nanoseconds.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn interval(
        &mut self,
        start: SystemTime,
        seconds: f64,
        latency: &Histogram<u64>,
    ) -> Result<()> {
        // The clock may have been set back since: the log's times only go forward.
        let since = start.duration_since(self.base).unwrap_or_default();
        let length = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        self.writer
            .write_histogram(latency, since, length, None)
            .map_err(|error| anyhow!("cannot write the log {}: {error}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    #[test]
    fn what_is_written_is_read_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("latency.hlog");
        let mut file = HdrFile::create(&path).expect("a file");
        let mut log = file.begin("a test").expect("a head");
        let mut latency =
            Histogram::<u64>::new_with_bounds(100, 3_600_000_000_000, 3).expect("bounds");
        latency.record_n(2_000_000, 99).expect("in bounds");
        latency.record(70_000_000).expect("in bounds");
        log.comment("step 1").expect("a line");
        log.interval(SystemTime::now(), 1.0, &latency)
            .expect("a line");
        log.interval(SystemTime::now(), 0.25, &latency)
            .expect("a line");

        let bytes = std::fs::read(&path).expect("the log");
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("#[StartTime: "), "{text}");
        let mut lengths = Vec::new();
        for entry in IntervalLogIterator::new(&bytes) {
            let Ok(LogEntry::Interval(interval)) = entry else {
                assert!(entry.is_ok(), "{entry:?}");
                continue;
            };
            lengths.push(interval.duration().as_secs_f64());
            assert!((interval.max() - 70.0).abs() < 0.1, "{}", interval.max());
            let raw = base64::engine::general_purpose::STANDARD
                .decode(interval.encoded_histogram())
                .expect("base64");
            let back: Histogram<u64> = Deserializer::new()
                .deserialize(&mut raw.as_slice())
                .expect("a histogram");
            assert_eq!(back, latency);
        }
        assert_eq!(lengths, [1.0, 0.25]);
    }
}
