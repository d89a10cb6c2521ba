//! What the load consists of: tables, distributions, statements, transactions. What is asked, not how it is driven.
//!
//! A [spec](spec) is a workload with its options. Workloads come in families, each a folder that keeps what [a family
//! brings](family) and stands with one line in [the registry](registry): [sysbench's](sysbench), [TPC-C](tpcc), and
//! [those that a file describes](file), of which `workloads/` has some and users write more. A [plan] is a workload made
//! ready to be driven. [A capture](capture) is a workload, too, but is replayed rather than drawn: it has no plan.

mod builder;
pub(crate) mod capture;
mod common;
pub(crate) mod draw;
pub(crate) mod family;
pub(crate) mod file;
pub(crate) mod filling;
mod kind;
mod option;
pub(crate) mod parameters;
pub(crate) mod plan;
mod random_options;
mod registry;
pub(crate) mod script;
pub(crate) mod spec;
mod statement_class;
mod stored;
pub(crate) mod sysbench;
pub(crate) mod template;
pub(crate) mod tpcc;

pub use builder::WorkloadBuilder;
pub use capture::{CaptureWorkload, REPLAY_OPTIONS};
pub use common::{CommonOptions, PreparedStatements};
pub use draw::Distribution;
pub(crate) use draw::Rng;
pub use family::Measure;
pub use kind::WorkloadKind;
pub use option::{OptionGroup, OptionValue, WorkloadOption};
pub use registry::{WORKLOAD_OPTIONS, Workload};
pub use spec::WorkloadSpec;
pub use statement_class::StatementClass;
