//! Rotated files: `access-2006-01-02T15-04-05.000.log`, compressed and later removed.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::write::GzEncoder;
use howdah_config::model::Roll;
use howdah_monitor::fs;

use super::time::civil;

/// A name's time stamp: `2006-01-02T15-04-05.000`.
const STAMP: usize = 23;
const PART: &str = ".part";

/// Processes old files on a separate thread: compressing 100 MiB takes seconds.
pub(super) struct Rolls {
    tidying: Option<JoinHandle<()>>,
    report_error: ErrorReporter,
}

/// Reports why the old files of a path cannot be processed. Called by the thread that processes them.
pub(crate) type ErrorReporter = fn(&str, &io::Error);

impl Rolls {
    pub(super) fn new(report_error: ErrorReporter) -> Self {
        Self {
            tidying: None,
            report_error,
        }
    }

    /// Renames the file, and processes old ones. A removed file needs neither.
    pub(super) fn rotate(&mut self, path: &Path, roll: &Roll) -> io::Result<()> {
        let mut at = SystemTime::now();
        loop {
            let target = name(path, at);
            if !target.exists() && !with_gz(&target).exists() {
                match fs::rename(path, &target) {
                    Ok(()) => break,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                    Err(error) => return Err(error),
                }
            }
            // Two rotations within a millisecond.
            at += Duration::from_millis(1);
        }
        self.schedule_cleanup(path, roll);
        Ok(())
    }

    fn schedule_cleanup(&mut self, path: &Path, roll: &Roll) {
        let running = self
            .tidying
            .as_ref()
            .is_some_and(|tidying| !tidying.is_finished());
        // It was started for an earlier file and is still running; the next one will process this
        // file too.
        if running {
            return;
        }
        let (own, roll, report_error) = (path.to_owned(), roll.clone(), self.report_error);
        let clean_up = move || {
            if let Err(error) = clean_up_files(&own, &roll, SystemTime::now()) {
                report_error(&own.to_string_lossy(), &error);
            }
        };
        let thread = std::thread::Builder::new().name("access-log-old".into());
        match thread.spawn(clean_up) {
            Ok(tidying) => self.tidying = Some(tidying),
            // Writing lines is more important than removing old files.
            // The server's own log may be this file, which is locked here.
            Err(error) => report_bypassing_log(&path.to_string_lossy(), &error),
        }
    }
}

/// Reports an error on standard error, while a log is being written and would wait for itself.
pub(crate) fn report_bypassing_log(file: &str, error: &io::Error) {
    let line = format!("howdah: old logs of {file} cannot be removed: {error}\n");
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

impl Drop for Rolls {
    fn drop(&mut self) {
        if let Some(tidying) = self.tidying.take() {
            // A panic there was reported by the panic hook.
            let _ = tidying.join();
        }
    }
}

fn parts(path: &Path) -> (&OsStr, String) {
    let stem = path.file_stem().unwrap_or_default();
    let extension = path
        .extension()
        .map(|extension| format!(".{}", extension.to_string_lossy()));
    (stem, extension.unwrap_or_default())
}

fn name(path: &Path, at: SystemTime) -> PathBuf {
    let (stem, extension) = parts(path);
    let at = civil(at);
    let stamp = format!(
        "{:04}-{:02}-{:02}T{:02}-{:02}-{:02}.{:03}",
        at.year(),
        u8::from(at.month()),
        at.day(),
        at.hour(),
        at.minute(),
        at.second(),
        at.millisecond()
    );
    path.with_file_name(format!("{}-{stamp}{extension}", stem.to_string_lossy()))
}

fn with_gz(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    name.into()
}

/// Old files with their time stamps, the newest first. Incomplete ones are removed.
fn old(path: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let (stem, extension) = parts(path);
    let prefix = format!("{}-", stem.to_string_lossy());
    let mut found = Vec::new();
    for name in fs::names(folder)? {
        let file = folder.join(&name);
        let name = name.to_string_lossy();
        let Some(rest) = name.strip_prefix(&prefix) else {
            continue;
        };
        let Some((stamp, end)) = rest.split_at_checked(STAMP) else {
            continue;
        };
        let digits = stamp.bytes().filter(u8::is_ascii_digit).count();
        let ours = digits == 17 && stamp.as_bytes()[10] == b'T';
        let end = end.strip_prefix(extension.as_str());
        match end {
            Some("" | ".gz") if ours => found.push((stamp.to_owned(), file)),
            Some(".gz.part") if ours => fs::remove_file(&file)?,
            _ => {}
        }
    }
    found.sort_by(|one, other| other.cmp(one));
    Ok(found)
}

fn clean_up_files(path: &Path, roll: &Roll, now: SystemTime) -> io::Result<()> {
    let oldest = now.checked_sub(roll.keep_for);
    for (index, (_, file)) in old(path)?.into_iter().enumerate() {
        let modified = fs::open(&file)?.metadata()?.modified()?;
        if index >= roll.keep || oldest.is_some_and(|oldest| modified < oldest) {
            fs::remove_file(&file)?;
        } else if roll.gzip && file.extension() != Some(OsStr::new("gz")) {
            compress(&file)?;
        }
    }
    Ok(())
}

/// Compresses under a different name until it is complete.
fn compress(file: &Path) -> io::Result<()> {
    let target = with_gz(file);
    let mut part = target.as_os_str().to_owned();
    part.push(PART);
    let part = PathBuf::from(part);
    let mut source = fs::open(file)?;
    let metadata = source.metadata()?;
    let out = fs::create(&part, metadata.mode() & 0o777, true)?;
    let mut encoder = GzEncoder::new(out, Compression::default());
    io::copy(&mut source, &mut encoder)?;
    let out = encoder.finish()?;
    // So that `roll_keep_for` counts from the last line. A file of root keeps the current time, which is hardly later.
    match out.set_modified(metadata.modified()?) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
        set => set?,
    }
    drop(out);
    fs::rename(&part, &target)?;
    fs::remove_file(file)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::time::UNIX_EPOCH;

    use flate2::read::GzDecoder;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("a folder");
        let mut names: Vec<_> = entries
            .map(|entry| {
                let name = entry.expect("an entry").file_name();
                name.to_string_lossy().into_owned()
            })
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_put_aside_under_its_time() {
        let at = UNIX_EPOCH + Duration::from_millis(1_136_214_245_007);
        assert_eq!(
            name(Path::new("/var/log/access.log"), at),
            Path::new("/var/log/access-2006-01-02T15-04-05.007.log")
        );
        assert_eq!(
            name(Path::new("access"), at),
            Path::new("access-2006-01-02T15-04-05.007")
        );
    }

    #[test]
    fn old_files_are_compressed_and_removed_and_others_let_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let write = |name: &str| std::fs::write(dir.path().join(name), name).expect("written");
        let stamps = ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"];
        for stamp in stamps {
            write(&format!("a-{stamp}T00-00-00.000.log"));
        }
        for other in [
            "a.log",
            "a-2026-01-01.log",
            "b-2026-01-01T00-00-00.000.log",
            "a-2026-01-01T00-00-00.000.txt",
        ] {
            write(other);
        }
        write("a-2026-01-05T00-00-00.000.log.gz.part");
        let roll = Roll {
            keep: 3,
            ..Roll::default()
        };
        let path = dir.path().join("a.log");
        clean_up_files(&path, &roll, SystemTime::now()).expect("tidied");
        assert_eq!(
            names(dir.path()),
            [
                "a-2026-01-01.log",
                "a-2026-01-01T00-00-00.000.txt",
                "a-2026-01-02T00-00-00.000.log.gz",
                "a-2026-01-03T00-00-00.000.log.gz",
                "a-2026-01-04T00-00-00.000.log.gz",
                "a.log",
                "b-2026-01-01T00-00-00.000.log",
            ]
        );
        let packed = File::open(dir.path().join("a-2026-01-02T00-00-00.000.log.gz"));
        let mut text = String::new();
        GzDecoder::new(packed.expect("it is there"))
            .read_to_string(&mut text)
            .expect("whole");
        assert_eq!(text, "a-2026-01-02T00-00-00.000.log");

        let later = SystemTime::now() + roll.keep_for + Duration::from_secs(60);
        clean_up_files(&path, &roll, later).expect("tidied");
        assert!(names(dir.path()).iter().all(|name| !name.contains(".gz")));
    }
}
