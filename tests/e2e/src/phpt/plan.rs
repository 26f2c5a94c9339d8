//! Converts the sections of a test to its request and the settings of its server.

use std::fs;
use std::path::{Path, PathBuf};

use howdah_testkit::Request;

use super::expect::Expectation;
use super::parse::Sections;
use super::request::{RequestParts, colon_lines};
use crate::encode;

/// Settings of all tests, as in `run-tests.php`.
const BASE_INI: [(&str, &str); 27] = [
    ("output_handler", ""),
    ("open_basedir", ""),
    ("disable_functions", ""),
    ("output_buffering", "0"),
    ("error_reporting", "32767"),
    ("display_errors", "1"),
    ("display_startup_errors", "1"),
    ("log_errors", "0"),
    ("html_errors", "0"),
    ("report_memleaks", "1"),
    ("docref_root", ""),
    ("docref_ext", ".html"),
    ("error_prepend_string", ""),
    ("error_append_string", ""),
    ("auto_prepend_file", ""),
    ("auto_append_file", ""),
    ("ignore_repeated_errors", "0"),
    ("precision", "14"),
    ("serialize_precision", "-1"),
    ("memory_limit", "128M"),
    ("opcache.file_update_protection", "0"),
    ("opcache.revalidate_freq", "0"),
    ("zend.assertions", "1"),
    ("zend.exception_ignore_args", "0"),
    ("zend.exception_string_param_max_len", "15"),
    ("short_open_tag", "0"),
    ("session.auto_start", "0"),
];

/// Settings that must be equal for two tests to share a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Environment {
    /// PHP settings. Later ones override earlier ones.
    pub ini: Vec<(String, String)>,
    /// Environment variables of the processes.
    pub env: Vec<(String, String)>,
}

/// A test that can be run.
#[derive(Debug)]
pub struct Plan {
    /// Path of the test file below the folder, without its extension.
    pub name: String,
    /// Settings of the server.
    pub environment: Environment,
    /// Request for the script.
    pub request: Request,
    /// Request for `--SKIPIF--`.
    pub skip_if: Option<Request>,
    /// Request for `--CLEAN--`.
    pub clean: Option<Request>,
    /// Extensions that must be loaded.
    pub extensions: Vec<String>,
    /// Expected body. `None` if only the header is compared.
    pub expectation: Option<Expectation>,
    /// Expected header fields.
    pub headers: Vec<(String, String)>,
    /// Reason of `--XFAIL--`.
    pub xfail: Option<String>,
}

/// Reason why a test cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unplanned {
    /// The test is not for a web server.
    #[error("{0}")]
    Skip(String),
    /// The test is invalid.
    #[error("{0}")]
    Borked(String),
}

pub(super) fn skip<T>(reason: impl Into<String>) -> Result<T, Unplanned> {
    Err(Unplanned::Skip(reason.into()))
}

impl Plan {
    /// Plans the test `name.phpt` of the folder `root`, and writes its scripts next to it.
    pub fn new(root: &Path, name: &str, sections: &Sections) -> Result<Self, Unplanned> {
        for (section, reason) in [
            (
                "REDIRECTTEST",
                "--REDIRECTTEST-- names tests of other folders",
            ),
            ("STDIN", "--STDIN-- is for the CLI"),
            ("ARGS", "--ARGS-- is for the CLI"),
            ("PHPDBG", "--PHPDBG-- is for phpdbg"),
            ("GDB", "--GDB-- is for a debugger"),
            ("CAPTURE_STDIO", "--CAPTURE_STDIO-- is for the CLI"),
            ("GZIP_POST", "--GZIP_POST-- is not supported"),
            ("DEFLATE_POST", "--DEFLATE_POST-- is not supported"),
        ] {
            if sections.has(section) {
                return skip(reason);
            }
        }
        let folder = root
            .join(name)
            .parent()
            .map_or_else(|| root.to_owned(), Path::to_owned);
        write_script(root, &format!("{name}.php"), &script(sections, &folder)?)?;
        let mut request = RequestParts::of(sections)?;
        let mut environment = Environment {
            ini: base_ini(),
            env: Vec::new(),
        };
        for (name, value) in sections.assignments("INI") {
            if !name.starts_with([';', '#']) {
                environment.ini.push((name, place(&value, &folder)));
            }
        }
        for (name, value) in sections.assignments("ENV") {
            if !request.take_variable(&name, &value)? {
                environment.env.push((name, place(&value, &folder)));
            }
        }
        let helper = |section: &str, suffix: &str| -> Result<Option<Request>, Unplanned> {
            let Some(code) = sections.raw(section) else {
                return Ok(None);
            };
            let file = format!("{name}.{suffix}.php");
            write_script(root, &file, code)?;
            Ok(Some(Request::get(target(&file))))
        };
        Ok(Self {
            environment,
            request: request.build(&target(&format!("{name}.php"))),
            skip_if: helper("SKIPIF", "skip")?,
            clean: helper("CLEAN", "clean")?,
            extensions: words(sections, "EXTENSIONS"),
            expectation: expectation(sections, &folder)?,
            headers: colon_lines(&sections.text("EXPECTHEADERS").unwrap_or_default()),
            xfail: sections.text("XFAIL"),
            name: name.to_owned(),
        })
    }
}

fn base_ini() -> Vec<(String, String)> {
    BASE_INI
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn place(value: &str, folder: &Path) -> String {
    let temp = std::env::temp_dir();
    value
        .replace("{PWD}", &folder.display().to_string())
        .replace("{TMP}", &temp.display().to_string())
}

fn target(file: &str) -> String {
    format!("/{}", encode(file))
}

fn words(sections: &Sections, name: &str) -> Vec<String> {
    let text = sections.text(name).unwrap_or_default();
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

fn read(folder: &Path, name: &str) -> Result<Vec<u8>, Unplanned> {
    // Only from inside the test's folder, as in `run-tests.php`.
    let name = name.trim().replace("..", "");
    fs::read(folder.join(&name)).map_err(|error| Unplanned::Borked(format!("{name}: {error}")))
}

fn write_script(root: &Path, file: &str, code: &[u8]) -> Result<(), Unplanned> {
    let path: PathBuf = root.join(file);
    fs::write(&path, code)
        .map_err(|error| Unplanned::Borked(format!("{}: {error}", path.display())))
}

fn script(sections: &Sections, folder: &Path) -> Result<Vec<u8>, Unplanned> {
    if let Some(code) = sections.raw("FILE") {
        return Ok(code.to_vec());
    }
    if let Some(code) = sections.raw("FILEEOF") {
        let end = code
            .iter()
            .rposition(|b| !matches!(b, b'\r' | b'\n'))
            .map_or(0, |last| last + 1);
        return Ok(code[..end].to_vec());
    }
    read(folder, &sections.text("FILE_EXTERNAL").unwrap_or_default())
}

fn expectation(sections: &Sections, folder: &Path) -> Result<Option<Expectation>, Unplanned> {
    let borked = |error: super::expect::PatternError| Unplanned::Borked(error.to_string());
    let external = |name: &str| read(folder, &sections.text(name).unwrap_or_default());
    if let Some(wanted) = sections.raw("EXPECT") {
        return Ok(Some(Expectation::exact(wanted)));
    }
    if let Some(wanted) = sections.raw("EXPECTF") {
        return Expectation::format(wanted).map(Some).map_err(borked);
    }
    if let Some(wanted) = sections.raw("EXPECTREGEX") {
        return Expectation::regex(wanted).map(Some).map_err(borked);
    }
    if sections.has("EXPECT_EXTERNAL") {
        return Ok(Some(Expectation::exact(&external("EXPECT_EXTERNAL")?)));
    }
    if sections.has("EXPECTF_EXTERNAL") {
        return Expectation::format(&external("EXPECTF_EXTERNAL")?)
            .map(Some)
            .map_err(borked);
    }
    if sections.has("EXPECTREGEX_EXTERNAL") {
        return Expectation::regex(&external("EXPECTREGEX_EXTERNAL")?)
            .map(Some)
            .map_err(borked);
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Result<Plan, Unplanned> {
        let dir = tempfile::tempdir().expect("a directory");
        let sections = Sections::parse(text.as_bytes()).expect("a test");
        Plan::new(dir.path(), "a b", &sections)
    }

    #[test]
    fn puts_the_request_together() {
        let text = "--TEST--\nx\n--GET--\na=1&b=ä c\n--COOKIE--\nc=d\n--POST--\ne=f\n\
            --ENV--\nHTTP_X_ONE=1\nOTHER=2\n--INI--\nx.y={PWD}\n--FILE--\n<?php\n--EXPECT--\n";
        let plan = plan(text).expect("a plan");
        let wanted = "POST /a%20b.php?a=1&b=%C3%A4%20c HTTP/1.1\r\nHost: localhost\r\nCookie: c=d\r\n\
            Content-Type: application/x-www-form-urlencoded\r\nX-ONE: 1\r\nContent-Length: 3\r\n\r\ne=f";
        assert_eq!(String::from_utf8_lossy(&plan.request.to_bytes()), wanted);
        assert_eq!(plan.environment.env, [("OTHER".to_owned(), "2".to_owned())]);
        let (name, value) = plan.environment.ini.last().expect("one");
        assert!(name == "x.y" && value.starts_with('/'), "{value}");
    }

    #[test]
    fn cuts_the_type_out_of_raw_bodies() {
        let text = "--TEST--\nx\n--POST_RAW--\nContent-Type: a/b\nline\n\nContent-Type: c\n--FILE--\n--EXPECT--\n";
        let bytes = plan(text).expect("a plan").request.to_bytes();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("Content-Type: a/b\r\n"), "{text}");
        assert!(text.ends_with("\r\n\r\nline\n\nContent-Type: c"), "{text}");
    }

    #[test]
    fn skips_tests_that_are_not_for_a_web_server() {
        for section in ["STDIN", "ARGS", "REDIRECTTEST"] {
            let text = format!("--TEST--\nx\n--{section}--\ny\n--FILE--\n--EXPECT--\n");
            assert!(matches!(plan(&text), Err(Unplanned::Skip(_))), "{section}");
        }
        let text = "--TEST--\nx\n--ENV--\nPATH_INFO=/x\n--FILE--\n--EXPECT--\n";
        assert!(matches!(plan(text), Err(Unplanned::Skip(_))));
        let text = "--TEST--\nx\n--FILE_EXTERNAL--\nmissing\n--EXPECT--\n";
        assert!(matches!(plan(text), Err(Unplanned::Borked(_))));
    }
}
