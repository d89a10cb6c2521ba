//! Where a connection is in a transaction of a file.

use super::definition::{Definition, Source};
use super::generator::{Drawer, Drawn};
use crate::protocol::answer::{Answer, Value};
use crate::protocol::command::ParameterType;
use crate::workload::draw::Rng;
use crate::workload::family::{Script, Steps};
use crate::workload::parameters::Parameters;
use crate::workload::template::{Next, Template, Templates, Unexpected};
use rand::RngExt;
use std::io::Write;
use std::sync::Arc;

/// Bytes of a value taken from an answer; a parameter cannot be longer.
const MAX_KEPT: usize = 250;

/// What all connections share.
#[derive(Debug)]
pub(crate) struct FileScript {
    definition: Arc<Definition>,
    /// By transaction: the templates of its steps.
    templates: Vec<Vec<usize>>,
    /// The transaction and step of each template.
    places: Vec<(usize, usize)>,
    rollback: usize,
    /// Sums of the weights so far.
    weights: Vec<u32>,
    threads: u32,
    seed: u64,
}

impl FileScript {
    /// For a definition that was read, and `threads` connections that draw from `seed`.
    pub(crate) fn new(
        definition: Arc<Definition>,
        as_text: bool,
        threads: u32,
        seed: u64,
        templates: &mut Templates,
    ) -> Self {
        let mut plan = FileScript {
            templates: Vec::new(),
            places: Vec::new(),
            rollback: 0,
            weights: Vec::new(),
            threads: threads.max(1),
            seed,
            definition,
        };
        let mut sum = 0;
        for (number, transaction) in plan.definition.transactions.iter().enumerate() {
            sum += transaction.weight;
            plan.weights.push(sum);
            let mut own = Vec::new();
            for (step, statement) in transaction.steps.iter().enumerate() {
                let word = statement.sql.split_whitespace().next().unwrap_or_default();
                let name = statement.name.clone().unwrap_or_else(|| {
                    format!("{}_{}_{}", transaction.name, step + 1, word.to_lowercase())
                });
                let kind = templates.kind(name, &statement.sql);
                let types = statement.parameters.iter();
                let types = types.map(|value| match &transaction.values[*value].1 {
                    Source::Transaction(generator) | Source::Step(_, generator)
                        if generator.is_int() =>
                    {
                        ParameterType::Int
                    }
                    _ => ParameterType::String,
                });
                own.push(templates.list.len());
                templates.list.push(Template {
                    sql: statement.sql.clone(),
                    parameters: types.collect::<Vec<_>>().into(),
                    as_text,
                    keeps_rows: !statement.keep.is_empty(),
                    kind,
                });
                plan.places.push((number, step));
            }
            plan.templates.push(own);
        }
        plan.rollback = templates.list.len();
        templates.list.push(Template {
            sql: "ROLLBACK".into(),
            parameters: (&[]).into(),
            as_text: true,
            keeps_rows: false,
            kind: templates.kinds.len() as u16,
        });
        templates.kind("rollback_without_row", "ROLLBACK");
        plan.places.push((0, 0));
        plan
    }
}

impl Script for FileScript {
    type Transaction = Box<FileTransaction>;

    fn types(&self) -> Vec<String> {
        match self.definition.transactions.as_slice() {
            [_] => Vec::new(),
            several => several.iter().map(|one| one.name.clone()).collect(),
        }
    }

    fn transaction(&self, number: u32, rng: Rng) -> Box<FileTransaction> {
        let transactions = self.definition.transactions.iter();
        Box::new(FileTransaction {
            rng,
            values: transactions
                .map(|transaction| {
                    let values = transaction.values.iter();
                    values
                        .map(|(_, source)| Slot {
                            drawer: match source {
                                Source::Transaction(generator) | Source::Step(_, generator) => {
                                    Some(Drawer::new(generator, self.seed, number, self.threads))
                                }
                                Source::Answer => None,
                            },
                            drawn: Drawn::Text,
                            text: Vec::with_capacity(match source {
                                Source::Transaction(generator) | Source::Step(_, generator) => {
                                    generator.longest()
                                }
                                Source::Answer => MAX_KEPT,
                            }),
                        })
                        .collect()
                })
                .collect(),
            kind: 0,
            step: 0,
            done: 0,
            gives_up: false,
        })
    }
}

/// A value of a connection.
#[derive(Debug)]
struct Slot {
    /// None: it comes from an answer.
    drawer: Option<Drawer>,
    drawn: Drawn,
    text: Vec<u8>,
}

/// Where one connection is.
#[derive(Debug)]
pub(crate) struct FileTransaction {
    rng: Rng,
    /// By transaction.
    values: Vec<Vec<Slot>>,
    /// Which transaction it is in.
    kind: usize,
    step: usize,
    /// How often the step at hand has been answered.
    done: u32,
    /// The row that it needs is not there: ROLLBACK is at hand.
    gives_up: bool,
}

impl Steps for FileTransaction {
    type Script = FileScript;

    /// The next transaction and its values.
    fn draw(&mut self, script: &FileScript) {
        self.kind = match script.weights.as_slice() {
            [_] => 0,
            weights => {
                let all = weights.last().copied().unwrap_or(1);
                let draw = self.rng.random_range(0..all);
                weights.iter().position(|sum| draw < *sum).unwrap_or(0)
            }
        };
        self.redraw(script);
    }

    fn redraw(&mut self, script: &FileScript) {
        let sources = &script.definition.transactions[self.kind].values;
        for (slot, (_, source)) in self.values[self.kind].iter_mut().zip(sources) {
            if let (Source::Transaction(_), Some(drawer)) = (source, &mut slot.drawer) {
                slot.drawn = drawer.draw(&mut self.rng, &mut slot.text);
            }
        }
    }

    fn restart(&mut self) {
        self.step = 0;
        self.done = 0;
        self.gives_up = false;
    }

    /// Its place among [`FileScript::types`].
    fn kind(&self) -> usize {
        self.kind
    }

    /// Whether there may be something to be rolled back.
    fn is_open(&self, script: &FileScript) -> bool {
        script.definition.transactions[self.kind].begins
    }

    /// Draws the values of the statement at hand; its template.
    fn current(&mut self, script: &FileScript) -> usize {
        if !self.gives_up {
            let sources = &script.definition.transactions[self.kind].values;
            for (slot, (_, source)) in self.values[self.kind].iter_mut().zip(sources) {
                if let (Source::Step(step, _), Some(drawer)) = (source, &mut slot.drawer)
                    && *step == self.step
                {
                    slot.drawn = drawer.draw(&mut self.rng, &mut slot.text);
                }
            }
        }
        self.peek(script)
    }

    #[inline]
    fn peek(&self, script: &FileScript) -> usize {
        if self.gives_up {
            script.rollback
        } else {
            script.templates[self.kind][self.step]
        }
    }

    fn encode(&mut self, script: &FileScript, template: usize, command: impl Parameters) {
        if template == script.rollback {
            return command.finish();
        }
        let (transaction, step) = script.places[template];
        let parameters = &script.definition.transactions[transaction].steps[step].parameters;
        let values = &self.values[transaction];
        parameters
            .iter()
            .fold(command, |command, place| {
                let slot = &values[*place];
                match slot.drawn {
                    Drawn::Int(number) => command.int(number),
                    Drawn::Text => command.bytes(&slot.text),
                }
            })
            .finish();
    }

    fn advance(&mut self, script: &FileScript, answer: &Answer) -> Result<Next, Unexpected> {
        let transaction = &script.definition.transactions[self.kind];
        if self.gives_up {
            return Ok(Next::Complete);
        }
        let step = &transaction.steps[self.step];
        if !step.keep.is_empty() && !self.keep(&step.keep, answer)? {
            // What depends on a row that is not there is not done.
            if transaction.begins {
                self.gives_up = true;
                return Ok(Next::Statement);
            }
            return Ok(Next::Complete);
        }
        self.done += 1;
        if self.done < step.times {
            return Ok(Next::Statement);
        }
        self.done = 0;
        self.step += 1;
        Ok(if self.step < transaction.steps.len() {
            Next::Statement
        } else {
            self.step = 0;
            Next::Complete
        })
    }
}

impl FileTransaction {
    /// Takes values from the first row; false if there is none, or a value is NULL.
    fn keep(&mut self, places: &[usize], answer: &Answer) -> Result<bool, Unexpected> {
        let Some(mut row) = answer.row(0) else {
            return Ok(false);
        };
        for place in places {
            let text = &mut self.values[self.kind][*place].text;
            text.clear();
            match row.value()? {
                Value::Null => return Ok(false),
                Value::Int(number) => {
                    text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
                }
                Value::Large(number) => {
                    text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
                }
                // Writing to memory does not fail.
                Value::Float(number) => {
                    let _ = write!(text, "{number}");
                    // All digits of a number such as 1e300, of which a parameter would have the first ones only.
                    if text.len() > MAX_KEPT {
                        text.clear();
                        let _ = write!(text, "{number:e}");
                    }
                }
                Value::Bytes(bytes) if bytes.len() <= MAX_KEPT => {
                    text.extend_from_slice(bytes);
                }
                Value::Bytes(bytes) => {
                    return Err(Unexpected::Data(
                        format!(
                            "a value of {} bytes cannot be kept, {MAX_KEPT} can",
                            bytes.len()
                        )
                        .into(),
                    ));
                }
                Value::Time(_) => {
                    return Err(Unexpected::Data(
                        "a date or time cannot be kept (DATE_FORMAT makes it a text)".into(),
                    ));
                }
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::answer::Format;
    use crate::protocol::capability;
    use crate::protocol::command::write_packets;
    use crate::protocol::response::{Progress, ResponseReader};
    use rand::SeedableRng;

    /// What is kept of a DOUBLE.
    fn kept(number: f64) -> String {
        // Names without a letter, then what the column is.
        let column = [&[0; 6][..], &[12, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0]].concat();
        let row = [&[0, 0][..], &number.to_le_bytes()].concat();
        let end = [0xfe_u8, 0, 0, 2, 0, 0, 0];
        let mut bytes = Vec::new();
        let mut next = 1;
        for payload in [&[1_u8][..], &column, &row, &end] {
            next = write_packets(&mut bytes, next, payload);
        }
        let mut reader = ResponseReader::new(capability::DEPRECATE_EOF);
        reader.keep_rows(true, Format::Binary);
        assert_eq!(reader.feed(&bytes), Ok(Progress::Done));
        let mut transaction = FileTransaction {
            rng: Rng::seed_from_u64(1),
            values: vec![vec![Slot {
                drawer: None,
                drawn: Drawn::Text,
                text: Vec::new(),
            }]],
            kind: 0,
            step: 0,
            done: 0,
            gives_up: false,
        };
        assert_eq!(transaction.keep(&[0], reader.answer()), Ok(true));
        String::from_utf8(transaction.values[0][0].text.clone()).unwrap()
    }

    #[test]
    fn numbers_are_kept_whole() {
        assert_eq!(kept(-0.5), "-0.5");
        assert_eq!(kept(1e20), "100000000000000000000");
        assert_eq!(kept(1e300), "1e300");
        assert_eq!(kept(-2.5e-300), "-2.5e-300");
    }
}
