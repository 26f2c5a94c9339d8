//! Whether the server can listen on the configured addresses.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::Path;

use howdah_config::model::Config;
use howdah_observe::unix_socket::{self, Place};

use super::report::{Area, PathRequirement, Report};

pub(super) fn check(config: &Config, report: &mut Report) {
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
        try_one(address, report);
    }
    for path in sockets {
        try_socket(path, report);
    }
}

fn try_one(address: SocketAddr, report: &mut Report) {
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
        // A running server is not an error, and processes of other users cannot be identified.
        ErrorKind::AddrInUse => {
            return report.warning(
                Area::Network,
                format!("{address} is in use"),
                format!(
                    "fine if this server is already running; `ss -ltnp sport = :{port}` shows the process"
                ),
            );
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
fn try_socket(path: &Path, report: &mut Report) {
    let address = format!("unix/{}", path.display());
    let place = match unix_socket::inspect(path) {
        Ok(place) => place,
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            return report.warning(
                Area::Network,
                format!("{address} is in use"),
                format!(
                    "fine if this server is already running; `ss -lxp src {}` shows the process",
                    path.display()
                ),
            );
        }
        Err(error) => {
            let advice = match error.kind() {
                ErrorKind::AlreadyExists => "nothing but a socket gives way",
                ErrorKind::PermissionDenied => {
                    "run doctor as the user that runs the server; a socket of another user has to be \
                     removed by that user"
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
                    format!("{address} is free: no process listens on its socket any more")
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
        try_one(taken.local_addr().expect("bound"), &mut report);
        assert_eq!(report.worst(None), Level::Warning);
        assert!(report.findings[0].text.ends_with("is in use"));
        // TEST-NET-1 is not assigned.
        try_one(SocketAddr::from(([192, 0, 2, 1], 80)), &mut report);
        assert_eq!(report.worst(None), Level::Error);
        try_one(SocketAddr::from(([127, 0, 0, 1], 0)), &mut report);
        assert_eq!(report.findings[2].level, Level::Ok);
    }

    #[test]
    fn a_socket_is_looked_at_and_left_as_it_is() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.sock");
        let mut report = Report::default();
        try_socket(&path, &mut report);
        assert!(!path.exists(), "doctor changes nothing");
        let listener = UnixListener::bind(&path).expect("bound");
        try_socket(&path, &mut report);
        drop(listener);
        try_socket(&path, &mut report);
        assert!(path.exists(), "doctor changes nothing");
        std::fs::write(dir.path().join("file"), "").expect("written");
        try_socket(&dir.path().join("file"), &mut report);
        try_socket(&dir.path().join("none/a.sock"), &mut report);
        try_socket(&dir.path().join("a".repeat(108)), &mut report);
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
