//! The description of a duel that a node gets, and the duel's name.

use anyhow::Result;
use niagara_fleet::content::Content;
use niagara_server::Install;
use niagara_stats::MachineTrial;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::plans::spec::{DuelOutcome, DuelSpec, Protocol};
use crate::variants::variant::Variant;

/// The description of a duel that a node gets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OrderDocument {
    /// The duel.
    pub spec: DuelSpec,
    /// How its variants meet.
    pub protocol: Protocol,
    /// What has to be on the node's disk.
    pub content: Vec<Content>,
    /// The servers that the head has set up for the variants, which nodes run as they are; none of one that is named by its path.
    pub installs: [Option<Install>; 2],
    /// Before its first duel the node compares A with itself.
    pub trial: bool,
}

impl OrderDocument {
    /// The comparison of A with itself that is to come before the duel; `None` of a duel that is not run as one.
    pub(super) fn trial(&self) -> Option<DuelSpec> {
        let is_duel = self.protocol == Protocol::Duel && !self.spec.load.workload.is_job();
        let a = &self.spec.variants[0];
        (self.trial && is_duel).then(|| DuelSpec {
            variants: [a.clone(), a.clone()],
            ..self.spec.clone()
        })
    }
}

/// What a node gives back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NodeResult {
    /// Of the duel.
    pub outcome: DuelOutcome,
    /// What the trial before the node's first duel said of it. It stands in each of its results: the first may be lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<MachineTrial>,
    /// The duel was fought elsewhere and played back: its slices say nothing of this node.
    pub played_back: bool,
}

/// The name of a duel: a hash of its study, of what is compared and of its seed, which follows from its index. What a study
/// learns on its way (how long a warm-up has to be, what CPU time taken by others costs) is not in it: it is the same duel.
///
/// # Errors
/// Something that is no JSON.
pub(crate) fn duel_name(key: &str, spec: &DuelSpec, protocol: Protocol) -> Result<String> {
    let content = serde_json::to_vec(&(
        key,
        spec.phase,
        &spec.subject,
        spec.variants.each_ref().map(Variant::id),
        &spec.load,
        spec.duel_settings.couples,
        spec.duel_settings.slice_seconds,
        spec.seed,
        spec.rate,
        protocol,
    ))?;
    Ok(hex::encode(&Sha256::digest(content)[..8]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::spec::{DuelSettings, Load};
    use niagara_load::WorkloadSpec;
    use niagara_model::Phase;
    use niagara_stats::InterferenceSlope;

    #[test]
    fn a_duel_is_known_by_what_it_is_not_by_what_was_learned_before() {
        let spec = DuelSpec {
            seq: 3,
            phase: Phase::Compare,
            subject: String::new(),
            variants: [Variant::base("a"), Variant::base("b")],
            load: Load {
                workload: WorkloadSpec::default(),
                engine: "InnoDB".to_owned(),
                threads: 4,
            },
            duel_settings: DuelSettings {
                couples: 4,
                slice_seconds: 0.1,
                ramp_seconds: 0.0,
                warm_up_seconds: 3.0,
                disturbance: 0.05,
            },
            seed: 7,
            interference_slope: InterferenceSlope::default(),
            rate: None,
        };
        let name = |spec: &DuelSpec| duel_name("key", spec, Protocol::Duel).expect("JSON");
        let mut later = spec.clone();
        later.seq = 4;
        later.duel_settings.warm_up_seconds = 0.5;
        assert_eq!(name(&later), name(&spec));
        let mut other = spec.clone();
        other.seed = 8;
        assert_ne!(name(&other), name(&spec));
        let mut swapped = spec.clone();
        swapped.variants.reverse();
        assert_ne!(name(&swapped), name(&spec));
        let text = serde_json::to_string(&OrderDocument {
            spec: spec.clone(),
            protocol: Protocol::Duel,
            content: Vec::new(),
            installs: [None, None],
            trial: true,
        });
        let back: OrderDocument = serde_json::from_str(&text.expect("JSON")).expect("the same");
        assert_eq!(back.spec, spec);
        // Before it, the start meets itself: nothing of the other side is in it.
        let trial = back.trial().expect("a duel");
        assert_eq!(trial.variants, [Variant::base("a"), Variant::base("a")]);
    }
}
