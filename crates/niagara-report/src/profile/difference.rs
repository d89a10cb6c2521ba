//! What explains the change in throughput from A to B.

use niagara_profile::Profile;

use super::Section;
use super::figures::{ratio, small};
use crate::number::{NOTHING, percent};

/// One part of a query's cost, in microseconds.
struct Part {
    name: String,
    a: f64,
    b: f64,
}

/// CPU time per query by layer, the largest change first.
fn parts(a: &Profile, b: &Profile) -> Vec<Part> {
    let of = |profile: &Profile, layer: &str| {
        let layers = profile.cpu.as_ref().map(|cpu| &cpu.layers);
        let found = layers.and_then(|layers| layers.iter().find(|share| share.layer == layer));
        found.map_or(0.0, |share| share.us_per_query)
    };
    let mut known: Vec<(String, String)> = Vec::new();
    for profile in [a, b] {
        for share in profile.cpu.iter().flat_map(|cpu| &cpu.layers) {
            let key = (share.layer.clone(), share.title.clone());
            if !known.contains(&key) {
                known.push(key);
            }
        }
    }
    let mut found: Vec<Part> = known
        .into_iter()
        .map(|(layer, title)| Part {
            name: title,
            a: of(a, &layer),
            b: of(b, &layer),
        })
        .collect();
    found.sort_by(|x, y| (y.b - y.a).abs().total_cmp(&(x.b - x.a).abs()));
    found
}

/// The largest changes in a few words.
pub(super) fn because(a: &Profile, b: &Profile) -> String {
    if a.cpu.is_none() || b.cpu.is_none() {
        return "without the CPU view nothing says why".to_owned();
    }
    let largest: Vec<String> = parts(a, b)
        .iter()
        .take(2)
        .map(|part| format!("{} {} µs", part.name, signed(part.b - part.a)))
        .collect();
    format!(
        "{} µs of CPU per query instead of {} ({})",
        small(b.cpu_us_per_query),
        small(a.cpu_us_per_query),
        largest.join(", ")
    )
}

/// The whole division of the change.
pub(super) fn section(a: &Profile, b: &Profile) -> Section {
    let mut section = Section {
        title: "What explains the change".to_owned(),
        intro: "CPU time of the server per query, in microseconds, the largest change first. Where CPUs are what limits, \
                throughput follows it; where threads wait, the waiting below has to change."
            .to_owned(),
        columns: ["Layer", "A", "B", "B − A", "share of the change"].map(str::to_owned).to_vec(),
        ..Section::default()
    };
    let change = b.cpu_us_per_query - a.cpu_us_per_query;
    for part in parts(a, b) {
        let own = part.b - part.a;
        section.rows.push(vec![
            part.name,
            small(part.a),
            small(part.b),
            signed(own),
            if change.abs() > 0.01 {
                percent(own / change)
            } else {
                NOTHING.to_owned()
            },
        ]);
    }
    section.notes.push(format!(
        "Queries per second: A {}, B {}: × {:.3}; CPU time per query × {:.3}. A single start of each, for orientation: \
         `niagara compare` judges.",
        small(a.queries_per_second),
        small(b.queries_per_second),
        ratio(b.queries_per_second, a.queries_per_second),
        ratio(b.cpu_us_per_query, a.cpu_us_per_query)
    ));
    section
}

fn signed(value: f64) -> String {
    match value {
        v if v > 0.0 => format!("+{}", small(v)),
        v if v < 0.0 => format!("−{}", small(-v)),
        _ => "0".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use niagara_profile::result::{Cpu, LayerShare};

    fn profile(variant: &str, network: f64, memory: f64) -> Profile {
        let layer = |layer: &str, us_per_query| LayerShare {
            layer: layer.to_owned(),
            title: layer.to_owned(),
            what: String::new(),
            share: us_per_query / (network + memory),
            us_per_query,
        };
        Profile {
            variant: variant.to_owned(),
            queries_per_second: 1e6 / (network + memory),
            cpu_us_per_query: network + memory,
            cpu: Some(Cpu {
                layers: vec![layer("network", network), layer("memory", memory)],
                ..Cpu::default()
            }),
            ..Profile::default()
        }
    }

    #[test]
    fn the_largest_change_comes_first() {
        let (a, b) = (profile("tcp", 30.0, 10.0), profile("unix", 14.0, 11.0));
        let section = section(&a, &b);
        assert_eq!(
            section.rows[0],
            ["network", "30.0", "14.0", "−16.0", "107 %"]
        );
        assert_eq!(section.rows[1][3], "+1.00");
        assert!(because(&a, &b).contains("network −16.0 µs"));
    }
}
