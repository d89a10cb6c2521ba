//! The description of a duel that a node gets, and the duel's name.

use anyhow::Result;
use niagara_fleet::content::Content;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::duels::spec::{DuelSpec, Protocol};
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
    use crate::duels::spec::{DuelSettings, Load};
    use niagara_load::WorkloadSpec;
    use niagara_stats::TakenSlope;
    use niagara_store::Phase;

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
            taken_slope: TakenSlope::default(),
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
        });
        let back: OrderDocument = serde_json::from_str(&text.expect("JSON")).expect("the same");
        assert_eq!(back.spec, spec);
    }
}
