//! What earlier builds took on this machine.

use std::cmp::Reverse;
use std::fs;

use niagara_server::CpuSeconds;
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
        let mut records = store.finished();
        records.retain(|record| record.server == server);
        // What links keep lies among what ccache does.
        let links = store.linked();
        let is_of_ccache = |kept: fs::DirEntry| kept.path() != links;
        let keeps = fs::read_dir(store.ccache())
            .is_ok_and(|mut kept| kept.any(|entry| entry.is_ok_and(is_of_ccache)));
        let has_ccache = keeps && in_path("ccache").is_some();
        Experience::with(records, has_ccache, jobs)
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
        self.nearest(kind, recipe, part, &|_, _| true)
    }

    /// Seconds of compiling `recipe`, of builds whose compilers take about as long for it: gcc takes three times as long as clang with a
    /// profile, whose builds tell nothing of gcc's.
    pub(crate) fn compiled_alike(&self, kind: BuildKind, recipe: &Recipe) -> Option<f64> {
        let figure = CompilerFigure::of(kind, recipe);
        self.nearest(kind, recipe, COMPILE, &|record, unlike| {
            unlike < ONLY_A_PART && CompilerFigure::of(record.kind, &record.recipe) == figure
        })
    }

    /// The newest of the builds that are most like it, among those that `serves` takes; it is told how unlike each is.
    fn nearest(
        &self,
        kind: BuildKind,
        recipe: &Recipe,
        part: &str,
        serves: &dyn Fn(&BuildRecord, u8) -> bool,
    ) -> Option<f64> {
        let whole;
        let recipe = match self.has_ccache {
            true => recipe,
            // Every file is compiled.
            false => {
                whole = recipe.without_patches();
                &whole
            }
        };
        let known = self.records.iter().filter(|record| {
            record.seconds.contains_key(part) && serves(record, unlike(record, kind, recipe))
        });
        let nearest =
            known.min_by_key(|record| (unlike(record, kind, recipe), Reverse(record.begun)))?;
        took(nearest, part, self.jobs)
    }
}

/// Seconds that `part` of a build took, or would have taken on a machine that did nothing else.
fn took(record: &BuildRecord, part: &str, jobs: usize) -> Option<f64> {
    let wall = record.seconds.get(part).copied()?;
    let cpu = record.cpu_seconds.get(part).copied();
    // A machine that was busy then need not be busy now.
    Some(cpu.map_or(wall, |cpu| wall.min(on_cpus(cpu, jobs))))
}

/// Seconds by the clock of so many seconds of CPU time, with this many compilers at once.
pub(crate) fn on_cpus(cpu: f64, jobs: usize) -> f64 {
    cpu / jobs as f64 * UNEVEN
}

/// The figure of the catalogue that tells what a compilation takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompilerFigure {
    Gcc,
    Clang,
    ClangByProfile,
}

impl CompilerFigure {
    /// That of a build of this kind and recipe.
    pub(crate) fn of(kind: BuildKind, recipe: &Recipe) -> CompilerFigure {
        let by_profile = kind == BuildKind::Server && recipe.pgo.is_some();
        match (recipe.compiler.is_gcc(), by_profile) {
            (true, _) => CompilerFigure::Gcc,
            (false, false) => CompilerFigure::Clang,
            (false, true) => CompilerFigure::ClangByProfile,
        }
    }

    /// Its CPU seconds, where the catalogue has them.
    pub(crate) fn cpu_seconds(self, known: CpuSeconds) -> Option<f64> {
        let seconds = match self {
            CompilerFigure::Gcc => known.gcc,
            CompilerFigure::Clang => known.clang,
            CompilerFigure::ClangByProfile => known.clang_by_profile,
        };
        seconds.map(f64::from)
    }
}

/// How many times as long as by the catalogue compiling took here: the median of `records`, of those that compiled a whole server of
/// which `known` has the CPU seconds. `None` where none did.
pub(crate) fn slowness(
    records: &[BuildRecord],
    known: &dyn Fn(&str) -> CpuSeconds,
    jobs: usize,
) -> Option<f64> {
    let whole = records.iter().filter(|record| !is_only_a_part(record));
    let mut ratios: Vec<f64> = whole
        .filter_map(|record| {
            let figure = CompilerFigure::of(record.kind, &record.recipe);
            let cpu = figure.cpu_seconds(known(&record.server))?;
            Some(took(record, COMPILE, jobs)? / on_cpus(cpu, jobs))
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied()
}

/// The part of a build in which its files are compiled, as records name it.
pub(crate) const COMPILE: &str = "compile";

/// How little a build tells of others that ccache may have served most of its objects.
const ONLY_A_PART: u8 = 5;

/// Whether ccache may have served most of a build: one with patches, or linked otherwise than one before it.
fn is_only_a_part(record: &BuildRecord) -> bool {
    let normal = record.recipe.normal();
    !record.recipe.patches.is_empty() || normal.before_bolt() != normal.objects()
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
    match () {
        () if is_only_a_part(record) => ONLY_A_PART,
        () if known.compiler != asked.compiler => 4,
        () if !is_counting_alike => 3,
        () if known.lto != asked.lto => 2,
        () => 1,
    }
}
