//! The consistency conditions (clause 3.3.2): what must hold in the tables whatever was interrupted.

use crate::error::LoadError;
use crate::net::admin::Admin;
use crate::net::endpoint::Endpoint;
use crate::workload::{Workload, WorkloadSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Checking all lines of all orders takes its time.
const TIMEOUT: Duration = Duration::from_secs(3600);

/// Which conditions are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conditions {
    /// 1 to 4, which the specification wants checked after every run.
    First,
    /// All that hold at any time: 1 to 10, and 12.
    All,
    /// Those, and 11, which holds until the first delivery.
    Loaded,
}

/// What came of one condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Its number in clause 3.3.2.
    pub condition: u32,
    /// What it says.
    pub says: String,
    /// Warehouses, districts, orders or customers for which it does not hold.
    pub violations: u64,
}

impl Finding {
    /// Whether the condition holds.
    pub fn holds(&self) -> bool {
        self.violations == 0
    }
}

/// Number, what it says, and a query for the rows that break it.
const CONDITIONS: [(u32, &str, &str); 12] = [
    (
        1,
        "a warehouse's year-to-date sum is that of its districts",
        "SELECT w_id FROM warehouse LEFT JOIN district ON d_w_id = w_id GROUP BY w_id, w_ytd \
         HAVING w_ytd <> COALESCE(SUM(d_ytd), 0)",
    ),
    (
        2,
        "a district's next order number follows its last order and its last new order",
        "SELECT d_w_id FROM district \
         LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS last FROM orders GROUP BY o_w_id, o_d_id) o \
         ON o_w_id = d_w_id AND o_d_id = d_id \
         LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS last FROM new_order GROUP BY no_w_id, no_d_id) n \
         ON no_w_id = d_w_id AND no_d_id = d_id \
         WHERE d_next_o_id - 1 <> COALESCE(o.last, 0) \
         OR (n.last IS NOT NULL AND d_next_o_id - 1 <> n.last)",
    ),
    (
        3,
        "the new orders of a district have numbers without gaps",
        "SELECT no_w_id FROM new_order GROUP BY no_w_id, no_d_id \
         HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)",
    ),
    (
        4,
        "a district has as many order lines as its orders say",
        "SELECT o_w_id FROM (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS told FROM orders GROUP BY o_w_id, o_d_id) o \
         LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS found FROM order_line GROUP BY ol_w_id, ol_d_id) l \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id WHERE told <> COALESCE(found, 0)",
    ),
    (
        5,
        "an order without a carrier, and no other, is a new order",
        "SELECT o_id FROM orders LEFT JOIN new_order \
         ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
         WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    ),
    (
        6,
        "an order has as many lines as it says",
        "SELECT o_id FROM orders LEFT JOIN \
         (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS found FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) l \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE o_ol_cnt <> COALESCE(found, 0)",
    ),
    (
        7,
        "a line is delivered when its order has a carrier, and only then",
        "SELECT ol_o_id FROM order_line JOIN orders \
         ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
         WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    ),
    (
        8,
        "a warehouse's year-to-date sum is that of its payments",
        "SELECT w_id FROM warehouse LEFT JOIN \
         (SELECT h_w_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id) h \
         ON h_w_id = w_id WHERE w_ytd <> COALESCE(paid, 0)",
    ),
    (
        9,
        "a district's year-to-date sum is that of its payments",
        "SELECT d_id FROM district LEFT JOIN \
         (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) h \
         ON h_w_id = d_w_id AND h_d_id = d_id WHERE d_ytd <> COALESCE(paid, 0)",
    ),
    (
        10,
        "a customer's balance is what was delivered less what was paid",
        "SELECT c_id FROM customer \
         LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS delivered FROM orders JOIN order_line \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL \
         GROUP BY o_w_id, o_d_id, o_c_id) o ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
         LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history \
         GROUP BY h_c_w_id, h_c_d_id, h_c_id) h \
         ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id \
         WHERE c_balance <> COALESCE(delivered, 0) - COALESCE(paid, 0)",
    ),
    (
        11,
        "of a district's orders 2100 more are there than are new",
        "SELECT o.o_w_id FROM (SELECT o_w_id, o_d_id, COUNT(*) AS all_orders FROM orders GROUP BY o_w_id, o_d_id) o \
         LEFT JOIN (SELECT no_w_id, no_d_id, COUNT(*) AS undelivered FROM new_order GROUP BY no_w_id, no_d_id) n \
         ON no_w_id = o_w_id AND no_d_id = o_d_id WHERE all_orders - COALESCE(undelivered, 0) <> 2100",
    ),
    (
        12,
        "a customer's balance and payments are what was delivered",
        "SELECT c_id FROM customer LEFT JOIN \
         (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS delivered FROM orders JOIN order_line \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL \
         GROUP BY o_w_id, o_d_id, o_c_id) o ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
         WHERE c_balance + c_ytd_payment <> COALESCE(delivered, 0)",
    ),
];

/// Checks whether the conditions hold in the endpoint's database. `progress` gets each condition's number before it is
/// checked.
///
/// # Errors
/// The server cannot be reached or refuses a query; the tables are not those of `spec`.
pub fn check(
    endpoint: &Endpoint,
    spec: &WorkloadSpec,
    conditions: Conditions,
    progress: &mut dyn FnMut(u32),
) -> Result<Vec<Finding>, LoadError> {
    let mut admin = Admin::connect(endpoint, TIMEOUT)?;
    let database = endpoint.database.replace('`', "``");
    admin.rows(&format!("USE `{database}`"))?;
    // One moment for all of it, where the engine has moments.
    admin.rows("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
    admin.rows("START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
    let warehouses = count(&mut admin, "SELECT COUNT(*) FROM warehouse")?;
    let Workload::Tpcc(expected) = &spec.workload else {
        return Err(LoadError::invalid(format!(
            "{} has no consistency conditions",
            spec.name()
        )));
    };
    if warehouses != u64::from(expected.warehouses) {
        return Err(LoadError::invalid(format!(
            "database {} has {warehouses} warehouses and not {}: give the number that it was loaded with",
            endpoint.database, expected.warehouses
        )));
    }
    let mut findings = Vec::new();
    for (condition, says, query) in CONDITIONS {
        let wanted = match conditions {
            Conditions::First => condition <= 4,
            Conditions::All => condition != 11,
            Conditions::Loaded => true,
        };
        if !wanted {
            continue;
        }
        progress(condition);
        findings.push(Finding {
            condition,
            says: says.into(),
            violations: count(
                &mut admin,
                &format!("SELECT COUNT(*) FROM ({query}) broken"),
            )?,
        });
    }
    admin.rows("COMMIT")?;
    Ok(findings)
}

fn count(admin: &mut Admin, sql: &str) -> Result<u64, LoadError> {
    let value = admin.value(sql)?;
    value
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| LoadError::prepare(format!("no number came from: {sql}")))
}
