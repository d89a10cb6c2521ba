//! What sysbench's tests are as workloads: properties, tables, data.

use super::fill::fill_table;
use super::options::{OPTIONS, Sysbench};
use super::schema;
use super::test::SysbenchTest;
use super::transaction::{SysbenchScript, SysbenchTransaction, steps};
use crate::counted;
use crate::error::LoadError;
use crate::workload::common::CommonOptions;
use crate::workload::draw::Distribution;
use crate::workload::family::{Each, Family, Registered};
use crate::workload::filling::TableEvent;
use crate::workload::kind::WorkloadKind;
use crate::workload::option::{OptionGroup, WorkloadOption};
use crate::workload::template::Templates;

impl Sysbench {
    /// How many tables there are when the load has `threads` connections: `bulk_insert` has one for each.
    fn table_count(&self, threads: u32) -> u32 {
        match self.test {
            SysbenchTest::BulkInsert => threads,
            _ => self.tables,
        }
    }

    /// Rows that each table is made with. None where the load inserts rows under ids of its own.
    pub(super) fn rows(&self) -> u64 {
        match self.test {
            SysbenchTest::BulkInsert => 0,
            SysbenchTest::OltpInsert if !self.auto_inc => 0,
            _ => self.table_size,
        }
    }
}

impl Family for Sysbench {
    fn kind(&self) -> Option<WorkloadKind> {
        Some(self.test.into())
    }

    fn name(&self) -> &str {
        self.test.name()
    }

    fn writes(&self) -> bool {
        self.test.writes()
    }

    fn takes(&self, option: &WorkloadOption) -> bool {
        match option.group {
            OptionGroup::Oltp => self.test != SysbenchTest::BulkInsert,
            OptionGroup::RandomPoints => self.test == SysbenchTest::SelectRandomPoints,
            OptionGroup::RandomRanges => self.test == SysbenchTest::SelectRandomRanges,
            OptionGroup::Random | OptionGroup::Database => true,
            OptionGroup::Other => false,
        }
    }

    fn set(&mut self, option: &WorkloadOption, value: &str) -> Result<bool, LoadError> {
        self.set_option(option, value)
    }

    fn distribution(&self) -> Option<Distribution> {
        Some(self.distribution)
    }

    fn set_distribution(&mut self, distribution: Distribution) {
        self.distribution = distribution;
    }

    fn validate(&self) -> Result<(), LoadError> {
        self.check_options()?;
        if !steps(self).is_empty() {
            return Ok(());
        }
        Err(LoadError::invalid(format!(
            "a transaction of {} would have no statements: ask for some, or leave skip_trx off",
            self.test
        )))
    }

    fn table_names(&self, threads: u32) -> Vec<String> {
        (1..=self.table_count(threads))
            .map(|number| format!("sbtest{number}"))
            .collect()
    }

    fn has_column(&self, _table: &str, column: &str) -> Option<bool> {
        Some(["id", "k", "c", "pad"].contains(&column.to_ascii_lowercase().as_str()))
    }

    fn data_in_words(&self, threads: u32) -> String {
        let tables = counted(u64::from(self.table_count(threads)), "table");
        format!("{tables} of {} rows", self.rows())
    }

    fn data_key(&self, common: &CommonOptions, threads: u32) -> String {
        if self.test == SysbenchTest::BulkInsert {
            return format!("bulk-{threads}");
        }
        let mut key = format!("oltp-{}x{}", self.tables, self.rows());
        // The values of k are drawn.
        if self.rows() > 0 && self.distribution != Distribution::default() {
            key += &format!(" {}", self.distribution);
        }
        for (word, differs) in [
            (" auto_inc=off", !self.auto_inc),
            (" secondary=on", self.secondary),
            (" create_secondary=off", !self.create_secondary),
        ] {
            if differs {
                key += word;
            }
        }
        if !common.create_table_options.is_empty() {
            key += &format!(" options: {}", common.create_table_options);
        }
        key
    }

    fn expected_rows(&self, threads: u32) -> u64 {
        u64::from(self.table_count(threads)) * self.rows()
    }

    fn read_all_statements(&self, database: &str, threads: u32) -> Vec<String> {
        let numbers = 1..=self.table_count(threads);
        numbers
            .flat_map(|number| schema::read_all(self, database, number))
            .collect()
    }

    /// One connection fills one table, in the order of its ids, so that its pages are laid out the same every time;
    /// several tables are filled at once.
    fn fill(
        &self,
        common: &CommonOptions,
        threads: u32,
        each: &mut Each<'_>,
    ) -> Result<(), LoadError> {
        each(self.table_count(threads), &|work, table| {
            work.say(TableEvent::Creating(table));
            work.execute(schema::create_table(self, common, table).as_bytes())?;
            if self.rows() > 0 {
                work.say(TableEvent::Inserting(table, self.rows()));
                fill_table(work, self, table)?;
                if work.stopped() {
                    return Ok(());
                }
            }
            if let Some(create_index) = schema::create_index(self, table) {
                work.say(TableEvent::Indexing(table));
                work.execute(create_index.as_bytes())?;
            }
            Ok(())
        })
    }

    fn drop_tables(&self, threads: u32, each: &mut Each<'_>) -> Result<(), LoadError> {
        each(self.table_count(threads), &|work, table| {
            work.say(TableEvent::Dropping(table));
            work.execute(schema::drop_table(table).as_bytes())
        })
    }

    fn preload(&self, _database: &str, threads: u32, each: &mut Each<'_>) -> Result<(), LoadError> {
        if self.test == SysbenchTest::BulkInsert {
            return Err(LoadError::invalid(
                "bulk_insert has no rows to be read: leave out the warm-up",
            ));
        }
        each(self.table_count(threads), &|work, table| {
            work.say(TableEvent::Preloading(table));
            for statement in schema::warm_up(self, table) {
                work.execute(statement.as_bytes())?;
            }
            Ok(())
        })
    }
}

impl Registered for Sysbench {
    const OPTIONS: &'static [WorkloadOption] = OPTIONS;
    type Script = SysbenchScript;
    type Transaction = SysbenchTransaction;

    fn names() -> Vec<&'static str> {
        SysbenchTest::ALL.map(SysbenchTest::name).into()
    }

    fn named(name: &str) -> Option<Self> {
        name.parse::<SysbenchTest>().ok().map(Sysbench::from)
    }

    fn script(
        &self,
        common: &CommonOptions,
        threads: u32,
        seed: u64,
        templates: &mut Templates,
    ) -> SysbenchScript {
        SysbenchScript::new(self, common.as_text(), threads, seed, templates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{PreparedStatements, WorkloadSpec};
    use std::collections::BTreeSet;

    #[test]
    fn equal_keys_for_equal_data_only() {
        let key = |spec: Sysbench| WorkloadSpec::of(spec).data_key(8);
        assert_eq!(key(Sysbench::default()), "oltp-1x10000");
        let mut same = WorkloadSpec::of(Sysbench {
            test: SysbenchTest::OltpInsert,
            range_size: 3,
            point_selects: 4,
            random_points: 6,
            skip_trx: true,
            ..Sysbench::default()
        });
        same.common.reconnect = 5;
        same.common.db_ps_mode = PreparedStatements::Disable;
        assert_eq!(same.data_key(1), key(Sysbench::default()));

        let mut compressed = WorkloadSpec::default();
        compressed.common.create_table_options = "ROW_FORMAT=COMPRESSED".into();
        let mut keys = BTreeSet::from([key(Sysbench::default()), compressed.data_key(8)]);
        assert_eq!(keys.len(), 2, "{keys:?}");
        let changes: [fn(&mut Sysbench); 9] = [
            |spec| spec.tables = 2,
            |spec| spec.table_size = 2,
            |spec| spec.distribution = Distribution::Uniform,
            |spec| spec.distribution = Distribution::Zipfian { exponent: 0.9 },
            |spec| spec.auto_inc = false,
            |spec| spec.secondary = true,
            |spec| spec.create_secondary = false,
            |spec| {
                spec.test = SysbenchTest::OltpInsert;
                spec.auto_inc = false;
            },
            |spec| spec.test = SysbenchTest::BulkInsert,
        ];
        for change in changes {
            let mut spec = Sysbench::default();
            change(&mut spec);
            let key = key(spec);
            assert!(keys.insert(key.clone()), "{key}");
        }
        let bulk = WorkloadSpec::of(SysbenchTest::BulkInsert);
        assert_ne!(bulk.data_key(8), bulk.data_key(9));
    }
}
