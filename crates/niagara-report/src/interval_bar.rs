//! One line of a chart in characters: how far from the start, and how sure.

/// Positions of a bar on a linear axis; on a log axis the caller takes logarithms.
#[derive(Debug, Clone, Copy)]
pub struct Bar {
    /// Where it begins: what the rung before has reached.
    pub start: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// The estimate.
    pub middle: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Draws `bar` in `width` cells that span `axis`: `full` where it is sure to reach, `▒` within the
/// interval, `┃` at the estimate. An end beyond the axis is cut off there.
pub fn draw(bar: Bar, axis: (f64, f64), width: usize, full: char) -> String {
    let span = axis.1 - axis.0;
    if width == 0 || !span.is_finite() || span <= 0.0 || !bar.middle.is_finite() {
        return " ".repeat(width);
    }
    let cell = |value: f64| -> usize {
        let share = ((value - axis.0) / span).clamp(0.0, 1.0);
        ((share * width as f64) as usize).min(width - 1)
    };
    let (start, low, middle, high) = (
        cell(bar.start),
        cell(bar.low),
        cell(bar.middle),
        cell(bar.high),
    );
    // The near end of the interval, seen from the start: up to there all is sure.
    let sure = if bar.middle >= bar.start {
        start..low.max(start)
    } else {
        (high + 1).min(start + 1)..start + 1
    };
    (0..width)
        .map(|x| {
            if x == middle {
                '┃'
            } else if (low..=high).contains(&x) {
                '▒'
            } else if sure.contains(&x) {
                full
            } else {
                ' '
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(start: f64, low: f64, middle: f64, high: f64) -> String {
        let bar = Bar {
            start,
            low,
            middle,
            high,
        };
        draw(bar, (0.0, 10.0), 10, '█')
    }

    #[test]
    fn gains_losses_and_ends_beyond_the_axis() {
        assert_eq!(drawn(2.0, 5.0, 6.0, 7.0), "  ███▒┃▒  ");
        assert_eq!(drawn(8.0, 2.0, 3.0, 4.0), "  ▒┃▒████ ");
        assert_eq!(
            drawn(0.0, f64::NEG_INFINITY, 5.0, f64::INFINITY),
            "▒▒▒▒▒┃▒▒▒▒"
        );
        assert_eq!(drawn(0.0, 0.0, f64::NAN, 1.0), "          ");
    }
}
