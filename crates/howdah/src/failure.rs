//! Errors of commands and servers, and their exit codes.

use std::fmt;
use std::process::ExitCode;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The configuration, the command line or the installation is invalid: exit code 2.
    Setup(String),
    /// A failure at run time: exit code 1.
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
