//! The tables in which servers keep what their optimizers know.

use serde::{Deserialize, Serialize};

/// A table of statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatisticsTable {
    /// InnoDB's rows and pages of tables.
    InnodbTables,
    /// InnoDB's different values and pages of indexes.
    InnodbIndexes,
    /// MariaDB's rows of tables, by `ANALYZE TABLE … PERSISTENT FOR`.
    ServerTables,
    /// MariaDB's ranges and histograms of columns.
    ServerColumns,
    /// MariaDB's different values of indexes.
    ServerIndexes,
    /// MySQL's histograms of columns.
    Histograms,
}

/// A column of such a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    /// Its name.
    pub(super) name: &'static str,
    /// Whether it has bytes rather than text.
    pub(super) is_binary: bool,
}

const fn text(name: &'static str) -> Column {
    Column {
        name,
        is_binary: false,
    }
}

const fn binary(name: &'static str) -> Column {
    Column {
        name,
        is_binary: true,
    }
}

impl StatisticsTable {
    /// Those that a server of this family may have.
    pub(super) fn of_family(is_mariadb: bool) -> &'static [Self] {
        match is_mariadb {
            true => &[
                Self::InnodbTables,
                Self::InnodbIndexes,
                Self::ServerTables,
                Self::ServerColumns,
                Self::ServerIndexes,
            ],
            false => &[Self::InnodbTables, Self::InnodbIndexes, Self::Histograms],
        }
    }

    /// Its name in the server.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::InnodbTables => "mysql.innodb_table_stats",
            Self::InnodbIndexes => "mysql.innodb_index_stats",
            Self::ServerTables => "mysql.table_stats",
            Self::ServerColumns => "mysql.column_stats",
            Self::ServerIndexes => "mysql.index_stats",
            Self::Histograms => "information_schema.COLUMN_STATISTICS",
        }
    }

    /// The columns that say what a row is about, the database first.
    pub(super) fn keys(self) -> &'static [Column] {
        const OF_INNODB: [Column; 4] = [
            text("database_name"),
            text("table_name"),
            text("index_name"),
            text("stat_name"),
        ];
        match self {
            Self::InnodbTables => OF_INNODB.split_at(2).0,
            Self::InnodbIndexes => &OF_INNODB,
            Self::ServerTables => const { &[text("db_name"), text("table_name")] },
            Self::ServerColumns => {
                const { &[text("db_name"), text("table_name"), text("column_name")] }
            }
            Self::ServerIndexes => {
                const {
                    &[
                        text("db_name"),
                        text("table_name"),
                        text("index_name"),
                        text("prefix_arity"),
                    ]
                }
            }
            Self::Histograms => {
                const { &[text("SCHEMA_NAME"), text("TABLE_NAME"), text("COLUMN_NAME")] }
            }
        }
    }

    /// The columns with what is known.
    pub(super) fn values(self) -> &'static [Column] {
        match self {
            Self::InnodbTables => {
                const {
                    &[
                        text("n_rows"),
                        text("clustered_index_size"),
                        text("sum_of_other_index_sizes"),
                    ]
                }
            }
            Self::InnodbIndexes => const { &[text("stat_value"), text("sample_size")] },
            Self::ServerTables => const { &[text("cardinality")] },
            Self::ServerColumns => {
                const {
                    &[
                        binary("min_value"),
                        binary("max_value"),
                        text("nulls_ratio"),
                        text("avg_length"),
                        text("avg_frequency"),
                        text("hist_size"),
                        text("hist_type"),
                        binary("histogram"),
                    ]
                }
            }
            Self::ServerIndexes => const { &[text("avg_frequency")] },
            Self::Histograms => const { &[text("HISTOGRAM")] },
        }
    }

    /// All columns of a row.
    pub(super) fn columns(self) -> impl Iterator<Item = Column> {
        self.keys().iter().chain(self.values()).copied()
    }
}
