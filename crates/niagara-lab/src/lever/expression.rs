//! Values worked out from the machine: `= min(server_memory * 0.6, round_up(data * 1.3, 128M))`.
//!
//! Numbers (with `K`, `M`, `G`, `T`), the names of [`NAMES`], `+ - * /`, parentheses, and the functions
//! of [`FUNCTIONS`]. The result is a whole number, rounded down. There is nothing else, so
//! a lever from elsewhere can be read without trusting it.

use niagara_toml::{Found, finding};

/// What an expression may refer to.
pub(crate) const NAMES: [&str; 4] = ["cpus", "memory", "server_memory", "data"];
/// What an expression may call.
pub(crate) const FUNCTIONS: [&str; 4] = ["min", "max", "round_up", "round_down"];

/// The machine as expressions see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Quantities {
    /// CPUs that can be kept busy.
    pub cpus: f64,
    /// Bytes of the machine's memory.
    pub memory: f64,
    /// Bytes that one server may count on while its opponent is alive.
    pub server_memory: f64,
    /// Bytes of the data directory.
    pub data: f64,
}

/// A parsed expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expression {
    Number(f64),
    Name(&'static str),
    Binary(char, Box<Expression>, Box<Expression>),
    Call(&'static str, Vec<Expression>),
}

/// What is wrong with an expression, and where in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExpressionError {
    /// Byte offset in the text.
    pub at: usize,
    /// The cause.
    pub cause: String,
    /// What to do.
    pub remedy: String,
}

impl ExpressionError {
    /// The mistake of a file in which the expression begins at byte `at`.
    pub(crate) fn found<T>(self, at: usize) -> Found<T> {
        finding(at + self.at, self.cause, self.remedy)
    }
}

impl Expression {
    /// Reads the text after the `=`.
    pub(crate) fn parse(text: &str) -> Result<Self, ExpressionError> {
        let mut parser = Parser { text, at: 0 };
        let expression = parser.sum()?;
        parser.space();
        if parser.at < text.len() {
            return Err(parser.error(
                "an operator was expected here",
                "write + - * / between two values",
            ));
        }
        Ok(expression)
    }

    /// The whole number it comes to; the reason why it comes to none.
    pub(crate) fn value(&self, quantities: &Quantities) -> Result<u64, String> {
        let value = self.number(quantities);
        if !(0.0..=1e18).contains(&value) {
            return Err(format!(
                "it comes to {value}, which is not a value for a variable"
            ));
        }
        // A hair above, so that 0.6 * 5 is 3 and not 2.
        Ok((value + 1e-6).floor() as u64)
    }

    fn number(&self, quantities: &Quantities) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Name(name) => match *name {
                "cpus" => quantities.cpus,
                "memory" => quantities.memory,
                "server_memory" => quantities.server_memory,
                _ => quantities.data,
            },
            Self::Binary(operator, left, right) => {
                let (left, right) = (left.number(quantities), right.number(quantities));
                match operator {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    _ => left / right,
                }
            }
            Self::Call(function, arguments) => {
                let mut numbers = arguments.iter().map(|argument| argument.number(quantities));
                match *function {
                    "min" => numbers.fold(f64::INFINITY, f64::min),
                    "max" => numbers.fold(f64::NEG_INFINITY, f64::max),
                    rounding => {
                        let number = numbers.next().unwrap_or(f64::NAN);
                        let step = numbers.next().unwrap_or(f64::NAN);
                        let steps = number / step;
                        step * if rounding == "round_up" {
                            steps.ceil()
                        } else {
                            steps.floor()
                        }
                    }
                }
            }
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn sum(&mut self) -> Result<Expression, ExpressionError> {
        let mut left = self.product()?;
        while let Some(operator) = self.one_of(&['+', '-']) {
            left = Expression::Binary(operator, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, ExpressionError> {
        let mut left = self.value()?;
        while let Some(operator) = self.one_of(&['*', '/']) {
            left = Expression::Binary(operator, Box::new(left), Box::new(self.value()?));
        }
        Ok(left)
    }

    fn value(&mut self) -> Result<Expression, ExpressionError> {
        self.space();
        match self.rest().chars().next() {
            Some('(') => {
                self.at += 1;
                let inner = self.sum()?;
                self.expect(')')?;
                Ok(inner)
            }
            Some(c) if c.is_ascii_digit() => self.literal(),
            Some(c) if c.is_ascii_alphabetic() => self.name(),
            _ => Err(self.error(
                "a value was expected here",
                &format!("write a number or one of {}", NAMES.join(", ")),
            )),
        }
    }

    fn literal(&mut self) -> Result<Expression, ExpressionError> {
        let digits = self.word(|c| c.is_ascii_digit() || c == '.');
        let Ok(number) = digits.parse::<f64>() else {
            return Err(self.error(
                &format!("`{digits}` is not a number"),
                "write it as in 1.5 or 128M",
            ));
        };
        let unit = self.word(|c| c.is_ascii_alphabetic());
        let factor = match unit {
            "" => 1_u64,
            "K" | "k" => 1 << 10,
            "M" | "m" => 1 << 20,
            "G" | "g" => 1 << 30,
            "T" | "t" => 1 << 40,
            _ => {
                self.at -= unit.len();
                return Err(self.error(&format!("`{unit}` is not a unit"), "use K, M, G or T"));
            }
        };
        Ok(Expression::Number(number * factor as f64))
    }

    fn name(&mut self) -> Result<Expression, ExpressionError> {
        let start = self.at;
        let word = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
        self.space();
        let called = self.rest().starts_with('(');
        let known: &[&'static str] = if called { &FUNCTIONS } else { &NAMES };
        let Some(name) = known.iter().find(|known| **known == word) else {
            self.at = start;
            let kind = if called { "function" } else { "name" };
            let meant = niagara_server::did_you_mean(word, known.iter().copied());
            return Err(self.error(
                &format!("no {kind} is called `{word}`"),
                &format!("{meant}known: {}", known.join(", ")),
            ));
        };
        if !called {
            return Ok(Expression::Name(name));
        }
        self.at += 1;
        let mut arguments = vec![self.sum()?];
        while self.one_of(&[',']).is_some() {
            arguments.push(self.sum()?);
        }
        self.expect(')')?;
        if arguments.len() < 2 || (name.starts_with("round") && arguments.len() != 2) {
            self.at = start;
            return Err(self.error(
                &format!("`{name}` with {} value(s)", arguments.len()),
                "min and max take two or more values, round_up and round_down a value and a step",
            ));
        }
        Ok(Expression::Call(name, arguments))
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let start = self.at;
        let length = self
            .rest()
            .find(|c| !belongs(c))
            .unwrap_or(self.rest().len());
        self.at += length;
        &self.text[start..self.at]
    }

    fn one_of(&mut self, wanted: &[char]) -> Option<char> {
        self.space();
        let found = self.rest().chars().next().filter(|c| wanted.contains(c))?;
        self.at += found.len_utf8();
        Some(found)
    }

    fn expect(&mut self, wanted: char) -> Result<(), ExpressionError> {
        if self.one_of(&[wanted]).is_some() {
            return Ok(());
        }
        Err(self.error(
            &format!("`{wanted}` was expected here"),
            "close every parenthesis",
        ))
    }

    fn error(&self, cause: &str, remedy: &str) -> ExpressionError {
        ExpressionError {
            at: self.at,
            cause: cause.to_owned(),
            remedy: remedy.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Quantities = Quantities {
        cpus: 4.0,
        memory: 8e9,
        server_memory: 4e9,
        data: 1e9,
    };

    fn value(text: &str) -> u64 {
        Expression::parse(text)
            .expect("a valid expression")
            .value(&MACHINE)
            .expect("a value")
    }

    #[test]
    fn arithmetic_binds_as_usual() {
        assert_eq!(value("1 + 2 * 3"), 7);
        assert_eq!(value("(1 + 2) * 3 - 10 / 5"), 7);
        assert_eq!(value("cpus / 3"), 1);
        assert_eq!(value("0.6 * 5"), 3);
        assert_eq!(value("1.5K"), 1536);
    }

    #[test]
    fn functions_and_names() {
        assert_eq!(
            value("min(server_memory * 0.6, max(data * 1.5, 128M))"),
            1_500_000_000
        );
        assert_eq!(value("round_up(data, 128M)"), 8 * (128 << 20));
        assert_eq!(value("round_down(data, 128M)"), 7 * (128 << 20));
        assert_eq!(value("max(1, cpus / 8, 2)"), 2);
    }

    #[test]
    fn mistakes_are_told_by_place_cause_and_remedy() {
        let error = |text: &str| Expression::parse(text).expect_err("a mistake");
        let unknown = error("2 * memroy");
        assert_eq!(unknown.at, 4);
        assert_eq!(unknown.cause, "no name is called `memroy`");
        assert!(
            unknown.remedy.starts_with("did you mean `memory`?"),
            "{unknown:?}"
        );
        assert_eq!(error("(1 + 2").cause, "`)` was expected here");
        assert_eq!(error("1 2").cause, "an operator was expected here");
        assert_eq!(error("128Q").cause, "`Q` is not a unit");
        assert_eq!(error("").cause, "a value was expected here");
        assert_eq!(error("min(3)").cause, "`min` with 1 value(s)");
        assert_eq!(error("exec(1, 2)").cause, "no function is called `exec`");
    }

    #[test]
    fn what_is_no_whole_number_is_refused() {
        let refused = |text: &str| {
            Expression::parse(text)
                .expect("valid")
                .value(&MACHINE)
                .expect_err("no value")
        };
        assert!(refused("1 / 0").contains("inf"));
        assert!(refused("data - memory").contains("-7000000000"));
    }
}
