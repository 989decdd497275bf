//! The access token: creating, storing and comparing it. Its `Debug` output hides it.

use std::{
    fmt,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use rustix::rand::{GetRandomFlags, getrandom};
use subtle::ConstantTimeEq as _;
use thiserror::Error;

const TOKEN_BYTES: usize = 32;

/// Shorter tokens can be guessed.
const TOKEN_LENGTHS: std::ops::RangeInclusive<usize> = 16..=512;

#[derive(Clone)]
pub struct AccessToken(String);

/// Why there is no valid token.
#[derive(Debug, Error)]
pub enum TokenError {
    /// It is too short, too long, or has characters that need escaping in a header.
    #[error("invalid token in {0}: it must have 16 to 512 characters out of letters, digits and -._~+/=")]
    Malformed(String),
    #[error("cannot use the token in {}: {cause}", .path.display())]
    File { path: PathBuf, cause: io::Error },
}

impl AccessToken {
    /// Checks a token that the user chose. `source` is where it comes from.
    pub fn new(text: &str, source: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let is_valid = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte));
        if !is_valid || !TOKEN_LENGTHS.contains(&text.len()) {
            return Err(TokenError::Malformed(source.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the token of a data directory, which is created if it is missing. Concurrent callers get the same one.
    pub fn load_or_create(directory: &Path) -> Result<Self, TokenError> {
        let path = directory.join("token");
        match Self::read(&path) {
            Err(TokenError::File { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        // Creating a link fails if the file exists, and the file it leads to is complete.
        let made = Self::write(directory).and_then(|new| {
            let linked = fs::hard_link(&new, &path);
            fs::remove_file(&new)?;
            linked
        });
        match made {
            Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => Err(TokenError::File { path, cause }),
            _ => Self::read(&path),
        }
    }

    /// Writes a new token for a data directory. Servers accept the old one until they are restarted.
    pub fn renew(directory: &Path) -> Result<Self, TokenError> {
        let path = directory.join("token");
        let written = match OpenOptions::new().write(true).open(&path) {
            // Into the same file: it is hidden from confined sessions by a mount, which does not cover a replaced file.
            Ok(file) => Self::write_into(file),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Self::load_or_create(directory),
            Err(cause) => Err(cause),
        };
        written.map_err(|cause| TokenError::File { path: path.clone(), cause })?;
        Self::read(&path)
    }

    pub fn read(path: &Path) -> Result<Self, TokenError> {
        let bad = |cause| TokenError::File { path: path.to_owned(), cause };
        let mut text = String::new();
        File::open(path).and_then(|file| file.take(4096).read_to_string(&mut text)).map_err(bad)?;
        Self::new(&text, &path.display().to_string())
    }

    /// Returns whether other users of this machine may read the file.
    #[must_use]
    pub fn is_exposed(path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0)
    }

    fn write(directory: &Path) -> io::Result<PathBuf> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let path = directory.join(format!("token.{}", generate_secret()?));
        Self::write_into(OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?)?;
        Ok(path)
    }

    fn write_into(mut file: File) -> io::Result<()> {
        let line = format!("{}\n", generate_secret()?);
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        file.write_all(line.as_bytes())?;
        file.set_len(line.len() as u64)?;
        file.sync_all()
    }

    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns the token, percent-encoded for a URL.
    #[must_use]
    pub fn percent_encoded(&self) -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let encode = |byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
        self.0.bytes().map(encode).collect()
    }

    /// Compares in constant time.
    #[must_use]
    pub fn matches(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

fn generate_secret() -> io::Result<String> {
    let mut bytes = [0_u8; TOKEN_BYTES];
    // The kernel returns that few bytes at once, or fails.
    if getrandom(&mut bytes, GetRandomFlags::empty())? != TOKEN_BYTES {
        return Err(io::Error::other("the system returned no random bytes"));
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

    use super::AccessToken;

    #[test]
    fn a_token_is_created_once_and_is_private() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().join("a/b");
        let tokens: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| AccessToken::load_or_create(&directory))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect()
        });
        let first = AccessToken::load_or_create(&directory).unwrap();
        assert!(tokens.iter().all(|token| token.matches(first.expose())));
        assert_eq!(first.expose().len(), 64);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&directory.join("token")), mode(&directory)), (0o600, 0o700));
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    }

    #[test]
    fn a_new_token_replaces_the_old_one() {
        let directory = tempfile::tempdir().unwrap();
        let old = AccessToken::load_or_create(directory.path()).unwrap();
        let new = AccessToken::renew(directory.path()).unwrap();
        assert!(
            !new.matches(old.expose()) && AccessToken::load_or_create(directory.path()).unwrap().matches(new.expose())
        );
        assert!(!AccessToken::is_exposed(&directory.path().join("token")));
    }

    #[test]
    fn invalid_tokens_are_refused() {
        for text in ["", "short", "with a space in it", "with\u{e4}umlaut12345678", &"x".repeat(513)] {
            assert!(AccessToken::new(text, "here").is_err(), "{text}");
        }
        let token = AccessToken::new(" abc+/=defghijklm\n", "here").unwrap();
        assert_eq!(token.percent_encoded(), "abc%2B%2F%3Ddefghijklm");
        assert!(token.matches("abc+/=defghijklm") && !token.matches("abc+/=defghijkl") && !token.matches(""));
        assert_eq!(format!("{token:?}"), "Token(***)");
    }
}
