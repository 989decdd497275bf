//! The token that lets in: how it is made, kept and compared. It is never shown by `Debug`, and so in no log.

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

/// As long as a secret should be.
const BYTES: usize = 32;

/// Shorter ones can be guessed; longer ones are something else.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=512;

/// What lets in.
#[derive(Clone)]
pub struct Token(String);

/// Why there is no token.
#[derive(Debug, Error)]
pub enum BadToken {
    /// It is too short, too long, or has characters that do not pass everywhere.
    #[error("the token in {0} is none: it must have 16 to 512 letters, digits, or characters of -._~+/=")]
    Malformed(String),
    /// The file cannot be used.
    #[error("cannot use the token in {}: {cause}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
}

impl Token {
    /// A token that somebody chose. `place` says where it is from.
    ///
    /// # Errors
    /// If it is none.
    pub fn new(text: &str, place: &str) -> Result<Self, BadToken> {
        let text = text.trim();
        let fine = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte));
        if !fine || !LENGTHS.contains(&text.len()) {
            return Err(BadToken::Malformed(place.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }

    /// The token of a data folder. Made if there is none; of several who make it at once, all get the same.
    ///
    /// # Errors
    /// If it cannot be read, is none, or cannot be made.
    pub fn of_folder(folder: &Path) -> Result<Self, BadToken> {
        let path = folder.join("token");
        match Self::read(&path) {
            Err(BadToken::File { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        // A link fails where there is a file already, and what it leads to is whole.
        let made = Self::write(folder).and_then(|new| {
            let linked = fs::hard_link(&new, &path);
            fs::remove_file(&new)?;
            linked
        });
        match made {
            Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => Err(BadToken::File { path, cause }),
            _ => Self::read(&path),
        }
    }

    /// Writes a new token for a data directory. Servers accept the old one until they are restarted.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn renew(folder: &Path) -> Result<Self, BadToken> {
        let path = folder.join("token");
        let written = match OpenOptions::new().write(true).open(&path) {
            // Into the same file: what hides it from confined sessions is a mount, and would go with a file that is
            // replaced.
            Ok(file) => Self::write_into(file),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Self::of_folder(folder),
            Err(cause) => Err(cause),
        };
        written.map_err(|cause| BadToken::File { path: path.clone(), cause })?;
        Self::read(&path)
    }

    /// The token in a file.
    ///
    /// # Errors
    /// If it cannot be read, or is none.
    pub fn read(path: &Path) -> Result<Self, BadToken> {
        let bad = |cause| BadToken::File { path: path.to_owned(), cause };
        let mut text = String::new();
        File::open(path).and_then(|file| file.take(4096).read_to_string(&mut text)).map_err(bad)?;
        Self::new(&text, &path.display().to_string())
    }

    /// Others on this machine may read the file.
    #[must_use]
    pub fn is_exposed(path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0)
    }

    /// Writes a fresh one to a file of its own.
    fn write(folder: &Path) -> io::Result<PathBuf> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let path = folder.join(format!("token.{}", fresh()?));
        Self::write_into(OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?)?;
        Ok(path)
    }

    fn write_into(mut file: File) -> io::Result<()> {
        let line = format!("{}\n", fresh()?);
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        file.write_all(line.as_bytes())?;
        file.set_len(line.len() as u64)?;
        file.sync_all()
    }

    /// The token itself, for the one who may see it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The token as part of an address.
    #[must_use]
    pub fn in_address(&self) -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let encode = |byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
        self.0.bytes().map(encode).collect()
    }

    /// Somebody said this. How much of it is right cannot be told from the time that it takes.
    #[must_use]
    pub fn is(&self, said: &str) -> bool {
        self.0.as_bytes().ct_eq(said.as_bytes()).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

/// 256 bits that nobody can guess.
fn fresh() -> io::Result<String> {
    let mut bytes = [0_u8; BYTES];
    // The kernel gives so few bytes whole, or not at all.
    if getrandom(&mut bytes, GetRandomFlags::empty())? != BYTES {
        return Err(io::Error::other("the system has no randomness"));
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

    use super::Token;

    #[test]
    fn a_token_is_made_once_and_is_ours_alone() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("a/b");
        let tokens: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| Token::of_folder(&folder))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect()
        });
        let first = Token::of_folder(&folder).unwrap();
        assert!(tokens.iter().all(|token| token.is(first.expose())));
        assert_eq!(first.expose().len(), 64);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder.join("token")), mode(&folder)), (0o600, 0o700));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn a_new_token_takes_the_place_of_the_old() {
        let folder = tempfile::tempdir().unwrap();
        let old = Token::of_folder(folder.path()).unwrap();
        let new = Token::renew(folder.path()).unwrap();
        assert!(!new.is(old.expose()) && Token::of_folder(folder.path()).unwrap().is(new.expose()));
        assert!(!Token::is_exposed(&folder.path().join("token")));
    }

    #[test]
    fn what_is_no_token_is_not_taken() {
        for text in ["", "short", "with a space in it", "with\u{e4}umlaut12345678", &"x".repeat(513)] {
            assert!(Token::new(text, "here").is_err(), "{text}");
        }
        let token = Token::new(" abc+/=defghijklm\n", "here").unwrap();
        assert_eq!(token.in_address(), "abc%2B%2F%3Ddefghijklm");
        assert!(token.is("abc+/=defghijklm") && !token.is("abc+/=defghijkl") && !token.is(""));
        assert_eq!(format!("{token:?}"), "Token(***)");
    }
}
