//! The banner of a start on a terminal: the server's addresses, its pools, and how to stop it.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use howdah_config::model::{Address, Config};
use howdah_pool::{Mode, PhpInfo, PoolOptions};

/// Addresses that are shown; the log has all.
const ADDRESSES: usize = 5;

/// A pool in the banner.
#[derive(Debug)]
pub(super) struct PoolLine {
    name: String,
    workers: usize,
    is_classic: bool,
}

impl PoolLine {
    pub(super) fn of(pool: &PoolOptions) -> Self {
        Self {
            name: pool.name.clone(),
            workers: pool.workers,
            is_classic: matches!(pool.mode, Mode::Classic),
        }
    }
}

/// The server that has started.
pub(super) struct Banner<'a> {
    pub(super) config: &'a Config,
    /// The addresses that are listened on.
    pub(super) bound: &'a [SocketAddr],
    pub(super) sockets: &'a [PathBuf],
    pub(super) php: &'a [PhpInfo],
    pub(super) pools: &'a [PoolLine],
    /// The address of the admin API.
    pub(super) admin: Option<&'a str>,
    /// The next step.
    pub(super) next: Option<&'a str>,
}

impl Banner<'_> {
    /// Shows it on a terminal.
    pub(super) fn show(&self) {
        if io::stderr().is_terminal() {
            let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
            let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
            eprint!("{}", self.text(!set("NO_COLOR") && !dumb));
        }
    }

    fn text(&self, colour: bool) -> String {
        let paint = |code: &str, text: &str| {
            if colour {
                format!("\x1b[{code}m{text}\x1b[0m")
            } else {
                text.to_owned()
            }
        };
        let php = self.php.iter().map(|php| {
            let opcache = if php.opcache { "with" } else { "without" };
            format!("PHP {} {opcache} OPcache", php.php)
        });
        let php: Vec<String> = php.collect();
        let mut text = format!(
            "\n  {}  {}\n\n",
            paint("1", concat!("Howdah ", env!("CARGO_PKG_VERSION"))),
            php.join(", ")
        );
        let mut row = |name: &str, value: &str| {
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "  {}  {value}", paint("2", &format!("{name:<7}")));
        };
        let places = self.places();
        for (index, place) in places.iter().take(ADDRESSES).enumerate() {
            let name = if index == 0 { "address" } else { "" };
            row(name, &paint("36", place));
        }
        if places.len() > ADDRESSES {
            row("", &format!("and {} more", places.len() - ADDRESSES));
        }
        for (index, pool) in self.pools.iter().enumerate() {
            let name = if index == 0 { "PHP" } else { "" };
            let mode = if pool.is_classic {
                "classic"
            } else {
                "worker mode"
            };
            let processes = if pool.workers == 1 {
                "1 process".to_owned()
            } else {
                format!("{} processes", pool.workers)
            };
            row(name, &format!("{}: {mode}, {processes}", pool.name));
        }
        if let Some(admin) = self.admin {
            row("admin", &format!("{admin} (howdah status, howdah top)"));
        }
        if let Some(next) = self.next {
            row("next", next);
        }
        row("stop", "Ctrl+C");
        text.push('\n');
        text
    }

    /// Addresses for a browser, and sockets.
    fn places(&self) -> Vec<String> {
        let all = || self.config.sites.iter().flat_map(|site| &site.addresses);
        let mut places: Vec<String> = Vec::new();
        for site in &self.config.sites {
            let is_local = |ip: &IpAddr| ip.is_loopback() || ip.is_unspecified();
            let ip = site
                .bind
                .first()
                .filter(|_| !site.bind.iter().any(is_local));
            for address in &site.addresses {
                // Addresses that only redirect to the same host with HTTPS.
                let redirects =
                    !address.tls && all().any(|other| other.tls && other.host == address.host);
                let place = self.url(address, ip);
                if !redirects && !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        let sockets = self.sockets.iter();
        places.extend(sockets.map(|path| format!("unix/{}", path.display())));
        places
    }

    /// `ip` is the listen address of a site without a host, if it is not local.
    fn url(&self, address: &Address, ip: Option<&IpAddr>) -> String {
        let (scheme, usual) = if address.tls {
            ("https", 443)
        } else {
            ("http", 80)
        };
        let host = match (address.host.clone(), ip) {
            (Some(host), _) => host,
            (None, Some(ip)) => ip.to_string(),
            (None, None) => "localhost".to_owned(),
        };
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host
        };
        let port = match (address.port, self.bound.first()) {
            // The system has chosen the port.
            (0, Some(bound)) => bound.port(),
            (port, _) => port,
        };
        if port == usual {
            format!("{scheme}://{host}")
        } else {
            format!("{scheme}://{host}:{port}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn php() -> PhpInfo {
        serde_json::from_str(r#"{"php":"8.2.30","opcache":true}"#).expect("a description of PHP")
    }

    fn pools() -> Vec<PoolLine> {
        let line = |name: &str, workers, is_classic| PoolLine {
            name: name.to_owned(),
            workers,
            is_classic,
        };
        vec![line("index", 8, false), line("php", 1, true)]
    }

    fn text(caddyfile: &str, colour: bool) -> String {
        let parsed = howdah_config::parse(caddyfile, "F", &|_| None, &howdah_config::NoFiles);
        let config = parsed.expect("valid").config;
        let bound = ["127.0.0.1:4711".parse().expect("an address")];
        Banner {
            config: &config,
            bound: &bound,
            sockets: &[PathBuf::from("/run/a.sock")],
            php: &[php()],
            pools: &pools(),
            admin: Some("localhost:2019"),
            next: Some("howdah init"),
        }
        .text(colour)
    }

    #[test]
    fn a_start_shows_where_the_server_is() {
        let expected = format!(
            "\n  Howdah {}  PHP 8.2.30 with OPcache\n\n  address  http://localhost:4711\n           \
             https://a.test\n           unix//run/a.sock\n  PHP      index: worker mode, 8 processes\n           \
             php: classic, 1 process\n  admin    localhost:2019 (howdah status, howdah top)\n  next     howdah init\n  stop     Ctrl+C\n\n",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(text(":0 {\n}\na.test {\n}\n", false), expected);
    }

    #[test]
    fn colours_depend_on_terminal_and_environment() {
        assert!(!text(":80 {\n}", false).contains('\x1b'));
        assert!(text(":80 {\n}", true).contains("\x1b[36mhttp://localhost\x1b[0m"));
    }

    #[test]
    fn an_address_of_the_machine_is_shown_where_it_is_the_only_one() {
        let of = |bind: &str| text(&format!(":8080 {{\nbind {bind}\n}}"), false);
        assert!(of("192.0.2.1").contains("http://192.0.2.1:8080\n"));
        assert!(of("2001:db8::1").contains("http://[2001:db8::1]:8080\n"));
        assert!(of("192.0.2.1 127.0.0.1").contains("http://localhost:8080\n"));
    }

    #[test]
    fn many_addresses_are_counted() {
        let sites =
            ":1 {\n}\n:2 {\n}\n:3 {\n}\n:4 {\n}\n:5 {\n}\n:6 {\n}\n:7 {\n}\n:8 {\n}\n:9 {\n}\n";
        let text = text(sites, false);
        // The socket is one of them.
        assert!(
            text.contains("http://localhost:5\n           and 5 more\n"),
            "{text}"
        );
    }
}
