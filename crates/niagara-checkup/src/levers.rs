//! What the levers know of a server's settings: which are so already, which can be tried, which have no effect here.

use std::collections::BTreeMap;

use niagara_lab::lever::{Change, Condition, Context, Lever, Risk, is_set_so};
use niagara_model::Reason;
use niagara_server::{is_switches, normalise_variable};
use schemars::JsonSchema;
use serde::Serialize;

use crate::facts::{Facts, Variables};

/// A lever and this server.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LeverFact {
    /// As the command line takes it.
    pub lever: String,
    /// For people.
    pub title: String,
    /// What it costs beside speed.
    pub risk: String,
    /// How the server is set.
    #[serde(flatten)]
    pub state: LeverState,
}

/// How a server is set, as a lever sees it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum LeverState {
    /// As the lever would set it.
    AlreadySo {
        /// The variables.
        settings: Vec<Setting>,
    },
    /// Otherwise; a tuning tries it.
    Tried {
        /// The variables.
        settings: Vec<Setting>,
    },
    /// Otherwise; a tuning tries it on demand alone.
    OnDemand {
        /// The variables.
        settings: Vec<Setting>,
        /// Why it is not tried by itself.
        reason: Reason,
    },
    /// It does nothing on this release, or with these data.
    NoEffect {
        /// Why.
        reason: Reason,
    },
}

/// A variable of a lever.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Setting {
    /// Its name.
    pub variable: String,
    /// Its value now.
    pub now: String,
    /// The lever's value; none where it depends on a machine that cannot be seen from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lever: Option<String>,
}

/// Levers of settings alone, against this server.
pub fn levers(facts: &Facts, levers: &[Lever]) -> Vec<LeverFact> {
    let machine_seen = facts
        .host
        .as_ref()
        .is_some_and(|host| host.memory_bytes.is_some());
    let all = context(facts, levers);
    let mut by_itself = all.clone();
    by_itself.allowed.clear();
    by_itself.named.clear();
    let facts = levers.iter().filter_map(|lever| {
        lever.variables().next()?;
        Some(LeverFact {
            lever: lever.spelling(),
            title: lever.title().to_owned(),
            risk: lever.risk().to_string(),
            state: state(lever, facts, machine_seen, &all, &by_itself)?,
        })
    });
    facts.collect()
}

/// What a lever's file says that a server risks with it, and how that server is set; none where it is set otherwise.
pub(crate) fn set_so(facts: &Facts, lever: &Lever, levers: &[Lever]) -> Option<Setting> {
    let context = context(facts, levers);
    match state(lever, facts, true, &context, &context)? {
        LeverState::AlreadySo { settings } => settings.into_iter().next(),
        _ => None,
    }
}

/// The server with every risk allowed and every lever named: what is left of reasons is of the server and the machine.
fn context(facts: &Facts, levers: &[Lever]) -> Context {
    let machine = facts.host.as_ref().map(|host| host.machine.clone());
    let innodb = facts.catalog.as_ref();
    Context {
        data_bytes: innodb.and_then(|catalog| catalog.innodb_bytes).unwrap_or(0),
        // Whether the traffic writes decides a tuning, by its capture.
        writes: true,
        allowed: [Risk::Durability, Risk::Security, Risk::System].into(),
        named: levers.iter().map(|lever| lever.id().to_owned()).collect(),
        ..Context::new(
            facts.server.family,
            facts.server.version,
            machine.unwrap_or_default(),
        )
    }
}

/// None of a lever that does more than set variables, or that this server's settings leave nothing to act on.
fn state(
    lever: &Lever,
    facts: &Facts,
    machine_seen: bool,
    all: &Context,
    by_itself: &Context,
) -> Option<LeverState> {
    let variables = &facts.variables;
    let needed = &lever.when().variables;
    let acts = |(name, wanted): (&String, &Condition)| {
        let now = variables.text(name);
        now.is_none_or(|now| wanted.holds(now))
    };
    if !needed.iter().all(acts) {
        return None;
    }
    // As the server's binary would say it.
    let in_its_place = lever.when().lacks.iter();
    let mut in_its_place = in_its_place.filter(|name| variables.text(name).is_some());
    if let Some(variable) = in_its_place.next() {
        let reason = Reason::OtherVariable {
            release: format!("{} {}", all.family, all.version),
            variable: variable.clone(),
        };
        return Some(LeverState::NoEffect { reason });
    }
    let change = match lever.applicability(all) {
        Ok(change) => change,
        Err(reason) => return Some(LeverState::NoEffect { reason }),
    };
    let alone = Change {
        config: change.config.clone(),
        ..Change::default()
    };
    if alone != change {
        return None;
    }
    let settings = match settings(&change.config, variables) {
        Ok(settings) => settings,
        Err(variable) => {
            let reason = Reason::NoVariable {
                release: format!("{} {}", all.family, all.version),
                variable,
            };
            return Some(LeverState::NoEffect { reason });
        }
    };
    let mut refused = change.config.iter();
    if let Some((variable, value)) = refused.find(|(name, value)| !facts.choices.take(name, value))
    {
        let reason = Reason::NoValue {
            release: format!("{} {}", all.family, all.version),
            variable: variable.clone(),
            value: value.clone(),
        };
        return Some(LeverState::NoEffect { reason });
    }
    let is_so = |setting: &Setting| {
        let wanted = setting.lever.as_deref().unwrap_or_default();
        is_set_so(&setting.variable, &setting.now, wanted)
    };
    if settings.iter().all(is_so) {
        return Some(LeverState::AlreadySo { settings });
    }
    let settings = settings.into_iter().map(|setting| Setting {
        lever: setting.lever.filter(|_| machine_seen),
        ..setting
    });
    let settings = settings.collect();
    Some(match lever.applicability(by_itself) {
        Ok(_) => LeverState::Tried { settings },
        Err(reason) => LeverState::OnDemand { settings, reason },
    })
}

/// The variables of a change with their values; else the name of one that the server does not have.
fn settings(
    config: &BTreeMap<String, String>,
    variables: &Variables,
) -> Result<Vec<Setting>, String> {
    let setting = |(name, value): (&String, &String)| {
        let name = normalise_variable(name);
        let name = name.strip_prefix("loose_").unwrap_or(&name);
        // An option without a value switches on; one that begins so switches off what has another name.
        let (variable, value) = match (name.strip_prefix("skip_"), value.as_str()) {
            (Some(other), "") if variables.text(name).is_none() => (other, "OFF"),
            (_, "") => (name, "ON"),
            (_, value) => (name, value),
        };
        match variables.text(variable) {
            Some(now) => Ok(Setting {
                variable: variable.to_owned(),
                now: switches_of(variable, now, value),
                lever: Some(value.to_owned()),
            }),
            None => Err(name.to_owned()),
        }
    };
    config.iter().map(setting).collect()
}

/// The switches that a change names, as they are now; another variable's value whole.
fn switches_of(variable: &str, now: &str, written: &str) -> String {
    if !is_switches(variable) {
        return now.to_owned();
    }
    let name = |switch: &str| {
        switch
            .split('=')
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let named: Vec<String> = written.split(',').map(name).collect();
    let switches = now
        .split(',')
        .filter(|switch| named.contains(&name(switch)));
    switches.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Choices;

    #[test]
    fn a_variable_in_place_of_another_decides() {
        let shipped = niagara_lab::lever::load(&[]).expect("valid");
        let lever = |spelling: &str| {
            let mut all = shipped.iter();
            all.find(|lever| lever.spelling() == spelling)
                .expect("shipped")
        };
        let (files, capacity) = (
            ("innodb_log_file_size", "50331648"),
            ("innodb_redo_log_capacity", "104857600"),
        );
        // MySQL shows both from 8.0.30 on.
        for (variables, of_files, of_capacity) in [
            (&[files][..], "tried", "no effect"),
            (&[files, capacity], "no effect", "tried"),
        ] {
            let mut facts = crate::rules::tests::quiet();
            facts.server.family = niagara_server::Family::Mysql;
            facts.server.version = "8.0.99".parse().expect("a version");
            let named = variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            facts.variables = Variables(named.collect());
            let all = context(&facts, &shipped);
            let state = |spelling: &str| match state(lever(spelling), &facts, true, &all, &all) {
                Some(LeverState::Tried { .. }) => "tried",
                Some(LeverState::NoEffect { .. }) => "no effect",
                other => panic!("{spelling}: {other:?}"),
            };
            assert_eq!(state("redo-log-files-large"), of_files, "{variables:?}");
            assert_eq!(state("redo-log-large"), of_capacity, "{variables:?}");
        }
    }

    #[test]
    fn an_unseen_memory_leaves_values_open() {
        let shipped = niagara_lab::lever::load(&[]).expect("valid");
        let mut facts = crate::rules::tests::quiet();
        facts.host.as_mut().expect("a host").memory_bytes = None;
        for fact in levers(&facts, &shipped) {
            if let LeverState::Tried { settings } | LeverState::OnDemand { settings, .. } =
                &fact.state
            {
                let open = settings.iter().all(|one| one.lever.is_none());
                assert!(open, "{}", fact.lever);
            }
        }
    }

    #[test]
    fn a_value_that_the_server_does_not_list_has_no_effect() {
        let shipped = niagara_lab::lever::load(&[]).expect("valid");
        let lever = shipped
            .iter()
            .find(|lever| lever.id() == "doublewrite-fast");
        let lever = lever.expect("shipped");
        let mut facts = crate::rules::tests::quiet();
        let all = context(&facts, &shipped);
        for (words, takes) in [("OFF,ON", false), ("OFF,ON,fast", true)] {
            let words = words.split(',').map(str::to_owned).collect();
            facts.choices = Choices([("innodb_doublewrite".to_owned(), words)].into());
            match state(lever, &facts, true, &all, &all) {
                Some(LeverState::Tried { .. } | LeverState::OnDemand { .. }) => assert!(takes),
                Some(LeverState::NoEffect { reason }) => {
                    assert!(!takes);
                    let told = reason.to_string();
                    assert!(told.ends_with("does not take fast"), "{told}");
                }
                other => panic!("{other:?}"),
            }
        }
        let optimizer = ("optimizer_switch".to_owned(), vec!["mrr".to_owned()]);
        let choices = Choices([optimizer].into());
        assert!(choices.take("optimizer_switch", "mrr=off"));
        assert!(!choices.take("optimizer_switch", "mrr=off,rowid_filter=off"));
        assert!(choices.take("innodb_io_capacity", "200"));
    }

    #[test]
    fn an_option_without_value_is_a_switch() {
        let variables = Variables(
            [("log_bin", "ON"), ("skip_name_resolve", "OFF")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
        );
        let one = |name: &str| settings(&[(name.to_owned(), String::new())].into(), &variables);
        assert_eq!(
            one("skip_log_bin").expect("known")[0].lever.as_deref(),
            Some("OFF")
        );
        assert_eq!(
            one("skip_name_resolve").expect("known")[0].lever.as_deref(),
            Some("ON")
        );
        let switches = switches_of("optimizer_switch", "a=on,b=off,c=on", "b=on,c=on");
        assert_eq!(switches, "b=off,c=on");
        assert_eq!(one("no_such"), Err("no_such".to_owned()));
    }
}
