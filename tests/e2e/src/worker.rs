//! Scripts of `tests/worker` in classic and in worker mode.

use std::path::{Path, PathBuf};

use howdah_testkit::{Request, Response, Server, ServerBuilder};

use crate::caddyfile;

/// Mode in which a script is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A new start for each request.
    Classic,
    /// One boot for many requests.
    Worker,
}

/// Folder of the scripts.
///
/// # Panics
/// Panics if it is missing.
pub fn scripts() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../worker");
    folder.canonicalize().expect("tests/worker exists")
}

/// A script and the server that serves it.
#[derive(Debug)]
pub struct Site {
    /// The server.
    pub server: Server,
    /// Mode of the script.
    pub mode: Mode,
    script: String,
}

impl Site {
    /// Starts a server with one PHP process for `script`. Errors are displayed and logged.
    ///
    /// # Panics
    /// Panics if the server does not start.
    #[track_caller]
    pub fn start(mode: Mode, script: &str) -> Self {
        Self::with(mode, script, 1, |server| server)
    }

    /// Like `start`, with `workers` processes and a server changed by `change`.
    ///
    /// # Panics
    /// Panics if the server does not start.
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

    /// Starts a worker of `tests/worker` with one process and these lines in its `worker` block.
    ///
    /// # Panics
    /// Panics if the server does not start.
    #[track_caller]
    pub fn configured(script: &str, lines: &str) -> Self {
        let file = scripts().join(script);
        Self {
            server: Server::caddyfile(worker_caddyfile(&file, &format!("num 1\n{lines}"))).start(),
            mode: Mode::Worker,
            script: script.to_owned(),
        }
    }

    /// Request target: the script, then `rest` (`?query` or `/path`).
    pub fn target(&self, rest: &str) -> String {
        format!("/{}{rest}", self.script)
    }

    /// Sends a `GET` request for the script and `rest`.
    ///
    /// # Panics
    /// Panics if there is no response.
    #[track_caller]
    pub fn get(&self, rest: &str) -> Response {
        self.server.get(&self.target(rest))
    }

    /// Sends a `GET` request with cookies.
    ///
    /// # Panics
    /// Panics if there is no response.
    #[track_caller]
    pub fn get_with(&self, rest: &str, cookie: &str) -> Response {
        let request = Request::get(self.target(rest));
        self.server.send(&request.header("Cookie", cookie))
    }

    /// Selects the expected value by mode: `worker` where one process handles several requests,
    /// otherwise `classic`.
    pub fn expect<T>(&self, classic: T, worker: T) -> T {
        match self.mode {
            Mode::Classic => classic,
            Mode::Worker => worker,
        }
    }
}

/// Returns a builder for a server of `tests/worker`.
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

/// A Caddyfile with one global worker and a site for its folder.
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
/// Panics if it sets none.
#[track_caller]
pub fn cookie(response: &Response) -> String {
    let cookie = response.header("set-cookie").expect("a cookie");
    cookie.split(';').next().unwrap_or_default().to_owned()
}

/// Generates two tests per line, `NAME::classic` and `NAME::worker`. The check gets a [`Site`] of
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
