//! Reads a pack, and unpacks it once into the cache.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_error::{Remedy as _, anyhow, bail};
use niagara_server::{Cache, WorkFolder, write_private};
use sha2::{Digest, Sha256};
use tar::{Archive, Entry};

use super::manifest::{MANIFEST_FORMAT, Manifest, Member};
use super::{CAPTURE, CONFIG, DATA_FILE, DATA_FOLDER, DUMP, MANIFEST};
use crate::configuration::{ConfigSource, RunningConfig};
use crate::statistics::ENDING;

/// A longer manifest is none.
const MAX_MANIFEST: u64 = 16 << 20;

/// A pack in the cache.
#[derive(Debug, Clone)]
pub struct PackFolder {
    /// What it says of itself.
    pub manifest: Manifest,
    folder: PathBuf,
}

impl PackFolder {
    /// Where its files are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The captured traffic.
    pub fn capture(&self) -> PathBuf {
        self.folder.join(CAPTURE)
    }

    /// The data.
    pub fn data(&self) -> PathBuf {
        let names = self.manifest.members.iter().map(|member| &member.name);
        let is_data = |name: &&String| name.starts_with("data.") && !name.ends_with(ENDING);
        match names.into_iter().find(is_data) {
            Some(name) if name == DATA_FOLDER => self.folder.join("data"),
            Some(name) => self.folder.join(name),
            None => self.folder.join(DUMP),
        }
    }

    /// The settings of the server.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn config(&self) -> Result<ConfigSource> {
        let path = self.folder.join(CONFIG);
        let cannot = || format!("cannot read {}", path.display());
        let text = std::fs::read(&path).with_context(cannot)?;
        let running: RunningConfig = serde_json::from_slice(&text).with_context(cannot)?;
        Ok(ConfigSource::Running(running))
    }

    /// What the catalogue calls a server of this family and series.
    ///
    /// # Errors
    /// Its version is none.
    pub fn server(&self) -> Result<String> {
        self.manifest.server.name_in_catalog()
    }
}

/// What the pack at `path` says of itself, once all of it was read and is what was packed.
///
/// # Errors
/// It cannot be read, is no whole pack, or its content is not what was packed.
pub fn checked_manifest(path: &Path) -> Result<Manifest> {
    let (manifest, _) = read_manifest(path)?;
    let mut archive = Archive::new(BufReader::new(File::open(path)?));
    let mut taken = 0;
    let mut check = || -> Result<()> {
        for entry in archive.entries()? {
            let mut entry = entry?;
            let Some(member) = member_of(&entry, &manifest)? else {
                continue;
            };
            let mut content = HashingReader::of(&mut entry);
            io::copy(&mut content, &mut io::sink())?;
            content.check(member)?;
            taken += 1;
        }
        all_taken(taken, &manifest)
    };
    check()
        .with_context(|| format!("{} is damaged", path.display()))
        .remedy("copy it again, or make it again by `niagara pack`")?;
    Ok(manifest)
}

/// The member that an entry is; none of the manifest itself.
fn member_of<'m>(
    entry: &Entry<'_, BufReader<File>>,
    manifest: &'m Manifest,
) -> Result<Option<&'m Member>> {
    let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
    if name == MANIFEST {
        return Ok(None);
    }
    let known = [CAPTURE, CONFIG, DUMP, DATA_FILE, DATA_FOLDER];
    // Statistics lie beside their dump.
    let known = known.contains(&name.strip_suffix(ENDING).unwrap_or(&name));
    let member = manifest.members.iter().find(|member| member.name == name);
    match member.filter(|_| known) {
        Some(member) => Ok(Some(member)),
        None => bail!("its manifest does not know the member {name}"),
    }
}

fn all_taken(taken: usize, manifest: &Manifest) -> Result<()> {
    if taken != manifest.members.len() {
        bail!(
            "{taken} of its {} members are there",
            manifest.members.len()
        );
    }
    Ok(())
}

/// The manifest, and its digest.
fn read_manifest(path: &Path) -> Result<(Manifest, String)> {
    let file = File::open(path)
        .with_context(|| format!("cannot read the pack {}", path.display()))
        .remedy("name a file that `niagara pack` made")?;
    let no_pack = || {
        anyhow!(
            "{} is no whole pack", path.display();
            remedy: "copy it again, or make it again by `niagara pack`"
        )
    };
    let mut archive = Archive::new(BufReader::new(file));
    let mut text = Vec::new();
    let entries = archive.entries_with_seek().map_err(|_| no_pack())?;
    for entry in entries {
        let entry = entry.map_err(|_| no_pack())?;
        if entry.path_bytes().as_ref() == MANIFEST.as_bytes() {
            entry
                .take(MAX_MANIFEST)
                .read_to_end(&mut text)
                .map_err(|_| no_pack())?;
        }
    }
    // Another format is told before its fields are missed.
    let value: serde_json::Value = serde_json::from_slice(&text).map_err(|_| no_pack())?;
    if value["format"] != MANIFEST_FORMAT {
        bail!(
            "{} has format {}, and this Niagara reads {MANIFEST_FORMAT}", path.display(), value["format"];
            remedy: "pack and tune with the same version of Niagara"
        );
    }
    let manifest = serde_json::from_value(value).map_err(|_| no_pack())?;
    Ok((manifest, hex::encode(&Sha256::digest(&text)[..8])))
}

/// Unpacks `path` into the cache, unless its content is there.
///
/// # Errors
/// It is no whole pack, or there is no room.
pub fn unpack(path: &Path, cache: &Cache, tell: &mut dyn FnMut(&str)) -> Result<PackFolder> {
    let (manifest, digest) = read_manifest(path)?;
    let packs = cache.root().join("packs");
    let folder = packs.join(&digest);
    let _lock = cache.lock(&format!("pack-{digest}"), &mut || {
        tell("waiting for another process that unpacks the same pack");
    })?;
    if !folder.exists() {
        tell(&format!("unpacking {}", path.display()));
        let place = WorkFolder::beside(&packs, "pack")?;
        let file = File::open(path)?;
        let mut archive = Archive::new(BufReader::new(file));
        let unpacked = take_members(&mut archive, &manifest, place.path());
        unpacked
            .with_context(|| format!("cannot unpack {} to {}", path.display(), packs.display()))
            .remedy(
                "copy the pack again where its content differs; make room where the disk is full",
            )?;
        write_private(
            &place.path().join(MANIFEST),
            &serde_json::to_vec_pretty(&manifest)?,
        )?;
        place.rename(&folder)?;
    }
    Ok(PackFolder { manifest, folder })
}

fn take_members(
    archive: &mut Archive<BufReader<File>>,
    manifest: &Manifest,
    place: &Path,
) -> Result<()> {
    let mut taken = 0;
    for entry in archive.entries()? {
        let mut entry = entry?;
        let Some(member) = member_of(&entry, manifest)? else {
            continue;
        };
        take_member(&mut entry, member, place)?;
        taken += 1;
    }
    all_taken(taken, manifest)
}

fn take_member(
    entry: &mut Entry<'_, BufReader<File>>,
    member: &Member,
    place: &Path,
) -> Result<()> {
    let mut content = HashingReader::of(entry);
    if member.name == DATA_FOLDER {
        let mut archive = Archive::new(zstd::Decoder::new(&mut content)?);
        archive.set_preserve_mtime(true);
        archive.unpack(place)?;
        // What follows the end of the archive belongs to the member, too.
        io::copy(&mut archive.into_inner(), &mut io::sink())?;
    } else {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(place.join(&member.name))?;
        io::copy(&mut content, &mut file)?;
        file.flush()?;
    }
    io::copy(&mut content, &mut io::sink())?;
    content.check(member)
}

/// The content of a member on its way out of the pack.
struct HashingReader<'a, 'b> {
    entry: &'a mut Entry<'b, BufReader<File>>,
    hash: Sha256,
}

impl<'a, 'b> HashingReader<'a, 'b> {
    fn of(entry: &'a mut Entry<'b, BufReader<File>>) -> Self {
        Self {
            entry,
            hash: Sha256::new(),
        }
    }

    /// Whether what was read is the member's content.
    fn check(self, member: &Member) -> Result<()> {
        if hex::encode(self.hash.finalize()) != member.sha256 {
            bail!("the content of {} is not what was packed", member.name);
        }
        Ok(())
    }
}

impl Read for HashingReader<'_, '_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let read = self.entry.read(room)?;
        self.hash.update(&room[..read]);
        Ok(read)
    }
}
