//! Positions in a Caddyfile, and errors.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A position in a configuration file. Text from an environment variable has the position of its
/// `{$NAME}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The file, as named by the caller or the `import`.
    pub file: Arc<str>,
    /// Starts at 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// What an [`Error`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Quotes, braces or lines are not valid.
    Syntax,
    /// A name that does not exist.
    UnknownName,
    /// A name of Caddy or FrankenPHP whose feature this version lacks.
    Unsupported,
    /// Too few or too many arguments, or an unexpected or missing block.
    Arguments,
    /// An argument that is not a valid value.
    Value,
    /// A file or snippet that cannot be imported.
    Import,
    /// Two settings that exclude each other, or a repeated one.
    Conflict,
}

/// One error in a configuration, with its position and, if possible, how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Error {
    pub kind: ErrorKind,
    /// The position of the statement.
    pub position: Position,
    /// The problem, in lower case and without a full stop.
    pub message: String,
    /// The way to fix it.
    pub hint: Option<String>,
}

impl Error {
    pub(crate) fn new(
        kind: ErrorKind,
        position: &Position,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let hint = hint.into();
        Self {
            kind,
            position: position.clone(),
            message: message.into(),
            hint: (!hint.is_empty()).then_some(hint),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.position, self.message)?;
        self.hint
            .as_ref()
            .map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

/// All errors that were found in one pass, in the order of the file; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errors(pub Vec<Error>);

impl std::error::Error for Errors {}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl From<Error> for Errors {
    fn from(error: Error) -> Self {
        Self(vec![error])
    }
}

/// A statement that is valid but probably a mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The position of the statement.
    pub position: Position,
    /// The problem; lower case, without a full stop.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.position, self.message)
    }
}

/// What to do about a file that cannot be read.
fn next_step(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            "; `--config` names a different file, and `howdah init` writes one for an application"
        }
        _ => "",
    }
}

/// Why a configuration file could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum LoadError {
    /// The file itself cannot be read.
    #[error("cannot read {}: {source}{}", path.display(), next_step(source))]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    /// Its content is not a valid configuration.
    #[error(transparent)]
    Invalid(#[from] Errors),
}

/// The known name that a mistyped one probably stands for.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // The time is quadratic in the length, and no name is longer than this.
    if name.len() > 64 {
        return None;
    }
    let length = name.chars().count();
    known
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .filter(|(distance, known)| {
            *distance <= (length.max(known.len()) / 3).max(1) && *distance < length.max(2)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// The error of an invalid argument.
pub(crate) fn bad_value(position: &Position, message: String, hint: impl Into<String>) -> Error {
    Error::new(ErrorKind::Value, position, message, hint)
}
