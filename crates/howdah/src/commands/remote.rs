//! `reload`, `stop` and `status`: orders to a running server, through its admin API.

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use howdah_config::Strictness;
use howdah_config::model::{Admin, Config};
use howdah_observe::admin::{AdminAddress, Client, ClientError, ReloadReport, Reply};

use super::{preload_report, report, requests};
use crate::config::source;
use crate::failure::{Failure, Outcome, setup};
use crate::output::{print, printed};
use crate::paths::absolute;
use crate::rights::privileges;
use crate::{admin, cli};

/// The Caddyfile that `howdah run` uses without `--config`.
pub(super) const CADDYFILE: &str = "Caddyfile";
/// Timeout of responses that need no work.
pub(super) const LIMIT: Duration = Duration::from_secs(10);

/// `howdah reload`.
pub(crate) fn reload(options: &cli::Reload) -> Outcome {
    let client = client(&options.server)?;
    // A boot takes as long as the application needs.
    let order = |target: &str| success(client.request("POST", target, None));
    let reply = match (&options.pool, &options.server.config) {
        (Some(pool), _) => order(&format!("/reload?pool={}", escaped(pool))),
        (None, Some(file)) => reload_from(&client, file),
        (None, None) => order("/reload"),
    }?;
    let done: ReloadReport = serde_json::from_slice(&reply.body).map_err(version_mismatch)?;
    let mut text = String::new();
    // Writing to a `String` cannot fail.
    for pool in &done.pools {
        let _ = writeln!(
            text,
            "reloaded {}: generation {} in {} ms",
            pool.pool, pool.generation, pool.took_ms
        );
    }
    if let Some(reason) = &done.fresh {
        let _ = writeln!(text, "PHP was restarted: {reason}");
    }
    print(text)?;
    let changed = done.configuration.filter(|running| running.changed);
    if let Some(running) = changed.filter(|_| options.pool.is_some()) {
        eprintln!(
            "howdah: warning: {} changed; `howdah reload` without --pool applies that",
            running.file
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes the server use this file from now on. Over TCP it reads only its own file, so the text of another is sent.
fn reload_from(client: &Client, file: &Path) -> Result<Reply, Failure> {
    let path = absolute(file);
    let path = path
        .to_str()
        .ok_or_else(|| setup(format_args!("{}: not UTF-8", file.display())))?;
    let target = format!("/reload?config={}", escaped(path));
    let reply = client.request("POST", &target, None);
    if !matches!(&reply, Ok(reply) if reply.status == 403) {
        return success(reply);
    }
    let cannot = |why: &dyn std::fmt::Display| setup(format_args!("{}: {why}", file.display()));
    if howdah_config::load(file).is_ok_and(|parsed| parsed.files.len() > 1) {
        return Err(cannot(
            &"it imports other files, so it cannot be sent to a server that is reached over TCP: use \
              `admin unix//PATH`, or have the server started with this file",
        ));
    }
    let text = std::fs::read_to_string(file).map_err(|error| cannot(&error))?;
    let reply = client.load(&text);
    if let Ok(reply) = &reply
        && reply.status != 200
    {
        let own = format!("{}:", file.display());
        let body = format!("{}:", source::BODY);
        return Err(Failure::Runtime(reply.error().replace(&body, &own)));
    }
    let reply = success(reply)?;
    eprintln!(
        "howdah: the text of {} was sent; a later reload reads the server's own file again",
        file.display()
    );
    Ok(reply)
}

/// `howdah stop`: returns when the server has exited.
pub(crate) fn stop(options: &cli::Remote) -> Outcome {
    success(client(options)?.stop())?;
    Ok(ExitCode::SUCCESS)
}

/// `howdah status`.
pub(crate) fn status(options: &cli::Status) -> Outcome {
    let target = if options.preload {
        "/preload"
    } else if options.requests {
        "/requests?detail"
    } else {
        "/status"
    };
    let reply = success(client(&options.server)?.request("GET", target, Some(LIMIT)))?;
    let text = if options.json {
        String::from_utf8(reply.body).map_err(version_mismatch)?
    } else if options.requests {
        requests::table(&serde_json::from_slice(&reply.body).map_err(version_mismatch)?)
    } else if options.preload {
        let preloads: Vec<_> = serde_json::from_slice(&reply.body).map_err(version_mismatch)?;
        preload_report::text(&preloads)
    } else {
        report::table(&serde_json::from_slice(&reply.body).map_err(version_mismatch)?)
    };
    printed(text)
}

/// The status of the server that runs with this configuration, if there is one.
pub(crate) fn running(config: &Config) -> Option<report::Status> {
    let address = match &config.global.admin {
        Admin::Default => default_address(privileges::is_php_restricted(config)),
        Admin::On(address) => admin::address(address),
        Admin::Off => return None,
    };
    let reply = Client::new(address).request("GET", "/status", Some(LIMIT));
    let reply = reply.ok().filter(|reply| reply.status == 200)?;
    serde_json::from_slice(&reply.body).ok()
}

pub(super) fn success(reply: Result<Reply, ClientError>) -> Result<Reply, Failure> {
    match reply {
        Ok(reply) if reply.status == 200 => Ok(reply),
        Ok(reply) => Err(Failure::Runtime(reply.error())),
        Err(error) => Err(Failure::Runtime(error.to_string())),
    }
}

pub(super) fn version_mismatch(error: impl std::fmt::Display) -> Failure {
    Failure::Runtime(format!(
        "the server's response belongs to a different version of howdah: {error}"
    ))
}

pub(super) fn client(options: &cli::Remote) -> Result<Client, Failure> {
    let address = match &options.address {
        Some(address) => address.clone(),
        None => configured(options.config.as_deref())?,
    };
    Ok(Client::new(address))
}

/// The address in the Caddyfile, by default that of the server.
fn configured(file: Option<&Path>) -> Result<AdminAddress, Failure> {
    let file = match file {
        Some(file) => file.to_owned(),
        None if Path::new(CADDYFILE).is_file() => PathBuf::from(CADDYFILE),
        None => return Ok(default_address(true)),
    };
    let config = source::look(&file, Strictness::Lenient)
        .map_err(setup)?
        .config;
    match &config.global.admin {
        Admin::Default => Ok(default_address(privileges::is_php_restricted(&config))),
        Admin::On(address) => Ok(admin::address(address)),
        Admin::Off => Err(setup(format_args!(
            "{}: `admin off`, so the server accepts no commands; use signals: SIGUSR1 reloads, SIGTERM stops",
            file.display()
        ))),
    }
}

/// The address of a server without a configured one. Whether that is the socket depends on the user of the server, which
/// may be in its environment alone (`HOWDAH_USER` of a systemd unit). So where nothing listens at the likely address, the
/// other one is used.
fn default_address(is_php_restricted: bool) -> AdminAddress {
    let tcp = AdminAddress::default();
    let uses_socket = socket_listens() && (is_php_restricted || !tcp_listens(&tcp));
    if uses_socket {
        AdminAddress::Unix(admin::ADMIN_SOCKET.into())
    } else {
        tcp
    }
}

fn socket_listens() -> bool {
    match UnixStream::connect(admin::ADMIN_SOCKET) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::PermissionDenied,
    }
}

fn tcp_listens(address: &AdminAddress) -> bool {
    match address {
        AdminAddress::Tcp { host, port } => TcpStream::connect((host.as_str(), *port)).is_ok(),
        AdminAddress::Unix(_) => false,
    }
}

/// Percent-encodes text for a query.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_comes_from_the_caddyfile() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("Caddyfile");
        let of = |text: &str| {
            std::fs::write(&file, text).expect("written");
            configured(Some(&file)).map(|address| address.to_string())
        };
        let table = [
            (":8080\n", "localhost:2019"),
            ("{\n\tadmin 127.0.0.1:2020\n}\n:8080\n", "127.0.0.1:2020"),
            ("{\n\tadmin [::1]:2020\n}\n:8080\n", "[::1]:2020"),
            ("{\n\tadmin :2020\n}\n:8080\n", ":2020"),
            (
                "{\n\tadmin unix//run/a.sock\n}\n:8080\n",
                "unix//run/a.sock",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(of(text).expect("valid"), expected, "{text}");
        }
        let off = of("{\n\tadmin off\n}\n:8080\n").expect_err("no address");
        assert!(off.to_string().contains("SIGUSR1"), "{off}");
        assert!(of("{\n\tadmni off\n}\n").is_err());
        assert!(configured(Some(&dir.path().join("none"))).is_err());
    }

    #[test]
    fn names_of_pools_in_a_query() {
        assert_eq!(escaped("app-1.x_y"), "app-1.x_y");
        assert_eq!(escaped("a b&c=é"), "a%20b%26c%3D%C3%A9");
    }
}
