//! Whether a started server is what was asked for: a runtime that silently does nothing would be measured as itself.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use niagara_error::{anyhow, bail};
use niagara_load::{Admin, Endpoint, LoadError};
use niagara_settings::{ProcessSettings, TlsSession};
use nix::unistd::Pid;

use super::environment::{malloc_name, preload, thp_setting};
use crate::install::Install;
use crate::machine::cpu::allowed;

/// Checks preloaded malloc, huge pages, locked memory and CPUs of a running process; `reserved_pages`: its variables ask for
/// huge pages that are reserved.
pub(crate) fn process(
    pid: Pid,
    install: &Install,
    runtime: &ProcessSettings,
    reserved_pages: bool,
) -> Result<()> {
    let ProcessSettings {
        server_cpus,
        // Asked for below.
        malloc: _,
        huge_pages_heap: _,
        lock_memory: _,
        // Checked with what its library has logged.
        huge_pages_text: _,
        // In force, or the process would not have started.
        scheduling: _,
        environment: _,
        // The load generator's.
        client_cpus: _,
        // Asked of the server itself: `encryption`.
        transport: _,
    } = runtime;
    if let Some(library) = preload(install, runtime)? {
        preloaded(pid, library)?;
    }
    // Where huge pages are given to who asks, the asking shows in the mappings' flags.
    if runtime.has_huge_heap() && thp_setting() == "madvise" {
        let smaps = read(pid, "smaps")?;
        let flags = smaps
            .lines()
            .filter_map(|line| line.strip_prefix("VmFlags:"));
        if !flags
            .flat_map(str::split_whitespace)
            .any(|flag| flag == "hg")
        {
            bail!(
                "this {} did not ask the kernel for huge pages", malloc_name(install, runtime);
                remedy: "another malloc, or echo always > /sys/kernel/mm/transparent_hugepage/enabled (as root)"
            );
        }
    }
    let has_none = |status: &str, name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name));
        value.is_none_or(|value| value.trim() == "0 kB")
    };
    if runtime.locks_memory() && has_none(&read(pid, "status")?, "VmLck:") {
        bail!(
            "its memory is not locked";
            remedy: "raise the limit on locked memory (ulimit -l unlimited)"
        );
    }
    // A server that finds none goes on with small pages, and its variable says that they are large.
    if reserved_pages && has_none(&read(pid, "status")?, "HugetlbPages:") {
        bail!(
            "none of its memory is on reserved huge pages";
            remedy: "reserve enough for two servers and their buffer pools (sysctl vm.nr_hugepages=N, as root), or leave large_pages out"
        );
    }
    if let Some(asked) = server_cpus {
        let given = allowed(pid)?;
        let mut asked = asked.clone();
        asked.sort_unstable();
        asked.dedup();
        if given != asked {
            bail!("it was to run on the CPUs {asked:?} but may run on {given:?}");
        }
    }
    Ok(())
}

/// How the server encrypts a connection to `endpoint`, by its own word. The load's connections are made alike.
pub(crate) fn encryption(endpoint: &Endpoint, timeout: Duration) -> Result<TlsSession> {
    // What helps a client in general is another remedy.
    let failed = |error: LoadError| {
        anyhow!(
            "no encrypted connection comes about: {error}";
            remedy: "leave out transport=tls, or what keeps the server from TLS 1.2 and 1.3 (tls_version, ssl_cipher, ssl_cert, ssl_key)"
        )
    };
    let mut connection = Admin::connect(endpoint, timeout).map_err(failed)?;
    let mut said = |name: &str| {
        let rows = connection.rows(&format!("SHOW SESSION STATUS LIKE '{name}'"))?;
        let value = rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().nth(1));
        value
            .flatten()
            .filter(|value| !value.is_empty())
            .with_context(|| format!("its connection is not encrypted: {name} is empty"))
    };
    let session = TlsSession {
        version: said("Ssl_version")?,
        cipher: said("Ssl_cipher")?,
    };
    connection.quit();
    Ok(session)
}

fn preloaded(pid: Pid, library: &Path) -> Result<()> {
    // Mappings are named by the file itself, behind any links.
    let library = fs::canonicalize(library)?;
    let name = library.to_string_lossy();
    if !read(pid, "maps")?
        .lines()
        .any(|line| line.ends_with(&*name))
    {
        bail!("{name} was to be preloaded but is not in its memory");
    }
    Ok(())
}

fn read(pid: Pid, file: &str) -> Result<String> {
    let path = format!("/proc/{pid}/{file}");
    fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))
}
