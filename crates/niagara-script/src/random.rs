//! The numbers that scripts draw: for one seed the same as sysbench 1.0.20 draws.
//!
//! Numbers come from xoroshiro128+ (D. Blackman and S. Vigna, 2016; the constants 55, 14, 36), whose state is made of numbers of
//! the C library's `random()`: an additive feedback generator, r(i) = r(i-3) + r(i-31), without its lowest bit.

/// The C library's `random()` after `srandom(seed)`.
#[derive(Debug, Clone)]
pub struct Feedback {
    table: [u32; 31],
    next: usize,
}

impl Feedback {
    pub fn new(seed: u32) -> Self {
        let mut table = [0_u32; 31];
        let mut word = i64::from(if seed == 0 { 1 } else { seed } as i32);
        for place in &mut table {
            *place = word as u32;
            // The minimal standard generator of Park and Miller: 16807 x mod 2^31 - 1.
            word = (16_807 * word).rem_euclid(2_147_483_647);
        }
        // The first number stands as it is, be it out of range.
        table[0] = if seed == 0 { 1 } else { seed };
        // The first three sums are the first three numbers once more.
        let mut feedback = Feedback { table, next: 3 };
        for _ in 0..310 {
            feedback.draw();
        }
        feedback
    }

    /// 31 bits.
    pub fn draw(&mut self) -> u32 {
        let place = self.next;
        let sum = self.table[place].wrapping_add(self.table[(place + 28) % 31]);
        self.table[place] = sum;
        self.next = (place + 1) % 31;
        sum >> 1
    }
}

/// What `--rand-type` and its like choose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    pub kind: Kind,
    pub iterations: u32,
    /// Percent of the values that are special.
    pub special: f64,
    /// Percent of the draws that are special.
    pub share: f64,
    pub pareto: f64,
}

/// A distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Uniform,
    Gaussian,
    Special,
    Pareto,
}

impl Default for Choice {
    fn default() -> Self {
        Choice {
            kind: Kind::Special,
            iterations: 12,
            special: 1.0,
            share: 75.0,
            pareto: 0.2,
        }
    }
}

/// The generator of one thread.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 2],
    choice: Choice,
}

impl Random {
    /// Seeded by the next four numbers of `feedback`.
    pub fn new(feedback: &mut Feedback, choice: Choice) -> Self {
        let mut word = || u64::from(feedback.draw()) << 32 | u64::from(feedback.draw());
        Random {
            state: [word(), word()],
            choice,
        }
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        let [a, mut b] = self.state;
        let result = a.wrapping_add(b);
        b ^= a;
        self.state = [a.rotate_left(55) ^ b ^ (b << 14), b.rotate_left(36)];
        result
    }

    /// From 0 to less than 1.
    pub fn fraction(&mut self) -> f64 {
        f64::from_bits(0x3ff << 52 | self.bits() >> 12) - 1.0
    }

    /// As `--rand-type` says.
    pub fn draw(&mut self, from: u32, to: u32) -> u32 {
        match self.choice.kind {
            Kind::Uniform => self.uniform(from, to),
            Kind::Gaussian => self.gaussian(from, to),
            Kind::Special => self.special(from, to),
            Kind::Pareto => self.pareto(from, to),
        }
    }

    /// All alike.
    pub fn uniform(&mut self, from: u32, to: u32) -> u32 {
        let width = to.wrapping_sub(from).wrapping_add(1);
        (f64::from(from) + self.fraction() * f64::from(width)) as u32
    }

    /// The mean of several uniform ones.
    pub fn gaussian(&mut self, from: u32, to: u32) -> u32 {
        let width = f64::from(to.wrapping_sub(from).wrapping_add(1));
        let sum: f64 = (0..self.choice.iterations)
            .map(|_| self.fraction() * width)
            .sum();
        from.wrapping_add((sum * (1.0 / f64::from(self.choice.iterations))) as u32)
    }

    /// A share of the draws goes to a few values in the middle, the others as [`gaussian`](Self::gaussian).
    pub fn special(&mut self, from: u32, to: u32) -> u32 {
        let width = f64::from(to.wrapping_sub(from));
        let first = self.fraction();
        let place = first * (width * (100.0 / (100.0 - self.choice.share)));
        if place < width {
            let sum: f64 = (0..self.choice.iterations).map(|_| self.fraction()).sum();
            let mean = sum * width * (1.0 / f64::from(self.choice.iterations));
            return (f64::from(from) + mean) as u32;
        }
        let values = width * (self.choice.special / 100.0);
        let middle = width / 2.0 - width * (self.choice.special / 200.0);
        from.wrapping_add((first * (values + 1.0) + middle) as u32)
    }

    /// A few values get most of the draws (Pareto's law with parameter h).
    pub fn pareto(&mut self, from: u32, to: u32) -> u32 {
        let h = self.choice.pareto;
        let width = f64::from(to.wrapping_sub(from).wrapping_add(1));
        let power = h.ln() / (1.0 - h).ln();
        from.wrapping_add((width * self.fraction().powf(power)) as u32)
    }

    /// Puts digits for `#` and letters for `@`.
    pub fn fill(&mut self, text: &mut [u8]) {
        for byte in text {
            match byte {
                b'#' => *byte = self.uniform(b'0'.into(), b'9'.into()) as u8,
                b'@' => *byte = self.uniform(b'a'.into(), b'z'.into()) as u8,
                _ => {}
            }
        }
    }
}

/// Numbers of which none comes twice, for all threads: a permutation by quadratic residues of a prime (J. Preshing, How to
/// Generate a Sequence of Unique Random Integers, 2012).
#[derive(Debug)]
pub struct Unique {
    index: std::sync::atomic::AtomicU32,
    offset: u32,
}

const PRIME: u32 = 4_294_967_291;

fn permuted(number: u32) -> u32 {
    if number >= PRIME {
        return number;
    }
    let residue = (u64::from(number) * u64::from(number) % u64::from(PRIME)) as u32;
    if number <= PRIME / 2 {
        residue
    } else {
        PRIME - residue
    }
}

impl Unique {
    /// Seeded by the next two numbers of `feedback`.
    pub fn new(feedback: &mut Feedback) -> Self {
        let (index, offset) = (feedback.draw(), feedback.draw());
        let start = permuted(permuted(index).wrapping_add(0x682f_0161));
        Unique {
            index: start.into(),
            offset: permuted(permuted(offset).wrapping_add(0x4679_0905)),
        }
    }

    /// The next.
    pub fn draw(&self) -> u32 {
        let index = self
            .index
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        permuted(permuted(index).wrapping_add(self.offset) ^ 0x5bf0_3635)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_librarys_numbers() {
        // What glibc's random() gives after srandom(1) and srandom(42).
        let mut one = Feedback::new(1);
        let drawn: Vec<u32> = (0..4).map(|_| one.draw()).collect();
        assert_eq!(
            drawn,
            [1_804_289_383, 846_930_886, 1_681_692_777, 1_714_636_915]
        );
        assert_eq!(Feedback::new(42).draw(), 71_876_166);
    }

    #[test]
    fn numbers_are_within_their_bounds() {
        let mut random = Random::new(&mut Feedback::new(7), Choice::default());
        for _ in 0..10_000 {
            for number in [
                random.uniform(3, 9),
                random.gaussian(3, 9),
                random.special(3, 9),
                random.pareto(3, 9),
                random.draw(3, 9),
            ] {
                assert!((3..=9).contains(&number), "{number}");
            }
        }
        let mut text = *b"a-##-@@";
        random.fill(&mut text);
        assert!(text.starts_with(b"a-") && !text.contains(&b'#') && !text.contains(&b'@'));
    }

    #[test]
    fn unique_numbers_do_not_come_twice() {
        let unique = Unique::new(&mut Feedback::new(1));
        let drawn: std::collections::HashSet<u32> = (0..10_000).map(|_| unique.draw()).collect();
        assert_eq!(drawn.len(), 10_000);
    }
}
