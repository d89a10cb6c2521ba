//! Which levers a tuning tries here, and why not the others.

use anyhow::{Result, bail};
use niagara_build::{BuildStore, Forecast, Recipe};
use niagara_store::NotTried;
use niagara_toml::did_you_mean;
use serde::Serialize;

use crate::lever::{Context, Lever, Risk, Role};
use crate::variants::candidate::Candidate;
use crate::variants::variant::Variant;

/// The factor whose levels are servers built from source.
const BUILDS: &str = "build";

/// What a tuning tries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TuneQuestion {
    /// Risks that are accepted besides those that always are.
    pub allow: Vec<Risk>,
    /// Whether the application runs on the server's machine.
    pub app_local: bool,
    /// These levers alone, by their ids; all where empty.
    pub only: Vec<String>,
    /// Levers that are tried only when named, by their ids.
    pub also: Vec<String>,
    /// Levers left out, by their ids.
    pub without: Vec<String>,
    /// Try servers built from source, too.
    pub with_builds: bool,
    /// Seconds that building may take before anything is measured; what is here already takes none.
    #[serde(skip)]
    pub build_seconds: f64,
    /// Couples of a screening duel, where given.
    pub screen_couples: Option<u32>,
}

impl TuneQuestion {
    /// The question with its levers by their ids, whether they were named by these (`transport-unix`) or as factor and level
    /// (`transport=unix`).
    ///
    /// # Errors
    /// The first lever that does not exist, with the one that was probably meant.
    pub fn with_ids(self, levers: &[Lever]) -> Result<Self> {
        let ids = |names: Vec<String>| -> Result<Vec<String>> {
            names.iter().map(|name| id_of(name, levers)).collect()
        };
        Ok(Self {
            only: ids(self.only)?,
            also: ids(self.also)?,
            without: ids(self.without)?,
            ..self
        })
    }

    /// The levers that apply where `context` says with their changes, those first of which most is expected with this
    /// workload, and the others with the reasons.
    pub(crate) fn choose(
        &self,
        levers: &[Lever],
        mut context: Context,
        workload: &str,
    ) -> (Vec<Candidate>, Vec<NotTried>) {
        self.permit(levers, &mut context);
        let mut candidates = Vec::new();
        let mut not_applicable = Vec::new();
        for lever in levers {
            let applies = if self.leaves_out(lever) {
                Err("left out on request (--only, --without)".to_owned())
            } else {
                lever.applicability(&context)
            };
            match applies {
                Ok(change) => candidates.push(Candidate {
                    lever: lever.clone(),
                    change,
                    span: lever.span(&context),
                    prior: lever.prior(context.family, workload),
                }),
                Err(reason) => not_applicable.push(NotTried {
                    lever: lever.id().to_owned(),
                    title: lever.title().to_owned(),
                    reason,
                }),
            }
        }
        let expected =
            |candidate: &Candidate| candidate.lever.expected_gain(context.family, workload);
        // Stable: levers of which the same is expected stay as the library has them.
        candidates.sort_by(|x, y| expected(y).total_cmp(&expected(x)));
        (candidates, not_applicable)
    }

    /// What the person who asks accepts and names.
    fn permit(&self, levers: &[Lever], context: &mut Context) {
        context.app_local &= self.app_local;
        context.allowed = self.allow.iter().copied().collect();
        context.named = self.only.iter().chain(&self.also).cloned().collect();
        if self.with_builds {
            let builds = levers.iter().filter(|lever| lever.factor() == BUILDS);
            context
                .named
                .extend(builds.map(|lever| lever.id().to_owned()));
        }
    }

    fn leaves_out(&self, lever: &Lever) -> bool {
        let is_in = |list: &[String]| list.iter().any(|id| id == lever.id());
        // The controls stay, whatever levers are chosen.
        let others_only =
            !self.only.is_empty() && !is_in(&self.only) && lever.role() == Role::Lever;
        is_in(&self.without) || others_only
    }
}

/// What a lever builds, and how long that takes.
#[derive(Debug, Clone, PartialEq)]
pub struct BuildAhead {
    /// The lever's id.
    pub lever: String,
    /// What building its server takes.
    pub forecast: Forecast,
    /// Its recipe, one line.
    pub recipe: String,
}

/// The levers among `candidates` that build a server on top of `base`, in their order, as far as `seconds` for building go:
/// each with what it takes after those before it. Those for which no time is left are taken out of `candidates` and
/// returned with the reason. What nobody can tell the time of is built where it is the first.
pub(crate) fn builds_ahead(
    store: &BuildStore,
    base: &Variant,
    candidates: &mut Vec<Candidate>,
    seconds: f64,
) -> (Vec<BuildAhead>, Vec<NotTried>) {
    let (mut ahead, mut left_out) = (Vec::new(), Vec::new());
    let mut chosen: Vec<Recipe> = Vec::new();
    let mut left = seconds;
    candidates.retain(|candidate| {
        let variant = base.with(candidate.lever.id(), &candidate.change);
        let Some(recipe) = variant.build.filter(|_| !candidate.change.build.is_empty()) else {
            return true;
        };
        let with: Vec<&Recipe> = chosen.iter().chain([&recipe]).collect();
        let forecast = store.forecasts(&base.server, &with).pop();
        let forecast = forecast.unwrap_or(Forecast::Unknown);
        let takes = match forecast {
            Forecast::There => 0.0,
            Forecast::Seconds(takes) | Forecast::Elsewhere(takes) => takes,
            // Whatever it takes, it is the only one.
            Forecast::Unknown if chosen.is_empty() => left,
            Forecast::Unknown => f64::INFINITY,
        };
        if takes > left {
            let lever = &candidate.lever;
            left_out.push(NotTried {
                lever: lever.id().to_owned(),
                title: lever.title().to_owned(),
                reason: over_budget(forecast, seconds, left),
            });
            return false;
        }
        left -= takes;
        ahead.push(BuildAhead {
            lever: candidate.lever.id().to_owned(),
            forecast,
            recipe: recipe.one_line(),
        });
        chosen.push(recipe);
        true
    });
    (ahead, left_out)
}

/// Why a build is left out.
fn over_budget(forecast: Forecast, seconds: f64, left: f64) -> String {
    let minutes = |seconds: f64| format!("{:.0}m", (seconds / 60.0).ceil());
    match forecast.seconds() {
        Some(takes) => format!(
            "building it takes about {}, and of the {} for building {} are left: --build-budget {}",
            minutes(takes),
            minutes(seconds),
            minutes(left.max(0.0)),
            minutes(seconds - left + takes)
        ),
        _ => format!(
            "nobody can tell yet how long building it takes here, and {} are for building: --build-budget {}, or build it alone \
             (niagara server build)",
            minutes(seconds),
            minutes(seconds * 4.0)
        ),
    }
}

/// The id of the lever that is called `name`.
fn id_of(name: &str, levers: &[Lever]) -> Result<String> {
    let lever = levers
        .iter()
        .find(|lever| lever.id() == name || lever.spelling() == name);
    match lever {
        Some(lever) => Ok(lever.id().to_owned()),
        None => bail!(
            "there is no lever {name}\nremedy: {}`niagara levers` lists them",
            did_you_mean(name, levers.iter().map(Lever::id))
        ),
    }
}

#[cfg(test)]
mod tests {
    use niagara_server::Cache;

    use super::*;

    /// Levers with their changes, in this order.
    fn candidates(builds: &[(&str, &[(&str, &str)])]) -> Vec<Candidate> {
        let levers = crate::lever::load(&[]).expect("the shipped levers");
        let with = |(id, settings): &(&str, &[(&str, &str)])| {
            let lever = levers.iter().find(|lever| lever.id() == *id);
            let mut change = crate::lever::Change::default();
            for (key, value) in *settings {
                change.build.insert((*key).to_owned(), (*value).to_owned());
            }
            Candidate {
                lever: lever.expect("shipped").clone(),
                change,
                span: None,
                prior: None,
            }
        };
        builds.iter().map(with).collect()
    }

    #[test]
    fn the_most_promising_builds_that_fit_are_built() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = BuildStore::new(&Cache::at(folder.path()).expect("a cache"));
        let base = Variant::base("mariadb-10.11");
        let pgo = ("pgo", "oltp_insert");
        let all = [
            ("build-pgo-lto", &[pgo, ("lto", "thin")][..]),
            ("malloc-jemalloc", &[]),
            ("build-pgo", &[pgo]),
            ("build-o3-native", &[("flags", "-O3")]),
        ];
        let recipes: Vec<Recipe> = candidates(&all)
            .iter()
            .filter_map(|candidate| base.with("x", &candidate.change).build)
            .filter(|recipe| *recipe != Recipe::default())
            .collect();
        let forecasts = store.forecasts("mariadb-10.11", &recipes.iter().collect::<Vec<_>>());
        let takes: Vec<f64> = forecasts
            .iter()
            .map(|forecast| forecast.seconds().expect("known from elsewhere"))
            .collect();
        // The second shares the first one's profile: it takes one compilation where that takes two.
        assert!(takes[1] < takes[0] && takes[2] <= takes[1], "{takes:?}");
        let within = |seconds: f64| {
            let mut some = candidates(&all);
            let (ahead, left_out) = builds_ahead(&store, &base, &mut some, seconds);
            let kept: Vec<String> = some.iter().map(|one| one.lever.id().to_owned()).collect();
            let built: Vec<String> = ahead.into_iter().map(|one| one.lever).collect();
            (built, kept, left_out)
        };
        let (built, kept, left_out) = within(takes.iter().sum::<f64>() + 1.0);
        assert_eq!(built, ["build-pgo-lto", "build-pgo", "build-o3-native"]);
        assert_eq!((kept.len(), left_out.len()), (4, 0));
        // A cheaper one still fits where a dearer one does not.
        let (built, kept, left_out) = within(takes[0] + 1.0);
        assert_eq!(built, ["build-pgo-lto"]);
        assert_eq!(kept, ["build-pgo-lto", "malloc-jemalloc"]);
        assert!(
            left_out[0].reason.contains("--build-budget"),
            "{}",
            left_out[0].reason
        );
        let (built, _, left_out) = within(takes[2] + 1.0);
        assert_eq!(built, ["build-o3-native"]);
        assert_eq!(left_out.len(), 2);
        let (built, kept, _) = within(0.0);
        assert!(built.is_empty());
        assert_eq!(kept, ["malloc-jemalloc"]);
    }
}
