//! Settings of the host as files: pages that are reserved, and who gets transparent ones.

use super::{DeployInput, PAGES_BEFORE, head};
use crate::host::{TRANSPARENT, reserved_pages, transparent_pages};

/// Reserves huge pages.
pub const SYSCTL: &str = "niagara-sysctl.conf";
/// Where that file goes.
pub const SYSCTL_PLACE: &str = "/etc/sysctl.d/60-niagara.conf";
/// Turns transparent huge pages on.
pub const TMPFILES: &str = "niagara-tmpfiles.conf";
/// Where that file goes.
pub const TMPFILES_PLACE: &str = "/etc/tmpfiles.d/niagara.conf";

/// Where the steps keep who got transparent huge pages before.
pub const TRANSPARENT_BEFORE: &str = "transparent-pages-before";

/// The files and what they hold.
pub(super) fn files(input: &DeployInput) -> Vec<(String, String)> {
    let mut files = Vec::new();
    if let Some(pages) = reserved_pages(&input.variant) {
        let head = head(input, SYSCTL_PLACE);
        let text = format!(
            "{head}\n# The buffer pool and 10 %, in pages of 2 MiB. Pages that others have reserved are to be added.\nvm.nr_hugepages = {pages}\n"
        );
        files.push((SYSCTL.to_owned(), text));
    }
    if let Some(setting) = transparent_pages(&input.variant) {
        let head = head(input, TMPFILES_PLACE);
        let text = format!(
            "{head}\n# {}\nw {TRANSPARENT} - - - - {setting}\n",
            match setting {
                "always" => "Every process gets transparent huge pages.",
                _ => "A process that asks gets transparent huge pages.",
            }
        );
        files.push((TMPFILES.to_owned(), text));
    }
    files
}

/// Puts the file in place that reserves pages, with those that are reserved for others; nothing where there is no such file.
pub(super) fn reserve(input: &DeployInput) -> Option<Vec<String>> {
    let pages = reserved_pages(&input.variant)?;
    // The pool that stays is the user's own, whatever a server has that nobody configured.
    let pages = match sets_pool(input) {
        true => format!("pages={pages}"),
        false => format!("pages=$({})", ask_pages(input)),
    };
    Some(vec![
        format!(
            "{pages} && sed -i \"s/^vm.nr_hugepages = .*/vm.nr_hugepages = $(($pages + $(cat {PAGES_BEFORE})))/\" {SYSCTL}"
        ),
        format!("sudo install -m 644 {SYSCTL} {SYSCTL_PLACE}"),
        format!("sudo sysctl -p {SYSCTL_PLACE}"),
    ])
}

/// Whether the option file says how large the buffer pool is.
pub(super) fn sets_pool(input: &DeployInput) -> bool {
    input.variant.config.contains_key("innodb_buffer_pool_size")
}

/// Asks the server that runs how many pages its buffer pool takes, with 10 % for what else is in them.
pub(super) fn ask_pages(input: &DeployInput) -> String {
    format!(
        "sudo {} -N -B -e 'SELECT CEIL(@@innodb_buffer_pool_size * 1.1 / 2097152)'",
        input.client()
    )
}

/// What takes the reserved pages back.
pub(super) fn unreserve(input: &DeployInput) -> Vec<String> {
    if !input.variant.huge_pages {
        return Vec::new();
    }
    let file = reserved_pages(&input.variant).map(|_| format!("sudo rm {SYSCTL_PLACE}"));
    let before = format!("sudo sysctl vm.nr_hugepages=$(cat {PAGES_BEFORE})");
    file.into_iter().chain([before]).collect()
}

/// Puts the file in place that turns transparent huge pages on, where they are not on for as many.
pub(super) fn give_transparent(input: &DeployInput) -> Option<Vec<String>> {
    let is_enough = match transparent_pages(&input.variant)? {
        "always" => r"'\[always\]'",
        _ => r"-e '\[always\]' -e '\[madvise\]'",
    };
    Some(vec![
        format!("test -e {TRANSPARENT_BEFORE} || tee {TRANSPARENT_BEFORE} < {TRANSPARENT}"),
        format!(
            "grep -q {is_enough} {TRANSPARENT} || {{ sudo install -m 644 {TMPFILES} {TMPFILES_PLACE} && \
             sudo systemd-tmpfiles --create {TMPFILES_PLACE}; }}"
        ),
    ])
}

/// What takes that back.
pub(super) fn withdraw_transparent(input: &DeployInput) -> Vec<String> {
    if transparent_pages(&input.variant).is_none() {
        return Vec::new();
    }
    vec![
        format!("sudo rm -f {TMPFILES_PLACE}"),
        format!("sed 's/.*\\[\\(.*\\)\\].*/\\1/' {TRANSPARENT_BEFORE} | sudo tee {TRANSPARENT}"),
    ]
}
