//! Settings of the host that a deployed server needs, as files of `sysctl.d` and `tmpfiles.d`.

use niagara_model::Deployment;

/// Where the kernel is told who gets transparent huge pages.
pub(crate) const TRANSPARENT: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// Bytes of a huge page of x86-64.
const HUGE: u64 = 2 << 20;
/// The buffer pool of a server that no option file tells its size.
const DEFAULT_POOL: u64 = 128 << 20;

/// Whom the kernel has to give transparent huge pages: `madvise` (who asks) or `always`; nothing where it need not.
pub(crate) fn transparent_pages(variant: &Deployment) -> Option<&'static str> {
    let runtime = &variant.runtime;
    match runtime.malloc.as_deref() {
        // It never asks for them.
        Some("tcmalloc") if runtime.has_huge_heap() => Some("always"),
        _ => (runtime.has_huge_heap() || runtime.has_huge_text()).then_some("madvise"),
    }
}

/// Pages that are reserved for the buffer pool; nothing where none are, and where its size is not known.
pub(crate) fn reserved_pages(variant: &Deployment) -> Option<u64> {
    if !variant.huge_pages {
        return None;
    }
    let pool = match variant.config.get("innodb_buffer_pool_size") {
        Some(size) => bytes(size)?,
        None if variant.start.is_none() => DEFAULT_POOL,
        // The user's option file says it.
        None => return None,
    };
    Some((pool + pool / 10).div_ceil(HUGE))
}

/// A size as option files write it: `8G`.
fn bytes(size: &str) -> Option<u64> {
    let digits = size.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let shift = match &size[digits.len()..] {
        "" => 0,
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        "T" | "t" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use niagara_model::DeployStart;
    use niagara_settings::ProcessSettings;

    use super::*;

    #[test]
    fn pages_are_reserved_for_the_buffer_pool() {
        let mut variant = Deployment {
            huge_pages: true,
            ..Deployment::default()
        };
        assert_eq!(reserved_pages(&variant), Some(71));
        let size = |size: &str| ("innodb_buffer_pool_size".to_owned(), size.to_owned());
        for text in ["8G", "8589934592", "8388608k"] {
            variant.config.extend([size(text)]);
            assert_eq!(reserved_pages(&variant), Some(4506), "{text}");
        }
        variant.config.clear();
        variant.start = Some(DeployStart::default());
        assert_eq!(reserved_pages(&variant), None);
        assert_eq!(reserved_pages(&Deployment::default()), None);
    }

    #[test]
    fn transparent_pages_are_for_those_who_ask() {
        let pages = |runtime: ProcessSettings| {
            transparent_pages(&Deployment {
                runtime,
                ..Deployment::default()
            })
        };
        let heap = |malloc: &str| ProcessSettings {
            malloc: Some(malloc.to_owned()),
            huge_pages_heap: Some(true),
            ..ProcessSettings::default()
        };
        assert_eq!(pages(ProcessSettings::default()), None);
        assert_eq!(pages(heap("jemalloc")), Some("madvise"));
        assert_eq!(pages(heap("tcmalloc")), Some("always"));
        let text = ProcessSettings {
            huge_pages_text: Some(true),
            ..ProcessSettings::default()
        };
        assert_eq!(pages(text), Some("madvise"));
    }
}
