//! What explains the change in throughput from A to B.

use niagara_profile::Profile;

use super::Content;
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
        found.and_then(|share| share.us_per_query).unwrap_or(0.0)
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
    let alone = match is_user_only(a, b) {
        true => " in the server's own code",
        false => "",
    };
    format!(
        "{} µs of CPU per query instead of {} ({}{alone})",
        small(b.cpu_us_per_query),
        small(a.cpu_us_per_query),
        largest.join(", ")
    )
}

/// Whether layers divide the time of the server's own code alone, because the kernel shows nothing of itself here.
fn is_user_only(a: &Profile, b: &Profile) -> bool {
    let is = |profile: &Profile| profile.cpu.as_ref().is_some_and(|cpu| cpu.user_only);
    is(a) || is(b)
}

/// The whole division of the change; without the CPU view of both there is nothing to divide.
pub(super) fn section(a: &Profile, b: &Profile) -> Content {
    let mut section = Content {
        title: "What explains the change".to_owned(),
        ..Content::default()
    };
    if a.cpu.is_some() && b.cpu.is_some() {
        divide(&mut section, a, b);
    } else {
        let nothing = "Without the CPU view of both nothing says what explains it.";
        section.notes.push(nothing.to_owned());
    }
    let times = |ratio: f64| match ratio.is_finite() {
        true => format!("× {ratio:.3}"),
        false => NOTHING.to_owned(),
    };
    section.notes.push(format!(
        "Queries per second: A {}, B {}: {}; CPU time per query {}. A single start of each, for orientation: \
         `niagara compare` judges.",
        small(a.queries_per_second),
        small(b.queries_per_second),
        times(known_ratio(b.queries_per_second, a.queries_per_second)),
        // Nothing is known of it where it is zero: every query takes some.
        times(match b.cpu_us_per_query > Some(0.0) {
            true => known_ratio(b.cpu_us_per_query, a.cpu_us_per_query),
            false => f64::NAN,
        })
    ));
    section
}

/// A part of a whole; NaN where either is not known.
fn known_ratio(part: Option<f64>, whole: Option<f64>) -> f64 {
    part.zip(whole)
        .map_or(f64::NAN, |(part, whole)| ratio(part, whole))
}

/// The table of the parts.
fn divide(section: &mut Content, a: &Profile, b: &Profile) {
    section.intro = "CPU time of the server per query, in microseconds, the largest change first. Where CPUs are what limits, \
                     throughput follows it; where threads wait, the waiting below has to change."
        .to_owned();
    section.columns = ["Layer", "A", "B", "B − A", "share of the change"]
        .map(str::to_owned)
        .to_vec();
    let parts = parts(a, b);
    // The whole is what the parts are parts of.
    let change: f64 = match is_user_only(a, b) {
        true => parts.iter().map(|part| part.b - part.a).sum(),
        false => b.cpu_us_per_query.unwrap_or(0.0) - a.cpu_us_per_query.unwrap_or(0.0),
    };
    for part in parts {
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
    if is_user_only(a, b) {
        section.notes.push(
            "Layers divide the time of the server's own code alone: what the kernel does for it was not seen, and is in none of \
             them."
                .to_owned(),
        );
    }
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
            us_per_query: Some(us_per_query),
        };
        Profile {
            variant: variant.to_owned(),
            queries_per_second: Some(1e6 / (network + memory)),
            cpu_us_per_query: Some(network + memory),
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

    #[test]
    fn without_the_cpu_view_nothing_is_divided() {
        let (mut a, mut b) = (profile("tcp", 30.0, 10.0), profile("unix", 14.0, 11.0));
        (a.cpu, b.cpu) = (None, None);
        let other = section(&a, &b);
        assert!(other.rows.is_empty() && other.columns.is_empty());
        assert!(
            other.notes[1].contains("CPU time per query × 0.625"),
            "{other:?}"
        );
        // Nor is it known where no query was answered.
        (a.cpu_us_per_query, b.cpu_us_per_query) = (Some(0.0), None);
        let notes = section(&a, &b).notes.concat();
        assert!(!notes.contains("NaN") && notes.contains(&format!("CPU time per query {NOTHING}")));
    }

    #[test]
    fn parts_of_the_servers_own_code_are_shares_of_their_own_sum() {
        let (mut a, mut b) = (profile("tcp", 30.0, 10.0), profile("unix", 14.0, 11.0));
        for profile in [&mut a, &mut b] {
            // The kernel's part is in the whole, and in no layer.
            profile.cpu_us_per_query = profile.cpu_us_per_query.map(|time| time + 40.0);
            if let Some(cpu) = &mut profile.cpu {
                cpu.user_only = true;
            }
        }
        b.cpu_us_per_query = b.cpu_us_per_query.map(|time| time - 30.0);
        let section = section(&a, &b);
        assert_eq!(section.rows[0][4], "107 %");
        assert!(section.notes[0].contains("own code alone"), "{section:?}");
        assert!(because(&a, &b).ends_with("in the server's own code)"));
    }
}
