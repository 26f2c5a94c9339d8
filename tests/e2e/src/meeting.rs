//! Requests that meet in one process: `tests/worker/coroutine/app.php`, and the folder through
//! which its requests and a test communicate.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use howdah_testkit::{PATIENCE, Request, Server, ServerBuilder, process};
use tempfile::TempDir;

use crate::admin::ON;
use crate::caddyfile;
use crate::worker::scripts;

/// The folder for one test.
#[derive(Debug)]
pub struct Meeting {
    dir: TempDir,
}

impl Default for Meeting {
    fn default() -> Self {
        Self::new()
    }
}

impl Meeting {
    /// Creates an empty folder.
    ///
    /// # Panics
    /// Panics if it cannot be created.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        Self { dir }
    }

    /// Starts a server with the pool `app`, whose worker script handles all requests. `lines` are
    /// added to its `worker` block, which has neither `num` nor `concurrency`, and `global` to the
    /// block of all pools.
    ///
    /// # Panics
    /// Panics if the server does not start.
    #[track_caller]
    pub fn serve(&self, global: &str, lines: &str) -> Server {
        self.serve_script("app.php", global, lines)
    }

    /// Like `serve`, with another script of the folder.
    ///
    /// # Panics
    /// Panics if the server does not start.
    #[track_caller]
    pub fn serve_script(&self, script: &str, global: &str, lines: &str) -> Server {
        let server = self.script(script, global, lines).start();
        server.allow_hogs();
        server
    }

    /// Like `serve_script`, but without starting the server.
    pub fn script(&self, script: &str, global: &str, lines: &str) -> ServerBuilder {
        let root = scripts().join("coroutine");
        let root = root.display();
        let dir = self.path().display();
        let global = format!(
            "{ON}\nfrankenphp {{\nnum_threads 1\n{global}\nworker {{\nname app\nfile {root}/{script}\n\
             env MEETING {dir}\n{lines}\n}}\n}}"
        );
        let site = format!("root * {root}\nphp_server {{\nindex {script}\n}}");
        Server::caddyfile(caddyfile(&global, &site))
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Creates a file that requests wait for.
    ///
    /// # Panics
    /// Panics if it cannot be created.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).expect("written");
    }

    /// Whether such a file exists.
    pub fn has(&self, name: &str) -> bool {
        self.file(name).exists()
    }

    /// Waits for a file of a request and returns its content. The file exists before it has
    /// content.
    ///
    /// # Panics
    /// Panics if the file does not appear in time.
    #[track_caller]
    pub fn wait(&self, name: &str) -> String {
        let mut text = String::new();
        let written = || {
            text = std::fs::read_to_string(self.file(name)).unwrap_or_default();
            !text.is_empty()
        };
        assert!(process::wait_until(PATIENCE, written), "no {name}");
        text
    }

    /// Process ids of the requests that have arrived, by id of the request.
    ///
    /// # Panics
    /// Panics if the folder cannot be read.
    pub fn there(&self) -> BTreeMap<String, u32> {
        let entries = std::fs::read_dir(self.path()).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        names
            .filter_map(|name| {
                let id = name.to_str()?.strip_prefix("in-")?.to_owned();
                let pid = std::fs::read_to_string(self.file(name.to_str()?)).ok()?;
                Some((id, pid.parse().expect("a process id")))
            })
            .collect()
    }

    /// Removes all files before the next round of requests.
    ///
    /// # Panics
    /// Panics if a file cannot be removed.
    pub fn clear(&self) {
        for entry in std::fs::read_dir(self.path()).expect("a folder") {
            std::fs::remove_file(entry.expect("an entry").path()).expect("removed");
        }
    }

    /// Waits until `count` requests have arrived.
    ///
    /// # Panics
    /// Panics if they do not arrive in time.
    #[track_caller]
    pub fn wait_there(&self, count: usize) -> BTreeMap<String, u32> {
        let there = || self.there().len() >= count;
        assert!(
            process::wait_until(PATIENCE, there),
            "{} of {count}",
            self.there().len()
        );
        self.there()
    }
}

/// A request of the script. A `POST` is not retried when its worker crashes.
pub fn request(method: &str, op: &str, id: &str, rest: &str) -> Request {
    Request::new(method, format!("/?op={op}&id={id}{rest}"))
}
