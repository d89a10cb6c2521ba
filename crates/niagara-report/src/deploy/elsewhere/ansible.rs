//! A playbook: the same files as by hand, one host after the other.

use super::{DeployInput, Means, head, left_out};
use crate::deploy::{TEXT_LIBRARY, TEXT_LIBRARY_PLACE, option_file, unit};

pub(super) const NAME: &str = "ansible.yml";

const STEPS: &str = "A playbook for the hosts of the group `databases`; -e niagara_hosts=GROUP names others. It restarts each server, one host after
the other. It lies beside the files that it copies:
  ansible-playbook -i INVENTORY ansible.yml --check --diff
  ansible-playbook -i INVENTORY ansible.yml
Undo: remove what it copied, and restart; README.md has more.";

/// `None` where nothing of it is a file or a package.
pub(super) fn playbook(input: &DeployInput) -> Option<String> {
    let service = input.service();
    let mut tasks = String::new();
    if let Some(malloc) = &input.variant.malloc
        && let Some(package) = &malloc.package
    {
        tasks.push_str(&format!(
            "    - name: The memory allocator {} (a package of Debian's and Ubuntu's)\n      ansible.builtin.package:\n        name: {}\n\n",
            malloc.name, package
        ));
    }
    let mut copy = |title: &str, name: &str, path: &str| {
        tasks.push_str(&format!(
            "    - name: {title}\n      ansible.builtin.copy:\n        src: {name}\n        dest: {}\n        mode: \"0644\"\n      notify: Restart\n\n",
            scalar(path)
        ));
    };
    if option_file::option_file(input).is_some() {
        copy("The option file", option_file::NAME, &input.option_path());
    }
    if input.variant.runtime.has_huge_text() {
        tasks.push_str(&format!(
            "    - name: The library for huge text\n      ansible.builtin.copy:\n        src: {TEXT_LIBRARY}\n        dest: {TEXT_LIBRARY_PLACE}\n        mode: \"0644\"\n\n"
        ));
    }
    // The unit of a built server starts what README.md unpacks.
    if unit::unit(input).is_some() && input.variant.built.is_none() {
        let folder = format!("/etc/systemd/system/{service}.service.d");
        tasks.push_str(&format!(
            "    - name: The drop-in's folder\n      ansible.builtin.file:\n        path: {folder}\n        state: directory\n        mode: \"0755\"\n\n\
             \x20   - name: The drop-in\n      ansible.builtin.copy:\n        src: {}\n        dest: {folder}/{}\n        mode: \"0644\"\n      notify: Restart\n\n",
            unit::NAME,
            unit::NAME
        ));
    }
    if tasks.is_empty() {
        return None;
    }
    let head = head(input, STEPS, &left_out(input, Means::Host));
    Some(format!(
        "{head}---\n- name: Settings found by Niagara\n  hosts: \"{{{{ niagara_hosts | default('databases') }}}}\"\n  become: true\n  serial: 1\n  tasks:\n{tasks}\
         \x20 handlers:\n    - name: Restart\n      ansible.builtin.systemd_service:\n        name: {service}\n        state: restarted\n        daemon_reload: true\n"
    ))
}

/// A text as YAML takes it.
fn scalar(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
