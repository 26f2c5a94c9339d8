//! Configurations of other servers as Caddyfiles: nginx, Apache, `RoadRunner`.
//!
//! A directive without a counterpart becomes a note: a comment at its place, and an entry of the list that
//! the command prints. A restriction that cannot be converted denies access.
//!
//! # Layers
//!
//! | | |
//! |---|---|
//! | `nginx`, `apache`, `roadrunner` | the servers |
//! | `pattern`, `http_basic`, `proxy` | shared parts |
//! | `directive` | name, arguments and block, of nginx and Apache |
//! | `output` | the file that is written |
#![forbid(unsafe_code)]

mod apache;
mod directive;
mod http_basic;
mod nginx;
mod output;
mod pattern;
mod proxy;
mod roadrunner;

use std::fmt;
use std::path::Path;

use howdah_config::Files;

/// A configuration that was converted.
#[derive(Debug)]
pub struct Import {
    /// Text of the converted file.
    pub caddyfile: String,
    /// What it could not convert.
    pub notes: Vec<Note>,
}

/// Something that was not converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Its line in the original file or an included one, starting at 1.
    pub line: usize,
    /// What it is, and what to do instead.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

/// Why a file cannot be converted.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum ImportError {
    /// It is not a configuration of this server.
    #[error("{file}:{line}: {reason}")]
    Syntax {
        file: String,
        /// The line, from 1.
        line: usize,
        reason: String,
    },
    /// It describes no sites.
    #[error("{file}: {reason}")]
    Empty { file: String, reason: &'static str },
}

/// The server whose configuration is converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// `nginx.conf`, or the file of a site.
    Nginx,
    /// `httpd.conf`, the file of a virtual host, or `.htaccess`.
    Apache,
    /// `.rr.yaml`.
    RoadRunner,
}

/// Converts the text of a file. Files that it includes, and password files, are read through `files`.
///
/// # Errors
/// The text is not a configuration of this server, or describes nothing that is served.
pub fn import(
    origin: Origin,
    text: &str,
    file: &Path,
    files: &dyn Files,
) -> Result<Import, ImportError> {
    let (lines, notes) = match origin {
        Origin::Nginx => nginx::convert(text, file, files)?,
        Origin::Apache => apache::convert(text, file, files)?,
        Origin::RoadRunner => roadrunner::convert(text, file)?,
    };
    let name = file.file_name().unwrap_or(file.as_os_str());
    let mut caddyfile = format!("# Imported from {}.\n", name.to_string_lossy());
    caddyfile.push_str(&lines.join("\n"));
    Ok(Import {
        caddyfile: howdah_config::fmt(&caddyfile),
        notes: notes.into_inner(),
    })
}
