//! Whether the server can listen on the configured addresses.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::Path;

use howdah_config::model::Config;
use howdah_observe::unix_socket::{self, Place};

use super::report::{Area, PathRequirement, Report};
use crate::commands::report::Status;

/// `running`: the server that responds at the configured admin address.
pub(super) fn check(config: &Config, running: Option<&Status>, report: &mut Report) {
    let mut addresses = BTreeSet::new();
    let mut sockets = BTreeSet::new();
    for site in &config.sites {
        sockets.extend(site.unix_sockets.iter().map(|socket| &*socket.path));
        for address in &site.addresses {
            let any = [IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
            let ips = if site.bind.is_empty() && site.unix_sockets.is_empty() {
                &any[..]
            } else {
                &site.bind[..]
            };
            addresses.extend(ips.iter().map(|ip| SocketAddr::new(*ip, address.port)));
        }
    }
    for address in addresses {
        try_one(address, running, report);
    }
    for path in sockets {
        try_socket(path, running, report);
    }
}

/// An address that some process listens on. `command` shows which one.
fn in_use(
    address: &str,
    running: Option<&Status>,
    is_own: impl Fn(&str) -> bool,
    command: &str,
    report: &mut Report,
) {
    let Some(running) = running else {
        // A running server is not an error, and processes of other users cannot be identified.
        return report.warning(
            Area::Network,
            format!("{address} is in use"),
            format!("fine if this server is already running; {command} shows the process"),
        );
    };
    if running.listeners.iter().any(|own| is_own(own)) {
        let text = format!(
            "{address} is in use by this server, process {}",
            running.pid
        );
        return report.ok(Area::Network, text);
    }
    report.warning(
        Area::Network,
        format!(
            "{address} is in use, and not by the running server, process {}",
            running.pid
        ),
        format!("stop the other program, or change the address; {command} shows the process"),
    );
}

/// Whether a server that listens on one address keeps another from it.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let is_any = one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() == other.port() && (is_any || one.ip() == other.ip())
}

fn try_one(address: SocketAddr, running: Option<&Status>, report: &mut Report) {
    let bound = TcpListener::bind(address).or_else(|error| {
        // A kernel without IPv6.
        let v4 = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port());
        let is_any = address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        let no_family = error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error());
        if is_any && (no_family || error.kind() == ErrorKind::AddrNotAvailable) {
            TcpListener::bind(v4)
        } else {
            Err(error)
        }
    });
    let port = address.port();
    let Err(error) = bound else {
        return report.ok(Area::Network, format!("{address} is free"));
    };
    let advice = match error.kind() {
        ErrorKind::AddrInUse => {
            let is_own = |own: &str| own.parse().is_ok_and(|own| overlap(own, address));
            let command = format!("`ss -ltnp sport = :{port}`");
            return in_use(&address.to_string(), running, is_own, &command, report);
        }
        ErrorKind::PermissionDenied => {
            "use a port above 1023, or AmbientCapabilities=CAP_NET_BIND_SERVICE in the systemd \
             unit, or sysctl net.ipv4.ip_unprivileged_port_start=80"
                .to_owned()
        }
        ErrorKind::AddrNotAvailable => {
            "this machine does not have that address: fix `bind`".to_owned()
        }
        _ => "fix the address of the site".to_owned(),
    };
    report.error(
        Area::Network,
        format!("cannot listen on {address}: {error}"),
        advice,
    );
}

/// Unlike a port it is not bound: other processes would see its file.
fn try_socket(path: &Path, running: Option<&Status>, report: &mut Report) {
    let address = format!("unix/{}", path.display());
    let place = match unix_socket::inspect(path) {
        Ok(place) => place,
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            let command = format!("`ss -lxp src {}`", path.display());
            return in_use(&address, running, |own| own == address, &command, report);
        }
        Err(error) => {
            let advice = match error.kind() {
                ErrorKind::AlreadyExists => "nothing but a socket gives way",
                ErrorKind::PermissionDenied => {
                    "run doctor as the user that runs the server; a socket of another user must be removed by that user"
                }
                _ => "fix `bind`: the path of a socket has at most 107 bytes",
            };
            return report.error(
                Area::Network,
                format!("cannot listen on {address}: {error}"),
                advice,
            );
        }
    };
    // `bind` accepts only absolute paths.
    let folder = path.parent().unwrap_or(path);
    match PathRequirement::WritableFolder.wrong(folder) {
        Some((wrong, advice)) => report.error(
            Area::Network,
            format!("cannot listen on {address}: {}: {wrong}", folder.display()),
            advice,
        ),
        None => report.ok(
            Area::Network,
            match place {
                Place::Free => format!("{address} is free"),
                Place::Stale => {
                    format!("{address} is free: no process listens on its socket")
                }
            },
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::super::report::Level;
    use super::*;

    #[test]
    fn a_port_in_use_is_distinguished_from_a_forbidden_one() {
        let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut report = Report::default();
        try_one(taken.local_addr().expect("bound"), None, &mut report);
        assert_eq!(report.worst(None), Level::Warning);
        assert!(report.findings[0].text.ends_with("is in use"));
        // TEST-NET-1 is not assigned.
        try_one(SocketAddr::from(([192, 0, 2, 1], 80)), None, &mut report);
        assert_eq!(report.worst(None), Level::Error);
        try_one(SocketAddr::from(([127, 0, 0, 1], 0)), None, &mut report);
        assert_eq!(report.findings[2].level, Level::Ok);
    }

    #[test]
    fn the_running_server_is_distinguished_from_other_programs() {
        let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = taken.local_addr().expect("bound");
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.sock");
        let _listener = UnixListener::bind(&path).expect("bound");
        let check = |listeners: &[String]| {
            let status = serde_json::json!({
                "version": "1", "pid": 7, "stopping": false, "pools": [], "listeners": listeners,
            });
            let status: Status = serde_json::from_value(status).expect("it fits");
            let mut report = Report::default();
            try_one(address, Some(&status), &mut report);
            try_socket(&path, Some(&status), &mut report);
            report.findings
        };
        let socket = format!("unix/{}", path.display());
        for own in [address.to_string(), format!("[::]:{}", address.port())] {
            for finding in check(&[own, socket.clone()]) {
                assert_eq!(finding.level, Level::Ok, "{finding:?}");
                assert!(
                    finding
                        .text
                        .ends_with("is in use by this server, process 7")
                );
            }
        }
        for finding in check(&["127.0.0.1:1".into(), "unix//x".into()]) {
            assert_eq!(finding.level, Level::Warning, "{finding:?}");
            assert!(finding.text.contains("not by the running server"));
        }
    }

    #[test]
    fn a_socket_is_looked_at_and_left_as_it_is() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.sock");
        let mut report = Report::default();
        try_socket(&path, None, &mut report);
        assert!(!path.exists(), "doctor changes nothing");
        let listener = UnixListener::bind(&path).expect("bound");
        try_socket(&path, None, &mut report);
        drop(listener);
        try_socket(&path, None, &mut report);
        assert!(path.exists(), "doctor changes nothing");
        std::fs::write(dir.path().join("file"), "").expect("written");
        try_socket(&dir.path().join("file"), None, &mut report);
        try_socket(&dir.path().join("none/a.sock"), None, &mut report);
        try_socket(&dir.path().join("a".repeat(108)), None, &mut report);
        let expected = [
            (Level::Ok, "a.sock is free"),
            (Level::Warning, "a.sock is in use"),
            (Level::Ok, "no process listens"),
            (Level::Error, "is not a socket"),
            (Level::Error, "none: No such file"),
            (Level::Error, "cannot listen on unix//"),
        ];
        assert_eq!(report.findings.len(), expected.len());
        for (finding, (level, text)) in report.findings.iter().zip(expected) {
            assert_eq!(finding.level, level, "{finding:?}");
            assert!(finding.text.contains(text), "{finding:?}");
        }
    }
}
