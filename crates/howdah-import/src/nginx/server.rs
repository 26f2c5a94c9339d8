//! `server`: addresses, certificates and logs of a site, and errors.

use howdah_config::Files;

use super::address::{Addresses, addresses};
use super::fastcgi::Php;
use super::handle::{control, dispatch, named_body, unknown};
use super::location::{exact, named, php_location};
use super::refusal::refusals;
use super::settings::{Context, access, defines_variable, is_access, is_inherited, maps, settings};
use super::site::Site;
use super::upstream::Upstreams;
use super::value::Constants;
use crate::directive::Directive;
use crate::output::{FORBIDDEN, Lines, MatcherNames, Notes, block, is_terminal, word};
use crate::pattern::rust_regex;

/// A site of the Caddyfile.
pub(super) fn site(
    server: &Directive,
    inherited: &[Directive],
    upstreams: &Upstreams,
    files: &dyn Files,
    notes: &mut Notes,
) -> Lines {
    let own = server.children();
    // Settings of a server replace those around it.
    let has = |name: &str| own.iter().any(|directive| directive.name == name);
    let mut children: Vec<_> = inherited
        .iter()
        .filter(|directive| defines_variable(&directive.name) || !has(&directive.name))
        .cloned()
        .collect();
    children.extend(own.iter().cloned());
    inherit(&mut children);
    let mut constants = Constants::new();
    let mut names = MatcherNames::default();
    let mut cx = Context {
        files,
        notes,
        constants: &mut constants,
        names: &mut names,
        flags: std::collections::BTreeSet::new(),
        named: Vec::new(),
    };
    let mut before = Lines::new();
    let Addresses { hosts, bind } = addresses(&children, &mut cx, &mut before);
    let mut lines = Lines::new();
    if !bind.is_empty() {
        lines.push(format!("bind {}", bind.join(" ")));
    }
    let certificates = client_certificates(&children, &mut cx);
    lines.extend(tls(&children, certificates.options, &mut cx));
    lines.extend(log(&children, &mut cx));
    lines.extend(real_ip(&children, &mut cx));
    lines.extend(maps(&children, &mut cx));
    let mut of_all = settings(&children, &mut cx);
    // Only what is logged is skipped.
    of_all.retain(|line| line != "log_skip");
    lines.extend(of_all);
    lines.extend(unknown(&children, &mut cx));
    let mut rules = certificates.refusal;
    rules.extend(refusals(&children, &mut cx));
    rules.extend(rejects_handshake(&children).then(|| "abort".to_owned()));
    rules.extend(other_hosts(&children, &mut cx));
    rules.extend(control(&children, &mut cx));
    let mut site = site_of(&children, upstreams, &mut cx);
    lines.extend(routes(&children, rules, &mut site, &mut cx));
    lines.extend(error_pages(&children, &site, &mut cx));
    if let Some(own) = intercepts(&children)
        && children.iter().any(|own| own.name == "error_page")
    {
        lines.push(cx.note(
            own,
            "errors that PHP itself sends are not replaced: `intercept` does this",
        ));
    }
    before.extend(block(&hosts.join(", "), lines));
    before
}

/// What the locations of a server need of it.
fn site_of<'a>(
    children: &'a [Directive],
    upstreams: &'a Upstreams,
    cx: &mut Context<'_>,
) -> Site<'a> {
    let php = php_location(children).and_then(|php| Php::of(php, upstreams, cx));
    let index = children.iter().rfind(|own| own.name == "index");
    Site {
        upstreams,
        php,
        index: index.map(|own| own.arguments.clone()).unwrap_or_default(),
        index_is_front: index.is_some_and(|own| own.to_string().contains('$')),
        named: named(children),
        access: if overrides_access(children) {
            guards(children)
        } else {
            Vec::new()
        },
    }
}

/// The access rules of the server itself.
fn guards(children: &[Directive]) -> Vec<Directive> {
    let guards = children.iter().filter(|own| is_access(&own.name));
    guards.cloned().collect()
}

/// What may end a request: `rules`, access rules, and the locations.
fn routes(
    children: &[Directive],
    rules: Lines,
    site: &mut Site<'_>,
    cx: &mut Context<'_>,
) -> Lines {
    let mut lines = rules;
    // After a refusal the rest is what the site does once somebody has removed it.
    let is_refused = lines
        .windows(2)
        .any(|pair| pair[0].starts_with("# NOTE") && pair[1] == FORBIDDEN);
    if !is_refused && lines.iter().any(|line| is_terminal(line)) {
        return lines;
    }
    if !overrides_access(children) {
        lines.extend(access(&guards(children), cx));
    }
    // `index` with a path is a front controller too.
    site.index.retain(|name| !name.contains('$'));
    let dispatched = dispatch(children, site, cx);
    let is_chain = dispatched.iter().any(|line| line.starts_with("handle"));
    lines.extend(dispatched);
    if is_chain || is_refused || lines.iter().any(|line| line.starts_with('@')) {
        block("route", lines)
    } else {
        lines
    }
}

/// Adds inherited settings to locations that lack them: all directives about upstreams of a name.
fn inherit(children: &mut [Directive]) {
    let set: Vec<_> = children
        .iter()
        .filter(|own| is_inherited(&own.name))
        .cloned()
        .collect();
    for own in children.iter_mut().filter(|own| own.name == "location") {
        let Some(block) = &mut own.block else {
            continue;
        };
        let has = |name: &str| block.iter().any(|inner| inner.name == name);
        let missing: Vec<_> = set.iter().filter(|one| !has(&one.name)).cloned().collect();
        block.splice(..0, missing);
        inherit(block);
    }
}

/// A location has its own access rules.
fn overrides_access(children: &[Directive]) -> bool {
    let own = |directive: &Directive| is_access(&directive.name);
    let locations = children.iter().filter(|own| own.name == "location");
    locations
        .flat_map(Directive::children)
        .any(|inner| own(inner) || inner.name == "location" && overrides_access(inner.children()))
}

/// Whether error pages replace responses of PHP.
fn intercepts(children: &[Directive]) -> Option<&Directive> {
    let is_on =
        |own: &&Directive| own.name == "fastcgi_intercept_errors" && own.argument(0) == "on";
    let here = children.iter().find(is_on);
    here.or_else(|| children.iter().find_map(|own| intercepts(own.children())))
}

/// What clients have to prove.
#[derive(Default)]
struct ClientCertificates {
    /// Of `tls`.
    options: Lines,
    /// Ends all requests, if that cannot be converted.
    refusal: Lines,
}

/// `ssl_verify_client`
fn client_certificates(children: &[Directive], cx: &mut Context<'_>) -> ClientCertificates {
    let found = |name: &str| children.iter().rfind(|own| own.name == name);
    let mut certificates = ClientCertificates::default();
    let Some(own) = found("ssl_verify_client").filter(|own| own.argument(0) != "off") else {
        return certificates;
    };
    let authority = found("ssl_client_certificate").or_else(|| found("ssl_trusted_certificate"));
    let mode = match own.argument(0) {
        "on" => Some("require_and_verify"),
        "optional" => Some("verify_if_given"),
        _ => None,
    };
    let (Some(mode), Some(authority)) = (mode, authority) else {
        let why = "the response is 403 until `tls` has `client_auth`";
        certificates.refusal = cx.refuse(own, why);
        return certificates;
    };
    let trust_pool = format!("trust_pool file {}", word(authority.argument(0)));
    certificates.options = block("client_auth", vec![format!("mode {mode}"), trust_pool]);
    certificates
}

/// `tls`, with the options about `clients`.
fn tls(children: &[Directive], clients: Lines, cx: &mut Context<'_>) -> Lines {
    let found = |name: &str| children.iter().rfind(|own| own.name == name);
    let mut options = Lines::new();
    if let Some(own) = found("ssl_protocols") {
        let oldest = ["TLSv1.2", "TLSv1.3"]
            .iter()
            .find(|name| own.arguments.iter().any(|argument| argument == *name));
        if own
            .arguments
            .iter()
            .any(|name| ["TLSv1", "TLSv1.1", "SSLv3"].contains(&name.as_str()))
        {
            options.push("# TLS before 1.2 is not offered.".to_owned());
        }
        if oldest == Some(&"TLSv1.3") {
            options.push("protocols tls1.3".to_owned());
        }
    }
    match (found("ssl_certificate"), found("ssl_certificate_key")) {
        (Some(certificate), Some(key)) => {
            let files = [certificate.argument(0), key.argument(0)];
            options.extend(clients);
            if files.iter().any(|file| file.contains('$')) {
                let mut lines =
                    vec![cx.note(certificate, "the certificate depends on the request")];
                if !options.is_empty() {
                    lines.extend(block("tls", options));
                }
                return lines;
            }
            block(
                &format!("tls {} {}", word(files[0]), word(files[1])),
                options,
            )
        }
        _ if rejects_handshake(children) => vec!["tls internal".to_owned()],
        _ if !clients.is_empty() => {
            options.extend(clients);
            block("tls", options)
        }
        _ => Lines::new(),
    }
}

/// Whether connections with encryption end in the handshake.
fn rejects_handshake(children: &[Directive]) -> bool {
    let own = children
        .iter()
        .rfind(|own| own.name == "ssl_reject_handshake");
    own.is_some_and(|own| own.argument(0) == "on")
}

/// Refuses requests for hosts that no `server_name` matches, if all of these are regular expressions.
fn other_hosts(children: &[Directive], cx: &mut Context<'_>) -> Lines {
    let names = children.iter().filter(|own| own.name == "server_name");
    let names: Vec<_> = names.flat_map(|own| &own.arguments).collect();
    let expressions: Option<Vec<_>> = names
        .iter()
        .map(|name| name.strip_prefix('~').and_then(rust_regex))
        .collect();
    let Some(expressions) = expressions.filter(|all| !all.is_empty()) else {
        return Lines::new();
    };
    let name = cx.names.next("host");
    let regex = word(&format!("(?i){}", expressions.join("|")));
    vec![
        format!("@{name} not vars_regexp {name} {{host}} {regex}"),
        format!("error @{name} 421"),
    ]
}

fn log(children: &[Directive], cx: &mut Context<'_>) -> Lines {
    let mut lines = Lines::new();
    for own in children.iter().filter(|own| own.name == "access_log") {
        let file = own.argument(0);
        if file == "off" {
            continue;
        }
        if file.contains('$') || file.starts_with("syslog:") {
            lines.push(cx.note(own, ""));
            continue;
        }
        let output = match file {
            "/dev/stdout" | "/dev/fd/1" => "output stdout".to_owned(),
            "/dev/stderr" | "/dev/fd/2" => "output stderr".to_owned(),
            _ => format!("output file {}", word(file)),
        };
        lines.push("# Entries are JSON.".to_owned());
        lines.extend(block("log", vec![output]));
    }
    lines
}

fn real_ip(children: &[Directive], cx: &mut Context<'_>) -> Lines {
    let proxies: Vec<_> = children
        .iter()
        .filter(|own| own.name == "set_real_ip_from")
        .map(|own| own.argument(0))
        .collect();
    let Some(first) = children.iter().find(|own| own.name == "set_real_ip_from") else {
        return Lines::new();
    };
    let why = format!(
        "write `servers {{ trusted_proxies static {} }}` in the global options",
        proxies.join(" ")
    );
    vec![cx.notes.add(first.line, "addresses of proxies", &why)]
}

fn error_pages(children: &[Directive], site: &Site<'_>, cx: &mut Context<'_>) -> Lines {
    let mut lines = Lines::new();
    for own in children.iter().filter(|own| own.name == "error_page") {
        let Some((to, codes)) = own.arguments.split_last() else {
            continue;
        };
        let status = codes.iter().find_map(|code| code.strip_prefix('='));
        let codes: Vec<_> = codes
            .iter()
            .filter(|code| !code.starts_with('='))
            .cloned()
            .collect();
        let mut body = Lines::new();
        if to.starts_with("http") {
            body.push(format!("redir {} 302", word(to)));
        } else if let Some(named) = site.named.get(to) {
            body.extend(named_body(named, own.line, site, cx));
        } else if to.starts_with('@') || to.contains('$') {
            lines.push(cx.note(own, "`handle_errors` with the directives of that location"));
            continue;
        } else {
            // Where the page is, if not with the other files.
            let location = exact(children, to).unwrap_or_default();
            let folder: Vec<_> = location
                .iter()
                .filter(|own| own.name == "root")
                .cloned()
                .collect();
            body.extend(settings(&folder, cx));
            body.push(format!("rewrite * {}", word(to)));
            if let (Some(php), true) = (&site.php, to.contains(".php")) {
                body.extend(php.serve(Lines::new()));
            } else {
                let status = status.filter(|status| !status.is_empty());
                let options = status.map(|status| format!("status {status}"));
                body.extend(block("file_server", options.into_iter().collect()));
            }
        }
        lines.extend(block(&format!("handle_errors {}", codes.join(" ")), body));
    }
    lines
}
