//! Made-up records for the tests.
#![allow(dead_code)] // each test file uses some of these

use std::collections::BTreeMap;

use niagara_model::{
    Comparison, DuelRecord, Ending, Goal, Phase, SliceRecord, StudyRecord, VariantRecord,
};
use niagara_stats::{Estimate, IntervalEstimate, Judgement, Stability, Verdict};
use serde_json::json;

pub fn study() -> StudyRecord {
    StudyRecord {
        kind: "compare".into(),
        command: "niagara compare base malloc=jemalloc".into(),
        key: "k1".into(),
        seed: u64::MAX - 6,
        started_unix_ms: 1_790_000_000_000,
        plan: json!({"looks": [8, 12]}),
        machine: json!({"cpus": 2, "kernel": "6.1"}),
        niagara_version: "0.1.0".into(),
    }
}

pub fn variant(id: &str) -> VariantRecord {
    VariantRecord {
        id: id.into(),
        label: format!("label of {id}"),
        content: json!({"malloc": id}),
        command: format!("LD_PRELOAD={id} mariadbd --no-defaults"),
        server_version: "10.11.14-MariaDB".into(),
    }
}

pub fn duel(seq: u32) -> DuelRecord {
    DuelRecord {
        seq,
        phase: Phase::Compare,
        subject: String::new(),
        variants: ["a".into(), "b".into()],
        seed: 0xffff_ffff_0000_0000 + u64::from(seq),
        started_unix_ms: 1_790_000_000_000 + i64::from(seq),
        wall_seconds: 31.5,
        load_seconds: 24.25,
        score: Some(0.0123),
        cpu_score: Some(-0.04),
        latency_scores: Some([-0.01, -0.02]),
        raw_score: Some(0.015),
        p99_score: Some(-0.03),
        couples: 20,
        dropped: [1, 2],
        ending: Ending::Scored,
    }
}

pub fn slices(seq: u32) -> Vec<SliceRecord> {
    (0..20u32)
        .flat_map(|couple| {
            let starts = (couple % 2) as u8;
            [starts, 1 - starts].map(|side| SliceRecord {
                duel: seq,
                couple,
                side,
                first: side == starts,
                started_unix_ms: 1_790_000_000_000 + i64::from(couple) * 1000,
                seconds: 0.5,
                transactions: 700 + u64::from(couple),
                queries: 11_200,
                errors: BTreeMap::from([(1213, 2)]),
                latency_us: [20_000, 40_000, 60_000, 80_000, 99_999],
                server_cpu_seconds: 0.7,
                client_cpu_seconds: 0.2,
                transactions_whole: 800,
                client_context_switches: 12_345,
                server_context_switches: 54_321,
                steal: 0.001,
                taken: 0.002,
                generator_busy: 0.3,
                disturbed: couple == 3,
                histogram: "HISTFAAAA".repeat(100),
            })
        })
        .collect()
}

pub fn interval(value: f64, low: f64, high: f64) -> IntervalEstimate {
    IntervalEstimate { value, low, high }
}

pub fn comparison(duels: usize, estimate: Estimate) -> Comparison {
    Comparison {
        a: "base".into(),
        b: "jemalloc".into(),
        goal: Goal::Throughput,
        rate: None,
        on_goal: None,
        throughput: Judgement {
            duels,
            verdict: Some(Verdict::Undetected),
            estimate,
            w: 3.0,
            critical: None,
            predictive_power: 0.01,
            called_at: None,
            confidence: None,
            looks: Vec::new(),
            one_sided: false,
            withdrawn: false,
            next_look: Some(16),
            alpha: 0.05,
        },
        cpu_per_transaction: None,
        latency_p50: None,
        latency_p95: None,
        in_longer_slices: None,
        latency_p99: None,
        unadjusted: None,
        all_time: None,
        taken: None,
        nodes: None,
        caution: None,
        failed: None,
        as_measured: None,
        stability: Some(Stability {
            sides: [interval(0.03, 0.02, 0.06), interval(0.02, 0.01, 0.04)],
            ratio: interval(0.67, 0.3, f64::INFINITY),
        }),
        tps: [1400.0, 1410.0],
        dropped: [1, 0],
        couples: 160,
        replay: None,
        encryption: [None, None],
    }
}
