//! Releases past their end.

use crate::facts::{Facts, Server};
use crate::finding::{EndedSeries, Finding};
use crate::release::Releases;

/// How the projects' own packages begin their comments.
const OWN: [&str; 3] = [
    "mariadb.org binary distribution",
    "MySQL Community Server",
    "MySQL Enterprise Server",
];

pub(super) fn findings(facts: &Facts, releases: &Releases) -> Option<Finding> {
    let Server {
        family,
        version,
        package,
        ..
    } = &facts.server;
    let (name, project) = match family.is_mariadb() {
        true => ("mariadb", &releases.mariadb),
        false => ("mysql", &releases.mysql),
    };
    let ended = *project.ends.get(&version.series())?;
    let series = EndedSeries {
        series: format!("{name}-{}", version.series()),
        ended,
        newest: format!("{name}-{}", project.newest),
        policy: project.source.clone(),
    };
    let is_own = OWN.iter().any(|own| package.starts_with(own));
    (facts.today > ended).then(|| match is_own {
        true => Finding::ReleaseEnded { series },
        false => Finding::ReleaseEndedUpstream {
            series,
            package: package.clone(),
        },
    })
}
