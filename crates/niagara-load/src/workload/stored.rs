//! A workload as a document: in results, in plans of duels, on the way to a load agent.
//!
//! A document has the workload's name as `kind`, and beside it the options of all workloads and its own. In documents of
//! older versions every workload had the options of every other too; those are read and mean nothing.

use super::common::CommonOptions;
use super::registry::{KEYS, Workload};
use super::spec::WorkloadSpec;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::{Map, Value};

/// The key of the workload's name; of a file of the user's, `own`.
pub(super) const KIND: &str = "kind";

impl Serialize for WorkloadSpec {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut document = Map::new();
        let common = serde_json::to_value(&self.common);
        for part in [common, self.workload.to_document()] {
            if let Value::Object(options) = part.map_err(ser::Error::custom)? {
                document.extend(options);
            }
        }
        if let Some(kind) = self.kind() {
            document.insert(KIND.into(), kind.name().into());
        }
        document.serialize(to)
    }
}

impl<'de> Deserialize<'de> for WorkloadSpec {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut document = Map::deserialize(from)?;
        let default = Value::from("oltp_read_only");
        let kind = document.entry(KIND).or_insert(default).clone();
        let kind = kind
            .as_str()
            .ok_or_else(|| de::Error::custom("`kind` is not a text"))?;
        let mut common = Map::new();
        let keys = serde_json::to_value(CommonOptions::default()).map_err(de::Error::custom)?;
        for key in keys.as_object().into_iter().flat_map(Map::keys) {
            if let Some(value) = document.remove(key) {
                common.insert(key.clone(), value);
            }
        }
        if let Some(unknown) = document
            .keys()
            .find(|key| *key != KIND && !KEYS.contains_key(*key))
        {
            return Err(de::Error::unknown_field(unknown, &[]));
        }
        Ok(WorkloadSpec {
            common: serde_json::from_value(Value::Object(common)).map_err(de::Error::custom)?,
            workload: Workload::from_document(kind, Value::Object(document))
                .map_err(de::Error::custom)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::common::PreparedStatements;
    use super::super::draw::Distribution;
    use super::super::file::{FileWorkload, WorkloadFile};
    use super::super::sysbench::{Sysbench, SysbenchTest};
    use super::super::tpcc::Tpcc;
    use super::super::{WorkloadBuilder, WorkloadKind};
    use super::*;

    /// Documents as they were when every workload had all options, one of each workload and some with other options.
    const BEFORE: &str = include_str!("stored_before.jsonl");

    fn there_and_back(spec: &WorkloadSpec) -> WorkloadSpec {
        serde_json::from_str(&serde_json::to_string(spec).unwrap()).unwrap()
    }

    #[test]
    fn stored_workloads_of_earlier_versions_are_read() {
        let read: Vec<WorkloadSpec> = BEFORE
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let (named, others) = read.split_at(14);
        for (spec, kind) in named.iter().zip(WorkloadKind::all()) {
            assert_eq!(*spec, WorkloadSpec::of(kind), "{kind}");
        }
        let [shop, read_write, tpcc, report] = others else {
            panic!("{} others", others.len());
        };
        assert_eq!((shop.name(), shop.kind()), ("shop", None));
        assert_eq!(shop.common.mysql_storage_engine, "aria");
        assert_eq!(
            shop.data_key(8),
            r#"shop-19b820952eb5801034bb388e {"customers": 5000}"#
        );
        assert_eq!(
            read_write.workload,
            Workload::from(Sysbench {
                test: SysbenchTest::OltpReadWrite,
                tables: 4,
                table_size: 100_000,
                distribution: Distribution::Zipfian { exponent: 0.9 },
                skip_trx: true,
                secondary: true,
                ..Sysbench::default()
            })
        );
        assert_eq!(
            read_write.common,
            CommonOptions {
                create_table_options: "ROW_FORMAT=COMPRESSED".into(),
                reconnect: 7,
                db_ps_mode: PreparedStatements::Disable,
                ..CommonOptions::default()
            }
        );
        assert_eq!(
            read_write.data_key(8),
            "oltp-4x100000 zipfian(0.9) secondary=on options: ROW_FORMAT=COMPRESSED"
        );
        assert_eq!(
            tpcc.workload,
            Workload::from(Tpcc {
                batch: false,
                think_time: true,
                ..Tpcc::of(3)
            })
        );
        assert_eq!(report.data_in_words(1), "2 tables of 1048576 rows in all");
        for spec in &read {
            assert_eq!(there_and_back(spec), *spec);
        }
    }

    #[test]
    fn absent_fields_have_their_defaults() {
        let spec: WorkloadSpec =
            serde_json::from_str(r#"{"kind": "oltp_read_write", "tables": 4}"#).unwrap();
        assert_eq!(
            spec,
            WorkloadSpec::of(Sysbench {
                test: SysbenchTest::OltpReadWrite,
                tables: 4,
                ..Sysbench::default()
            })
        );
        let spec: WorkloadSpec = serde_json::from_str("{}").unwrap();
        assert_eq!(spec, WorkloadSpec::default());
    }

    #[test]
    fn unknown_workload_fields_are_refused() {
        for text in [
            r#"{"table": 4}"#,
            r#"{"kind": "oltp"}"#,
            r#"{"kind": 4}"#,
            r#"{"kind": "own"}"#,
            r#"{"kind": "own", "own": {"path": "a.toml", "text": "title = 1"}}"#,
            r#"{"kind": "report", "scale": {"columns": 4}}"#,
            r#"{"tables": "many"}"#,
        ] {
            assert!(
                serde_json::from_str::<WorkloadSpec>(text).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn every_option_survives() {
        let mut specs = vec![
            WorkloadSpec::of(Sysbench {
                test: SysbenchTest::SelectRandomRanges,
                tables: 2,
                table_size: 3,
                distribution: Distribution::Zipfian { exponent: 1.5 },
                range_size: 4,
                point_selects: 5,
                simple_ranges: 6,
                sum_ranges: 7,
                order_ranges: 8,
                distinct_ranges: 9,
                range_selects: false,
                index_updates: 10,
                non_index_updates: 11,
                delete_inserts: 12,
                skip_trx: true,
                auto_inc: false,
                secondary: true,
                create_secondary: false,
                random_points: 14,
                number_of_ranges: 15,
                delta: 16,
            }),
            WorkloadSpec::of(Tpcc {
                batch: false,
                think_time: true,
                ..Tpcc::of(17)
            }),
        ];
        let shop = FileWorkload::read(WorkloadFile {
            path: "a.toml".into(),
            text: include_str!("../../../../docs/examples/shop.toml").into(),
        });
        let mut shop = WorkloadBuilder::new(shop.unwrap());
        shop.set_scale("customers", "5").unwrap();
        specs.push(shop.build().unwrap());
        for mut spec in specs {
            spec.common = CommonOptions {
                mysql_storage_engine: "aria".into(),
                create_table_options: "COMMENT 'a \"b\"'".into(),
                reconnect: 13,
                db_ps_mode: PreparedStatements::Disable,
            };
            assert_eq!(there_and_back(&spec), spec);
        }
    }
}
