//! Two captures of one server side by side, by digest.

#![allow(clippy::unwrap_used)]

mod common;

use std::fmt::Write;
use std::path::Path;

use common::import_all;
use niagara_capture::{STRETCHES, before_after};

/// A slow log of an hour, one statement of each kind a minute; the first kind takes so many milliseconds.
fn captured(folder: &Path, name: &str, milliseconds: f64, other: &str) -> std::path::PathBuf {
    let mut log =
        "/run/server Version: 10.11.19-MariaDB-0+deb12u1-log (Debian 12). started with:\n\
                   Tcp port: 0  Unix socket: /run/server\nTime\t\t    Id Command\tArgument\n"
            .to_owned();
    for minute in 0..60 {
        let statements = [
            (milliseconds, format!("select v from t where id = {minute}")),
            (4.0, format!("select {other} from t where v = {minute}")),
        ];
        for (took, text) in statements {
            let seconds = took / 1000.0;
            let at = 1_795_379_601 + 60 * minute;
            write!(
                log,
                "# User@Host: [root] @ localhost []\n# Thread_id: 3  Schema: shop  QC_hit: No\n\
                 # Query_time: {seconds:.6}  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 1\n\
                 # Rows_affected: 0  Bytes_sent: 11\nSET timestamp={at};\n{text};\n"
            )
            .unwrap();
        }
    }
    let source = folder.join(format!("{name}.log"));
    std::fs::write(&source, log).unwrap();
    let capture = folder.join(format!("{name}.capture"));
    import_all(&[source], &capture).unwrap();
    capture
}

#[test]
fn digests_are_compared_stretch_by_stretch() {
    let folder = tempfile::tempdir().unwrap();
    let before = captured(folder.path(), "before", 10.0, "a");
    let after = captured(folder.path(), "after", 8.0, "b");
    let pairs = before_after([&before, &after]).unwrap();
    // A statement of one capture alone is compared with nothing.
    assert_eq!(pairs.len(), 1, "{pairs:?}");
    let pair = &pairs[0];
    assert_eq!(pair.counts, [60, 60]);
    assert_eq!(pair.ratios.len(), STRETCHES);
    assert!(
        pair.ratios.iter().all(|ratio| (ratio - 0.8).abs() < 1e-9),
        "{pair:?}"
    );
}

#[test]
fn a_file_that_is_no_capture_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let before = captured(folder.path(), "before", 10.0, "a");
    let none = folder.path().join("none");
    std::fs::write(&none, "no capture").unwrap();
    assert!(before_after([&before, &none]).is_err());
}
