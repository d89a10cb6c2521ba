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
    let files = files(input);
    let mut tasks = earlier(&files);
    // What others need comes first: whatever fails before the option file leaves the server as it was.
    tasks.push_str(&needed(input));
    for file in &files {
        tasks.push_str(&file.tasks());
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

/// A file that the server's next start reads.
struct File {
    title: &'static str,
    /// Beside the playbook.
    name: &'static str,
    /// On the host.
    path: String,
    /// Made first, where no package has it.
    folder: Option<String>,
}

/// Those that the next start reads.
fn files(input: &DeployInput) -> Vec<File> {
    let options = option_file::option_file(input).map(|_| File {
        title: "The option file",
        name: option_file::NAME,
        path: input.option_path(),
        folder: None,
    });
    // The unit of a built server starts what README.md unpacks.
    let unit = unit::unit(input).filter(|_| input.variant.built.is_none());
    let drop_in = unit.map(|_| {
        let folder = format!("/etc/systemd/system/{}.service.d", input.service());
        File {
            title: "The drop-in",
            name: unit::NAME,
            path: format!("{folder}/{}", unit::NAME),
            folder: Some(folder),
        }
    });
    options.into_iter().chain(drop_in).collect()
}

impl File {
    fn tasks(&self) -> String {
        let folder = self.folder.as_deref();
        let mut tasks = folder.map_or_else(String::new, |path| folder_task(self.title, path));
        tasks.push_str(&format!(
            "    - name: {}\n      ansible.builtin.copy:\n        src: {}\n        dest: {}\n        mode: \"0644\"\n        backup: true\n      notify: Restart\n\n",
            self.title,
            self.name,
            scalar(&self.path)
        ));
        tasks
    }
}

/// Stops where a file of an earlier round is another one; nothing where there are no files.
fn earlier(files: &[File]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let files = files.iter().map(|file| {
        format!(
            "        - {{file: {}, there: {}}}\n",
            file.name,
            scalar(&file.path)
        )
    });
    let files: String = files.collect();
    format!(
        r#"    - name: What an earlier round left
      ansible.builtin.stat:
        path: "{{{{ item.there }}}}"
        checksum_algorithm: sha256
      loop:
{files}      register: niagara_earlier

    - name: Nothing of an earlier round is replaced unasked
      ansible.builtin.assert:
        that: not item.stat.exists or item.stat.checksum == (lookup('ansible.builtin.file', item.item.file, rstrip=false) | hash('sha256'))
        fail_msg: "{{{{ item.item.there }}}} is of an earlier round. Undo that round first, or replace its files by -e niagara_replace=true"
      loop: "{{{{ niagara_earlier.results }}}}"
      loop_control:
        label: "{{{{ item.item.there }}}}"
      when: not (niagara_replace | default(false) | bool)

"#
    )
}

/// Packages and libraries that the files name.
fn needed(input: &DeployInput) -> String {
    let mut tasks = String::new();
    if let Some(malloc) = &input.variant.malloc
        && let Some(package) = &malloc.package
    {
        tasks.push_str(&format!(
            "    - name: The memory allocator {} (a package of Debian's and Ubuntu's)\n      ansible.builtin.package:\n        name: {}\n\n",
            malloc.name, package
        ));
    }
    if input.variant.runtime.has_huge_text() {
        let (folder, _) = TEXT_LIBRARY_PLACE
            .rsplit_once('/')
            .unwrap_or((TEXT_LIBRARY_PLACE, ""));
        tasks.push_str(&folder_task("The library for huge text", folder));
        tasks.push_str(&format!(
            "    - name: The library for huge text\n      ansible.builtin.copy:\n        src: {TEXT_LIBRARY}\n        dest: {TEXT_LIBRARY_PLACE}\n        mode: \"0644\"\n\n"
        ));
    }
    tasks
}

/// Makes a folder: to copy a file makes none.
fn folder_task(title: &str, path: &str) -> String {
    format!(
        "    - name: {title}, its folder\n      ansible.builtin.file:\n        path: {path}\n        state: directory\n        mode: \"0755\"\n\n"
    )
}

/// A text as YAML takes it.
fn scalar(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
