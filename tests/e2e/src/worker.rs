//! Scripts of `tests/worker` in classic and in worker mode.

use std::path::{Path, PathBuf};

use howdah_testkit::{Request, Response, Server, ServerBuilder};

use crate::caddyfile;

/// How a script is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A fresh start for each request.
    Classic,
    /// Booted once.
    Worker,
}

/// The folder of the scripts.
///
/// # Panics
/// If it is missing.
pub fn scripts() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../worker");
    folder.canonicalize().expect("tests/worker exists")
}

/// One script and the server that serves it.
#[derive(Debug)]
pub struct Site {
    /// The server.
    pub server: Server,
    /// How it serves the script.
    pub mode: Mode,
    script: String,
}

impl Site {
    /// A server with one PHP process for `script`, in which errors are shown and logged.
    ///
    /// # Panics
    /// If it does not start.
    #[track_caller]
    pub fn start(mode: Mode, script: &str) -> Self {
        Self::with(mode, script, 1, |server| server)
    }

    /// The same with `workers` processes and a server changed by `change`.
    ///
    /// # Panics
    /// If it does not start.
    #[track_caller]
    pub fn with(
        mode: Mode,
        script: &str,
        workers: usize,
        change: impl FnOnce(ServerBuilder) -> ServerBuilder,
    ) -> Self {
        let server = change(builder(mode, script, workers)).start();
        Self {
            server,
            mode,
            script: script.to_owned(),
        }
    }

    /// A worker of `tests/worker` with one process and these lines in its `worker` block.
    ///
    /// # Panics
    /// If it does not start.
    #[track_caller]
    pub fn configured(script: &str, lines: &str) -> Self {
        let file = scripts().join(script);
        Self {
            server: Server::caddyfile(worker_caddyfile(&file, &format!("num 1\n{lines}"))).start(),
            mode: Mode::Worker,
            script: script.to_owned(),
        }
    }

    /// What to ask for: the script, then `rest` (`?query` or `/path`).
    pub fn target(&self, rest: &str) -> String {
        format!("/{}{rest}", self.script)
    }

    /// The response to a `GET` of the script and `rest`.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn get(&self, rest: &str) -> Response {
        self.server.get(&self.target(rest))
    }

    /// The response to a `GET` with cookies.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn get_with(&self, rest: &str, cookie: &str) -> Response {
        let request = Request::get(self.target(rest));
        self.server.send(&request.header("Cookie", cookie))
    }

    /// Whether the process that answers is kept from request to request in worker mode only, so that
    /// `worker` holds there and `classic` elsewhere.
    pub fn expect<T>(&self, classic: T, worker: T) -> T {
        match self.mode {
            Mode::Classic => classic,
            Mode::Worker => worker,
        }
    }
}

/// A server of `tests/worker`, not started yet.
pub fn builder(mode: Mode, script: &str, workers: usize) -> ServerBuilder {
    let server = Server::builder(scripts())
        .ini("display_errors", "1")
        .ini("html_errors", "0")
        .ini("log_errors", "1");
    match mode {
        Mode::Classic => server.workers(workers),
        Mode::Worker => {
            let file = scripts().join(script).display().to_string();
            server
                .workers(1)
                .args(["--worker", &format!("{file},{workers}")])
        }
    }
}

/// A Caddyfile with one global worker and a site of its folder.
pub fn worker_caddyfile(file: &Path, lines: &str) -> String {
    let root = file.parent().unwrap_or(file).display();
    let global = format!(
        "admin off\nfrankenphp {{\nnum_threads 1\nworker {{\nfile {}\n{lines}\n}}\n}}",
        file.display()
    );
    caddyfile(&global, &format!("root * {root}\nphp_server"))
}

/// The `name=value` of the first cookie that a response sets.
///
/// # Panics
/// If it sets none.
#[track_caller]
pub fn cookie(response: &Response) -> String {
    let cookie = response.header("set-cookie").expect("a cookie");
    cookie.split(';').next().unwrap_or_default().to_owned()
}

/// Makes two tests of each line, `NAME::classic` and `NAME::worker`: the check is given a [`Site`] of
/// the script in that mode.
#[macro_export]
macro_rules! in_both_modes {
    ($($name:ident($script:literal) = $check:expr;)+) => {$(
        mod $name {
            #[allow(unused_imports, reason = "not every check names them")]
            use super::*;

            #[test]
            fn classic() {
                let check: fn(&$crate::worker::Site) = $check;
                check(&$crate::worker::Site::start($crate::worker::Mode::Classic, $script));
            }

            #[test]
            fn worker() {
                let check: fn(&$crate::worker::Site) = $check;
                check(&$crate::worker::Site::start($crate::worker::Mode::Worker, $script));
            }
        }
    )+};
}
