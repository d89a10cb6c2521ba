//! Memory and logs: buffer pool, redo log, caches.

use crate::facts::Facts;
use crate::finding::Finding;
use crate::redo::capacity;
use crate::rule::Rules;

pub(super) fn findings(facts: &Facts, rules: &Rules) -> Vec<Finding> {
    let found = [
        pool(facts, rules),
        redo(facts, rules),
        log_buffer(facts, rules),
        query_cache(facts),
        temporary_tables(facts, rules),
        table_cache(facts, rules),
    ];
    found.into_iter().flatten().collect()
}

fn pool(facts: &Facts, rules: &Rules) -> Option<Finding> {
    let limits = &rules.pool_too_small.limits;
    let pool = facts.variables.number("innodb_buffer_pool_size")?;
    let data = facts.catalog.as_ref()?.innodb_bytes? as f64;
    let page = facts.variables.number("innodb_page_size")?;
    // Those that were read ahead, too.
    let pages = facts.since_start.get("innodb_pages_read")?;
    let requests = facts.since_start.get("innodb_buffer_pool_read_requests")?;
    let miss_share = pages / requests.max(1.0);
    let read = pages * page;
    let again = read > limits.times_read * data;
    (data > pool && again && miss_share > limits.miss_share).then_some(Finding::PoolTooSmall {
        pool_bytes: pool as u64,
        data_bytes: data as u64,
        read_bytes: read as u64,
        miss_share,
        pages_per_second: facts.window.growth.or_zero("innodb_pages_read") / facts.window.seconds,
    })
}

fn redo(facts: &Facts, rules: &Rules) -> Option<Finding> {
    let limits = &rules.redo_too_small.limits;
    let capacity = capacity(&facts.variables)?;
    let written = facts.window.growth.get("innodb_os_log_written")?;
    let per_second = written / facts.window.seconds;
    let round_seconds = capacity / per_second;
    let much = written > limits.written * capacity;
    (much && round_seconds < limits.seconds).then_some(Finding::RedoTooSmall {
        capacity_bytes: capacity as u64,
        bytes_per_second: per_second,
        round_seconds,
        in_use: facts.window.redo_in_use,
    })
}

fn log_buffer(facts: &Facts, rules: &Rules) -> Option<Finding> {
    let waits = facts.since_start.get("innodb_log_waits")?;
    let writes = facts.since_start.get("innodb_log_writes")?;
    let most = rules.log_buffer_waits.limits.share * writes;
    (waits > 0.0 && waits > most).then_some(Finding::LogBufferWaits {
        waits: waits as u64,
        buffer_bytes: facts.variables.number("innodb_log_buffer_size")? as u64,
    })
}

fn query_cache(facts: &Facts) -> Option<Finding> {
    let bytes = facts.variables.number("query_cache_size")?;
    let mode = facts.variables.text("query_cache_type")?;
    let is_on = !mode.eq_ignore_ascii_case("OFF") && mode != "0";
    (is_on && bytes > 0.0).then_some(Finding::QueryCacheOn {
        bytes: bytes as u64,
        hits: facts.since_start.or_zero("qcache_hits") as u64,
        selects: facts.since_start.or_zero("com_select") as u64,
        prunes: facts.since_start.or_zero("qcache_lowmem_prunes") as u64,
    })
}

fn temporary_tables(facts: &Facts, rules: &Rules) -> Option<Finding> {
    let limits = &rules.temporary_tables_on_disk.limits;
    let on_disk = facts.since_start.get("created_tmp_disk_tables")?;
    let all = facts.since_start.get("created_tmp_tables")?;
    (on_disk >= limits.count && on_disk >= limits.share * all).then_some(
        Finding::TemporaryTablesOnDisk {
            on_disk: on_disk as u64,
            all: all as u64,
        },
    )
}

fn table_cache(facts: &Facts, rules: &Rules) -> Option<Finding> {
    let limits = &rules.table_cache_too_small.limits;
    let open = facts.since_start.get("open_tables")?;
    let limit = facts.variables.number("table_open_cache")?;
    let per_second = facts.window.growth.get("opened_tables")? / facts.window.seconds;
    let full = open >= limits.share * limit && per_second >= limits.opened_per_second;
    full.then_some(Finding::TableCacheTooSmall {
        opened_per_second: per_second,
        open: open as u64,
        limit: limit as u64,
    })
}
