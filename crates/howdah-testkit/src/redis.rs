//! A Redis server for a test. It listens on a free port of the loopback address, requires a
//! password, and has a directory in which its data survives a restart.

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::{PATIENCE, free_ports, process};

/// A running Redis server. It is stopped when it is dropped.
#[derive(Debug)]
pub struct Redis {
    child: Child,
    port: u16,
    directory: TempDir,
    tls: Option<RedisTls>,
}

/// PEM files of a server that accepts only TLS.
#[derive(Debug, Clone)]
pub struct RedisTls {
    /// Certificate for 127.0.0.1.
    pub certificate: PathBuf,
    /// Key of the certificate.
    pub key: PathBuf,
    /// Certificate of the authority that issued it.
    pub root: PathBuf,
}

impl Redis {
    /// Password that clients must send first.
    pub const PASSWORD: &str = "open-sesame";

    /// Starts a server. Returns `None` and prints a note if Redis is not installed.
    ///
    /// # Panics
    /// Panics if the server does not respond.
    pub fn start() -> Option<Self> {
        Self::start_with(None)
    }

    /// Like [`start`](Self::start), with TLS.
    ///
    /// # Panics
    /// Panics if the server does not respond.
    pub fn over_tls(tls: RedisTls) -> Option<Self> {
        Self::start_with(Some(tls))
    }

    fn start_with(tls: Option<RedisTls>) -> Option<Self> {
        let [port] = free_ports();
        let directory = tempfile::tempdir().expect("a directory");
        let Some(child) = spawn(port, &directory, tls.as_ref()) else {
            eprintln!("skipped: redis-server is not installed");
            return None;
        };
        let redis = Self {
            child,
            port,
            directory,
            tls,
        };
        redis.wait();
        Some(redis)
    }

    /// Port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Kills the server. No data is lost.
    ///
    /// # Panics
    /// Panics if it cannot be killed.
    pub fn stop(&mut self) {
        self.child.kill().expect("it can be ended");
        self.child.wait().expect("it ends");
    }

    /// Starts the server on the same port again after [`stop`](Self::stop).
    ///
    /// # Panics
    /// Panics if the server does not respond.
    pub fn start_again(&mut self) {
        self.child = spawn(self.port, &self.directory, self.tls.as_ref()).expect("it is installed");
        self.wait();
    }

    /// Runs `redis-cli` with a command and returns its output.
    ///
    /// # Panics
    /// Panics if the command fails.
    pub fn ask(&self, command: &[&str]) -> String {
        let output = self.cli().arg("--raw").args(command).output();
        let output = output.expect("redis-cli is installed with it");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn wait(&self) {
        let answers = || TcpStream::connect(("127.0.0.1", self.port)).is_ok() && self.is_ready();
        assert!(process::wait_until(PATIENCE, answers), "{}", self.port);
    }

    fn is_ready(&self) -> bool {
        let output = self.cli().arg("ping").output();
        output.is_ok_and(|output| output.stdout.starts_with(b"PONG"))
    }

    fn cli(&self) -> Command {
        let mut cli = Command::new("redis-cli");
        cli.args(["-h", "127.0.0.1", "-p"])
            .arg(self.port.to_string())
            .env("REDISCLI_AUTH", Self::PASSWORD);
        if let Some(tls) = &self.tls {
            cli.args(["--tls", "--cacert"]).arg(&tls.root);
        }
        cli
    }
}

fn spawn(port: u16, directory: &TempDir, tls: Option<&RedisTls>) -> Option<Child> {
    let mut server = Command::new("redis-server");
    server
        .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "yes"])
        .args(["--appendfsync", "always", "--requirepass", Redis::PASSWORD])
        .arg("--dir")
        .arg(directory.path())
        .stdout(Stdio::null());
    if let Some(tls) = tls {
        server.args(["--port", "0", "--tls-auth-clients", "no", "--tls-port"]);
        server.arg(port.to_string());
        for (option, file) in [
            ("--tls-cert-file", &tls.certificate),
            ("--tls-key-file", &tls.key),
            ("--tls-ca-cert-file", &tls.root),
        ] {
            server.arg(option).arg(file);
        }
    } else {
        server.arg("--port").arg(port.to_string());
    }
    server.spawn().ok()
}

impl Drop for Redis {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
