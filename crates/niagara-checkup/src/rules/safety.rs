//! What puts data or the server at risk.

use niagara_lab::lever::{Lever, called};

use crate::facts::Facts;
use crate::finding::Finding;
use crate::levers::set_so;
use crate::rule::Rules;

/// Buffers that are taken once.
const BUFFERS: [&str; 6] = [
    "innodb_buffer_pool_size",
    "innodb_log_buffer_size",
    "key_buffer_size",
    "aria_pagecache_buffer_size",
    "query_cache_size",
    "rocksdb_block_cache_size",
];

pub(super) fn findings(facts: &Facts, rules: &Rules, levers: &[Lever]) -> Vec<Finding> {
    let mut found = durability(facts, rules, levers);
    found.extend(memory(facts, rules));
    found.extend(swapped(facts, rules));
    found.extend(engines(facts));
    found
}

fn durability(facts: &Facts, rules: &Rules, levers: &[Lever]) -> Vec<Finding> {
    let names = rules.durability_off.levers().iter();
    let found = names.filter_map(|name| {
        let lever = called(name, levers).ok()?;
        let setting = set_so(facts, lever, levers)?;
        Some(Finding::DurabilityOff {
            lever: name.clone(),
            variable: setting.variable,
            value: setting.now,
            risk: lever
                .caution()
                .unwrap_or_else(|| lever.why())
                .trim()
                .replace('\n', " "),
        })
    });
    found.collect()
}

fn memory(facts: &Facts, rules: &Rules) -> Option<Finding> {
    let memory_bytes = facts.host.as_ref()?.memory_bytes?;
    let sizes = BUFFERS
        .iter()
        .filter_map(|name| facts.variables.number(name));
    let buffers: f64 = sizes.sum();
    let most = rules.memory_beyond_ram.limits.share * memory_bytes as f64;
    (buffers > most).then_some(Finding::MemoryBeyondRam {
        buffer_bytes: buffers as u64,
        memory_bytes,
    })
}

fn swapped(facts: &Facts, rules: &Rules) -> Option<Finding> {
    let host = facts.host.as_ref()?;
    let limits = &rules.swapped.limits;
    let swapped = host.swapped_bytes as f64;
    let all = swapped + host.resident_bytes as f64;
    (swapped >= limits.bytes && swapped >= limits.share * all).then_some(Finding::Swapped {
        swapped_bytes: host.swapped_bytes,
        resident_bytes: host.resident_bytes,
        pages_read: facts.window.pages_from_swap.unwrap_or(0),
    })
}

fn engines(facts: &Facts) -> Option<Finding> {
    let tables = facts.catalog.as_ref()?.tables.iter();
    let tables: Vec<_> = tables
        .filter(|table| {
            table.engine.eq_ignore_ascii_case("MyISAM") && table.is_written == Some(true)
        })
        .map(|table| table.name.clone())
        .collect();
    (!tables.is_empty()).then_some(Finding::EngineNotCrashSafe { tables })
}
