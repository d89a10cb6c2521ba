//! A recorded study, drawn.

use std::time::Duration;

use niagara_model::Screened;
use niagara_stats::Judgement;
use serde::Deserialize;

use super::{Frame, Glyphs, State, lines, one_line, outcome};

/// One event as it was recorded from a tuning on a real server, with the seconds of its budget that were used by then.
#[derive(Deserialize)]
struct Recorded {
    at: f64,
    event: Happened,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Happened {
    Stage(String),
    Slice(usize, f64, f64),
    Duel,
    Screened(Vec<Screened>, usize),
    Judged(Box<Judgement>),
}

/// The study as far as `until` says that it is far enough, and the time used by then.
fn played(until: impl Fn(&State) -> bool) -> (State, Duration) {
    let mut state = State::new(Duration::from_secs(200));
    let mut used = Duration::ZERO;
    for line in include_str!("recorded.jsonl").lines() {
        let recorded: Recorded = serde_json::from_str(line).expect("a recorded event");
        used = Duration::from_secs_f64(recorded.at);
        match recorded.event {
            Happened::Stage(name) => state.stage(&name),
            Happened::Slice(side, tps, taken) => state.slice(side, tps, taken),
            Happened::Duel => state.duel(),
            Happened::Screened(levers, from) => state.screened(levers, from),
            Happened::Judged(judgement) => state.judged(&judgement),
        }
        if until(&state) {
            break;
        }
    }
    (state, used)
}

fn frame(columns: usize) -> Frame {
    Frame {
        columns,
        rows: 24,
        colour: false,
        glyphs: Glyphs::UNICODE,
    }
}

/// Moments of the study worth a look.
fn moments() -> Vec<(&'static str, State, Duration)> {
    type Until = fn(&State) -> bool;
    let moments: [(&str, Until); 4] = [
        ("the first duel", |state| {
            state.tps[0] > 0.0 && state.tps[1] > 0.0
        }),
        ("levers separate", |state| {
            state.is_screening() && state.levers.len() > 2 && state.tps[1] > 0.0
        }),
        ("the total's first duels", |state| {
            state.stage == "total" && state.newest.is_some() && state.tps[1] > 0.0
        }),
        ("the end", |_| false),
    ];
    moments
        .into_iter()
        .map(|(name, until)| {
            let (state, used) = played(until);
            (name, state, used)
        })
        .collect()
}

fn drawn(frame: &Frame) -> String {
    let mut text = String::new();
    for (name, state, used) in moments() {
        let picture = lines(&state, used, frame);
        text += &format!("── {name}\n{}\n", picture.join("\n"));
    }
    text
}

#[test]
fn on_80_columns() {
    insta::assert_snapshot!(drawn(&frame(80)));
}

#[test]
fn on_200_columns() {
    insta::assert_snapshot!(drawn(&frame(200)));
}

#[test]
fn without_unicode() {
    let frame = Frame {
        glyphs: Glyphs::ASCII,
        ..frame(80)
    };
    insta::assert_snapshot!(super::plain(&drawn(&frame)));
}

/// Duels of the same two servers, one after the other.
fn sixteen_duels() -> State {
    let mut state = State::new(Duration::from_secs(600));
    state.stage("total");
    let scores: Vec<f64> = (0..16)
        .map(|i| 0.27 + 0.03 * f64::from(i * 7 % 5 - 2))
        .collect();
    for n in 1..=scores.len() {
        state.duel();
        let Some(estimate) = niagara_stats::interval_once(&scores[..n], 0.05) else {
            continue;
        };
        let step = super::state::Step { duels: n, estimate };
        state.newest = Some(step);
        state.steps.push(step);
    }
    state.next_look = Some(24);
    state
}

#[test]
fn the_interval_narrows() {
    let used = Duration::from_secs(431);
    let text: Vec<String> = [60, 80, 200]
        .into_iter()
        .map(|columns| lines(&sixteen_duels(), used, &frame(columns)).join("\n"))
        .collect();
    insta::assert_snapshot!(text.join("\n\n"));
}

#[test]
fn in_colour_only_when_asked_for() {
    let coloured = Frame {
        colour: true,
        ..frame(80)
    };
    assert!(!drawn(&frame(80)).contains('\x1b'));
    let text = drawn(&coloured);
    assert_eq!(console::strip_ansi_codes(&text), drawn(&frame(80)));
    // A gain is blue.
    let gain = lines(&sixteen_duels(), Duration::ZERO, &coloured).join("\n");
    assert!(gain.contains("\x1b[38;5;32m"), "{gain}");
    // Nothing is dim: on many a theme that cannot be read.
    assert!(!text.contains("\x1b[2m"), "{text}");
}

#[test]
fn as_lines_of_a_log() {
    let lines: Vec<String> = moments()
        .iter()
        .flat_map(|(_, state, used)| {
            let mut lines = vec![one_line(state, *used)];
            lines.extend(outcome(state));
            lines
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

/// Whatever the terminal: no line is longer, and no more lines than there is room for.
#[test]
fn it_keeps_within_the_terminal() {
    for columns in [20, 40, 60, 80, 120, 200] {
        for rows in [3, 6, 10, 24, 60] {
            let frame = Frame {
                rows,
                ..frame(columns)
            };
            for (name, state, used) in moments() {
                let picture = lines(&state, used, &frame);
                assert!(picture.len() <= rows.max(3), "{name}: {columns} × {rows}");
                for line in &picture {
                    let width = console::measure_text_width(line);
                    assert!(width <= columns, "{name}: {columns}: {line}");
                }
            }
        }
    }
}

#[test]
fn a_study_that_told_nothing_yet_and_figures_that_are_none() {
    let mut state = State::new(Duration::ZERO);
    assert_eq!(lines(&state, Duration::ZERO, &frame(80)).len(), 2);
    state.stage("comparing");
    let nan = niagara_stats::Estimate {
        ratio: f64::NAN,
        low: f64::NAN,
        high: f64::NAN,
    };
    state.screened(Vec::new(), 9);
    state.steps.push(super::state::Step {
        duels: 1,
        estimate: nan,
    });
    state.newest = state.steps.last().copied();
    let text = lines(&state, Duration::from_secs(9), &frame(80)).join("\n");
    assert!(text.contains("after 1 duel"), "{text}");
}

#[test]
fn pairs_are_not_called_duels() {
    let mut state = sixteen_duels();
    state.unit = "pair";
    let told = one_line(&state, Duration::ZERO);
    assert!(told.contains("16 pairs"), "{told}");
    let drawn = lines(&state, Duration::ZERO, &frame(80)).join("\n");
    assert!(
        drawn.contains("after 16 pairs") && !drawn.contains("duel"),
        "{drawn}"
    );
    state.stage("the next part");
    assert_eq!(state.unit, "pair");
}

#[test]
fn a_screening_says_from_when_on_it_tells_what_levers_do() {
    let mut state = State::new(Duration::from_secs(100));
    state.stage("screening");
    state.screened(Vec::new(), 8);
    let shown = lines(&state, Duration::ZERO, &frame(80)).join("\n");
    assert!(shown.contains("from duel 8 on"), "{shown}");
}
