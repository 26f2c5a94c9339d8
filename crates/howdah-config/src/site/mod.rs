//! Site blocks: their addresses, which must be unique.

mod https;
mod paths;

use crate::directive::DIRECTIVES;
use crate::directive::scope::{RouteOrder, Scope, SiteSettings};
use crate::draft::SiteAddress;
use crate::error::{Error, ErrorKind};
use crate::listen::bind;
use crate::matcher;
use crate::model::{Address, Issuer, Site};
use crate::syntax::tree::{SiteBlock, Word};
use crate::table::value::{port, split_port};
use crate::table::{Context, bad_value, no_effect};

/// An address as written.
struct AddressDraft {
    scheme: Option<Scheme>,
    host: Option<String>,
    port: Option<u16>,
    path: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
}

/// Reads all sites, and adds those that redirect to HTTPS.
pub(crate) fn sites(cx: &mut Context, blocks: &[SiteBlock]) -> Vec<Site> {
    let mut listed: Vec<SiteAddress> = Vec::new();
    let mut sites: Vec<Site> = blocks
        .iter()
        .enumerate()
        .map(|(index, block)| site(cx, block, index, &mut listed))
        .collect();
    https::share_ports(cx, &mut sites, &mut listed);
    twice(cx, &listed);
    bind::check(cx, &listed);
    bind::list_protocols(cx, &listed);
    let left_out = https::check(cx, &sites, &listed);
    https::leave_out(&mut sites, &mut listed, &left_out);
    if cx.https.redirects {
        let redirects = https::redirects(cx, &sites);
        sites.extend(redirects);
    }
    paths::merge(cx, sites, &listed)
}

fn site(cx: &mut Context, block: &SiteBlock, index: usize, listed: &mut Vec<SiteAddress>) -> Site {
    let mut scope = Scope::of_site();
    let first_error = cx.errors.len();
    let (first_hub, first_reload) = (cx.hubs.len(), cx.hot_reloads.len());
    let written = written_addresses(cx, block);
    // If the address was forgotten, the first directive is taken for one, and its words would cause
    // many confusing errors.
    let forgotten = cx.errors[first_error..]
        .iter()
        .find(|error| error.kind == ErrorKind::Syntax);
    if let Some(error) = forgotten.cloned() {
        cx.errors.truncate(first_error);
        cx.errors.push(error);
        return Site::default();
    }
    scope.read(cx, &block.statements, !block.has_braces);
    let routes = scope.finish(cx, RouteOrder::Directives);
    let hub = (cx.hubs.len() > first_hub).then_some(first_hub);
    if cx.errors.len() == first_error {
        hot_reloads(cx, first_reload, hub);
    }
    let mut settings = scope.site.unwrap_or_default();
    if settings.bind.is_empty() {
        settings.bind = cx.default_bind.clone();
    }
    if written.iter().any(|(address, _)| address.host.is_none())
        && let Some(tls) = &mut settings.tls
        && matches!(tls.issuer, Some(Issuer::Internal { .. }))
    {
        // The host name for the certificate is unknown until a client sends it.
        tls.on_demand = true;
    }
    let addresses = resolved_addresses(cx, written, index, &settings, listed);
    Site {
        addresses,
        routes,
        access_logs: settings.access_logs,
        bind: settings.bind.ips,
        unix_sockets: settings.bind.sockets,
        tls: settings.tls.unwrap_or_default(),
        errors: scope.errors.unwrap_or_default(),
        hub,
    }
}

/// The addresses of a site as its block has them. Errors are reported.
fn written_addresses<'w>(cx: &mut Context, block: &'w SiteBlock) -> Vec<(AddressDraft, &'w Word)> {
    let mut written = Vec::new();
    for word in &block.addresses {
        match address(word) {
            Ok(address) => written.push((address, word)),
            Err(error) => cx.errors.push(error),
        }
    }
    written
}

/// Completes the addresses of the site `index` with its defaults, and adds them to `listed`. Errors are reported.
fn resolved_addresses(
    cx: &mut Context,
    written: Vec<(AddressDraft, &Word)>,
    index: usize,
    settings: &SiteSettings,
    listed: &mut Vec<SiteAddress>,
) -> Vec<Address> {
    let has_tls = settings.tls.is_some();
    let mut addresses = Vec::new();
    for (written, word) in written {
        let fixed = written.scheme.is_some();
        let path = written.path.clone();
        match resolve(cx, written, word, has_tls) {
            // Two ways to write one address, such as `http://localhost, localhost:80`.
            Ok(address)
                if listed.iter().any(|other| {
                    other.site == index
                        && other.resolved == address
                        && other.path == path
                        && other.bind.is_same(&settings.bind)
                }) => {}
            Ok(address) => {
                listed.push(SiteAddress {
                    site: index,
                    address: addresses.len(),
                    resolved: address.clone(),
                    bind: settings.bind.clone(),
                    fixed,
                    has_tls,
                    path,
                    text: word.text.clone(),
                    position: word.position.clone(),
                });
                addresses.push(address);
            }
            Err(error) => cx.errors.push(error),
        }
    }
    addresses
}

/// Assigns a hub to each `hot_reload` of the site.
fn hot_reloads(cx: &mut Context, first: usize, hub: Option<usize>) {
    for (own, position) in &mut cx.hot_reloads[first..] {
        if let Some(hub) = hub {
            own.hub = hub;
        } else {
            cx.errors.push(Error::new(
                ErrorKind::Conflict,
                position,
                "`hot_reload` needs a Mercure hub, and the site has none",
                "add a `mercure` block to the site; browsers subscribe without a token if it has `anonymous`",
            ));
        }
    }
}

/// Reports addresses that are not unique.
fn twice(cx: &mut Context, listed: &[SiteAddress]) {
    for (index, one) in listed.iter().enumerate() {
        let same = |other: &&SiteAddress| {
            other.resolved == one.resolved
                && other.path == one.path
                && other.bind.is_same(&one.bind)
        };
        if let Some(other) = listed[..index].iter().find(same) {
            let message = format!("the address `{}` is served twice", one.text);
            let hint = format!("the other one is at {}", other.position);
            cx.errors.push(Error::new(
                ErrorKind::Conflict,
                &one.position,
                message,
                hint,
            ));
        }
    }
}

fn address(word: &Word) -> Result<AddressDraft, Error> {
    let text = word.text.as_str();
    if DIRECTIVES.items.iter().any(|item| item.name() == text)
        || no_effect::find(DIRECTIVES.kind, text).is_some()
    {
        return Err(Error::new(
            ErrorKind::Syntax,
            &word.position,
            format!("the directive `{text}` is not in a site"),
            "put the site's address on a line before it, for example `:8080`",
        ));
    }
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (Some(scheme.to_ascii_lowercase()), rest),
        None => (None, text),
    };
    let scheme = match scheme.as_deref() {
        None => None,
        Some("http") => Some(Scheme::Http),
        Some("https") => Some(Scheme::Https),
        Some(other) => {
            return Err(bad_value(
                &word.position,
                format!("the address `{text}` has the unknown scheme `{other}`"),
                "write `https://`, `http://` or no scheme",
            ));
        }
    };
    let (rest, path) = match rest.find('/') {
        Some(at) => (&rest[..at], Some(path_of(word, &rest[at..])?)),
        None => (rest, None),
    };
    let (host, number) = split_port(rest);
    let port = number.map(|number| port(word, number)).transpose()?;
    let host = host_name(word, host)?;
    if scheme.is_none() && host.is_none() && port.is_none() {
        return Err(bad_value(
            &word.position,
            format!("the address `{text}` has neither host nor port"),
            "write for example `:8080`",
        ));
    }
    Ok(AddressDraft {
        scheme,
        host,
        port,
        path,
    })
}

/// The path of an address, which matches like the path of a directive.
fn path_of(word: &Word, text: &str) -> Result<String, Error> {
    let mut path = word.clone();
    text.clone_into(&mut path.text);
    matcher::path(&path)
}

/// Port and TLS of an address, as in Caddy: a name has HTTPS unless it has `http://` or the HTTP port.
fn resolve(
    cx: &Context,
    written: AddressDraft,
    word: &Word,
    has_tls: bool,
) -> Result<Address, Error> {
    let AddressDraft {
        scheme, host, port, ..
    } = written;
    let (plain, secure) = (cx.http_port, cx.https.port);
    let contradiction = |one: &str, other: &str| {
        bad_value(
            &word.position,
            format!(
                "the address `{}` has the scheme of {one} and the port of {other}",
                word.text
            ),
            "use another port",
        )
    };
    let tls = match (scheme, port) {
        (Some(Scheme::Http), Some(port)) if port == secure && port != plain => {
            return Err(contradiction("HTTP", "HTTPS"));
        }
        (Some(Scheme::Https), Some(port)) if port == plain && port != secure => {
            return Err(contradiction("HTTPS", "HTTP"));
        }
        (Some(scheme), _) => scheme == Scheme::Https,
        (None, Some(port)) if port == plain => false,
        // With `auto_https off` nothing enables TLS.
        (None, Some(port)) if port == secure => {
            host.is_some() || has_tls || cx.https.certificates || cx.https.redirects
        }
        (None, Some(_)) => has_tls || (host.is_some() && cx.https.certificates),
        (None, None) => true,
    };
    if tls && host.as_deref() == Some("*") {
        return Err(bad_value(
            &word.position,
            format!("`{}` cannot have a certificate", word.text),
            "write `http://*` for hosts of one word such as `localhost`, or `https://` for all hosts",
        ));
    }
    let default = if tls { secure } else { plain };
    Ok(Address {
        host,
        port: port.unwrap_or(default),
        tls,
    })
}

fn host_name(word: &Word, host: &str) -> Result<Option<String>, Error> {
    if host.is_empty() {
        return Ok(None);
    }
    if host.contains(['{', '}']) {
        return Err(bad_value(
            &word.position,
            format!("the address `{}` has a placeholder", word.text),
            "write `{$NAME}` for an environment variable, which is read when the server starts",
        ));
    }
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let ipv6 = inner.unwrap_or(host).parse::<std::net::Ipv6Addr>();
    if let Ok(address) = ipv6 {
        return Ok(Some(address.to_string()));
    }
    // Any name without a dot: `resolve` checks the rest.
    if host == "*" {
        return Ok(Some(host.to_owned()));
    }
    let name = host.strip_prefix("*.").unwrap_or(host);
    let valid = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '.' | '_');
    if !host.is_ascii() {
        return Err(bad_value(
            &word.position,
            format!("the host `{host}` is not ASCII"),
            "write it as browsers send it, in Punycode: `xn--…`",
        ));
    }
    if name.is_empty() || name.len() > 253 || !name.chars().all(valid) {
        return Err(bad_value(
            &word.position,
            format!("`{host}` is not a host"),
            "write for example `http://example.com`, `http://*.example.com` or `:8080` for all hosts",
        ));
    }
    Ok(Some(host.to_ascii_lowercase()))
}
