//! `howdah_config`: any text is a configuration or a list of errors, and formatting does not change
//! it.
//!
//! Files to import follow the main text, each after a line `---- NAME`.
#![no_main]

use std::io;
use std::path::{Path, PathBuf};

use howdah_config::{Files, fmt, parse};
use libfuzzer_sys::fuzz_target;

/// Files of the input, instead of files on disk.
struct Attached<'a>(Vec<(&'a str, &'a str)>);

impl Files for Attached<'_> {
    fn read(&self, path: &Path) -> io::Result<String> {
        let file = self
            .0
            .iter()
            .find(|(name, _)| path.file_name() == Path::new(name).file_name());
        file.map(|(_, text)| (*text).to_owned())
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn glob(&self, _: &str) -> io::Result<Vec<PathBuf>> {
        Ok(self.0.iter().map(|(name, _)| PathBuf::from(name)).collect())
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(input) = str::from_utf8(data) else {
        return;
    };
    let mut parts = input.split("\n---- ");
    let text = parts.next().unwrap_or_default();
    let files = Attached(
        parts
            .map(|part| part.split_once('\n').unwrap_or((part, "")))
            .collect(),
    );
    let env = |name: &str| match name {
        "EMPTY" => Some(String::new()),
        "BRACES" => Some("{ } {$BRACES}".to_owned()),
        "PORT" => Some("8080".to_owned()),
        _ => None,
    };
    let result = parse(text, "Caddyfile", &env, &files);
    match &result {
        // Variables are replaced before the text is split into words. They may turn text into a
        // comment or a block, while `fmt` does not know their values.
        Ok(parsed) if !text.contains("{$") => {
            // A valid configuration has a debug representation, and it stays valid when it is
            // formatted.
            assert!(!format!("{:?}", parsed.config).is_empty());
            let tidied = fmt(text);
            let again = parse(&tidied, "Caddyfile", &env, &files);
            let again =
                again.unwrap_or_else(|errors| panic!("tidying broke it: {errors}\n{tidied}"));
            assert_eq!(parsed.config, again.config, "tidying changed it:\n{tidied}");
        }
        Ok(_) => {}
        Err(errors) => assert!(!errors.to_string().is_empty(), "an error without a text"),
    }
    let tidied = fmt(text);
    assert_eq!(fmt(&tidied), tidied, "tidying twice differs from once");
});
