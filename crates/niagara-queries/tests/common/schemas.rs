//! Further schemas: one whose statements report, one that writes as much as it reads.

use super::Schema;

/// Sales of shops, reported by day, product and brand.
pub const REPORTS: Schema = Schema {
    tables: &[
        "CREATE TABLE digit (n INT PRIMARY KEY)",
        "CREATE TABLE brand_product (id INT PRIMARY KEY, brand VARCHAR(20), name VARCHAR(40), KEY by_brand (brand, name))",
        "CREATE TABLE sale (id INT PRIMARY KEY AUTO_INCREMENT, day DATE NOT NULL, shop INT NOT NULL, product_id INT NOT NULL, \
         quantity INT NOT NULL, amount DECIMAL(10,2) NOT NULL, note VARCHAR(100), KEY by_day (day, shop, amount), \
         KEY by_shop (shop, day, quantity, amount), KEY by_product (product_id, day, quantity, amount))",
    ],
    rows: report_rows,
    indexes: &[
        (
            "brand_product",
            "by_brand",
            "ADD INDEX by_brand (brand, name)",
        ),
        ("sale", "by_day", "ADD INDEX by_day (day, shop, amount)"),
        (
            "sale",
            "by_shop",
            "ADD INDEX by_shop (shop, day, quantity, amount)",
        ),
        (
            "sale",
            "by_product",
            "ADD INDEX by_product (product_id, day, quantity, amount)",
        ),
    ],
    statements: report_statements,
};

/// Accounts and their entries, which are booked as often as they are read.
pub const LEDGER: Schema = Schema {
    tables: &[
        "CREATE TABLE digit (n INT PRIMARY KEY)",
        "CREATE TABLE account (id INT PRIMARY KEY, owner VARCHAR(40) NOT NULL, balance DECIMAL(12,2) NOT NULL, \
         KEY by_owner (owner))",
        "CREATE TABLE entry (id INT PRIMARY KEY AUTO_INCREMENT, account_id INT NOT NULL, booked DATETIME NOT NULL, \
         amount DECIMAL(10,2) NOT NULL, reference VARCHAR(20) NOT NULL, state CHAR(1) NOT NULL, \
         KEY by_account (account_id, booked), KEY by_reference (reference))",
    ],
    rows: ledger_rows,
    indexes: &[
        ("account", "by_owner", "ADD INDEX by_owner (owner)"),
        (
            "entry",
            "by_account",
            "ADD INDEX by_account (account_id, booked)",
        ),
        (
            "entry",
            "by_reference",
            "ADD INDEX by_reference (reference)",
        ),
    ],
    statements: ledger_statements,
};

/// 0 to 9999.
const MANY: &str = "(SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n AS i FROM digit a, digit b, digit c, digit d) AS t";
/// 0 to 99,999.
const MANY_TENFOLD: &str = "(SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n AS i \
                            FROM digit a, digit b, digit c, digit d, digit e) AS t";

fn digits() -> String {
    let digits: Vec<String> = (0..10).map(|n| format!("({n})")).collect();
    format!("INSERT INTO digit VALUES {}", digits.join(", "))
}

fn report_rows() -> Vec<String> {
    vec![
        digits(),
        format!(
            "INSERT INTO brand_product SELECT i, CONCAT('brand', i % 100), CONCAT('product ', i) FROM {MANY} WHERE i < 1000"
        ),
        format!(
            "INSERT INTO sale (day, shop, product_id, quantity, amount, note) SELECT '2025-01-01' + INTERVAL i DIV 300 DAY, \
             i * 7 % 50, i * 13 % 1000, 1 + i % 5, i % 300, REPEAT('n', 60) FROM {MANY_TENFOLD}"
        ),
    ]
}

fn report_statements() -> Vec<String> {
    let mut statements = Vec::new();
    for i in 0..8 {
        let (shop, product, day) = (i * 7 % 50, i * 131 % 1000, 1 + i);
        statements.extend([
            // A report of a day, one of a shop's week, one of a product's half-year, one of a brand.
            format!("SELECT shop, COUNT(*), SUM(amount) FROM sale WHERE day = '2025-02-{day:02}' GROUP BY shop ORDER BY shop"),
            format!(
                "SELECT day, SUM(quantity), SUM(amount) FROM sale WHERE shop = {shop} AND day BETWEEN '2025-03-{day:02}' AND '2025-04-{day:02}' \
                 GROUP BY day ORDER BY day"
            ),
            format!("SELECT SUM(quantity) FROM sale WHERE product_id = {product} AND day >= '2025-05-{day:02}'"),
            format!(
                "SELECT p.name, SUM(s.amount) AS total FROM brand_product p JOIN sale s ON s.product_id = p.id \
                 WHERE p.brand = 'brand{}' AND s.day >= '2025-06-{day:02}' GROUP BY p.id, p.name ORDER BY total DESC LIMIT 5",
                i * 11 % 100
            ),
        ]);
    }
    statements
}

fn ledger_rows() -> Vec<String> {
    vec![
        digits(),
        format!(
            "INSERT INTO account SELECT i, CONCAT('owner', i DIV 2), i FROM {MANY} WHERE i < 4000"
        ),
        format!(
            "INSERT INTO entry (account_id, booked, amount, reference, state) SELECT i * 7 % 4000, \
             '2025-01-01' + INTERVAL i MINUTE, i % 90, CONCAT('R', i), 'b' FROM {MANY}"
        ),
    ]
}

fn ledger_statements() -> Vec<String> {
    let mut statements = Vec::new();
    for i in 0..12 {
        let (account, entry) = (i * 311 % 4000, i * 97 % 10_000);
        statements.extend([
            format!("SELECT id, balance FROM account WHERE owner = 'owner{}'", account / 2),
            format!("SELECT booked, amount FROM entry WHERE account_id = {account} ORDER BY booked DESC LIMIT 10"),
            format!("SELECT id, state FROM entry WHERE reference = 'R{entry}'"),
            format!(
                "INSERT INTO entry (account_id, booked, amount, reference, state) VALUES ({account}, '2025-02-01', 5, 'N{i}', 'n')"
            ),
            format!("UPDATE account SET balance = balance - 5 WHERE id = {account}"),
            format!("UPDATE entry SET state = 'c' WHERE reference = 'R{entry}'"),
        ]);
    }
    statements
}
