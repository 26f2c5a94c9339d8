//! Sections of a `.phpt` file.

use std::collections::BTreeMap;

/// A test file, split into its sections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sections {
    sections: BTreeMap<String, Vec<u8>>,
}

/// Reason why a file is not a test.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseError {
    /// The first line is not `--TEST--`.
    #[error("the file does not begin with --TEST--")]
    NoTest,
    /// The section is unknown to all versions of PHP's tests.
    #[error("unknown section --{0}--")]
    Unknown(String),
    /// A section occurs twice.
    #[error("section --{0}-- comes twice")]
    Twice(String),
    /// There is no script to run.
    #[error("there is no --FILE--")]
    NoFile,
    /// The expected output is missing or given more than once.
    #[error("there has to be one --EXPECT*-- section, not {0}")]
    Expectations(usize),
}

const KNOWN: [&str; 38] = [
    "EXPECT",
    "EXPECTF",
    "EXPECTREGEX",
    "EXPECTREGEX_EXTERNAL",
    "EXPECT_EXTERNAL",
    "EXPECTF_EXTERNAL",
    "EXPECTHEADERS",
    "POST",
    "POST_RAW",
    "GZIP_POST",
    "DEFLATE_POST",
    "PUT",
    "GET",
    "COOKIE",
    "HEADERS",
    "ARGS",
    "FILE",
    "FILEEOF",
    "FILE_EXTERNAL",
    "REDIRECTTEST",
    "CAPTURE_STDIO",
    "STDIN",
    "CGI",
    "PHPDBG",
    "INI",
    "ENV",
    "EXTENSIONS",
    "SKIPIF",
    "XFAIL",
    "XLEAK",
    "CLEAN",
    "CREDITS",
    "DESCRIPTION",
    "CONFLICTS",
    "WHITESPACE_SENSITIVE",
    "FLAKY",
    "TEST",
    "GDB",
];
const FILES: [&str; 3] = ["FILE", "FILEEOF", "FILE_EXTERNAL"];
const EXPECTATIONS: [&str; 6] = [
    "EXPECT",
    "EXPECTF",
    "EXPECTREGEX",
    "EXPECT_EXTERNAL",
    "EXPECTF_EXTERNAL",
    "EXPECTREGEX_EXTERNAL",
];

impl Sections {
    /// Splits a file into sections and checks that it is a test.
    pub fn parse(text: &[u8]) -> Result<Self, ParseError> {
        let mut sections: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut current: Option<String> = None;
        let mut done = false;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            if let Some(name) = section_name(line) {
                if current.is_none() && name != "TEST" {
                    return Err(ParseError::NoTest);
                }
                if !KNOWN.contains(&name) {
                    return Err(ParseError::Unknown(name.to_owned()));
                }
                if sections.insert(name.to_owned(), Vec::new()).is_some() {
                    return Err(ParseError::Twice(name.to_owned()));
                }
                current = Some(name.to_owned());
                done = false;
                continue;
            }
            let name = current.as_ref().ok_or(ParseError::NoTest)?;
            if !done {
                sections
                    .entry(name.clone())
                    .or_default()
                    .extend_from_slice(line);
            }
            if FILES.contains(&name.as_str()) && line.trim_ascii_end() == b"===DONE===" {
                done = true;
            }
        }
        let parsed = Self { sections };
        parsed.check()?;
        Ok(parsed)
    }

    fn check(&self) -> Result<(), ParseError> {
        if !self.has("TEST") {
            return Err(ParseError::NoTest);
        }
        if self.has("REDIRECTTEST") {
            return Ok(());
        }
        if !FILES.iter().any(|name| self.has(name)) {
            return Err(ParseError::NoFile);
        }
        match EXPECTATIONS.iter().filter(|name| self.has(name)).count() {
            1 => Ok(()),
            // A test of header fields only.
            0 if self.has("EXPECTHEADERS") => Ok(()),
            count => Err(ParseError::Expectations(count)),
        }
    }

    /// Whether the file has this section.
    pub fn has(&self, name: &str) -> bool {
        self.sections.contains_key(name)
    }

    /// A section as it is in the file.
    pub fn raw(&self, name: &str) -> Option<&[u8]> {
        self.sections.get(name).map(Vec::as_slice)
    }

    /// A section as text, without white space at both ends.
    pub fn text(&self, name: &str) -> Option<String> {
        Some(String::from_utf8_lossy(self.raw(name)?).trim().to_owned())
    }

    /// `NAME=VALUE` lines of a section.
    pub fn assignments(&self, name: &str) -> Vec<(String, String)> {
        let text = self.text(name).unwrap_or_default();
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        pairs
            .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
            .filter(|(name, _)| !name.is_empty())
            .collect()
    }
}

fn section_name(line: &[u8]) -> Option<&str> {
    let name = line.strip_prefix(b"--")?;
    let end = name.windows(2).position(|pair| pair == b"--")?;
    let name = std::str::from_utf8(&name[..end]).ok()?;
    let fits = !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    fits.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_a_file() {
        let text = b"--TEST--\nname\n--INI--\na=1\n b = x=y \n;c\n--FILE--\n<?php\n--not a section--\n--X;\n===DONE===\nnever\n--EXPECT--\nout\n";
        let sections = Sections::parse(text).expect("a test");
        assert_eq!(sections.text("TEST").as_deref(), Some("name"));
        let file = b"<?php\n--not a section--\n--X;\n===DONE===\n";
        assert_eq!(sections.raw("FILE"), Some(file.as_slice()));
        let ini = [
            ("a".to_owned(), "1".to_owned()),
            ("b".to_owned(), "x=y".to_owned()),
        ];
        assert_eq!(sections.assignments("INI"), ini);
        assert_eq!(sections.raw("EXPECT"), Some(b"out\n".as_slice()));
        assert!(!sections.has("POST"));
    }

    #[test]
    fn refuses_invalid_tests() {
        for (text, error) in [
            ("", ParseError::NoTest),
            ("x\n", ParseError::NoTest),
            ("--FILE--\n", ParseError::NoTest),
            ("--TEST--\n--EXPECT--\n", ParseError::NoFile),
            ("--TEST--\n--FILE--\n", ParseError::Expectations(0)),
            (
                "--TEST--\n--FILE--\n--EXPECT--\n--EXPECTF--\n",
                ParseError::Expectations(2),
            ),
            (
                "--TEST--\n--NONSENSE--\n",
                ParseError::Unknown("NONSENSE".into()),
            ),
            (
                "--TEST--\n--FILE--\n--FILE--\n",
                ParseError::Twice("FILE".into()),
            ),
        ] {
            assert_eq!(Sections::parse(text.as_bytes()), Err(error), "{text:?}");
        }
    }
}
