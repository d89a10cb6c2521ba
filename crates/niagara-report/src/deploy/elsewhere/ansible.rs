//! A playbook: the same files as by hand, one host after the other.

use super::{DeployInput, Means, head, indented, left_out};
use crate::deploy::{MAIN, TEXT_LIBRARY, TEXT_LIBRARY_PLACE, option_file, unit};

pub(super) const NAME: &str = "ansible.yml";

const STEPS: &str = "A playbook for the hosts of the group `databases`; -e niagara_hosts=GROUP names others. It restarts each server, one host after
the other, once that server takes the option file. It lies beside the files that it copies:
  ansible-playbook -i INVENTORY ansible.yml --check --diff
  ansible-playbook -i INVENTORY ansible.yml
A server that is only asked loads no plugins. Where it refuses a plugin's variable that was there before, leave the question out by
-e niagara_untried=true.";

/// What follows where the server may have no `--validate-config`.
const OLD_RELEASE: &str = "A MySQL before 8.0.16 refuses `--validate-config`: write `--verbose, --help` in its place in the task that asks the server.";

const UNDO: &str = "Undo: remove what it copied and the line `!include` that it may have added, and restart; README.md has more.";

/// `None` where nothing of it is a file or a package.
pub(super) fn playbook(input: &DeployInput) -> Option<String> {
    let service = input.service();
    let files = files(input);
    let mut tasks = earlier(&files);
    // What others need comes first: whatever fails before the option file leaves the server as it was.
    tasks.push_str(&needed(input));
    if !files.is_empty() {
        tasks.push_str(&tried(input, &files));
    }
    if tasks.is_empty() {
        return None;
    }
    let head = head(input, &steps(input), &left_out(input, Means::Host));
    Some(format!(
        "{head}---\n- name: Settings found by Niagara\n  hosts: \"{{{{ niagara_hosts | default('databases') }}}}\"\n  become: true\n  serial: 1\n  tasks:\n{tasks}\
         \x20 handlers:\n    - name: Restart\n      ansible.builtin.systemd_service:\n        name: {service}\n        state: restarted\n        daemon_reload: true\n"
    ))
}

/// How it is used and undone.
fn steps(input: &DeployInput) -> String {
    let is_asked = option_file::option_file(input).is_some();
    let old_release = (is_asked && input.may_be_too_old_to_validate()).then_some(OLD_RELEASE);
    let parts = [Some(STEPS), old_release, Some(UNDO)].into_iter().flatten();
    parts.collect::<Vec<_>>().join("\n")
}

/// A file that the server's next start reads.
struct File {
    title: &'static str,
    /// What its task's result is called.
    result: &'static str,
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
        result: "niagara_options",
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
            result: "niagara_drop_in",
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
            "    - name: {}\n      ansible.builtin.copy:\n        src: {}\n        dest: {}\n        mode: \"0644\"\n        backup: true\n      \
             register: {}\n      notify: Restart\n\n",
            self.title,
            self.name,
            scalar(&self.path),
            self.result
        ));
        tasks
    }

    /// As it was before this run: the copy of what it replaced goes back, and what was not there is removed. `place` is its place
    /// among the files that were looked for. A file that had only another mode stays: its content is that of before.
    fn undo(&self, place: usize) -> String {
        let Self { title, result, .. } = self;
        let path = scalar(&self.path);
        format!(
            "    - name: {title}, as it was before\n      ansible.builtin.copy:\n        src: \"{{{{ {result}.backup_file }}}}\"\n        \
             dest: {path}\n        remote_src: true\n        mode: preserve\n      \
             when: {result} is defined and {result}.backup_file is defined\n\n    \
             - name: {title}, taken back\n      ansible.builtin.file:\n        path: {path}\n        state: absent\n      \
             when: {} and not niagara_earlier.results[{place}].stat.exists\n\n",
            is_changed(result)
        )
    }
}

/// Whether the task with this result changed anything; it may not have been reached.
fn is_changed(result: &str) -> String {
    format!("{result} is defined and {result} is changed")
}

/// The files, and the server asked whether it would start with them: where it would not, all is put as it was before and nothing
/// is restarted.
fn tried(input: &DeployInput, files: &[File]) -> String {
    let mut tasks: String = files.iter().map(File::tasks).collect();
    let mut undo = String::new();
    if option_file::option_file(input).is_some() {
        if let Some(including) = input.including() {
            tasks.push_str(&include(&including));
            undo.push_str(&exclude(&including));
        }
        tasks.push_str(&trial(input));
    }
    let placed = files.iter().enumerate().rev();
    undo.extend(placed.map(|(place, file)| file.undo(place)));
    undo.push_str(
        "    - name: No restart\n      ansible.builtin.fail:\n        msg: \"{{ ansible_failed_task.name }}: failed. Of what the next start \
         reads, files that this run replaced are back, and those that it added are removed. The server was not restarted\"\n\n",
    );
    format!(
        "    - name: What the next start reads\n      block:\n{}      rescue:\n{}",
        indented(&tasks, 4),
        indented(&undo, 4)
    )
}

/// What the result of [`include`] is called.
const INCLUDE: &str = "niagara_include";

/// What the result of the task is called that makes the file which includes.
const MAIN_MADE: &str = "niagara_main";

/// Has the option file read behind all that it overrides.
fn include((main, line): &(String, String)) -> String {
    // A server of its own place may have none; what the user's start was read from is there.
    let create = main == MAIN;
    let (path, line) = (scalar(main), scalar(line));
    let mut tasks = String::new();
    if create {
        // Whatever root's umask is, the server has to be able to read it; one that is there keeps its mode.
        tasks.push_str(&format!(
            "    - name: The file that has it read, where there is none\n      ansible.builtin.copy:\n        content: \"\"\n        \
             dest: {path}\n        force: false\n        mode: \"0644\"\n      register: {MAIN_MADE}\n\n"
        ));
    }
    // With --check the file was not made.
    tasks.push_str(&format!(
        "    - name: The line that has the option file read\n      ansible.builtin.lineinfile:\n        path: {path}\n        line: {line}\n        \
         insertafter: EOF\n        create: {create}\n      register: {INCLUDE}\n      notify: Restart\n\n"
    ));
    tasks
}

/// Takes that line away, where this run put it there, and the file, where this run made it: before the option file, which is not
/// missed then.
fn exclude((main, line): &(String, String)) -> String {
    let (path, line) = (scalar(main), scalar(line));
    let mut tasks = format!(
        "    - name: The line, taken back\n      ansible.builtin.lineinfile:\n        path: {path}\n        line: {line}\n        \
         state: absent\n      when: {}\n\n",
        is_changed(INCLUDE)
    );
    if main == MAIN {
        tasks.push_str(&format!(
            "    - name: The file that had it read, taken back\n      ansible.builtin.file:\n        path: {path}\n        \
             state: absent\n      when: {}\n\n",
            is_changed(MAIN_MADE)
        ));
    }
    tasks
}

/// Asks the server, without starting it, whether it takes the option files that are there.
fn trial(input: &DeployInput) -> String {
    let options = input.trial_options().join(", ");
    format!(
        "    - name: Whether the server takes its option files\n      ansible.builtin.command:\n        argv: [{}, --user=mysql, {options}]\n      \
         changed_when: false\n      when: not (niagara_untried | default(false) | bool)\n\n",
        scalar(&input.binary())
    )
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
