//! Whether the addresses of the configuration can be listened on.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use howdah_config::model::Config;

use super::report::{Area, Report};

pub(super) fn check(config: &Config, report: &mut Report) {
    let mut addresses = BTreeSet::new();
    for site in &config.sites {
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
        // A server that runs is no fault, and which one it is cannot be told for other users' processes.
        ErrorKind::AddrInUse => {
            return report.warning(
                Area::Network,
                format!("{address} is in use"),
                format!(
                    "fine if it is this server that runs already; `ss -ltnp sport = :{port}` tells who it is"
                ),
            );
        }
        ErrorKind::PermissionDenied => {
            "use a port above 1023, or AmbientCapabilities=CAP_NET_BIND_SERVICE in the systemd \
             unit, or sysctl net.ipv4.ip_unprivileged_port_start=80"
                .to_owned()
        }
        ErrorKind::AddrNotAvailable => {
            "this machine does not have that address; mend `bind`".to_owned()
        }
        _ => "mend the address of the site".to_owned(),
    };
    report.error(
        Area::Network,
        format!("cannot listen on {address}: {error}"),
        advice,
    );
}

#[cfg(test)]
mod tests {
    use super::super::report::Level;
    use super::*;

    #[test]
    fn a_port_that_is_taken_is_told_from_one_that_cannot_be_had() {
        let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut report = Report::default();
        try_one(taken.local_addr().expect("bound"), &mut report);
        assert_eq!(report.worst(None), Level::Warning);
        assert!(report.findings[0].text.ends_with("is in use"));
        // TEST-NET-1 is nobody's.
        try_one(SocketAddr::from(([192, 0, 2, 1], 80)), &mut report);
        assert_eq!(report.worst(None), Level::Error);
        try_one(SocketAddr::from(([127, 0, 0, 1], 0)), &mut report);
        assert_eq!(report.findings[2].level, Level::Ok);
    }
}
