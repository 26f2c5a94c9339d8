//! The admin API of a server under test.

use howdah_testkit::{Connection, ExitReport, Request, Response, Server, ServerBuilder};

use crate::caddyfile;

/// Lines of a global block that enable the admin API on a free port.
pub const ON: &str = "admin localhost:0";

/// Client for the admin API of a server.
#[derive(Debug)]
pub struct Admin {
    /// `HOST:PORT` from the server's log.
    pub address: String,
}

impl Admin {
    /// Finds the admin API in the server's log.
    ///
    /// # Panics
    /// Panics if the log does not contain it.
    #[track_caller]
    pub fn of(server: &Server) -> Self {
        let line = server.wait_line("admin API", |line| line.message() == "admin API");
        let address = line.text("address").expect("an address").to_owned();
        Self { address }
    }

    /// Sends a request and returns the response. The request addresses the server as `localhost`.
    ///
    /// # Panics
    /// Panics if there is no response.
    #[track_caller]
    pub fn send(&self, request: &Request) -> Response {
        let port = self.address.rsplit_once(':').expect("HOST:PORT").1;
        let address = format!("127.0.0.1:{port}").parse().expect("an address");
        let mut connection = Connection::open(address).unwrap_or_else(|error| panic!("{error}"));
        connection
            .exchange(request)
            .unwrap_or_else(|error| panic!("{} {}: {error}", request.method(), request.target()))
    }

    /// Sends a `GET` request and returns the response.
    ///
    /// # Panics
    /// Panics if there is no response.
    #[track_caller]
    pub fn get(&self, target: &str) -> Response {
        self.send(&Request::get(target))
    }

    /// Sends a `POST` request and returns the response.
    ///
    /// # Panics
    /// Panics if there is no response.
    #[track_caller]
    pub fn post(&self, target: &str) -> Response {
        self.send(&Request::new("POST", target))
    }

    /// Runs `howdah COMMAND --address …` and returns its output.
    ///
    /// # Panics
    /// Panics if the command cannot be run.
    #[track_caller]
    pub fn command(&self, words: &[&str]) -> ExitReport {
        ServerBuilder::command(words)
            .args(["--address", &self.address])
            .run()
    }
}

/// A Caddyfile with an admin API and one worker pool named `app`. Its script is `worker.php` in
/// `root` and handles every request. `lines` are added to its `worker` block.
pub fn worker_site(root: &std::path::Path, lines: &str) -> String {
    let root = root.display();
    let global = format!(
        "{ON}\nfrankenphp {{\nnum_threads 1\nworker {{\nname app\nfile {root}/worker.php\nnum 2\n{lines}\n}}\n}}"
    );
    let site = format!("root * {root}\nphp_server {{\nindex worker.php\n}}");
    caddyfile(&global, &site)
}

/// A worker script that responds with the value that `version.php` returned at the boot, and with
/// its process id.
pub const VERSION_WORKER: &str = "<?php
$version = require __DIR__ . '/version.php';
$handler = function () use ($version) {
    echo $version;
    header('X-Pid: ' . getmypid());
};
while (frankenphp_handle_request($handler)) {
}
";
