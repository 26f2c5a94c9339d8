//! A real browser: headless Chromium. It loads one page, prints the resulting document, and logs
//! network events.

use std::collections::HashMap;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use howdah_testkit::{PATIENCE, Signal, process};
use rcgen::{KeyPair, PublicKeyData};
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use serde_json::Value;
use tempfile::TempDir;

use crate::tls::Pair;

/// Timeout of a browser. It starts ten processes, which takes long on a busy machine.
const LIMIT: Duration = Duration::from_secs(180);

/// Chromium and its arguments.
#[derive(Debug)]
pub struct Browser {
    pub(crate) program: PathBuf,
    flags: Vec<String>,
}

/// The page as loaded by a browser.
#[derive(Debug)]
pub struct Visit {
    /// The document after its `load` event.
    pub document: String,
    /// Parameters of logged events, by the name of the event.
    events: HashMap<String, Vec<Value>>,
}

impl Browser {
    /// Finds the browser. Returns `None` and prints a note if this machine has none.
    pub fn find() -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let mut files = std::env::split_paths(&path)
            .flat_map(|folder| names.map(|name| folder.join(name)))
            .filter(|file| file.is_file());
        let Some(program) = files.next() else {
            println!("skipped: chromium is not installed (scripts/setup.sh test)");
            return None;
        };
        Some(Self {
            program,
            flags: Vec::new(),
        })
    }

    /// Trusts this certificate, whatever its issuer.
    ///
    /// # Panics
    /// Panics if the certificate has no key.
    #[must_use]
    pub fn trusting(mut self, pair: &Pair) -> Self {
        let pem = fs::read_to_string(&pair.key).expect("a key");
        let key = KeyPair::from_pem(&pem).expect("a key");
        let suite = TLS13_AES_128_GCM_SHA256.tls13().expect("it is one");
        let hash = suite.common.hash_provider;
        let hash = hash.hash(&key.subject_public_key_info());
        let hash = STANDARD.encode(hash.as_ref());
        let flag = format!("--ignore-certificate-errors-spki-list={hash}");
        self.flags.push(flag);
        self
    }

    /// Uses HTTP/3 with this server without waiting for its `Alt-Svc`.
    #[must_use]
    pub fn over_http3(mut self, server: SocketAddr) -> Self {
        let origin = format!("localhost:{}", server.port());
        let flag = format!("--origin-to-force-quic-on={origin}");
        self.flags.push(flag);
        self
    }

    /// Loads a page of `localhost` and exits.
    ///
    /// # Panics
    /// Panics if the browser does not exit, or exits with an error.
    #[track_caller]
    pub fn visit(&self, url: &str) -> Visit {
        let scratch = tempfile::tempdir().expect("a directory");
        let mut running = Running::start(self, url, scratch);
        let ended = process::wait_until(LIMIT, || {
            running.child.try_wait().expect("a child").is_some()
        });
        let read = |name: &str| {
            let bytes = fs::read(running.scratch.path().join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        assert!(
            ended,
            "{url}: the browser does not end: {}",
            read("messages")
        );
        let document = read("document");
        let log = serde_json::from_str(&read("log"));
        let log = log.unwrap_or_else(|error| panic!("{url}: {error}: {}", read("messages")));
        Visit {
            document,
            events: events(&log),
        }
    }
}

impl Visit {
    /// Text of the element with this id. The element must not contain other elements.
    pub fn text(&self, id: &str) -> Option<&str> {
        let (_, rest) = self.document.split_once(&format!("id=\"{id}\""))?;
        let (_, rest) = rest.split_once('>')?;
        rest.split('<').next()
    }

    /// Parameters of the logged events with this name, as JSON.
    pub fn logged(&self, event: &str) -> Vec<String> {
        let logged = self.events.get(event).into_iter().flatten();
        logged.map(Value::to_string).collect()
    }
}

/// Events have numbers. Their names are at the start of the log.
fn events(log: &Value) -> HashMap<String, Vec<Value>> {
    let names: HashMap<i64, &String> = log["constants"]["logEventTypes"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, number)| Some((number.as_i64()?, name)))
        .collect();
    let mut events: HashMap<String, Vec<Value>> = HashMap::new();
    for event in log["events"].as_array().into_iter().flatten() {
        let name = event["type"].as_i64().and_then(|number| names.get(&number));
        if let Some(name) = name {
            let logged = events.entry((*name).clone()).or_default();
            logged.push(event["params"].clone());
        }
    }
    events
}

/// A browser and its processes. They are terminated when it is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) child: Child,
    scratch: TempDir,
}

/// Flags for a browser that loads only the given page and stores its files in this folder.
pub(crate) fn quiet_flags(folder: &Path) -> Vec<String> {
    let mut flags: Vec<String> = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-breakpad",
        "--disable-crash-reporter",
        "--host-resolver-rules=MAP localhost 127.0.0.1, MAP * ~NOTFOUND",
    ]
    .map(str::to_owned)
    .into();
    flags.push(format!("--user-data-dir={}", folder.display()));
    flags
}

impl Running {
    #[track_caller]
    fn start(browser: &Browser, url: &str, scratch: TempDir) -> Self {
        let folder = scratch.path();
        let file = |name: &str| File::create(folder.join(name)).expect("a file");
        let mut command = Command::new(&browser.program);
        command
            .args(quiet_flags(folder))
            .arg("--dump-dom")
            .arg(format!("--log-net-log={}", folder.join("log").display()))
            .arg("--net-log-capture-mode=Default")
            .args(&browser.flags)
            .arg(url)
            .stdin(Stdio::null())
            .stdout(file("document"))
            .stderr(file("messages"));
        Self::spawn(command, scratch)
    }

    /// Starts a browser that stores its files in this folder.
    pub(crate) fn spawn(mut command: Command, scratch: TempDir) -> Self {
        let folder = scratch.path();
        let child = command
            .env("HOME", folder)
            .env("TMPDIR", folder)
            .env("DBUS_SESSION_BUS_ADDRESS", "disabled:")
            .env(MARK, folder)
            .process_group(0)
            .spawn()
            .expect("the browser starts");
        Self { child, scratch }
    }
}

/// An environment variable that identifies processes of the browser whose parent has exited.
const MARK: &str = "HOWDAH_TEST_BROWSER";

impl Drop for Running {
    fn drop(&mut self) {
        let pid = self.child.id();
        let ended = self.child.try_wait().is_ok_and(|status| status.is_some());
        let mut left = if ended {
            Vec::new()
        } else {
            process::descendants(pid)
        };
        if !ended {
            // Errors are ignored: such a process has already exited.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        left.extend(marked(self.scratch.path()));
        for process in left {
            if process.is_alive() {
                let _ = process::kill(process.pid, Signal::KILL);
            }
            let gone = process.wait_exited(PATIENCE);
            assert!(gone || std::thread::panicking(), "{process:?} is left");
        }
    }
}

fn marked(folder: &Path) -> Vec<process::Process> {
    process::with_environment(&format!("{MARK}={}", folder.display()))
}
