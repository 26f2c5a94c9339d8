//! `howdah profile`: requests a profile of PHP from a running server, and writes it.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use howdah_profile::Format;
use signal_hook::consts::SIGXFSZ;

use super::remote::{client, escaped, success};
use crate::cli;
use crate::failure::{Failure, Outcome, setup};
use crate::output::print;

/// Time for the response after the end of the profile: rendering takes the server a moment.
const ANSWER: Duration = Duration::from_secs(60);

/// `howdah profile`.
pub(crate) fn profile(options: &cli::Profile) -> Outcome {
    let format = format(options).map_err(setup)?;
    let client = client(&options.server)?;
    // A write above the limit on the size of files fails, instead of ending the process with an unfinished file.
    signal_hook::flag::register(SIGXFSZ, Arc::default())
        .map_err(|error| Failure::Runtime(format!("signals cannot be caught: {error}")))?;
    // Before minutes are wasted.
    let output = Output::open(&options.output)?;
    let limit = Duration::from_secs(options.seconds.into()) + ANSWER;
    let reply = success(client.request("POST", &target(options, format), Some(limit)))?;
    output.write(&reply.body)?;
    if let Some(summary) = reply.header("x-howdah-profile") {
        eprintln!("{summary}");
    }
    if options.output.as_os_str() != "-" {
        eprintln!("written to {}", options.output.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn format(options: &cli::Profile) -> Result<Format, String> {
    let name = options.output.to_string_lossy();
    let format = options.format.or_else(|| Format::of_file(&name));
    format.ok_or_else(|| {
        format!("{name} does not name a format: add --format svg, pprof, speedscope or folded")
    })
}

fn target(options: &cli::Profile, format: Format) -> String {
    let mut target = format!(
        "/profile?seconds={}&hz={}&format={}&time={}",
        options.seconds,
        options.hz,
        format.name(),
        if options.cpu { "cpu" } else { "wall" },
    );
    for (name, value) in [("pool", &options.pool), ("route", &options.route)] {
        if let Some(value) = value {
            // Writing to a `String` cannot fail.
            let _ = write!(target, "&{name}={}", escaped(value));
        }
    }
    target
}

/// Where the profile is written. A file appears when it is complete.
enum Output {
    Stdout,
    File {
        part: Part,
        path: PathBuf,
    },
    /// A device or a pipe, which a file must not replace.
    Special {
        file: File,
        path: PathBuf,
    },
}

/// An incomplete file; removed unless it was renamed.
struct Part(PathBuf);

impl Part {
    /// Follows no link that somebody else has put there.
    fn create(&self) -> io::Result<File> {
        match std::fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => File::create_new(&self.0),
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It may have been renamed.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Output {
    fn open(path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Ok(Self::Stdout);
        }
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            let opened = File::options().write(true).open(path);
            return opened
                .map(|file| Self::Special {
                    file,
                    path: path.to_owned(),
                })
                .map_err(|error| cannot(path, &error));
        }
        let mut name = OsString::from(path);
        name.push(".part");
        let part = Part(PathBuf::from(name));
        part.create().map_err(|error| cannot(path, &error))?;
        // A profile that is interrupted leaves no file.
        std::fs::remove_file(&part.0).map_err(|error| cannot(path, &error))?;
        Ok(Self::File {
            part,
            path: path.to_owned(),
        })
    }

    fn write(self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Stdout => print(bytes),
            Self::File { part, path } => part
                .create()
                .and_then(|mut file| file.write_all(bytes))
                .and_then(|()| std::fs::rename(&part.0, &path))
                .map_err(|error| cannot(&path, &error)),
            Self::Special { mut file, path } => {
                file.write_all(bytes).map_err(|error| cannot(&path, &error))
            }
        }
    }
}

fn cannot(path: &Path, error: &io::Error) -> Failure {
    Failure::Runtime(format!("{} cannot be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn options(line: &str) -> cli::Profile {
        let words = ["howdah", "profile"]
            .into_iter()
            .chain(line.split_whitespace());
        match cli::Cli::parse_from(words).into_command() {
            cli::Command::Profile(options) => options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_format_follows_from_the_name_or_the_option() {
        let of = |line: &str| format(&options(line)).map(Format::name);
        assert_eq!(of(""), Ok("svg"));
        assert_eq!(of("-o out.pprof"), Ok("pprof"));
        assert_eq!(of("-o speedscope.json"), Ok("speedscope"));
        assert_eq!(of("-o folded"), Ok("folded"));
        assert_eq!(of("-o out.pprof --format svg"), Ok("svg"));
        assert_eq!(of("-o - --format folded"), Ok("folded"));
        let error = of("-o -").expect_err("no format");
        assert!(error.contains("--format"), "{error}");
    }

    #[test]
    fn options_become_a_query() {
        let options = options("--seconds 3 --hz 50 --pool a&b --route /x/* --cpu");
        assert_eq!(
            target(&options, Format::Svg),
            "/profile?seconds=3&hz=50&format=svg&time=cpu&pool=a%26b&route=%2Fx%2F%2A"
        );
    }

    #[test]
    fn a_file_appears_when_it_is_whole() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("flame.svg");
        let names = || std::fs::read_dir(dir.path()).expect("a directory").count();
        let output = Output::open(&path).expect("writable");
        assert_eq!(names(), 0, "an interrupted profile leaves no file");
        drop(output);
        let output = Output::open(&path).expect("writable");
        let other = tempfile::NamedTempFile::new().expect("a file");
        std::os::unix::fs::symlink(other.path(), dir.path().join("flame.svg.part"))
            .expect("a link");
        output.write(b"<svg/>").expect("written");
        assert_eq!(std::fs::read(&path).expect("there"), b"<svg/>");
        assert_eq!(names(), 1);
        assert_eq!(
            std::fs::read(other.path()).expect("there"),
            b"",
            "links are not followed"
        );
        assert!(Output::open(&dir.path().join("none/flame.svg")).is_err());
        assert!(Output::open(dir.path()).is_err(), "a folder");
    }

    #[test]
    fn a_device_is_not_replaced_by_a_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("pipe");
        let mode = rustix::fs::Mode::from_bits_truncate(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0)
            .expect("a pipe");
        let reader = std::thread::spawn({
            let path = path.clone();
            move || std::fs::read(path).expect("read")
        });
        let output = Output::open(&path).expect("writable");
        output.write(b"<svg/>").expect("written");
        assert_eq!(reader.join().expect("no panic"), b"<svg/>");
        let left = std::fs::symlink_metadata(&path).expect("there");
        assert!(std::os::unix::fs::FileTypeExt::is_fifo(&left.file_type()));
    }
}
