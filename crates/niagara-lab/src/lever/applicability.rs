//! Whether a lever applies, and if not, why not and what would make it.

use std::collections::BTreeMap;

use niagara_model::{Machine, Reason, Setting};
use niagara_server::machine::Fingerprint;

use super::change::Change;
use super::context::{Context, GLIBC};
use super::definition::{Lever, Need, WorkloadKind};
use super::in_effect::is_set_so;
use super::open_files::open_files;
use super::range::Span;
use super::risk::Risk;
use super::template::Value;

/// The theme of levers that change how statements are planned.
const OPTIMIZER: &str = "optimizer";

impl Lever {
    /// The change on this machine, server and workload; else the reason.
    ///
    /// # Errors
    /// The reason why the lever does not apply.
    pub fn applicability(&self, context: &Context) -> Result<Change, Reason> {
        self.check_server(context)?;
        self.check_source(context)?;
        self.check_options(context)?;
        self.check_permission(context)?;
        self.check_workload(context)?;
        self.check_size(context)?;
        self.check_machine(&context.machine)?;
        self.check_malloc(context)?;
        let change = self.template.resolve(context);
        let change = change.map_err(|error| Reason::NotComputable { error })?;
        if change.is_empty() {
            return Err(Reason::ChangesNothing);
        }
        // The server would take less than it is told to, and that would be measured.
        let asked = open_files(context.family, &change.config);
        if let Some((needed, limit)) = asked.zip(context.machine.limits.open_files)
            && needed > limit
        {
            return Err(Reason::OpenFilesLimit { needed, limit });
        }
        Ok(change)
    }

    /// The range of values that may be searched here; `None` where the lever has none, or none is left on this machine.
    pub fn span(&self, context: &Context) -> Option<Span> {
        self.range.span(context)
    }

    /// Whether it does something for tables in this engine.
    pub(crate) fn is_for_engine(&self, engine: &str) -> bool {
        let engines = &self.when.engines;
        engines.is_empty() || engines.contains(&engine.to_lowercase())
    }

    fn check_server(&self, context: &Context) -> Result<(), Reason> {
        if !self.when.names_families() {
            return Ok(());
        }
        let range = self.when.range(context.family);
        if range.is_some_and(|range| range.holds(&context.version)) {
            return Ok(());
        }
        // The lever's own reason is worth more than the bare condition.
        Err(match (self.elsewhere.reason(context.family), range) {
            (Some(because), _) => Reason::NotForServer {
                because: because.to_owned(),
            },
            (None, None) => Reason::NotForFamily {
                family: context.family.to_string(),
            },
            (None, Some(range)) => Reason::NotForVersion {
                family: context.family.to_string(),
                range: range.to_string(),
                version: context.version.to_string(),
            },
        })
    }

    /// Whether anybody can build it.
    fn check_source(&self, context: &Context) -> Result<(), Reason> {
        match &context.not_buildable {
            Some(because) if !self.template.build.is_empty() => Err(Reason::NotBuildable {
                because: because.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Whether the server has the variables that it sets, by what its binary says.
    fn check_options(&self, context: &Context) -> Result<(), Reason> {
        let Some(options) = &context.options else {
            return Ok(());
        };
        // A build may have options that the packaged server has not.
        if !self.template.build.is_empty() {
            return Ok(());
        }
        let unknown = self.template.variables(context.family);
        let unknown = unknown
            .map(|(name, _)| name)
            .find(|name| !options.takes(name));
        let refused = self.template.variables(context.family);
        let refused = refused
            .filter_map(|(name, value)| match value {
                Value::Literal(value) => Some((name, value)),
                Value::Computed(_) => None,
            })
            .find(|(name, value)| !options.takes_value(name, value));
        let lacked = self.when.lacks.iter().find(|name| options.takes(name));
        match (unknown, lacked, refused) {
            (Some(variable), _, _) => Err(Reason::NoVariable {
                release: context.release(),
                variable: variable.clone(),
            }),
            (None, Some(variable), _) => Err(Reason::OtherVariable {
                release: context.release(),
                variable: variable.clone(),
            }),
            (None, None, Some((variable, value))) => Err(Reason::NoValue {
                release: context.release(),
                variable: variable.clone(),
                value: value.clone(),
            }),
            (None, None, None) => Ok(()),
        }
    }

    /// Why `change` does nothing on a server that starts with what is compiled in, as its binary tells. `None` too where that does
    /// not tell.
    pub fn idle_by_default(&self, change: &Change, context: &Context) -> Option<Reason> {
        let options = context.options.as_ref()?;
        let unmet = self.when.variables.iter().find_map(|(name, wanted)| {
            let value = options.default(name)?;
            (!wanted.holds(value)).then_some((name, value, wanted))
        });
        if let Some((name, value, wanted)) = unmet {
            return Some(Reason::NothingToActOn {
                setting: default_setting(name, value),
                wanted: wanted.to_string(),
            });
        }
        if !change.only_sets_variables() {
            return None;
        }
        let (mut same, mut ignored) = (Vec::new(), Vec::new());
        for (name, value) in &change.config {
            if let Some(words) = options.without_effect(name) {
                ignored.push(default_setting(name, words));
            } else if is_set_so(name, options.default(name)?, value) {
                same.push(default_setting(name, value));
            } else {
                return None;
            }
        }
        Some(Reason::Unchanged { ignored, same })
    }

    /// The variables that it sets, where it changes nothing but how statements are planned and applies; none of any other lever.
    pub fn plan_variables(&self, context: &Context) -> Option<BTreeMap<String, String>> {
        if self.theme != OPTIMIZER {
            return None;
        }
        let change = self.applicability(context).ok()?;
        let is_plain = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let is_plan_alone = change.only_sets_variables() && change.config.keys().all(is_plain);
        is_plan_alone.then_some(change.config)
    }

    fn check_permission(&self, context: &Context) -> Result<(), Reason> {
        if self.only_named && !context.named.contains(&self.id) {
            return Err(Reason::OnlyByName {
                lever: self.id.clone(),
                build: !self.build().is_empty(),
            });
        }
        let harmless = matches!(self.risk, Risk::None | Risk::Memory);
        if !harmless && !context.allowed.contains(&self.risk) {
            // What matters only with a setting that the branch does not come with is no loss, and is not sold as one.
            if let (false, Some(reason)) = (
                self.when.variables.is_empty(),
                self.elsewhere.reason(context.family),
            ) {
                return Err(Reason::NotForServer {
                    because: reason.to_owned(),
                });
            }
            return Err(Reason::RiskNotAllowed {
                risk: self.risk.to_string(),
            });
        }
        if self.local_only() && !context.app_local {
            return Err(Reason::RemoteApplication);
        }
        if self.sets_socket() && context.app_on_socket {
            return Err(Reason::ApplicationOnSocket);
        }
        Ok(())
    }

    fn check_workload(&self, context: &Context) -> Result<(), Reason> {
        if self.when.workload == WorkloadKind::Writes && !context.writes {
            return Err(Reason::NoWrites);
        }
        if !self.is_for_engine(&context.engine) {
            return Err(Reason::NotForEngine {
                engines: self.when.engines.clone(),
                engine: context.engine.clone(),
            });
        }
        match self.when.min_data {
            Some(least_bytes) if context.data_bytes < least_bytes => Err(Reason::LittleData {
                least_bytes,
                bytes: context.data_bytes,
            }),
            _ => Ok(()),
        }
    }

    fn check_size(&self, context: &Context) -> Result<(), Reason> {
        let whose = |given: bool| match given {
            true => Machine::Production,
            false => Machine::Here,
        };
        let cpus = context.cpus() as u64;
        if let Some(least) = self.when.min_cpus.filter(|least| cpus < *least) {
            return Err(Reason::FewCpus {
                least,
                cpus,
                machine: whose(context.production.cpus.is_some()),
            });
        }
        let process = &self.template.runtime;
        let places = process.server_cpus.is_some() || process.client_cpus.is_some();
        let here = context.machine.usable_cpus();
        if let Some(production) = context.production.cpus
            && places
            && production as usize != here
        {
            return Err(Reason::CpuNumbers {
                here,
                production: production.into(),
            });
        }
        let memory = context.memory();
        if let Some(least_bytes) = self.when.min_memory.filter(|least| memory < *least) {
            return Err(Reason::LittleMemory {
                least_bytes,
                bytes: memory,
                machine: whose(context.production.memory.is_some()),
            });
        }
        Ok(())
    }

    fn check_machine(&self, machine: &Fingerprint) -> Result<(), Reason> {
        self.when
            .needs
            .iter()
            .try_for_each(|need| need.check(machine))
    }

    fn check_malloc(&self, context: &Context) -> Result<(), Reason> {
        let own = context.own_malloc.as_str();
        let linked = || (context.release(), own.to_owned());
        if self.only_sets_glibc() && own != GLIBC && !context.may_be_built {
            let (release, own) = linked();
            return Err(Reason::NotOwnMalloc { release, own });
        }
        let Some(malloc) = &self.template.runtime.malloc else {
            return Ok(());
        };
        // A build does without the package's own malloc, so that this may be loaded for it.
        let build_lacks_it = context.may_be_built && own != GLIBC;
        if malloc == own && self.template.sets_only_malloc() && !build_lacks_it {
            let (release, own) = linked();
            return Err(Reason::OwnMalloc { release, own });
        }
        if malloc != own && own != GLIBC && context.mallocs.is_empty() {
            let (release, own) = linked();
            return Err(Reason::MallocCompiledIn { release, own });
        }
        if malloc != GLIBC && malloc != own && !context.mallocs.contains(malloc) {
            return Err(Reason::MallocNotFound {
                malloc: malloc.clone(),
            });
        }
        Ok(())
    }

    /// Whether it is settings of the C library's malloc alone, which another does not read.
    fn only_sets_glibc(&self) -> bool {
        let template = &self.template;
        let mut names = template.runtime.environment.keys();
        template.runtime.malloc.is_none()
            && !template.runtime.environment.is_empty()
            && names.all(|name| name.starts_with("MALLOC_") && name != "MALLOC_CONF")
    }
}

/// A variable that nobody has set.
fn default_setting(name: &str, value: &str) -> Setting {
    Setting {
        variable: name.to_owned(),
        value: value.to_owned(),
        place: None,
    }
}

impl Need {
    fn check(self, machine: &Fingerprint) -> Result<(), Reason> {
        match self {
            Self::Thp => match machine.memory.thp.as_deref() {
                Some("always" | "madvise") => Ok(()),
                mode => Err(Reason::HugePagesOff {
                    mode: mode.map(str::to_owned),
                }),
            },
            Self::Hugetlb if machine.memory.huge_pool_free_bytes() == 0 => {
                Err(Reason::NoHugePagesReserved)
            }
            Self::Numa if machine.cpu.numa_nodes < 2 => Err(Reason::OneNumaNode),
            Self::Smt if !machine.cpu.smt => Err(Reason::OneThreadPerCore),
            Self::RaisePriority if !machine.limits.root => Err(Reason::NeedsRoot),
            Self::LockMemory => match machine.limits.locked_memory_bytes {
                Some(bytes) if bytes < machine.usable_memory() && !machine.limits.root => {
                    Err(Reason::LockedMemoryLimit { bytes })
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use niagara_origin::configuration::ServerOptions;
    use niagara_server::Family;

    use super::*;
    use crate::lever::parse::parse;

    fn lever(text: &str) -> Lever {
        let head = "title = \"T\"\ntheme = \"test\"\nwhy = \"w\"\nsource = \"s\"\n";
        parse("test", "test.toml", &format!("{head}{text}")).expect("a valid lever")
    }

    fn context() -> Context {
        let mut machine = Fingerprint::default();
        machine.cpu.threads = 2;
        machine.memory.bytes = 8 << 30;
        Context::new(
            Family::Mariadb,
            "10.11.19".parse().expect("a version"),
            machine,
        )
    }

    fn refusal(text: &str) -> String {
        lever(text)
            .applicability(&context())
            .expect_err("does not apply")
            .to_string()
    }

    const CHANGE: &str = "[change.config]\na = 1\n";

    #[test]
    fn a_lever_without_conditions_applies() {
        let change = lever(&format!("risk = \"none\"\n{CHANGE}"))
            .applicability(&context())
            .expect("applies");
        assert_eq!(change.one_line(), "a=1");
    }

    #[test]
    fn reasons_come_with_remedies() {
        let when = |risk: &str, when: &str| {
            refusal(&format!("risk = \"{risk}\"\n[when]\n{when}\n{CHANGE}"))
        };
        assert_eq!(
            when("none", "mysql = \"*\""),
            "not for this server: its [when] does not name MariaDB"
        );
        assert_eq!(
            when(
                "none",
                "mysql = \"*\"\n[elsewhere]\nmariadb = \"off by default\""
            ),
            "not for this server: off by default"
        );
        assert_eq!(
            when(
                "none",
                "mariadb = \"<10.5\"\n[elsewhere]\nmariadb = \"off by default since 10.5\""
            ),
            "not for this server: off by default since 10.5"
        );
        assert_eq!(
            when("none", "mariadb = \">=11\""),
            "not for this server: for MariaDB >=11 only; this is 10.11.19"
        );
        assert_eq!(
            when("durability", ""),
            "risk durability: not tried without --allow durability"
        );
        assert!(when("none", "workload = \"writes\"").contains("oltp_read_write"));
        assert_eq!(
            when("none", "min_cpus = 4"),
            "needs 4 CPUs; this machine has 2"
        );
        assert_eq!(
            when("none", "min_data = \"1G\""),
            "matters from 1024 MB of tables and indexes; there are 0 MB: load more rows"
        );
        assert_eq!(
            when("none", "engines = [\"aria\"]"),
            "for tables in aria only, not in InnoDB"
        );
        assert!(when("none", "needs = [\"hugetlb\"]").contains("vm.nr_hugepages"));
        assert_eq!(
            when("none", "needs = [\"thp\"]"),
            "this kernel has no transparent huge pages"
        );
        assert!(
            refusal("risk = \"none\"\n[change]\nmalloc = \"jemalloc\"\n")
                .starts_with("jemalloc was not found")
        );
        assert_eq!(
            refusal(&format!("risk = \"none\"\ntry = \"named\"\n{CHANGE}")),
            "tried only when asked for by name: --also test"
        );
    }

    #[test]
    fn the_binary_decides_on_variables() {
        let mut context = context();
        context.options = Some(Arc::new(ServerOptions::of_help(
            "  --old-size=# \n\nVariables (--variable-name=value)\nold-size 1\n",
        )));
        let refusal = |text: &str| {
            let applies = lever(&format!("risk = \"none\"\n{text}")).applicability(&context);
            applies.err().map(|reason| reason.to_string())
        };
        assert_eq!(refusal("[change.config]\nold_size = 2\n"), None);
        assert_eq!(refusal("[change.config]\nloose_other = 2\n"), None);
        assert_eq!(
            refusal("[change.config]\nnew_size = 2\n").as_deref(),
            Some("not for this server: MariaDB 10.11.19 has no variable new_size")
        );
        assert_eq!(
            refusal("[when]\nlacks = [\"old-size\"]\n[change]\nmalloc = \"glibc\"\nhuge_pages_heap = true\n")
                .as_deref(),
            Some("not for this server: MariaDB 10.11.19 has old_size in its place")
        );
    }

    #[test]
    fn the_binary_decides_on_values() {
        let mut context = context();
        context.options = Some(Arc::new(ServerOptions::of_help(
            "  --innodb-doublewrite Enable it\n  --checksum=name     How pages are summed. One of: crc32, none\n\n\
             Variables (--variable-name=value)\noptimizer-switch mrr=off,rowid_filter=on\n",
        )));
        let refusal = |setting: &str| {
            let text = format!("risk = \"none\"\n[change.config]\n{setting}\n");
            let applies = lever(&text).applicability(&context);
            applies.err().map(|reason| reason.to_string())
        };
        let refused = |words: &str| Some(format!("not for this server: {words}"));
        assert_eq!(refusal("innodb_doublewrite = \"OFF\""), None);
        assert_eq!(
            refusal("innodb_doublewrite = \"fast\""),
            refused("innodb_doublewrite of MariaDB 10.11.19 does not take fast")
        );
        assert_eq!(refusal("checksum = \"none\""), None);
        assert_eq!(
            refusal("checksum = \"strict_none\""),
            refused("checksum of MariaDB 10.11.19 does not take strict_none")
        );
        assert_eq!(refusal("optimizer_switch = \"mrr=on\""), None);
        assert_eq!(
            refusal("optimizer_switch = \"sort_union=on\""),
            refused("optimizer_switch of MariaDB 10.11.19 does not take sort_union=on")
        );
    }

    #[test]
    fn mallocs_depend_on_the_one_that_is_linked_in() {
        let mut context = context();
        context.mallocs = ["glibc", "jemalloc"].map(str::to_owned).into();
        let refusal = |context: &Context, change: &str| {
            let applies = lever(&format!("risk = \"none\"\n{change}")).applicability(context);
            applies.map_or_else(|reason| reason.to_string(), |_| String::new())
        };
        let glibc = "[change]\nmalloc = \"glibc\"\n";
        let arenas = "[change.environment]\nMALLOC_ARENA_MAX = 2\n";
        let jemalloc = "[change]\nmalloc = \"jemalloc\"\n";
        assert!(refusal(&context, glibc).ends_with("uses glibc already: nothing to gain"));
        assert_eq!(refusal(&context, arenas), "");
        assert_eq!(refusal(&context, jemalloc), "");
        "jemalloc".clone_into(&mut context.own_malloc);
        assert_eq!(refusal(&context, glibc), "");
        assert!(refusal(&context, arenas).contains("linked with jemalloc"));
        // A build of this server has the C library's malloc: jemalloc is loaded to have it again.
        assert!(refusal(&context, jemalloc).ends_with("uses jemalloc already: nothing to gain"));
        context.may_be_built = true;
        for change in [glibc, arenas, jemalloc] {
            assert_eq!(refusal(&context, change), "");
        }
        context.may_be_built = false;
        context.mallocs.clear();
        assert!(refusal(&context, glibc).contains("jemalloc is compiled into this MariaDB"));
    }

    #[test]
    fn what_nobody_can_build_is_not_offered() {
        let mut context = context();
        context.not_buildable = Some("nobody knows how".to_owned());
        let lever = lever("risk = \"none\"\ntry = \"named\"\n[change.build]\npgo = \"mixed\"\n");
        assert_eq!(
            lever
                .applicability(&context)
                .expect_err("no sources")
                .to_string(),
            "not for this server: nobody knows how"
        );
    }

    #[test]
    fn a_cache_that_takes_more_files_than_there_may_be_is_not_offered() {
        let mut context = context();
        let larger = lever("risk = \"memory\"\n[change.config]\ntable_open_cache = 8000\n");
        assert!(larger.applicability(&context).is_ok());
        context.machine.limits.open_files = Some(20_000);
        let refused = Reason::OpenFilesLimit {
            needed: 128_201,
            limit: 20_000,
        };
        assert_eq!(larger.applicability(&context), Err(refused));
        // MySQL takes two files for a table, however many instances there are.
        context.family = Family::Mysql;
        assert!(larger.applicability(&context).is_ok());
    }

    #[test]
    fn what_is_allowed_named_or_there_applies() {
        let mut context = context();
        context.allowed.insert(Risk::Durability);
        context.named.insert("test".to_owned());
        context.mallocs.insert("jemalloc".to_owned());
        let lever =
            lever("risk = \"durability\"\ntry = \"named\"\n[change]\nmalloc = \"jemalloc\"\n");
        assert_eq!(
            lever
                .applicability(&context)
                .expect("applies")
                .runtime
                .malloc
                .as_deref(),
            Some("jemalloc")
        );
    }

    #[test]
    fn a_risk_that_could_gain_nothing_is_not_offered() {
        let text = "risk = \"durability\"\n[when]\nmariadb = \"*\"\n[when.variables]\nlog_bin = \"ON\"\n\
                    [elsewhere]\nmariadb = \"off by default\"\n[change.config]\nskip_log_bin = \"\"\n";
        assert_eq!(refusal(text), "not for this server: off by default");
        let mut context = context();
        context.allowed.insert(Risk::Durability);
        assert!(lever(text).applicability(&context).is_ok());
    }

    #[test]
    fn a_socket_is_no_use_from_another_host() {
        let mut context = context();
        context.app_local = false;
        let lever = lever("risk = \"none\"\n[change]\ntransport = \"unix\"\n");
        assert_eq!(
            lever.applicability(&context).expect_err("remote"),
            Reason::RemoteApplication
        );
        context.app_local = true;
        context.app_on_socket = true;
        assert_eq!(
            lever.applicability(&context).expect_err("on the socket"),
            Reason::ApplicationOnSocket
        );
    }

    #[test]
    fn values_are_worked_out_for_the_machine() {
        let mut context = context();
        context.data_bytes = 1 << 30;
        let text = "risk = \"memory\"\n[change.config]\nsize = \"= min(server_memory * 0.6, round_up(data * 1.3, 128M))\"\nthreads = \"= cpus * 2\"\n";
        let change = lever(text).applicability(&context).expect("applies");
        assert_eq!(change.config["size"], (11_u64 * (128 << 20)).to_string());
        assert_eq!(change.config["threads"], "4");
    }

    #[test]
    fn sizes_are_those_of_the_production_machine() {
        let mut context = context();
        context.data_bytes = 100 << 30;
        let text = "risk = \"memory\"\n[when]\nmin_cpus = 4\n[change.config]\nsize = \"= server_memory\"\n\
                    threads = \"= cpus * 2\"\nall = \"= memory\"\n";
        assert!(lever(text).applicability(&context).is_err());
        context.production.cpus = Some(16);
        context.production.memory = Some(2 << 30);
        let change = lever(text).applicability(&context).expect("applies");
        assert_eq!(change.config["threads"], "32");
        assert_eq!(change.config["size"], (2_u64 << 30).to_string());
        // More than one of two servers can have here is not tried.
        context.production.memory = Some(64 << 30);
        let change = lever(text).applicability(&context).expect("applies");
        assert_eq!(change.config["size"], (4_u64 << 30).to_string());
        assert_eq!(change.config["all"], (64_u64 << 30).to_string());
        context.production.cpus = Some(2);
        assert_eq!(
            lever(text)
                .applicability(&context)
                .expect_err("too few")
                .to_string(),
            "needs 4 CPUs; the production machine has 2"
        );
    }

    #[test]
    fn each_branch_gets_its_own_variables() {
        let text = "risk = \"none\"\n[change.config]\nboth = 1\n[change.mariadb]\nours = 2\n[change.mysql]\ntheirs = 3\n";
        let mut context = context();
        assert_eq!(
            lever(text)
                .applicability(&context)
                .expect("applies")
                .one_line(),
            "both=1, ours=2"
        );
        context.family = Family::Percona;
        assert_eq!(
            lever(text)
                .applicability(&context)
                .expect("applies")
                .one_line(),
            "both=1, theirs=3"
        );
    }
}
