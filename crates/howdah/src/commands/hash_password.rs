//! `howdah hash-password`: hashes a password for `basic_auth`.

use std::io::{self, BufRead, IsTerminal, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::cli;
use crate::failure::{Failure, Outcome, setup};
use crate::output::printed;

/// bcrypt ignores all bytes beyond, so longer passwords would match their first bytes.
const LONGEST: usize = 72;

pub(crate) fn run(options: &cli::HashPassword) -> Outcome {
    let password = match &options.plaintext {
        Some(password) => password.clone(),
        None => read_password()?,
    };
    let hash = hash(&password, options.cost)?;
    printed(hash + "\n")
}

fn hash(password: &str, cost: u32) -> Result<String, Failure> {
    if password.is_empty() {
        return Err(setup("the password is empty"));
    }
    if password.len() > LONGEST {
        return Err(setup(format_args!(
            "the password has {} bytes, and bcrypt takes {LONGEST}: choose a shorter one",
            password.len()
        )));
    }
    let parts = bcrypt::hash_with_result(password, cost).map_err(setup)?;
    // The prefix that Caddy and `htpasswd` write.
    Ok(parts.format_for_version(bcrypt::Version::TwoA))
}

/// On a terminal asks twice and without echo, otherwise reads a line of standard input.
fn read_password() -> Result<String, Failure> {
    let failed = |error: io::Error| Failure::Runtime(format!("standard input: {error}"));
    if !io::stdin().is_terminal() {
        return line().map_err(failed);
    }
    let silence = EchoGuard::begin().map_err(failed)?;
    let [first, second] = ["Password: ", "Again: "].map(|prompt| {
        eprint!("{prompt}");
        io::stderr().flush()?;
        let answer = line();
        // The line end was not echoed either.
        eprintln!();
        answer
    });
    drop(silence);
    let first = first.map_err(failed)?;
    if first != second.map_err(failed)? {
        return Err(setup("the two passwords are not the same"));
    }
    Ok(first)
}

fn line() -> io::Result<String> {
    let mut text = String::new();
    io::stdin().lock().read_line(&mut text)?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

/// Disables the terminal's echo while it exists.
struct EchoGuard(Termios);

impl EchoGuard {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Self(before))
    }
}

impl Drop for EchoGuard {
    fn drop(&mut self) {
        // A terminal that is gone has no echo to restore.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_of_its_password() {
        let first = hash("open sesame", 4).expect("hashed");
        assert!(first.starts_with("$2a$04$"), "{first}");
        assert!(bcrypt::verify("open sesame", &first).expect("a hash"));
        assert!(!bcrypt::verify("open says me", &first).expect("a hash"));
        assert_ne!(hash("open sesame", 4).expect("hashed"), first);
    }

    #[test]
    fn passwords_that_bcrypt_would_cut_are_refused() {
        assert!(hash(&"a".repeat(72), 4).is_ok());
        for wrong in ["", &"a".repeat(73)] {
            assert!(hash(wrong, 4).is_err(), "{} bytes", wrong.len());
        }
    }
}
