//! The first page of an InnoDB tablespace: page size, encryption, and which MySQL wrote it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use niagara_server::Version;

/// Bytes of the largest page.
const MAX_PAGE: usize = 64 << 10;
/// Where the flags are: behind the page's own header (38 bytes), in the header of the file space at 16.
const FLAGS: usize = 38 + 16;
/// MySQL keeps its version where other pages have their predecessor.
const SERVER_VERSION: usize = 8;
/// MariaDB's marker of checksums over whole pages (since 10.4): page sizes then are in the lowest bits.
const FULL_CRC32: u32 = 1 << 4;
/// MySQL's mark of an encrypted tablespace.
const MYSQL_ENCRYPTED: u32 = 1 << 13;
/// Precedes MariaDB's description of a tablespace's key.
const CRYPT_MAGIC: [u8; 6] = [b's', 0x0e, 0x0c, b'R', b'E', b't'];

/// What the first page says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tablespace {
    /// Bytes of a page.
    pub page_size: u32,
    /// Whether it is encrypted.
    pub encrypted: bool,
    /// The MySQL that wrote it; MariaDB keeps none there.
    pub mysql: Option<Version>,
}

impl Tablespace {
    /// Reads the first page of the file at `path`; none for a file that is too short.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn read(path: &Path, is_mariadb: bool) -> Result<Option<Self>> {
        let read = || -> std::io::Result<Vec<u8>> {
            let mut page = Vec::with_capacity(MAX_PAGE);
            File::open(path)?
                .take(MAX_PAGE as u64)
                .read_to_end(&mut page)?;
            Ok(page)
        };
        let page = read().with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self::of(&page, is_mariadb))
    }

    fn of(page: &[u8], is_mariadb: bool) -> Option<Self> {
        let flags = word(page, FLAGS)?;
        let shift = if is_mariadb && flags & FULL_CRC32 != 0 {
            flags & 15
        } else {
            (flags >> 6) & 15
        };
        let page_size = match shift {
            0 => 16 << 10,
            shift => 512 << shift,
        };
        let first = page.get(..page_size as usize).unwrap_or(page);
        let version = word(page, SERVER_VERSION).filter(|_| !is_mariadb);
        Some(Self {
            page_size,
            encrypted: if is_mariadb {
                has_key(first)
            } else {
                flags & MYSQL_ENCRYPTED != 0
            },
            mysql: version.and_then(numbered),
        })
    }
}

/// Whether MariaDB encrypted it: its description has a scheme, and a version of the key that is in use.
fn has_key(page: &[u8]) -> bool {
    let Some(at) = memchr::memmem::find(page, &CRYPT_MAGIC) else {
        return false;
    };
    // Scheme, length of the initialisation vector, the vector, then the lowest version of the key among the pages.
    let description = &page[at + CRYPT_MAGIC.len()..];
    let (Some(scheme), Some(length)) = (description.first(), description.get(1)) else {
        return false;
    };
    let version = word(description, 2 + usize::from(*length));
    *scheme != 0 && version.is_none_or(|version| version != 0)
}

/// `80036` is 8.0.36, `101119` is 10.11.19.
pub(crate) fn numbered(number: u32) -> Option<Version> {
    let (major, minor, patch) = (number / 10_000, number / 100 % 100, number % 100);
    (5..100).contains(&major).then_some(Version {
        major,
        minor,
        patch,
    })
}

fn word(page: &[u8], at: usize) -> Option<u32> {
    let bytes = page.get(at..at + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(flags: u32) -> Vec<u8> {
        let mut page = vec![0; 16 << 10];
        page[FLAGS..FLAGS + 4].copy_from_slice(&flags.to_be_bytes());
        page
    }

    #[test]
    fn page_sizes_and_keys_are_in_the_first_page() {
        let size = |flags, is_mariadb| {
            Tablespace::of(&page(flags), is_mariadb).map(|space| space.page_size)
        };
        assert_eq!(size(0x15, true), Some(16 << 10));
        assert_eq!(size(0x13, true), Some(4 << 10));
        assert_eq!(size(0, true), Some(16 << 10));
        assert_eq!(size(0, false), Some(16 << 10));
        assert_eq!(size(7 << 6, false), Some(64 << 10));
        assert_eq!(Tablespace::of(&[0; 20], true), None);
        let mut encrypted = page(0x15);
        encrypted[5000..5006].copy_from_slice(&CRYPT_MAGIC);
        let of = |page: &[u8]| Tablespace::of(page, true).map(|space| space.encrypted);
        assert_eq!(of(&encrypted), Some(false));
        encrypted[5006..5008].copy_from_slice(&[1, 16]);
        assert_eq!(of(&encrypted), Some(false));
        encrypted[5027] = 1;
        assert_eq!(of(&encrypted), Some(true));
        let mut mysql = page(1 << 13);
        mysql[8..12].copy_from_slice(&90_704_u32.to_be_bytes());
        let mysql = Tablespace::of(&mysql, false).unwrap();
        assert!(mysql.encrypted);
        assert_eq!(mysql.mysql.unwrap().to_string(), "9.7.4");
        assert_eq!(numbered(101_119).unwrap().to_string(), "10.11.19");
        assert_eq!(numbered(0), None);
    }
}
