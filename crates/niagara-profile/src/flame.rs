//! Flame graphs: interactive SVG that needs no other file.

use anyhow::{Context, Result, bail};
use inferno::differential;
use inferno::flamegraph::{self, Options};

use crate::folded::Folded;

/// A hundredth of the weight's unit is the smallest that is drawn.
const SCALE: f64 = 100.0;

/// The stacks as an interactive SVG. `unit` names what the weights count: `samples`, `ms`.
///
/// # Errors
/// There is no stack.
pub fn flame_graph(folded: &Folded, title: &str, unit: &str) -> Result<String> {
    let mut options = options(title, unit);
    draw(&mut options, &folded.lines(SCALE))
}

/// B's stacks, coloured by how their share differs from A's: red has grown, blue has shrunk.
///
/// # Errors
/// There is no stack.
pub fn flame_graph_of_difference(
    a: &Folded,
    b: &Folded,
    title: &str,
    unit: &str,
) -> Result<String> {
    let mut lines = Vec::new();
    let settings = differential::Options {
        normalize: true,
        ..differential::Options::default()
    };
    // The differences are told right for whole weights only.
    let text = |folded: &Folded| folded.lines(1.0).join("\n");
    differential::from_readers(settings, text(a).as_bytes(), text(b).as_bytes(), &mut lines)
        .context("cannot set the two profiles side by side")?;
    let text = String::from_utf8_lossy(&lines);
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut options = options(title, unit);
    options.factor = 1.0;
    draw(&mut options, &lines)
}

fn options(title: &str, unit: &str) -> Options<'static> {
    let mut options = Options::default();
    options.title = title.to_owned();
    options.count_name = unit.to_owned();
    options.factor = 1.0 / SCALE;
    options.hash = true;
    options.font_type = "Verdana, DejaVu Sans, sans-serif".to_owned();
    options.bgcolors = Some(flamegraph::color::BackgroundColor::Flat(
        (253, 253, 252).into(),
    ));
    // Names of the kernel's functions end in `_[k]`, which this palette knows.
    options.colors = flamegraph::color::Palette::Multi(flamegraph::color::MultiPalette::Perl);
    options
}

fn draw(options: &mut Options<'_>, lines: &[String]) -> Result<String> {
    if lines.is_empty() {
        bail!("no stack was recorded, so there is nothing to draw");
    }
    let mut svg = Vec::new();
    flamegraph::from_lines(options, lines.iter().map(String::as_str), &mut svg)
        .context("cannot draw the flame graph")?;
    let svg = String::from_utf8(svg).context("the flame graph is not text")?;
    // Within a page that is a file, its own address cannot be changed, and need not be.
    Ok(svg.replace("history.replaceState(", "void ("))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::{Frame, Place};

    fn folded(weights: &[(&str, f64)]) -> Folded {
        let mut folded = Folded::default();
        for (name, weight) in weights {
            let frame = |name: &str| Frame {
                name: name.to_owned(),
                place: Place::Server,
                named: true,
                inferred: false,
            };
            folded.add([frame("main"), frame(name)], *weight);
        }
        folded
    }

    #[test]
    fn a_flame_graph_is_a_self_contained_file() {
        let svg = flame_graph(
            &folded(&[("parse<T>", 3.0), ("execute", 1.0)]),
            "CPU",
            "samples",
        )
        .unwrap();
        assert!(svg.contains("<svg") && svg.contains("parse&lt;T&gt;") && svg.contains("<script"));
        assert!(!svg.contains("replaceState"));
        for outside in ["src=\"http", "href=\"http", "@import"] {
            assert!(!svg.contains(outside), "{outside}");
        }
        assert!(flame_graph(&Folded::default(), "CPU", "samples").is_err());
    }

    #[test]
    fn a_difference_has_both_colours() {
        let (a, b) = (
            folded(&[("parse", 5.0), ("execute", 5.0)]),
            folded(&[("parse", 1.0), ("execute", 9.0)]),
        );
        let svg = flame_graph_of_difference(&a, &b, "A to B", "samples").unwrap();
        assert!(svg.contains("execute") && svg.contains("+40.00%"), "{svg}");
    }
}
