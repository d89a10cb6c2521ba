//! Statements of a captured load that read far more than they return.

use niagara_capture::info::{DigestInfo, info};
use niagara_capture::sql::Class;
use niagara_profile::HeavyStatement;

use crate::duels::workbench::Workbench;
use crate::variants::variant::Variant;

/// Statements that are named.
const NAMED: usize = 5;
/// One of a smaller share does not limit.
const SHARE: f64 = 0.1;
/// Reading so many rows for each that is returned is far too many.
const FAR_TOO_MANY: f64 = 10.0;
/// A statement that reads fewer rows than this is cheap whatever it returns.
const CHEAP: f64 = 100.0;

/// Those that the capture itself shows; none of other loads, of captures without rows examined, and of a variant with other
/// indexes or statements than the capture ran with.
pub(super) fn heavy(bench: &Workbench, variant: &Variant) -> Vec<HeavyStatement> {
    let is_as_captured = variant.sql.is_empty() && variant.rewrite.is_empty();
    let capture = bench.load().workload.capture().filter(|_| is_as_captured);
    // A capture that cannot be read any more takes nothing from the rest of the profile.
    let Some(Ok(info)) = capture.map(|capture| info(capture.path())) else {
        return Vec::new();
    };
    let mut found: Vec<HeavyStatement> = info.digests.iter().filter_map(far_too_many).collect();
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    found.truncate(NAMED);
    found
}

fn far_too_many(digest: &DigestInfo) -> Option<HeavyStatement> {
    let count = digest.count.max(1) as f64;
    let examined = digest.rows_examined? as f64 / count;
    let sent = digest.rows_sent.unwrap_or(0);
    let returned = sent.max(digest.rows_affected.unwrap_or(0)) as f64 / count;
    let is_heavy = matches!(digest.class, Class::Read | Class::Write)
        && digest.share >= SHARE
        && examined >= CHEAP
        && examined >= FAR_TOO_MANY * returned.max(1.0);
    is_heavy.then(|| HeavyStatement {
        digest: digest.digest.clone(),
        text: digest.text.clone(),
        share: digest.share,
        rows_examined: examined,
        rows_returned: returned,
    })
}
