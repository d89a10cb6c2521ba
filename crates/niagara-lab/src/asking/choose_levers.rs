//! Which levers a tuning tries here, and why not the others.

use anyhow::Result;
use niagara_model::{NotTried, Reason, TailGuard};
use serde::Serialize;

use crate::lever::{Context, Lever, Risk, Role, meant};
use crate::variants::candidate::Candidate;

/// The factor whose levels are servers built from source.
pub(crate) const BUILDS: &str = "build";

/// Where the application is, and how it connects today.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Application {
    /// On the server's machine, over TCP: it may take the Unix socket.
    #[default]
    Local,
    /// On the server's machine, through the Unix socket.
    Socket,
    /// On another machine.
    Remote,
}

/// Which promoted levers a tuning hands over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// Those that fresh duels of their own showed to help.
    #[default]
    Proven,
    /// All of them, once they are proven together.
    Screened,
}

/// A lever that counting the work of captured statements speaks for.
#[derive(Debug, Clone, PartialEq)]
pub struct CountedLever {
    /// Its id.
    pub lever: String,
    /// The share of the work that it takes away, 0 to 1.
    pub saves: f64,
}

impl CountedLever {
    /// The log gain that is expected of it: as much time goes as work.
    fn log_gain(&self) -> f64 {
        -(1.0 - self.saves.clamp(0.0, 0.99)).ln()
    }
}

/// What a tuning tries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TuneQuestion {
    /// Risks that are accepted besides those that always are.
    pub allow: Vec<Risk>,
    /// Where the application is.
    pub app: Application,
    /// These levers alone, by their ids; all where empty.
    pub only: Vec<String>,
    /// Levers that are tried only when named, by their ids.
    pub also: Vec<String>,
    /// Levers left out, by their ids.
    pub without: Vec<String>,
    /// Levers that counting speaks for: they are as good as named, and come first. Counted again, the study is the same: its plan
    /// has those of its beginning.
    #[serde(skip)]
    pub counted: Vec<CountedLever>,
    /// Whether the host has a live server, from which no lever may take priority or memory.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shares_host: bool,
    /// Try servers built from source, too.
    pub with_builds: bool,
    /// Seconds that building may take before anything is measured; what is here already takes none.
    #[serde(skip)]
    pub build_seconds: f64,
    /// Couples of a screening duel, where given.
    pub screen_couples: Option<u32>,
    /// Which promoted levers are handed over: asked again with another choice, a study goes on.
    #[serde(skip)]
    pub keep: Keep,
    /// How much worse a tail of latency may become; the same holds.
    #[serde(skip)]
    pub guard: TailGuard,
}

impl TuneQuestion {
    /// The question with its levers by their ids, whether they were named by these (`transport-unix`), as factor and level
    /// (`transport=unix`), by a choice (`malloc`) or by a variable (`innodb_buffer_pool_size`).
    ///
    /// # Errors
    /// The first lever that does not exist, with the one that was probably meant.
    pub fn with_ids(self, levers: &[Lever]) -> Result<Self> {
        let ids = |names: Vec<String>| -> Result<Vec<String>> {
            let mut ids = Vec::new();
            for name in &names {
                let levers = meant(name, levers)?;
                ids.extend(levers.into_iter().map(|lever| lever.id().to_owned()));
            }
            Ok(ids)
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
                Err(Reason::NotRequested)
            } else if self.shares_host && lever.takes_from_others() {
                Err(Reason::SharedHost)
            } else {
                lever.applicability(&context)
            };
            match applies {
                Ok(change) => candidates.push(Candidate {
                    lever: lever.clone(),
                    change,
                    span: lever.span(&context),
                    prior: lever.prior(levers, context.family, workload),
                }),
                Err(reason) => not_applicable.push(NotTried {
                    lever: lever.id().to_owned(),
                    title: lever.title().to_owned(),
                    reason,
                }),
            }
        }
        let expected = |candidate: &Candidate| {
            let lever = &candidate.lever;
            let counted = self.counted.iter().filter(|one| one.lever == lever.id());
            let counted = counted.map(CountedLever::log_gain).fold(0.0, f64::max);
            counted.max(lever.expected_gain(levers, context.family, workload))
        };
        // Stable: levers of which the same is expected stay as the library has them.
        candidates.sort_by(|x, y| expected(y).total_cmp(&expected(x)));
        (candidates, not_applicable)
    }

    /// `context` with what the person who asks accepts and names.
    pub(crate) fn permitted(&self, levers: &[Lever], mut context: Context) -> Context {
        self.permit(levers, &mut context);
        context
    }

    fn permit(&self, levers: &[Lever], context: &mut Context) {
        context.app_local &= self.app != Application::Remote;
        context.app_on_socket |= self.app == Application::Socket;
        context.allowed = self.allow.iter().copied().collect();
        let counted = self.counted.iter().map(|one| &one.lever);
        let named = self.only.iter().chain(&self.also).chain(counted);
        context.named = named.cloned().collect();
        if self.with_builds {
            let builds = levers.iter().filter(|lever| lever.factor() == BUILDS);
            context
                .named
                .extend(builds.map(|lever| lever.id().to_owned()));
        }
    }

    /// Whether it is not to be tried, as the person who asks says.
    pub(crate) fn leaves_out(&self, lever: &Lever) -> bool {
        let is_in = |list: &[String]| list.iter().any(|id| id == lever.id());
        // The controls stay, whatever levers are chosen.
        let others_only =
            !self.only.is_empty() && !is_in(&self.only) && lever.role() == Role::Lever;
        is_in(&self.without) || others_only
    }
}
