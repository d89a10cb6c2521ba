//! x
use niagara_capture::sql::*;
use std::time::Instant;
fn main() {
    for text in [
        "SELECT c FROM sbtest1 WHERE id=77123 AND k BETWEEN 10 AND 20".to_owned(),
        "SELECT id, name FROM customers WHERE id IN (1, 2, 3, 4) AND active = 1 ORDER BY name LIMIT 20".to_owned(),
        format!("UPDATE pages SET body = '{}' WHERE id = 7", "Lorem ipsum dolor sit amet, it''s said. ".repeat(12)),
        format!("UPDATE pages SET body = '{}' WHERE id = 7", "the classified answers were certified, passwords shown ".repeat(120)),
    ] {
        let mut cut = Cut::default();
        cut.read(text.as_bytes(), SqlMode::default());
        let concern = Concern::of(&digest_text(cut.for_digest()));
        let mut best = f64::MAX;
        let mut n = 0;
        for _ in 0..300 {
            let t = Instant::now();
            for _ in 0..200 { n += usize::from(std::hint::black_box(concern).holds(std::hint::black_box(text.as_bytes()), b"shop")); }
            best = best.min(t.elapsed().as_secs_f64() / 200.0);
        }
        println!("{concern:?} {n} {} bytes: {:.1} ns, {:.2} GB/s", text.len(), best * 1e9, text.len() as f64 / best / 1e9);
    }
}
