//! Which servers a tuning builds: those that lead to the largest gain in the time for building.

use niagara_build::{Forecast, Recipe};
use niagara_model::Reason;

use crate::lever::Lever;
use crate::variants::build_time::{BuildAhead, over_budget};
use crate::variants::built_sets::{built_sets, recipe_of};
use crate::variants::candidate::Candidate;
use crate::variants::variant::Variant;

/// Most servers that the levers of a tuning come to together.
const MAX_BUILDS: usize = 16;
/// Seconds that every build is taken for at least when gains are weighed by the time they take: what is here already is not
/// worth more than the best for being here.
const LEAST_SECONDS: f64 = 60.0;

/// What is chosen from.
pub(crate) struct BuildField<'a> {
    /// What levers are put on.
    pub base: &'a Variant,
    /// All levers, those that build among them.
    pub candidates: &'a [Candidate],
    /// The log gain that is expected of a lever.
    pub gain: &'a dyn Fn(&Lever) -> f64,
    /// What making servers takes, one after the other.
    pub forecasts: &'a dyn Fn(&[&Recipe]) -> Vec<Forecast>,
    /// Levels of one choice that the duels tell apart.
    pub room: usize,
}

/// The time for building.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BuildTime {
    /// Seconds in all.
    pub budget: f64,
    /// Seconds of these that are gone.
    pub used: f64,
}

/// What is built, in this order, and what is not.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct BuildPlan {
    /// The candidates to build for.
    pub chosen: Vec<Planned>,
    /// The candidates left out, each with the reason.
    pub left_out: Vec<(usize, Reason)>,
}

/// A candidate that is built for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Planned {
    /// Index of the candidate.
    pub index: usize,
    /// What its servers take after those before it.
    pub forecast: Forecast,
    /// Seconds that this is taken for.
    takes: f64,
}

impl BuildField<'_> {
    /// What to build next and then, within `time` (`None`: whatever it takes), where the candidates `made` are built for already
    /// and those of `out` are out of the question. First comes what adds most, in relation to the time that it takes, to the
    /// best build chosen before; then what is expected to be worse than that; last what one that is chosen has and more.
    /// A lever that adds to another one's build comes behind that.
    pub(crate) fn plan(&self, made: &[usize], out: &[usize], time: Option<BuildTime>) -> BuildPlan {
        let mut chosen = made.to_vec();
        let mut planned: Vec<Planned> = Vec::new();
        let free = time.map(|time| (time.budget - time.used).max(0.0));
        let mut left = free;
        while let Some(next) = self.next(&chosen, out, left) {
            left = left.map(|left| left - next.takes);
            chosen.push(next.index);
            planned.push(next);
        }
        let within_room = self.within_room(made, &chosen);
        planned.retain(|planned| within_room.contains(&planned.index));
        let (kept, planned, left) = self.timed(made, &planned, free);
        let seconds = time.zip(left).map(|(time, left)| (time.budget, left));
        let left_out = self
            .builds()
            .filter(|index| !kept.contains(index) && !out.contains(index))
            .map(|index| (index, self.why_not(&kept, index, seconds)))
            .collect();
        BuildPlan {
            chosen: planned,
            left_out,
        }
    }

    /// Of what is `planned` what fits, with what it takes where nothing else is built: all that is kept, that, and what time
    /// it leaves.
    fn timed(
        &self,
        made: &[usize],
        planned: &[Planned],
        mut left: Option<f64>,
    ) -> (Vec<usize>, Vec<Planned>, Option<f64>) {
        let mut kept = made.to_vec();
        let mut timed = Vec::new();
        for planned in planned {
            let forecast = self.forecast(&kept, planned.index);
            let Some(takes) = takes(forecast, kept.is_empty(), left) else {
                continue;
            };
            left = left.map(|left| left - takes);
            kept.push(planned.index);
            timed.push(Planned {
                forecast,
                takes,
                ..*planned
            });
        }
        (kept, timed, left)
    }

    /// The candidates that build.
    pub(crate) fn builds(&self) -> impl Iterator<Item = usize> {
        let builds = |index: &usize| self.candidates[*index].is_built();
        (0..self.candidates.len()).filter(builds)
    }

    /// The sets of levers whose servers are to be built for `index` beside those built for `made`.
    pub(crate) fn new_sets(&self, made: &[usize], index: usize) -> Vec<Vec<usize>> {
        let among: Vec<usize> = made.iter().copied().chain([index]).collect();
        let mut sets = built_sets(self.candidates, &among);
        sets.retain(|set| set.contains(&index));
        sets
    }

    /// The candidates that add to what `index` builds, directly or by way of others.
    pub(crate) fn adding_to(&self, index: usize) -> Vec<usize> {
        let adds = |other: &usize| {
            let mut lever = *other;
            // The library sees to it that no chain comes back to itself.
            while let Some(base) = self.extended(lever) {
                if base == index {
                    return true;
                }
                lever = base;
            }
            false
        };
        self.builds().filter(adds).collect()
    }

    /// Of the levels of a choice those first that are worth most: the one that the best of them begins with, then the others
    /// by what is expected of them.
    pub(crate) fn by_worth(&self, levels: &[usize]) -> Vec<usize> {
        let mut sorted = levels.to_vec();
        // Stable: the earlier of equals stays before the later.
        sorted.sort_by(|&x, &y| self.gain_of(y).total_cmp(&self.gain_of(x)));
        let mut root = sorted.first().copied();
        while let Some(base) = root.and_then(|root| self.extended(root)) {
            if !sorted.contains(&base) {
                break;
            }
            root = Some(base);
        }
        if let Some(place) = sorted.iter().position(|&level| Some(level) == root) {
            sorted[..=place].rotate_right(1);
        }
        sorted
    }

    /// For people: what is to be built.
    pub(crate) fn told(&self, plan: &BuildPlan) -> Vec<BuildAhead> {
        let told = |planned: &Planned| BuildAhead {
            lever: self.candidates[planned.index].lever.id().to_owned(),
            forecast: planned.forecast,
            recipe: recipe_of(self.base, self.candidates, &[planned.index]).one_line(),
        };
        plan.chosen.iter().map(told).collect()
    }

    /// What to build after `chosen`.
    fn next(&self, chosen: &[usize], out: &[usize], left: Option<f64>) -> Option<Planned> {
        let is_open = |index: &usize| {
            let waits = self
                .extended(*index)
                .is_some_and(|base| !chosen.contains(&base) && !out.contains(&base));
            !chosen.contains(index)
                && !out.contains(index)
                && !waits
                && !self.is_too_many(chosen, *index)
        };
        let fitting = |index: &usize| {
            let forecast = self.forecast(chosen, *index);
            Some(Planned {
                index: *index,
                forecast,
                takes: takes(forecast, chosen.is_empty(), left)?,
            })
        };
        let (adding, mut others): (Vec<usize>, Vec<usize>) = self
            .builds()
            .filter(is_open)
            .partition(|&index| self.adds(chosen, index) > 0.0);
        let for_its_time =
            |planned: &Planned| self.adds(chosen, planned.index) / planned.takes.max(LEAST_SECONDS);
        let best = adding
            .iter()
            .filter_map(fitting)
            .min_by(|x, y| for_its_time(y).total_cmp(&for_its_time(x)));
        if best.is_some() {
            return best;
        }
        let standing = |index: usize| (self.is_in_one_of(chosen, index), -self.gain_of(index));
        let compare = |x: &usize, y: &usize| {
            let ((x_in, x_gain), (y_in, y_gain)) = (standing(*x), standing(*y));
            x_in.cmp(&y_in).then(x_gain.total_cmp(&y_gain))
        };
        others.sort_by(compare);
        others
            .chunk_by(|x, y| compare(x, y).is_eq())
            .find_map(|alike| {
                let fitting = alike.iter().filter_map(fitting);
                fitting.min_by(|x, y| x.takes.total_cmp(&y.takes))
            })
    }

    /// The log gain that `index` is expected to bring beyond the best that is chosen of its choice.
    fn adds(&self, chosen: &[usize], index: usize) -> f64 {
        let best = self
            .beside(chosen, index)
            .map(|other| self.gain_of(other))
            .fold(0.0, f64::max);
        self.gain_of(index) - best
    }

    /// Whether one that is chosen has all that `index` has.
    fn is_in_one_of(&self, chosen: &[usize], index: usize) -> bool {
        let recipe = |index| recipe_of(self.base, self.candidates, &[index]);
        let own = recipe(index);
        self.beside(chosen, index)
            .any(|other| own.is_part_of(&recipe(other)))
    }

    /// The levels of the choice of `index` among `levels`.
    fn beside(&self, levels: &[usize], index: usize) -> impl Iterator<Item = usize> {
        levels
            .iter()
            .copied()
            .filter(move |&other| self.factor(other) == self.factor(index))
    }

    /// Of each choice as many levels as the duels tell apart: those built for already, then those that are worth most.
    fn within_room(&self, made: &[usize], chosen: &[usize]) -> Vec<usize> {
        let mut factors: Vec<&str> = chosen.iter().map(|&index| self.factor(index)).collect();
        factors.sort_unstable();
        factors.dedup();
        let within = |factor: &str| {
            let levels: Vec<usize> = chosen
                .iter()
                .copied()
                .filter(|&index| self.factor(index) == factor)
                .collect();
            let mut sorted = self.by_worth(&levels);
            sorted.sort_by_key(|level| !made.contains(level));
            sorted.truncate(self.room.max(1));
            sorted
        };
        factors.into_iter().flat_map(within).collect()
    }

    /// Why `index` is not built beside those of `kept`; `seconds` are for building in all, and left of that.
    fn why_not(&self, kept: &[usize], index: usize, seconds: Option<(f64, f64)>) -> Reason {
        if self.beside(kept, index).count() >= self.room.max(1) {
            return Reason::TooManyBuildsToScreen {
                most: self.room.max(1),
                lever: self.candidates[index].lever.id().to_owned(),
            };
        }
        match seconds {
            Some((budget, left)) if !self.is_too_many(kept, index) => {
                over_budget(self.forecast(kept, index), budget, left)
            }
            _ => Reason::TooManyServers { most: MAX_BUILDS },
        }
    }

    fn is_too_many(&self, chosen: &[usize], index: usize) -> bool {
        let among: Vec<usize> = chosen.iter().copied().chain([index]).collect();
        built_sets(self.candidates, &among).len() > MAX_BUILDS
    }

    /// What the servers for `index` take after those for `chosen`.
    fn forecast(&self, chosen: &[usize], index: usize) -> Forecast {
        let before = built_sets(self.candidates, chosen);
        let new = self.new_sets(chosen, index);
        let all: Vec<Recipe> = before
            .iter()
            .chain(&new)
            .map(|set| recipe_of(self.base, self.candidates, set))
            .collect();
        let forecasts = (self.forecasts)(&all.iter().collect::<Vec<_>>());
        together(forecasts.get(before.len()..).unwrap_or_default())
    }

    /// The candidate that `index` adds to.
    fn extended(&self, index: usize) -> Option<usize> {
        let base = self.candidates[index].lever.extends()?;
        self.builds()
            .find(|&other| self.candidates[other].lever.id() == base)
    }

    fn gain_of(&self, index: usize) -> f64 {
        (self.gain)(&self.candidates[index].lever)
    }

    fn factor(&self, index: usize) -> &str {
        self.candidates[index].lever.factor()
    }
}

/// Seconds that a build is taken for, where it fits into what is left. Of what nobody can tell the time of, the first takes all.
fn takes(forecast: Forecast, is_first: bool, left: Option<f64>) -> Option<f64> {
    match (forecast.seconds(), left) {
        (seconds, None) => Some(seconds.unwrap_or(0.0)),
        (Some(seconds), Some(left)) => (seconds <= left).then_some(seconds),
        (None, Some(left)) => is_first.then_some(left),
    }
}

/// What several builds take together.
fn together(forecasts: &[Forecast]) -> Forecast {
    let mut sum = Forecast::There;
    for forecast in forecasts {
        sum = match (sum, *forecast) {
            (Forecast::Unknown, _) | (_, Forecast::Unknown) => Forecast::Unknown,
            (sum, Forecast::There) => sum,
            (Forecast::There, other) => other,
            (Forecast::Seconds(one), Forecast::Seconds(other)) => Forecast::Seconds(one + other),
            (
                Forecast::Seconds(one) | Forecast::Elsewhere(one),
                Forecast::Seconds(other) | Forecast::Elsewhere(other),
            ) => Forecast::Elsewhere(one + other),
        };
    }
    sum
}

#[cfg(test)]
mod tests;
