//! Why a command or a server fails, and the exit code of that.

use std::fmt;
use std::process::ExitCode;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The configuration, the command line or the installation is wrong: exit code 2.
    Setup(String),
    /// It went wrong while running: exit code 1.
    Runtime(String),
}

impl Failure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Setup(_) => ExitCode::from(2),
            Self::Runtime(_) => ExitCode::from(1),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup(text) | Self::Runtime(text) => f.write_str(text),
        }
    }
}

pub(crate) type Outcome = Result<ExitCode, Failure>;

pub(crate) fn setup(error: impl fmt::Display) -> Failure {
    Failure::Setup(error.to_string())
}
