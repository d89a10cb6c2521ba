//! What the tests share: a small schema with composite keys on a real server, and captures of statements on it, by the server's own
//! slow log.
#![allow(dead_code)]

pub mod schemas;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result};
use niagara_capture::log::ReadOptions;
use niagara_capture::{Import, import};
use niagara_load::Admin;
use niagara_queries::{Advice, Limits, PlanSetting, Request, advise};
use niagara_server::{
    Cache, Catalog, Config, ImageStore, Install, LaunchSpec, ProcessSettings, RunningServer, get,
    launch,
};

/// The schema: warehouses, products, stock, customers, purchases.
pub const TABLES: [&str; 7] = [
    "CREATE TABLE digit (n INT PRIMARY KEY)",
    "CREATE TABLE warehouse (region CHAR(2), number INT, name VARCHAR(40), PRIMARY KEY (region, number))",
    "CREATE TABLE product (sku VARCHAR(20) PRIMARY KEY, name VARCHAR(60), category INT, price DECIMAL(8,2), description TEXT, \
     KEY by_category (category, price))",
    "CREATE TABLE stock (region CHAR(2), number INT, sku VARCHAR(20), quantity INT, counted DATETIME, \
     PRIMARY KEY (region, number, sku), KEY by_sku (sku))",
    "CREATE TABLE customer (id INT PRIMARY KEY, email VARCHAR(80) NOT NULL, phone VARCHAR(20), country CHAR(2), joined DATETIME, \
     legacy VARCHAR(20) CHARACTER SET latin1, note VARCHAR(200), UNIQUE KEY by_email (email), KEY by_phone (phone), \
     KEY by_country (country, joined))",
    "CREATE TABLE purchase (id INT PRIMARY KEY AUTO_INCREMENT, customer_id INT NOT NULL, region CHAR(2), number INT, \
     status VARCHAR(10), placed DATETIME, total DECIMAL(10,2), customer_ref VARCHAR(20), KEY by_customer (customer_id, placed), \
     KEY by_status (status, placed), KEY by_warehouse (region, number, placed))",
    "CREATE TABLE purchase_line (purchase_id INT, line INT, sku VARCHAR(20), quantity INT, PRIMARY KEY (purchase_id, line), \
     KEY line_by_sku (sku))",
];

/// Secondary indexes that enforce nothing: table, name, clause that makes it again.
pub const INDEXES: [PlantedIndex; 8] = [
    (
        "product",
        "by_category",
        "ADD INDEX by_category (category, price)",
    ),
    ("stock", "by_sku", "ADD INDEX by_sku (sku)"),
    ("customer", "by_phone", "ADD INDEX by_phone (phone)"),
    (
        "customer",
        "by_country",
        "ADD INDEX by_country (country, joined)",
    ),
    (
        "purchase",
        "by_customer",
        "ADD INDEX by_customer (customer_id, placed)",
    ),
    (
        "purchase",
        "by_status",
        "ADD INDEX by_status (status, placed)",
    ),
    (
        "purchase",
        "by_warehouse",
        "ADD INDEX by_warehouse (region, number, placed)",
    ),
    (
        "purchase_line",
        "line_by_sku",
        "ADD INDEX line_by_sku (sku)",
    ),
];

/// Rows of all tables.
fn rows() -> Vec<String> {
    let digits = (0..10)
        .map(|n| format!("({n})"))
        .collect::<Vec<_>>()
        .join(",");
    let thousand = "(SELECT a.n + 10 * b.n + 100 * c.n AS i FROM digit a, digit b, digit c) AS t";
    let many = "(SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n AS i FROM digit a, digit b, digit c, digit d WHERE d.n < 8) AS t";
    let region = |i: &str| format!("ELT(1 + {i} % 4, 'eu', 'us', 'as', 'af')");
    vec![
        format!("INSERT INTO digit VALUES {digits}"),
        format!(
            "INSERT INTO warehouse SELECT {}, i DIV 4, CONCAT('w', i) FROM {thousand} WHERE i < 40",
            region("i")
        ),
        format!(
            "INSERT INTO product SELECT CONCAT('sku', i), CONCAT(ELT(1 + i % 5, 'red ', 'blue ', 'green ', 'old ', 'new '), 'thing ', i), \
             i % 50, i % 97, REPEAT('text ', 20) FROM {thousand}"
        ),
        format!(
            "INSERT INTO stock SELECT w.region, w.number, CONCAT('sku', i), i % 100, '2025-01-01' FROM {thousand}, warehouse w \
             WHERE i % 5 = w.number % 5"
        ),
        format!(
            "INSERT INTO customer SELECT i, CONCAT('u', i, '@example.org'), CONCAT('0', 1000 + i * 7), \
             ELT(1 + i % 20, 'at','de','fr','us','it','es','pl','nl','be','ch','cz','se','no','fi','dk','pt','ie','gr','hu','ro'), \
             '2020-01-01' + INTERVAL i * 3 HOUR, CONCAT('L', i), CONCAT('note ', i) FROM {many}"
        ),
        format!(
            "INSERT INTO purchase (customer_id, region, number, status, placed, total, customer_ref) \
             SELECT i * 7 % 8000, {}, i % 10, ELT(1 + (i % 50 > 0) + (i % 10 > 2), 'new', 'paid', 'sent'), \
             '2025-01-01' + INTERVAL i * 13 MINUTE, i % 500, CONCAT('', i * 7 % 8000) FROM {many}",
            region("i DIV 3")
        ),
        format!(
            "INSERT INTO purchase_line SELECT i, 1, CONCAT('sku', i * 3 % 1000), 1 + i % 3 FROM {many}"
        ),
        format!(
            "INSERT INTO purchase_line SELECT i, 2, CONCAT('sku', i * 11 % 1000), 1 FROM {many} WHERE i % 2 = 0"
        ),
    ]
}

/// Table, name, and the clause that makes it again, of a secondary index that enforces nothing.
pub type PlantedIndex = (&'static str, &'static str, &'static str);

/// Tables with rows, their secondary indexes, and statements that need them.
pub struct Schema {
    pub tables: &'static [&'static str],
    pub rows: fn() -> Vec<String>,
    pub indexes: &'static [PlantedIndex],
    pub statements: fn() -> Vec<String>,
}

/// Warehouses, products, stock, customers, purchases: composite keys.
pub const SHOP: Schema = Schema {
    tables: &TABLES,
    rows,
    indexes: &INDEXES,
    statements: shop_statements,
};

/// A server with a schema, in a place of its own.
pub struct Shop {
    indexes: &'static [PlantedIndex],
    pub server: RunningServer,
    pub install: Install,
    pub folder: tempfile::TempDir,
}

impl Shop {
    /// Starts a server of the catalogue and loads the shop's schema.
    pub fn start(name: &str) -> Result<Shop> {
        Shop::with(name, &SHOP)
    }

    /// Starts a server of the catalogue and loads a schema.
    pub fn with(name: &str, schema: &Schema) -> Result<Shop> {
        let shop = Shop {
            indexes: schema.indexes,
            ..Shop::empty(name)?
        };
        let mut admin = shop.admin()?;
        for statement in schema.tables {
            admin.run(statement.as_bytes())?;
        }
        for statement in (schema.rows)() {
            admin.run(statement.as_bytes())?;
        }
        for table in shop.tables()? {
            admin.run(format!("ANALYZE TABLE {table}").as_bytes())?;
        }
        Ok(shop)
    }

    fn tables(&self) -> Result<Vec<String>> {
        let rows = self.server.query(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'shop'",
        )?;
        Ok(rows.into_iter().map(|mut row| row.remove(0)).collect())
    }

    /// Starts one, of the catalogue or by its path, with an empty database `shop`.
    pub fn empty(name: &str) -> Result<Shop> {
        let shared = Cache::open()?;
        let install = match name.contains('/') {
            true => Install::from_path(Path::new(name))?,
            false => get(&shared, Catalog::load(&[])?.get(name)?, &mut |text| {
                eprintln!("{text}")
            })?,
        };
        let folder = tempfile::tempdir()?;
        let cache = Cache::at(&folder.path().join("cache"))?;
        // The image of an empty server is shared by all tests of this machine.
        let image = ImageStore::new(&shared).ensure(
            &install,
            "empty",
            "InnoDB",
            &mut |_| Ok(()),
            &mut |_| {},
        )?;
        let datadir = folder.path().join("data");
        image.clone_to(&datadir)?;
        let config = [
            ("skip_log_bin", ""),
            ("innodb_flush_log_at_trx_commit", "0"),
            ("innodb_stats_auto_recalc", "OFF"),
        ];
        let config: Config = config
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let server = launch(
            &cache,
            &LaunchSpec {
                install: &install,
                datadir,
                runtime: &ProcessSettings::default(),
                config: &config,
            },
        )?;
        server.query("CREATE DATABASE shop CHARACTER SET utf8mb4")?;
        Ok(Shop {
            indexes: &INDEXES,
            server,
            install,
            folder,
        })
    }

    /// A new connection in the database.
    pub fn admin(&self) -> Result<Admin> {
        let mut admin = Admin::connect(&self.server.over_socket(""), Duration::from_secs(600))?;
        admin.run(b"USE shop")?;
        Ok(admin)
    }

    /// Has the statements executed while the server logs all of them, and makes a capture of its slow log. An empty statement is
    /// the end of a connection.
    pub fn capture(&self, name: &str, statements: &[String]) -> Result<PathBuf> {
        let log = self.folder.path().join(format!("{name}.log"));
        let mut settings = vec![
            format!("slow_query_log_file = '{}'", log.display()),
            "long_query_time = 0".to_owned(),
            "slow_query_log = ON".to_owned(),
        ];
        match self.install.family.is_mariadb() {
            true => settings.push("log_slow_verbosity = 'query_plan'".to_owned()),
            false if self.install.version.major >= 8 => {
                settings.push("log_slow_extra = ON".to_owned());
            }
            false => {}
        }
        for setting in &settings {
            self.server.query(&format!("SET GLOBAL {setting}"))?;
        }
        let mut admin = self.admin()?;
        for statement in statements {
            match statement.is_empty() {
                true => admin = self.admin()?,
                false => admin
                    .run(statement.as_bytes())
                    .with_context(|| statement.clone())?,
            }
        }
        // A statement is logged behind its answer, and before the next one.
        admin.run(b"USE shop")?;
        drop(admin);
        self.server.query("SET GLOBAL slow_query_log = OFF")?;
        self.server.query("SET GLOBAL long_query_time = 10")?;
        let output = self.folder.path().join(format!("{name}.capture"));
        import(
            &Import {
                files: vec![log],
                read: ReadOptions::default(),
                output: output.clone(),
                replace: true,
                clients: Vec::new(),
                counted: None,
                stored: None,
            },
            &AtomicBool::new(false),
            |_| {},
        )?;
        Ok(output)
    }

    /// What the capture's queries need.
    pub fn advise(&self, capture: &Path) -> Result<Advice> {
        self.advise_within(
            capture,
            Limits {
                indexes: 20,
                bytes: None,
            },
        )
    }

    /// The same within limits.
    pub fn advise_within(&self, capture: &Path, limits: Limits) -> Result<Advice> {
        self.advise_in([1200, 1200], capture, limits)
    }

    /// The same in so many seconds, and in so many while no index is found that pays.
    pub fn advise_in(
        &self,
        [budget, none_pays]: [u64; 2],
        capture: &Path,
        limits: Limits,
    ) -> Result<Advice> {
        let request = Request {
            capture,
            database: "shop",
            budget: Duration::from_secs(budget),
            none_pays: Duration::from_secs(none_pays),
            limits,
            settings: &[],
            settings_with_set: true,
        };
        advise(&self.server, &self.install, &request, &mut |_| Ok(()))
    }

    /// The same with settings of the optimizer, and with so many indexes at most.
    pub fn advise_with(
        &self,
        capture: &Path,
        settings: &[PlanSetting],
        indexes: usize,
    ) -> Result<Advice> {
        let request = Request {
            capture,
            database: "shop",
            budget: Duration::from_secs(1200),
            none_pays: Duration::from_secs(1200),
            limits: Limits {
                indexes,
                bytes: None,
            },
            settings,
            settings_with_set: true,
        };
        advise(&self.server, &self.install, &request, &mut |_| Ok(()))
    }

    /// Drops some of the schema's indexes.
    pub fn drop_indexes(&self, indexes: &[PlantedIndex]) -> Result<()> {
        for (table, name, _) in indexes {
            self.server
                .query(&format!("ALTER TABLE shop.{table} DROP INDEX {name}"))?;
        }
        Ok(())
    }

    /// Makes the schema's indexes again, and drops those of a study.
    pub fn restore_indexes(&self) -> Result<()> {
        let there = self.server.query(
            "SELECT DISTINCT table_name, index_name FROM information_schema.statistics WHERE table_schema = 'shop'",
        )?;
        for row in &there {
            if row[1].starts_with("idx_") {
                self.server.query(&format!(
                    "ALTER TABLE shop.{} DROP INDEX `{}`",
                    row[0], row[1]
                ))?;
            }
        }
        let has =
            |table: &str, name: &str| there.iter().any(|row| row[0] == table && row[1] == name);
        for &(table, name, add) in self.indexes {
            if !has(table, name) {
                self.server
                    .query(&format!("ALTER TABLE shop.{table} {add}"))?;
            }
        }
        let hidden = match self.install.family.is_mariadb() {
            true => "NOT IGNORED",
            false => "VISIBLE",
        };
        for (table, name, _) in self.indexes {
            self.server.query(&format!(
                "ALTER TABLE shop.{table} ALTER INDEX {name} {hidden}"
            ))?;
        }
        Ok(())
    }
}

/// Makes a table of 20,000 rows with these columns behind its primary key, filled by expressions of `i`.
pub fn filled(shop: &Shop, table: &str, columns: &str, values: &str) -> Result<()> {
    let mut admin = shop.admin()?;
    admin.run(b"CREATE TABLE IF NOT EXISTS digit (n INT PRIMARY KEY)")?;
    admin
        .run(b"INSERT IGNORE INTO digit VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)")?;
    admin.run(
        format!("CREATE TABLE {table} (id INT PRIMARY KEY AUTO_INCREMENT, {columns})").as_bytes(),
    )?;
    let rows = format!(
        "INSERT INTO {table} SELECT NULL, {values} FROM (SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n AS i \
         FROM digit a, digit b, digit c, digit d, digit e WHERE e.n < 2) AS t"
    );
    admin.run(rows.as_bytes())?;
    Ok(admin.run(format!("ANALYZE TABLE {table}").as_bytes())?)
}

/// Statements for which the schema's indexes are made: each index is needed by some.
pub fn shop_statements() -> Vec<String> {
    let mut statements = Vec::new();
    for i in 0..8 {
        let (customer, sku, day) = (i * 911 % 8000, i * 37 % 1000, 1 + i % 28);
        statements.extend([
            format!("SELECT * FROM customer WHERE email = 'u{customer}@example.org'"),
            format!("SELECT id, email FROM customer WHERE phone = '0{}'", 1000 + customer * 7),
            format!("SELECT id, email FROM customer WHERE country = 'at' AND joined >= '2022-01-{day:02}' ORDER BY joined LIMIT 20"),
            format!("SELECT id, total, status FROM purchase WHERE customer_id = {customer} ORDER BY placed DESC LIMIT 10"),
            format!("SELECT id, customer_id FROM purchase WHERE status = 'new' AND placed < '2025-02-{day:02}' ORDER BY placed LIMIT 10"),
            format!(
                "SELECT SUM(total) FROM purchase WHERE region = 'eu' AND number = {} AND placed BETWEEN '2025-01-01' AND '2025-01-{day:02}'",
                i % 10
            ),
            format!("SELECT region, number, quantity FROM stock WHERE sku = 'sku{sku}'"),
            format!("SELECT quantity FROM stock WHERE region = 'eu' AND number = {} AND sku = 'sku{sku}'", i % 10),
            format!("SELECT sku, name, price FROM product WHERE category = {} AND price < 40 ORDER BY price LIMIT 10", i * 3 % 50),
            format!(
                "SELECT p.id, p.placed FROM purchase_line l JOIN purchase p ON p.id = l.purchase_id WHERE l.sku = 'sku{sku}' AND p.total > 400"
            ),
            format!(
                "SELECT c.email, p.id, p.total FROM customer c JOIN purchase p ON p.customer_id = c.id \
                 WHERE c.id = {customer} AND p.placed > '2025-01-{day:02}'"
            ),
            format!("UPDATE stock SET quantity = quantity + 1 WHERE region = 'eu' AND number = 0 AND sku = 'sku{}'", i * 5 % 1000),
        ]);
    }
    statements
}
