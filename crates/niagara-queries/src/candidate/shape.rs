//! An index whose order is only in part decided: groups of parts, of which those of a group may stand in any order.

use std::collections::{BTreeMap, BTreeSet};

use super::{MAX_PARTS, Purpose};
use crate::catalog::{IndexKind, IndexPart, Table, folded};

/// An index whose order is only in part decided.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    /// The place of the table in the block that asked.
    pub used: usize,
    /// The groups in their order.
    groups: Vec<BTreeSet<IndexPart>>,
    /// Groups from here on are there only to cover.
    covering_from: usize,
    /// Why.
    pub purposes: BTreeSet<Purpose>,
    /// The digests that asked, with their weights.
    pub digests: BTreeMap<usize, f64>,
    /// The sum of those.
    pub weight: f64,
}

impl Shape {
    pub fn of(used: usize, groups: Vec<BTreeSet<IndexPart>>, purpose: Purpose) -> Self {
        let mut seen: BTreeSet<IndexPart> = BTreeSet::new();
        let groups = groups.into_iter().map(|group| {
            let fresh: BTreeSet<IndexPart> = group
                .into_iter()
                .filter(|part| !seen.contains(part))
                .collect();
            seen.extend(fresh.iter().cloned());
            fresh
        });
        let groups: Vec<_> = groups.filter(|group| !group.is_empty()).collect();
        Self {
            used,
            covering_from: groups.len(),
            groups,
            purposes: BTreeSet::from([purpose]),
            digests: BTreeMap::new(),
            weight: 0.0,
        }
    }

    pub fn with_digest(mut self, digest: usize, weight: f64) -> Self {
        self.digests = BTreeMap::from([(digest, weight)]);
        self.weight = weight;
        self
    }

    pub fn covering(mut self, others: BTreeSet<String>) -> Self {
        self.groups
            .push(others.iter().map(|name| IndexPart::column(name)).collect());
        self.purposes.insert(Purpose::Covering);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() || self.groups.iter().map(BTreeSet::len).sum::<usize>() > MAX_PARTS
    }

    pub fn has_expression(&self) -> bool {
        self.groups
            .iter()
            .flatten()
            .any(|part| part.expression.is_some())
    }

    pub fn columns(&self) -> BTreeSet<String> {
        self.groups
            .iter()
            .flatten()
            .map(|part| part.column.clone())
            .collect()
    }

    /// The columns whose values find rows, in lower case: those of the first group, where that is one of values.
    pub fn found_by(&self) -> Vec<String> {
        let by_values =
            self.purposes.contains(&Purpose::Equality) || self.purposes.contains(&Purpose::Join);
        let groups = self
            .groups
            .iter()
            .take(if by_values { self.covering_from } else { 0 });
        groups.flatten().map(|part| folded(&part.column)).collect()
    }

    /// All parts, within a group those that tell rows apart best first.
    pub fn ordered(&self, distinct: &dyn Fn(&str) -> f64) -> Vec<IndexPart> {
        let mut parts = Vec::new();
        for group in &self.groups {
            let mut group: Vec<&IndexPart> = group.iter().collect();
            group.sort_by(|a, b| distinct(&b.column).total_cmp(&distinct(&a.column)));
            parts.extend(group.into_iter().cloned());
        }
        parts
    }

    /// The same in the order of an index that is there, where the shape leaves that open: the index can then be extended by it.
    pub fn along(&self, table: &Table) -> Self {
        let extended = table.indexes.iter().filter_map(|index| {
            let fits = !index.unique && index.visible && index.kind == IndexKind::Ordered;
            let parts = index
                .parts
                .iter()
                .map(|part| BTreeSet::from([part.clone()]));
            let sequence = Self {
                groups: parts.collect(),
                digests: BTreeMap::new(),
                ..self.clone()
            };
            let size = |shape: &Self| shape.groups.iter().map(BTreeSet::len).sum::<usize>();
            let both = self
                .merge(&sequence)
                .filter(|both| fits && size(both) == size(self))?;
            Some((index.parts.len(), both))
        });
        let longest = extended.max_by_key(|(length, _)| *length);
        longest.map_or_else(|| self.clone(), |(_, shape)| shape)
    }

    /// One order that serves both, if there is one.
    fn merge(&self, other: &Self) -> Option<Self> {
        let (mut mine, mut others) = (self.groups.clone(), other.groups.clone());
        mine.reverse();
        others.reverse();
        let mut groups = Vec::new();
        while !mine.is_empty() && !others.is_empty() {
            let (Some(a), Some(b)) = (mine.pop(), others.pop()) else {
                break;
            };
            if a.is_subset(&b) {
                let rest: BTreeSet<IndexPart> = b.difference(&a).cloned().collect();
                groups.push(a);
                if !rest.is_empty() {
                    others.push(rest);
                }
            } else if b.is_subset(&a) {
                let rest: BTreeSet<IndexPart> = a.difference(&b).cloned().collect();
                groups.push(b);
                mine.push(rest);
            } else {
                return None;
            }
        }
        groups.extend(mine.into_iter().rev());
        groups.extend(others.into_iter().rev());
        let mut digests = self.digests.clone();
        digests.extend(other.digests.clone());
        Some(Self {
            used: self.used,
            covering_from: groups.len(),
            groups,
            purposes: self.purposes.union(&other.purposes).cloned().collect(),
            weight: digests.values().sum(),
            digests,
        })
    }
}

/// Adds a shape; one that is there already is asked for by one digest more.
pub(super) fn add(shapes: &mut Vec<Shape>, shape: Shape) {
    match shapes.iter_mut().find(|known| known.groups == shape.groups) {
        Some(known) => {
            known.purposes.extend(shape.purposes);
            known.digests.extend(shape.digests);
            known.weight = known.digests.values().sum();
        }
        None => shapes.push(shape),
    }
}

/// The shapes without those that are the beginning of another one for the same digests: that one serves them too.
pub(super) fn without_beginnings(shapes: Vec<Shape>) -> Vec<Shape> {
    let size = |shape: &Shape| shape.groups.iter().map(BTreeSet::len).sum::<usize>();
    let is_served = |a: &Shape, b: &Shape| {
        let serves_all = a
            .digests
            .keys()
            .all(|digest| b.digests.contains_key(digest));
        let is_covering = b.covering_from < b.groups.len();
        serves_all
            && !is_covering
            && size(a) < size(b)
            && a.merge(b).is_some_and(|both| both.groups == b.groups)
    };
    let kept = shapes
        .iter()
        .filter(|a| !shapes.iter().any(|b| is_served(a, b)));
    kept.cloned().collect()
}

/// Shapes that serve two of the others by one order.
pub(super) fn merged(shapes: &[Shape]) -> Vec<Shape> {
    let mut merged = Vec::new();
    for (place, a) in shapes.iter().enumerate() {
        for b in &shapes[place + 1..] {
            let Some(both) = a.merge(b).filter(|both| !both.is_empty()) else {
                continue;
            };
            add(&mut merged, both);
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(groups: &[&[&str]]) -> Shape {
        let groups = groups
            .iter()
            .map(|group| group.iter().map(|name| IndexPart::column(name)).collect());
        Shape::of(0, groups.collect(), Purpose::Equality)
    }

    fn merged_names(a: &[&[&str]], b: &[&[&str]]) -> Option<Vec<String>> {
        let both = shape(a).merge(&shape(b))?;
        Some(
            both.ordered(&|_| 0.0)
                .into_iter()
                .map(|part| part.column)
                .collect(),
        )
    }

    #[test]
    fn orders_that_agree_are_merged() {
        for (a, b, expected) in [
            (
                &[&["a", "b"][..]][..],
                &[&["b"][..]][..],
                Some(vec!["b", "a"]),
            ),
            (
                &[&["a", "b"], &["c"]],
                &[&["b"], &["a"]],
                Some(vec!["b", "a", "c"]),
            ),
            (&[&["a"]], &[&["a"], &["b"]], Some(vec!["a", "b"])),
            (&[&["a"]], &[&["b"]], None),
            (&[&["a"], &["b"]], &[&["a"], &["c"]], None),
        ] {
            let expected =
                expected.map(|names| names.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(merged_names(a, b), expected, "{a:?} {b:?}");
        }
    }

    #[test]
    fn parts_that_tell_rows_apart_come_first() {
        let parts =
            shape(&[&["a", "b"], &["c"]]).ordered(&|name| if name == "b" { 0.9 } else { 0.1 });
        let names: Vec<String> = parts.into_iter().map(|part| part.column).collect();
        assert_eq!(names, ["b", "a", "c"]);
    }
}
