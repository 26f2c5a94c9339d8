//! The admin API of a server under test.

use howdah_testkit::{Connection, ExitReport, Request, Response, Server, ServerBuilder};

use crate::caddyfile;

/// Text of a global block that turns the admin API on at a free port.
pub const ON: &str = "admin localhost:0";

/// The admin API of a server.
#[derive(Debug)]
pub struct Admin {
    /// `HOST:PORT` as the log tells it.
    pub address: String,
}

impl Admin {
    /// The one that the server's log tells of.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn of(server: &Server) -> Self {
        let line = server.wait_line("admin API", |line| line.message() == "admin API");
        let address = line.text("address").expect("an address").to_owned();
        Self { address }
    }

    /// The response to a request. `localhost` in it is what clients call the server.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn send(&self, request: &Request) -> Response {
        let port = self.address.rsplit_once(':').expect("HOST:PORT").1;
        let address = format!("127.0.0.1:{port}").parse().expect("an address");
        let mut connection = Connection::open(address).unwrap_or_else(|error| panic!("{error}"));
        connection
            .exchange(request)
            .unwrap_or_else(|error| panic!("{} {}: {error}", request.method(), request.target()))
    }

    /// The response to a `GET`.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn get(&self, target: &str) -> Response {
        self.send(&Request::get(target))
    }

    /// The response to a `POST`.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn post(&self, target: &str) -> Response {
        self.send(&Request::new("POST", target))
    }

    /// What `howdah COMMAND --address …` said.
    ///
    /// # Panics
    /// If it cannot be run.
    #[track_caller]
    pub fn command(&self, words: &[&str]) -> ExitReport {
        ServerBuilder::command(words)
            .args(["--address", &self.address])
            .run()
    }
}

/// A Caddyfile with an admin API and one worker pool named `app`, whose script is `worker.php` in `root`
/// and gets every request. `lines` go to its `worker` block.
pub fn worker_site(root: &std::path::Path, lines: &str) -> String {
    let root = root.display();
    let global = format!(
        "{ON}\nfrankenphp {{\nnum_threads 1\nworker {{\nname app\nfile {root}/worker.php\nnum 2\n{lines}\n}}\n}}"
    );
    let site = format!("root * {root}\nphp_server {{\nindex worker.php\n}}");
    caddyfile(&global, &site)
}

/// A worker script that answers what `version.php` returned when it was booted, and its process id.
pub const VERSION_WORKER: &str = "<?php
$version = require __DIR__ . '/version.php';
$handler = function () use ($version) {
    echo $version;
    header('X-Pid: ' . getmypid());
};
while (frankenphp_handle_request($handler)) {
}
";
