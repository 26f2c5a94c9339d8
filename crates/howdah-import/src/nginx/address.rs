//! `server_name` and `listen`: the addresses of a site.

use super::settings::Context;
use crate::directive::Directive;
use crate::output::Lines;

/// The addresses of a site.
pub(super) struct Addresses {
    pub(super) hosts: Vec<String>,
    /// Arguments of `bind`.
    pub(super) bind: Vec<String>,
}

/// A port that a server listens on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Port {
    number: u16,
    tls: bool,
    is_default: bool,
}

pub(super) fn addresses(
    children: &[Directive],
    cx: &mut Context<'_>,
    notes: &mut Lines,
) -> Addresses {
    let names = server_names(children, cx, notes);
    let Listens { ports, bind } = listens(children, cx, notes);
    let mut hosts = Vec::new();
    let mut add = |host: &str, port: Port| {
        let number = port.number;
        let address = match (number, port.tls) {
            (443, true) if !host.is_empty() => host.to_owned(),
            (80, false) => format!("http://{host}{}", if host.is_empty() { ":80" } else { "" }),
            (_, true) => format!("https://{host}:{number}"),
            (_, false) => format!("http://{host}:{number}"),
        };
        if !hosts.contains(&address) {
            hosts.push(address);
        }
    };
    for port in ports {
        for name in &names {
            add(name, port);
        }
        if names.is_empty() || port.is_default && !port.tls {
            add("", port);
        }
    }
    Addresses { hosts, bind }
}

fn server_names(children: &[Directive], cx: &mut Context<'_>, notes: &mut Lines) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for own in children.iter().filter(|own| own.name == "server_name") {
        for name in &own.arguments {
            match name.as_str() {
                "_" | "" | "localhost.localdomain" => {}
                name if name.starts_with('~') || name.ends_with(".*") || name.contains('$') => {
                    notes.push(cx.notes.add(
                        own.line,
                        &format!("server_name {name}"),
                        "write the names down",
                    ));
                }
                name => match name.strip_prefix('.') {
                    Some(name) => names.extend([name.to_owned(), format!("*.{name}")]),
                    None => names.push(name.to_owned()),
                },
            }
        }
    }
    names
}

/// Where a server listens.
struct Listens {
    ports: Vec<Port>,
    bind: Vec<String>,
}

fn listens(children: &[Directive], cx: &mut Context<'_>, notes: &mut Lines) -> Listens {
    let is_ssl = children
        .iter()
        .any(|own| own.name == "ssl" && own.argument(0) == "on");
    let mut ports: Vec<Port> = Vec::new();
    let mut bind: Vec<String> = Vec::new();
    let mut on_all = false;
    for own in children.iter().filter(|own| own.name == "listen") {
        let address = own.argument(0);
        let has = |word: &str| own.arguments.iter().any(|argument| argument == word);
        if has("quic") {
            continue;
        }
        if let Some(path) = address.strip_prefix("unix:") {
            bind.push(format!("unix/{path}"));
            continue;
        }
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port),
            _ if address.chars().all(|c| c.is_ascii_digit()) => ("", address),
            _ => (address, "80"),
        };
        let Ok(number) = port.parse() else {
            notes.push(cx.notes.add(own.line, &own.to_string(), "not a port"));
            continue;
        };
        let host = host.trim_matches(['[', ']']);
        if ["", "*", "0.0.0.0", "::"].contains(&host) {
            on_all = true;
        } else if host == "localhost" {
            bind.push("127.0.0.1".to_owned());
        } else {
            bind.push(host.to_owned());
        }
        let port = Port {
            number,
            tls: is_ssl || has("ssl"),
            is_default: has("default_server") || has("default"),
        };
        if !ports.contains(&port) {
            ports.push(port);
        }
    }
    if on_all {
        bind.retain(|address| address.starts_with("unix/"));
    }
    if ports.is_empty() {
        ports.push(Port {
            number: 80,
            tls: is_ssl,
            is_default: false,
        });
    }
    bind.dedup();
    Listens { ports, bind }
}
