//! Standard output of the commands.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use crate::failure::{Failure, Outcome};

/// Prints text to the end. A command whose text is lost has failed, unless the reader closed the pipe, as `| head`
/// does.
pub(crate) fn print(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    let written = output.write_all(text.as_ref());
    result(written.and_then(|()| output.flush()))
}

/// [`print`] as the last step of a command.
pub(crate) fn printed(text: impl AsRef<[u8]>) -> Outcome {
    print(text)?;
    Ok(ExitCode::SUCCESS)
}

/// Whether a text reached standard output.
pub(crate) fn result(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Runtime(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}
