//! Servers that run the tests.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use howdah_testkit::fpm::{Fpm, Options as FpmOptions};
use howdah_testkit::{Request, Server, fastcgi};
use tempfile::TempDir;

use super::plan::Environment;

/// Timeout after which a script counts as hung.
const SCRIPT_LIMIT: &str = "28s";
/// File name of an empty configuration that replaces the distribution's. No test has this name.
pub(super) const PHP_INI: &str = "howdah-php.ini";

/// Starts a Howdah server with these settings for tests.
pub(super) fn start(root: &Path, environment: &Environment) -> Server {
    let builder = Server::builder(root)
        .workers(1)
        .keeps_files()
        .args(["--request-timeout", SCRIPT_LIMIT])
        .env("PHPRC", root.join(PHP_INI));
    let builder = environment
        .ini
        .iter()
        .fold(builder, |b, (name, value)| b.ini(name, value));
    environment
        .env
        .iter()
        .fold(builder, |b, (name, value)| b.env(name, value))
        .start()
}

/// A response without the header fields of the protocol.
pub(super) struct Answer {
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// A server that runs tests.
pub(super) trait Backend {
    fn ask(&self, request: &Request) -> Result<Answer, String>;
}

impl Backend for Server {
    fn ask(&self, request: &Request) -> Result<Answer, String> {
        let mut connection =
            howdah_testkit::Connection::open(self.address()).map_err(|error| error.to_string())?;
        let response = connection
            .exchange(request)
            .map_err(|error| error.to_string())?;
        if matches!(response.status(), 502 | 504) {
            return Err(format!(
                "PHP {}",
                if response.status() == 502 {
                    "died"
                } else {
                    "hung"
                }
            ));
        }
        Ok(Answer {
            headers: response.head.headers,
            body: response.body,
        })
    }
}

/// Starts PHP-FPM with the settings of a test.
pub(super) struct FpmBackend {
    fpm: Fpm,
    root: String,
    _ini: TempDir,
}

impl FpmBackend {
    pub(super) fn start(root: &Path, environment: &Environment) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let file = dir.path().join("php.ini");
        let mut text = String::new();
        for (name, value) in &environment.ini {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{name}={value}");
        }
        fs::write(&file, text).expect("the settings can be written");
        let fpm = Fpm::start(&FpmOptions {
            ini: Some(&file),
            children: 1,
            ..FpmOptions::default()
        });
        Self {
            fpm,
            root: root.display().to_string(),
            _ini: dir,
        }
    }
}

impl Backend for FpmBackend {
    fn ask(&self, request: &Request) -> Result<Answer, String> {
        let query = fastcgi::Query {
            method: request.method(),
            target: &request.target(),
            headers: &request.headers(),
            body: &request.body_bytes(),
            root: &self.root,
        };
        let answer =
            fastcgi::send(&self.fpm.socket(), &query).map_err(|error| error.to_string())?;
        Ok(Answer {
            headers: answer.headers,
            body: answer.body,
        })
    }
}
