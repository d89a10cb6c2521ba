//! A report as data: sections of paragraphs, facts, tables and pictures, in the order in which they are read.
//!
//! `build` makes a document of each kind of result, once. `render` writes a document down, once for each format.

use console::measure_text_width;
use maud::Markup;
use niagara_stats::Estimate;

use crate::number;
use crate::step::Step;

/// Where a document is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Medium {
    /// On a terminal.
    Terminal {
        /// Everything; else one screen, where there is a short form.
        verbose: bool,
    },
    /// In a long text.
    Text,
    /// On a page.
    Page,
}

/// How much of a document a format has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// One screen of a terminal.
    Screen,
    /// A long text: a terminal that was asked for everything, Markdown.
    Text,
    /// A page with pictures, parts of which are opened by a click.
    Page,
}

/// Where a part of a document stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Everywhere.
    Every,
    /// On one screen alone, in place of something longer.
    Brief,
    /// Everywhere but on one screen.
    Long,
    /// In a long text alone.
    Text,
    /// On a page alone.
    Page,
}

impl Depth {
    /// Whether a format of this extent shows it.
    pub(crate) fn is_for(self, extent: Extent) -> bool {
        match self {
            Self::Every => true,
            Self::Brief => extent == Extent::Screen,
            Self::Long => extent != Extent::Screen,
            Self::Text => extent == Extent::Text,
            Self::Page => extent == Extent::Page,
        }
    }
}

/// A report.
#[derive(Default)]
pub(crate) struct Document {
    /// What it is, and when it began.
    pub masthead: [String; 2],
    /// What it says first.
    pub introduction: Introduction,
    /// What was measured, under what load.
    pub lead: Vec<(Depth, String)>,
    /// What a reader must know before believing the rest.
    pub warnings: Vec<String>,
    /// The rest.
    pub sections: Vec<Section>,
    /// The version of Niagara that measured.
    pub version: String,
    /// What it was made from, for its last line.
    pub source: &'static str,
}

/// What a report says first.
#[derive(Default)]
pub(crate) struct Introduction {
    /// In twelve words at most; `None` where the headline is the title.
    pub title: Option<String>,
    /// The one sentence that a reader takes home: what to do, or what was found.
    pub headline: String,
    /// How sure that is, and what else to know.
    pub paragraphs: Vec<String>,
    /// The same beneath a title that has the figure.
    pub beneath_title: Option<Vec<String>>,
}

impl Introduction {
    /// A headline that is the title, too.
    pub(crate) fn of_headline(headline: String) -> Self {
        Self {
            headline,
            ..Self::default()
        }
    }

    /// What a page is called.
    pub(crate) fn title(&self) -> &str {
        self.title.as_ref().unwrap_or(&self.headline)
    }

    /// The paragraphs beneath the title of a page.
    pub(crate) fn beneath_title(&self) -> impl Iterator<Item = &String> {
        let headline = self.title.is_some().then_some(&self.headline);
        let paragraphs = self.beneath_title.as_ref().unwrap_or(&self.paragraphs);
        headline.into_iter().chain(paragraphs)
    }

    /// Headline and paragraphs in one line.
    pub(crate) fn in_one_line(&self) -> String {
        let paragraphs = self.paragraphs.iter().map(String::as_str);
        let all = std::iter::once(self.headline.as_str()).chain(paragraphs);
        all.collect::<Vec<_>>().join(" ")
    }
}

impl Document {
    /// Its sections in a format of this extent.
    pub(crate) fn sections(&self, extent: Extent) -> impl Iterator<Item = &Section> {
        let sections = self.sections.iter();
        sections.filter(move |section| section.blocks(extent).next().is_some())
    }
}

/// A part of a document under one heading.
pub(crate) struct Section {
    /// Name for links to it; a table of contents has the sections that have one.
    pub id: Option<&'static str>,
    /// What stands above it; empty where nothing does.
    pub heading: String,
    /// Where it stands.
    pub depth: Depth,
    /// What it holds.
    blocks: Vec<(Depth, Block)>,
}

impl Section {
    /// An empty one, which no format shows.
    pub(crate) fn new(depth: Depth, heading: impl Into<String>) -> Self {
        Self {
            id: None,
            heading: heading.into(),
            depth,
            blocks: Vec::new(),
        }
    }

    /// At another depth.
    pub(crate) fn at(self, depth: Depth) -> Self {
        Self { depth, ..self }
    }

    /// With a name for links.
    pub(crate) fn named(self, id: &'static str) -> Self {
        Self {
            id: Some(id),
            ..self
        }
    }

    /// With a block wherever the section stands.
    pub(crate) fn with(self, block: Block) -> Self {
        self.with_at(Depth::Every, block)
    }

    /// With a block of a depth of its own.
    pub(crate) fn with_at(mut self, depth: Depth, block: Block) -> Self {
        self.blocks.push((depth, block));
        self
    }

    /// With a block, where there is one.
    pub(crate) fn with_some(self, block: Option<Block>) -> Self {
        match block {
            Some(block) => self.with(block),
            None => self,
        }
    }

    /// What a format of this extent shows of it.
    pub(crate) fn blocks(&self, extent: Extent) -> impl Iterator<Item = &Block> {
        let is_shown = self.depth.is_for(extent);
        let blocks = self.blocks.iter();
        let blocks = blocks.filter(move |(depth, _)| is_shown && depth.is_for(extent));
        blocks.map(|(_, block)| block)
    }
}

impl From<Table> for Section {
    /// Heading, table and notes; one screen has the first of the notes.
    fn from(mut table: Table) -> Self {
        let depth = if table.long {
            Depth::Long
        } else {
            Depth::Every
        };
        let notes = std::mem::take(&mut table.notes);
        let short = table.short_notes;
        let mut section = Self::new(depth, table.heading.clone());
        if !table.rows.is_empty() {
            section = section.with(Block::Table(table));
        }
        for (place, note) in notes.into_iter().enumerate() {
            let depth = if place < short {
                Depth::Every
            } else {
                Depth::Long
            };
            section = section.with_at(depth, Block::Note(note));
        }
        section
    }
}

/// What a section is made of.
pub(crate) enum Block {
    /// A paragraph.
    Text(String),
    /// A paragraph that explains what stands above it.
    Note(String),
    /// Lines of equal rank.
    List(Vec<String>),
    /// Names and values.
    Facts(Facts),
    /// A table.
    Table(Table),
    /// The way from the starting point to the final variant.
    Way(Way),
    /// Figures of B over A with what they mean.
    Claims(Vec<Claim>),
    /// What A and B are.
    Sides([String; 2]),
    /// A picture; formats of text alone leave it out.
    Figure(Figure),
    /// A command, or a text that keeps its lines.
    Code(String),
    /// What is opened by a click, where a format can do that.
    Folded(Folded),
}

/// Names of sentences that are longer than this do not stand beside them.
const MAX_NAME: usize = 24;

/// Names and values.
pub(crate) struct Facts {
    /// In order. Below the first line of a value stands a list, an entry a line.
    pub rows: Vec<(String, String)>,
    /// Whether values are sentences, which need the whole width.
    pub wide: bool,
}

impl Facts {
    /// Short values.
    pub(crate) fn short(rows: Vec<(String, String)>) -> Option<Block> {
        let facts = Self { rows, wide: false };
        (!facts.rows.is_empty()).then_some(Block::Facts(facts))
    }

    /// Name and value of each; short names begin as sentences do.
    pub(crate) fn titled(&self) -> impl Iterator<Item = (String, &str)> {
        let rows = self.rows.iter();
        rows.map(|(name, value)| match self.wide {
            true => (name.clone(), value.as_str()),
            false => (number::capital(name), value.as_str()),
        })
    }

    /// Whether names are too long to stand beside what they say.
    pub(crate) fn has_long_names(&self) -> bool {
        let mut names = self.rows.iter().map(|(name, _)| name);
        self.wide && names.any(|name| measure_text_width(name) > MAX_NAME)
    }

    /// Sentences.
    pub(crate) fn wide(rows: Vec<(String, String)>) -> Option<Block> {
        let facts = Self { rows, wide: true };
        (!facts.rows.is_empty()).then_some(Block::Facts(facts))
    }
}

/// The way from the starting point to the final variant.
pub(crate) struct Way {
    /// Its steps, the total last.
    pub steps: Vec<Step>,
    /// What their figures are of.
    pub judged_by: &'static str,
    /// How to read it.
    pub notes: Vec<String>,
}

/// A figure of B over A.
pub(crate) struct Claim {
    /// `Throughput`.
    pub title: String,
    /// With its interval.
    pub estimate: Estimate,
    /// The verdict in a word or two; empty of what was not decided by.
    pub verdict: String,
    /// What it rests on, or how to read it.
    pub note: String,
    /// Whether it is a gain or a loss beyond doubt.
    pub tone: Tone,
}

/// What a figure is to its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// B is better.
    Gain,
    /// B is worse.
    Loss,
    /// Neither was shown.
    Open,
}

impl Tone {
    /// By the interval of a gain.
    pub(crate) fn of(gain: &Estimate) -> Self {
        if gain.low > 1.0 {
            Self::Gain
        } else if gain.high < 1.0 {
            Self::Loss
        } else {
            Self::Open
        }
    }
}

/// A picture.
pub(crate) struct Figure {
    /// What stands above it within its section; empty where nothing does.
    pub title: String,
    /// As SVG.
    pub picture: Markup,
    /// What stands beneath it.
    pub caption: String,
}

/// What is opened by a click.
pub(crate) struct Folded {
    /// What is seen while it is closed.
    pub title: String,
    /// Beside the title.
    pub detail: String,
    /// Whether it is open at first.
    pub open: bool,
    /// What is within.
    pub inner: Section,
}

/// What a column of a table holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// Words, to the left.
    Words,
    /// Figures, to the right.
    Figures,
    /// What is typed: settings, commands.
    Code,
}

/// A table with its heading and what stands beneath it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    /// What stands above it.
    pub heading: String,
    /// Headings of the columns, and what they hold.
    pub columns: Vec<(String, Column)>,
    /// Cells, row by row. Where a cell has several lines, those after the first are small; what stands between backticks is code.
    pub rows: Vec<Vec<String>>,
    /// Rows that are printed bold.
    pub strong: Vec<usize>,
    /// What stands beneath it.
    pub notes: Vec<String>,
    /// How many of the notes, from the first on, one screen has.
    pub short_notes: usize,
    /// Columns that one screen does without where not all of them fit: places from the right to the left, the first goes first.
    pub spare: Vec<usize>,
    /// Nothing for one screen at all.
    pub long: bool,
}

impl Table {
    /// Without rows. `true`: the column holds figures.
    pub(crate) fn new(heading: impl Into<String>, columns: &[(&str, bool)]) -> Self {
        let kind = |number| match number {
            true => Column::Figures,
            false => Column::Words,
        };
        let columns: Vec<_> = columns
            .iter()
            .map(|(name, number)| (*name, kind(*number)))
            .collect();
        Self::of(heading, &columns)
    }

    /// Without rows.
    pub(crate) fn of(heading: impl Into<String>, columns: &[(&str, Column)]) -> Self {
        Self {
            heading: heading.into(),
            columns: columns
                .iter()
                .map(|(name, column)| ((*name).to_owned(), *column))
                .collect(),
            rows: Vec::new(),
            strong: Vec::new(),
            notes: Vec::new(),
            short_notes: 0,
            spare: Vec::new(),
            long: false,
        }
    }

    /// Columns of a terminal that each column takes.
    pub(crate) fn widths(&self) -> Vec<usize> {
        let columns = self.columns.iter().enumerate();
        let widths = columns.map(|(index, (name, _))| {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            let widest = cells.map(|cell| measure_text_width(cell)).max();
            widest.unwrap_or(0).max(measure_text_width(name))
        });
        widths.collect()
    }

    /// Takes a column out, where it has it.
    pub(crate) fn leave_out(&mut self, column: usize) {
        if column < self.columns.len() {
            self.columns.remove(column);
        }
        for row in self.rows.iter_mut().filter(|row| column < row.len()) {
            row.remove(column);
        }
    }
}
