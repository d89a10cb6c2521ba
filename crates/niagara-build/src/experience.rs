//! What earlier builds took on this machine.

use std::cmp::Reverse;
use std::fs;

use niagara_server::machine::in_path;

use crate::recipe::Recipe;
use crate::store::{BuildKind, BuildRecord, BuildStore};

/// CPUs that wait for others while a server is built: the link at the end is one program.
pub(crate) const UNEVEN: f64 = 1.1;

/// The finished builds of one server, which tell what the next takes.
pub(crate) struct Experience {
    records: Vec<BuildRecord>,
    /// ccache is here and keeps something: what a patch leaves alone is there.
    has_ccache: bool,
    jobs: usize,
}

impl Experience {
    /// What `store` knows of `server`, for builds with this many compilers at once.
    pub(crate) fn of(store: &BuildStore, server: &str, jobs: usize) -> Experience {
        let builds = store.list().unwrap_or_default();
        let finished = builds
            .into_iter()
            .filter(|build| build.finished && build.record.server == server);
        // What links keep lies among what ccache does.
        let links = store.linked();
        let is_of_ccache = |kept: fs::DirEntry| kept.path() != links;
        let keeps = fs::read_dir(store.ccache())
            .is_ok_and(|mut kept| kept.any(|entry| entry.is_ok_and(is_of_ccache)));
        let has_ccache = keeps && in_path("ccache").is_some();
        Experience::with(
            finished.map(|build| build.record).collect(),
            has_ccache,
            jobs,
        )
    }

    /// With these finished builds, and with or without something in ccache.
    pub(crate) fn with(records: Vec<BuildRecord>, has_ccache: bool, jobs: usize) -> Experience {
        Experience {
            records,
            has_ccache,
            jobs: jobs.max(1),
        }
    }

    /// The finished builds.
    pub(crate) fn records(&self) -> &[BuildRecord] {
        &self.records
    }

    /// Compilers at once.
    pub(crate) fn jobs(&self) -> usize {
        self.jobs
    }

    /// Whether a build like `recipe` was made, with other patches where it has some, of which ccache keeps the objects.
    pub(crate) fn serves_alike(&self, recipe: &Recipe) -> bool {
        let mut records = self.records.iter();
        self.has_ccache && records.any(|record| unlike(record, BuildKind::Server, recipe) == 0)
    }

    /// The recipe of a server with these objects, of which ccache keeps them.
    pub(crate) fn of_objects(&self, objects: &Recipe) -> Option<Recipe> {
        let mut servers = self.records.iter().filter(|record| {
            let recipe = record.recipe.normal();
            record.kind == BuildKind::Server && recipe.keyed().objects() == *objects
        });
        let server = servers.next().filter(|_| self.has_ccache)?;
        Some(server.recipe.normal())
    }

    /// Seconds of `part` for the build of this kind and `recipe`: of the newest of the builds that are most like it.
    pub(crate) fn typical(&self, kind: BuildKind, recipe: &Recipe, part: &str) -> Option<f64> {
        let whole;
        let recipe = match self.has_ccache {
            true => recipe,
            // Every file is compiled.
            false => {
                whole = recipe.without_patches();
                &whole
            }
        };
        let known = self
            .records
            .iter()
            .filter(|record| record.seconds.contains_key(part));
        let nearest =
            known.min_by_key(|record| (unlike(record, kind, recipe), Reverse(record.begun)))?;
        let wall = nearest.seconds.get(part).copied()?;
        let alone = nearest
            .cpu_seconds
            .get(part)
            .map(|cpu| cpu / self.jobs as f64 * UNEVEN);
        // A machine that was busy then need not be busy now.
        Some(alone.map_or(wall, |alone| wall.min(alone)))
    }
}

/// How little a finished build tells about one of another kind or recipe: 0 is one of the same.
fn unlike(record: &BuildRecord, kind: BuildKind, asked: &Recipe) -> u8 {
    let known = &record.recipe;
    // What counts has the recipe of a plain server, and is compiled otherwise.
    let counts = |kind: BuildKind| kind != BuildKind::Server;
    let is_counting_alike = counts(record.kind) == counts(kind);
    let patched = |recipe: &Recipe| !recipe.patches.is_empty();
    let without_patches = |recipe: &Recipe| recipe.normal().without_patches();
    // ccache serves a patched source most of its objects, so that it takes a small part of what a whole one takes: builds
    // of the two kinds do not tell of each other.
    if is_counting_alike
        && patched(known) == patched(asked)
        && without_patches(known) == without_patches(asked)
    {
        return 0;
    }
    // So may one be that is linked otherwise than one before it.
    let linked_otherwise = |recipe: &Recipe| recipe.before_bolt() != recipe.objects();
    match () {
        () if patched(known) || linked_otherwise(&known.normal()) => 5,
        () if known.compiler != asked.compiler => 4,
        () if !is_counting_alike => 3,
        () if known.lto != asked.lto => 2,
        () => 1,
    }
}
