//! A workload as a document: in results, in plans of duels, on the way to a load agent.
//!
//! A document has the workload's name as `kind`, and beside it the options of all workloads and its own.

use super::common::CommonOptions;
use super::registry::Workload;
use super::spec::WorkloadSpec;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

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

impl JsonSchema for WorkloadSpec {
    fn schema_name() -> Cow<'static, str> {
        "WorkloadSpec".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = CommonOptions::json_schema(generator);
        schema.insert("description".into(), "A workload and its options.".into());
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            let kind = json!({"description": "The workload's name; of a file of the user's `own`.", "type": "string"});
            properties.insert(KIND.into(), kind);
        }
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.push(KIND.into());
        }
        schema.insert("anyOf".into(), Workload::schemas(generator).into());
        schema
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
        let workload = Workload::from_document(kind, Value::Object(document.clone()))
            .map_err(de::Error::custom)?;
        let own = workload.to_document().map_err(de::Error::custom)?;
        let mut keys = document.keys();
        if let Some(unknown) = keys.find(|key| *key != KIND && own.get(key.as_str()).is_none()) {
            return Err(de::Error::unknown_field(unknown, &[]));
        }
        Ok(WorkloadSpec {
            common: serde_json::from_value(Value::Object(common)).map_err(de::Error::custom)?,
            workload,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::WorkloadBuilder;
    use super::super::common::PreparedStatements;
    use super::super::draw::Distribution;
    use super::super::file::{FileWorkload, WorkloadFile};
    use super::super::sysbench::{Sysbench, SysbenchTest};
    use super::super::tpcc::Tpcc;
    use super::*;

    fn there_and_back(spec: &WorkloadSpec) -> WorkloadSpec {
        serde_json::from_str(&serde_json::to_string(spec).unwrap()).unwrap()
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
            r#"{"kind": "tpcc", "table_size": 4}"#,
            r#"{"kind": "report", "tables": 4}"#,
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
