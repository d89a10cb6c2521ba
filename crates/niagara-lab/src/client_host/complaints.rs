//! What a remote shell says on its standard error: the reason, when something goes wrong.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The last lines are kept, the beginning of each.
const MAX_LINES: usize = 12;
const MAX_LINE: usize = 300;
/// How long the end of a shell that ends may take to come.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The end of a stream of complaints, read as it comes.
pub(super) struct Complaints {
    lines: Arc<Mutex<VecDeque<String>>>,
    reader: JoinHandle<()>,
}

impl Complaints {
    pub(super) fn of(stderr: impl Read + Send + 'static) -> Self {
        let lines = Arc::<Mutex<VecDeque<String>>>::default();
        let into = Arc::clone(&lines);
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
                let text = String::from_utf8_lossy(&line);
                let short = text.trim_end().chars().take(MAX_LINE).collect();
                let mut lines = into.lock().unwrap_or_else(PoisonError::into_inner);
                if lines.len() == MAX_LINES {
                    lines.pop_front();
                }
                lines.push_back(short);
            }
        });
        Self { lines, reader }
    }

    /// What was said so far; of a shell that ends, to its end.
    pub(super) fn text(&self) -> String {
        let deadline = Instant::now() + TIMEOUT;
        while !self.reader.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        lines.join("\n").trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept() {
        let said: String = (0..100).map(|line| format!("line {line}\n")).collect();
        let text = Complaints::of(std::io::Cursor::new(said)).text();
        assert_eq!(text.lines().count(), MAX_LINES);
        assert!(text.ends_with("line 99"), "{text}");
    }
}
