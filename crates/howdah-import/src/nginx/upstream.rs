//! `upstream` and `proxy_pass`.

use std::collections::BTreeMap;

use crate::directive::Directive;

/// The policy of a group that names none.
const ROUND_ROBIN: &str = "lb_policy round_robin";

/// Groups of upstreams by name.
#[derive(Debug, Default)]
pub(super) struct Upstreams(BTreeMap<String, Group>);

/// Servers that replace each other.
#[derive(Debug, Default, Clone)]
pub(super) struct Group {
    pub(super) servers: Vec<String>,
    weights: Vec<String>,
    /// Lines for the block of `reverse_proxy`.
    pub(super) options: Vec<String>,
}

impl Upstreams {
    pub(super) fn get(&self, name: &str) -> Option<&Group> {
        self.0.get(name)
    }

    pub(super) fn add(&mut self, directive: Directive, note: &mut dyn FnMut(usize, &str, &str)) {
        let mut group = Group {
            servers: Vec::new(),
            weights: Vec::new(),
            // nginx uses round robin.
            options: vec![ROUND_ROBIN.to_owned()],
        };
        for own in directive.children() {
            match own.name.as_str() {
                "server" => add_server(&mut group, own, note),
                "hash" | "least_conn" | "ip_hash" | "random" => match policy(own) {
                    Some(policy) => group.options[0] = format!("lb_policy {policy}"),
                    None => note(own.line, &own.to_string(), ""),
                },
                // Connections are reused in any case.
                "keepalive" | "keepalive_timeout" | "keepalive_requests" | "zone" => {}
                _ => note(own.line, &own.to_string(), ""),
            }
        }
        if group.options[0] == ROUND_ROBIN && group.weights.iter().any(|weight| weight != "1") {
            group.options[0] =
                format!("lb_policy weighted_round_robin {}", group.weights.join(" "));
        }
        if group.servers.len() < 2 {
            group.options.remove(0);
        }
        let name = directive.arguments.into_iter().next().unwrap_or_default();
        self.0.insert(name, group);
    }
}

/// How a group chooses, as a policy of `lb_policy`.
fn policy(own: &Directive) -> Option<String> {
    let fixed = match (own.name.as_str(), own.argument(0)) {
        ("least_conn", _) => "least_conn",
        ("random", "two") => "random_choose 2",
        ("random", _) => "random",
        ("ip_hash", _) | ("hash", "$remote_addr") => "ip_hash",
        ("hash", "$request_uri" | "$uri") => "uri_hash",
        ("hash", key) => {
            let parameter = key.strip_prefix("$arg_");
            let parameter = parameter.map(|name| format!("query {name}"));
            let field = key.strip_prefix("$http_");
            return parameter.or_else(|| Some(format!("header {}", field?.replace('_', "-"))));
        }
        _ => return None,
    };
    Some(fixed.to_owned())
}

fn add_server(group: &mut Group, own: &Directive, note: &mut dyn FnMut(usize, &str, &str)) {
    let mut set = |name: &str, value: &str| {
        group.options.retain(|line| !line.starts_with(name));
        group.options.push(format!("{name} {value}"));
    };
    let mut weight = "1".to_owned();
    for option in own.arguments.iter().skip(1) {
        match option.split_once('=') {
            Some(("max_fails", count)) => set("max_fails", count),
            Some(("fail_timeout", time)) => {
                let time = if time.ends_with(|c: char| c.is_ascii_digit()) {
                    format!("{time}s")
                } else {
                    time.to_owned()
                };
                set("fail_duration", &time);
            }
            Some(("weight", number)) => number.clone_into(&mut weight),
            None if option == "down" => return,
            None if option == "resolve" => {}
            _ => note(own.line, &format!("{option} of {}", own.argument(0)), ""),
        }
    }
    group.servers.push(address(own.argument(0)));
    group.weights.push(weight);
}

/// An address in the syntax of `reverse_proxy`.
pub(super) fn address(text: &str) -> String {
    match text.strip_prefix("unix:") {
        Some(path) => format!("unix/{}", path.trim_end_matches(':')),
        None if text.contains(':') => text.to_owned(),
        None => format!("{text}:80"),
    }
}
