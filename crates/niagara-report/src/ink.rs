//! The two colours of everything that Niagara writes on a terminal, numbers of the 256-colour palette, whose last 240 are the
//! same in every theme. Both can be read on black, white and what themes put in their place, and are told apart by every kind
//! of colour vision. No colour stands alone: a word or a figure beside it says the same.

/// Blue: a gain, a check that passed.
pub const GOOD: u8 = 32;
/// Orange: a loss, advice, a check that failed.
pub const BAD: u8 = 166;

/// `text` in this mode of a terminal, a number of SGR; blanks, and whatever has no mode, as they are.
pub fn painted(text: &str, mode: &str) -> String {
    match mode.is_empty() || text.trim().is_empty() {
        true => text.to_owned(),
        false => format!("\x1b[{mode}m{text}\x1b[0m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance, 0 to 1 (WCAG 2.2).
    fn luminance(rgb: [u8; 3]) -> f64 {
        let linear = rgb.map(|value| {
            let value = f64::from(value) / 255.0;
            match value <= 0.04045 {
                true => value / 12.92,
                false => ((value + 0.055) / 1.055).powf(2.4),
            }
        });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    /// The colour of the palette's cube of 6 × 6 × 6.
    fn rgb(number: u8) -> [u8; 3] {
        let levels = [0, 95, 135, 175, 215, 255];
        let cube = usize::from(number - 16);
        [cube / 36, cube / 6 % 6, cube % 6].map(|level| levels[level])
    }

    #[test]
    fn both_can_be_read_on_dark_and_on_light_terminals() {
        let grounds = [
            ("black", [0, 0, 0]),
            ("dark grey", [0x1e, 0x1e, 0x1e]),
            ("Solarized dark", [0x00, 0x2b, 0x36]),
            ("white", [0xff, 0xff, 0xff]),
            ("Solarized light", [0xfd, 0xf6, 0xe3]),
        ];
        for ink in [GOOD, BAD] {
            for (name, ground) in grounds {
                let mut both = [luminance(rgb(ink)), luminance(ground)];
                both.sort_by(f64::total_cmp);
                let contrast = (both[1] + 0.05) / (both[0] + 0.05);
                assert!(contrast >= 3.0, "{ink} on {name}: {contrast:.2}");
            }
        }
    }
}
