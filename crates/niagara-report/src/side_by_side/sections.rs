//! Two studies as tables, for the terminal, Markdown and the page alike.

use niagara_stats::Estimate;

use super::common::Common;
use super::picture::two_studies;
use super::set_up::Fact;
use super::studies::SideBySide;
use crate::document::{
    Block, Depth, Document, Figure, Folded, Introduction, Medium, Section, Table,
};
use crate::number;

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Of the parts those that differ or were kept; the others are counted.
    Short,
    /// Every part.
    Whole,
    /// And what does not differ in set-up.
    Everything,
}

impl From<Medium> for Scope {
    fn from(medium: Medium) -> Self {
        match medium {
            Medium::Terminal { verbose: false } => Self::Short,
            Medium::Terminal { verbose: true } => Self::Everything,
            Medium::Text | Medium::Page => Self::Whole,
        }
    }
}

/// Both studies as a document.
pub(crate) fn document(both: &SideBySide, medium: Medium) -> Document {
    let scope = Scope::from(medium);
    let tables = tables(both, scope).into_iter();
    let mut sections: Vec<Section> = tables.map(Section::from).collect();
    sections.insert(PICTURE_AT.min(sections.len()), picture(both));
    let same = facts("Facts that are the same in both", both, false);
    sections.push(Section::new(Depth::Page, "").with(Block::Folded(Folded {
        title: "What does not differ".to_owned(),
        detail: String::new(),
        open: false,
        inner: Section::new(Depth::Every, "").with(Block::Table(same)),
    })));
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Document {
        masthead: [
            "Niagara report of two studies".to_owned(),
            format!("Niagara {version}"),
        ],
        introduction: Introduction::of_headline(both.headline.clone()),
        lead: Vec::new(),
        warnings: both.warnings.clone(),
        sections,
        version,
        source: "from the results of these two studies alone",
    }
}

/// Most figures in the chart: all are in the tables.
const MAX_DRAWN: usize = 24;

/// Behind which studies these are, and what differs in their set-up.
const PICTURE_AT: usize = 2;

fn picture(both: &SideBySide) -> Section {
    let mut drawn: Vec<&Common> = both.total.iter().chain(&both.parts).collect();
    drawn.truncate(MAX_DRAWN);
    let picture = two_studies(&drawn).filter(|_| drawn.len() > 1);
    let figure = picture.map(|picture| {
        Block::Figure(Figure {
            title: String::new(),
            picture,
            caption:
                "B over A with its interval in each study: rings are the first, discs the second."
                    .to_owned(),
        })
    });
    Section::new(Depth::Page, "Both at a glance").with_some(figure)
}

/// From what was found to what was set up.
fn tables(both: &SideBySide, scope: Scope) -> Vec<Table> {
    let mut grids = vec![studies(both)];
    grids.push(differing(both));
    if let Some(total) = &both.total {
        let mut grid = compared("What both decided by", &[total]);
        grid.notes.push(format!(
            "Second over first: from the two intervals alone, which hold over all looks (method of variance estimates \
             recovery), error probability {}.",
            (both.total_alpha * 1000.0).round() / 1000.0
        ));
        grids.push(grid);
    }
    if !both.beside.is_empty() {
        let figures: Vec<&Common> = both.beside.iter().collect();
        let mut grid = compared("What else changed", &figures);
        grid.notes.push(shared(both));
        grids.push(grid);
    }
    if !both.parts.is_empty() {
        grids.push(parts(both, scope));
    }
    if let Some(alone) = alone(both) {
        grids.push(alone);
    }
    grids.extend(both.figures.clone());
    if scope == Scope::Everything {
        grids.push(facts("What does not differ", both, false));
    }
    grids
}

/// Which study is which.
fn studies(both: &SideBySide) -> Table {
    let mut grid = Table::new("The two studies", &[("", false), ("", false)]);
    for (place, study) in ["first", "second"].into_iter().zip(&both.studies) {
        let mut row = |name: &str, value: &str| {
            if !value.is_empty() {
                grid.rows.push(vec![name.to_owned(), value.to_owned()]);
            }
        };
        row(place, &study.name);
        row("", &study.headline);
        row("", &format!("begun {}", study.begun));
        row("", &study.machine);
        row("", &study.command);
    }
    grid
}

/// What differs in set-up.
fn differing(both: &SideBySide) -> Table {
    let mut grid = facts("What differs in set-up", both, true);
    let same = both.set_up.iter().filter(|fact| !fact.differs).count();
    let differs = !grid.rows.is_empty();
    grid.notes.push(match differs {
        true => format!(
            "The other {} that were recorded are the same. Any of what differs may be why results differ.",
            number::count(same, "fact")
        ),
        false => format!(
            "Nothing that was recorded: {} are the same.",
            number::count(same, "fact")
        ),
    });
    grid
}

/// Facts that differ, or those that do not.
fn facts(heading: &str, both: &SideBySide, differs: bool) -> Table {
    let mut columns = vec![("", false), ("", false), ("first", false)];
    if differs {
        columns.push(("second", false));
    } else {
        columns[2].0 = "in both";
    }
    let mut grid = Table::new(heading, &columns);
    let mut before = "";
    let wanted = |fact: &&Fact| fact.differs == differs;
    for fact in both.set_up.iter().filter(wanted) {
        let part = fact.of.title();
        let shown = if part == before { "" } else { part };
        before = part;
        let value = |i: usize| fact.values[i].clone().unwrap_or(number::NOTHING.to_owned());
        let mut row = vec![shown.to_owned(), fact.name.clone(), value(0)];
        if differs {
            row.push(value(1));
        }
        grid.rows.push(row);
    }
    grid
}

/// What both tried one by one.
fn parts(both: &SideBySide, scope: Scope) -> Table {
    let worth =
        |part: &&Common| scope != Scope::Short || part.differs || part.kept.contains(&Some(true));
    let shown: Vec<&Common> = both.parts.iter().filter(worth).collect();
    let how = match both.parts_are {
        "levers" => ", as screened",
        _ => "",
    };
    let mut heading = format!("{} that both tried{how}", both.parts_are);
    heading[..1].make_ascii_uppercase();
    let mut grid = compared(&heading, &shown);
    let hidden = both.parts.len() - shown.len();
    if hidden > 0 {
        grid.notes.push(format!(
            "{hidden} more, kept in neither, of which no difference was detected: --verbose lists them."
        ));
    }
    if both.beside.is_empty() {
        grid.notes.push(shared(both));
    }
    let differ = both.parts.iter().filter(|part| part.differs).count();
    grid.notes.push(format!(
        "{differ} of {} differ by this; “not detected” is not “the same”.",
        number::count(both.parts.len(), "figure")
    ));
    grid
}

fn compared(heading: &str, figures: &[&Common]) -> Table {
    let mut grid = Table::new(
        format!("{heading}: B over A"),
        &[
            ("", false),
            ("first", true),
            ("second", true),
            ("second over first", true),
            ("", false),
            ("kept in", false),
        ],
    );
    let kept = figures.iter().any(|figure| figure.kept != [None; 2]);
    for (index, figure) in figures.iter().enumerate() {
        let [first, second] = figure.estimates.each_ref().map(number::estimate);
        let (difference, word) = told(&figure.difference, figure.differs);
        let mut row = vec![
            figure.title.clone(),
            first,
            second,
            difference,
            word.to_owned(),
        ];
        if kept {
            row.push(kept_in(figure.kept).to_owned());
        }
        if figure.differs {
            grid.strong.push(index);
        }
        grid.rows.push(row);
    }
    if !kept {
        grid.columns.pop();
    }
    grid
}

fn kept_in(kept: [Option<bool>; 2]) -> &'static str {
    match kept {
        [Some(true), Some(true)] => "both",
        [Some(true), _] => "the first",
        [_, Some(true)] => "the second",
        [None, None] => "",
        _ => "neither",
    }
}

/// How the other differences share their error probability.
fn shared(both: &SideBySide) -> String {
    match both.family {
        1 => format!("Error probability of the difference: {}.", both.alpha),
        n => format!(
            "The {n} differences beside what both decided by share an error probability of {}: each is judged at {}/{n} \
             (Bonferroni), so the intervals of second over first hold together.",
            both.alpha, both.alpha
        ),
    }
}

/// What only one of them tried.
fn alone(both: &SideBySide) -> Option<Table> {
    if both.only_in.iter().all(Vec::is_empty) {
        return None;
    }
    let mut grid = Table::new("Tried in one of them only", &[("", false), ("", false)]);
    for (place, titles) in ["first", "second"].into_iter().zip(&both.only_in) {
        if !titles.is_empty() {
            grid.rows.push(vec![place.to_owned(), titles.join(", ")]);
        }
    }
    Some(grid)
}

/// `× 0.89 [0.85, 0.93]`, and whether that is a difference.
fn told(difference: &Estimate, differs: bool) -> (String, &'static str) {
    let bounded = difference.low > 0.0 && difference.high.is_finite();
    let word = match (differs, bounded) {
        (true, _) => "differs",
        (false, true) => "not detected",
        (false, false) => "too few duels",
    };
    (number::estimate(difference), word)
}
