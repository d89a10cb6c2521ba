//! Which statements of a capture two servers plan otherwise: each explains one sample of every digest that matters, on its own copy of the
//! data.

use std::time::Duration;

use anyhow::{Result, bail};
use niagara_model::{ChangedPlan, PlanOutline, TableRead};
use niagara_queries::{DataCopy, Plan, PlannedDigest, Selection, plans};

use crate::duels::replayed::cut;
use crate::duels::workbench::Workbench;
use crate::plans::observer::{Event, Observer};
use crate::studies::checkpoint;
use crate::studies::study::Study;
use crate::variants::variant::Variant;

/// How long a server may think about one plan: some execute subqueries for it.
const LONGEST: Duration = Duration::from_secs(10);

/// The statements that `b` plans otherwise than `a`, the largest share first. They are found once for a study, beside its budget.
///
/// # Errors
/// The load is no capture, or it cannot be read; a server does not start; stopped.
pub(crate) fn changed_plans(
    bench: &Workbench,
    study: &mut Study,
    [a, b]: [&Variant; 2],
    observer: &mut dyn Observer,
) -> Result<Vec<ChangedPlan>> {
    if let Some(kept) = study.recall(&checkpoint::changed_plans())? {
        return Ok(kept);
    }
    observer.see(Event::Note("comparing the plans of both servers"));
    let changed = study.aside(observer, |_| -> Result<Vec<ChangedPlan>> {
        let before = planned(bench, a)?;
        let after = planned(bench, b)?;
        Ok(those_that_differ(before, &after))
    })?;
    study.keep(&checkpoint::changed_plans(), &changed)?;
    Ok(changed)
}

/// The plans of a variant's server on a fresh clone of its data.
fn planned(bench: &Workbench, variant: &Variant) -> Result<Vec<PlannedDigest>> {
    bench.cancel().check()?;
    let Some(capture) = bench.load().workload.capture() else {
        bail!("the load is no capture");
    };
    let path = capture.path();
    let info = niagara_capture::info::info(path)?;
    let clone = bench.clone_for(variant)?;
    let server = bench.spawn(variant, &clone)?.wait_ready()?;
    let mut copy = DataCopy::of(&server, bench.install_of(variant)?, LONGEST)?;
    let database = bench.database(variant);
    let found = plans(&mut copy, (path, &info), database, Selection::default());
    drop(copy);
    server.kill();
    found
}

fn those_that_differ(before: Vec<PlannedDigest>, after: &[PlannedDigest]) -> Vec<ChangedPlan> {
    let changed = before.into_iter().filter_map(|one| {
        let other = after.iter().find(|other| other.digest == one.digest)?;
        let [from, to] = [&one.plan, &other.plan].map(outline);
        (!from.is_like(&to)).then(|| ChangedPlan {
            digest: one.digest,
            text: cut(&one.text),
            share: one.share,
            from,
            to,
        })
    });
    let mut changed: Vec<ChangedPlan> = changed.collect();
    changed.sort_by(|x, y| y.share.total_cmp(&x.share));
    changed
}

fn outline(plan: &Plan) -> PlanOutline {
    let reads = plan.tables.iter().map(|table| TableRead {
        table: table.alias.clone(),
        access: table.access.code().to_owned(),
        key: table.key.clone(),
        rows: table.rows,
    });
    PlanOutline {
        tables: reads.collect(),
        is_sorted: plan.filesort,
        is_buffered: plan.temporary_table,
    }
}
