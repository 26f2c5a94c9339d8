//! Site blocks: their addresses, and that no two have the same.

use crate::accepted;
use crate::directive::DIRECTIVES;
use crate::directive::scope::Scope;
use crate::error::{Error, ErrorKind, Position};
use crate::model::{Address, Site};
use crate::table::{Context, bad_value};
use crate::tree::{SiteBlock, Word};
use crate::value::port;

const HTTPS_PORT: u16 = 443;

/// A listening address of a site that was read.
struct Taken {
    address: Address,
    bind: Vec<std::net::IpAddr>,
    position: Position,
}

/// Reads all sites.
pub(crate) fn sites(cx: &mut Context, blocks: &[SiteBlock]) -> Vec<Site> {
    let mut taken: Vec<Taken> = Vec::new();
    blocks
        .iter()
        .map(|block| site(cx, block, &mut taken))
        .collect()
}

fn site(cx: &mut Context, block: &SiteBlock, taken: &mut Vec<Taken>) -> Site {
    let mut scope = Scope::of_site();
    let first_error = cx.errors.len();
    let mut addresses = Vec::new();
    for word in &block.addresses {
        match address(cx, word) {
            Ok(address) => addresses.push((address, word)),
            Err(error) => cx.errors.push(error),
        }
    }
    // A forgotten address makes the first directive one: its words would be many odd errors.
    let forgotten = cx.errors[first_error..]
        .iter()
        .find(|error| error.kind == ErrorKind::Syntax);
    if let Some(error) = forgotten.cloned() {
        cx.errors.truncate(first_error);
        cx.errors.push(error);
        return Site::default();
    }
    scope.read(cx, &block.statements, !block.has_braces);
    let routes = scope.finish(cx, true);
    let settings = scope.site.unwrap_or_default();
    for (address, word) in &addresses {
        let mut bind = settings.bind.clone();
        bind.sort_unstable();
        let same = taken
            .iter()
            .find(|other| other.address == *address && other.bind == bind);
        if let Some(other) = same {
            let message = format!("the address `{}` is served twice", word.text);
            let hint = format!("the other one is at {}", other.position);
            cx.errors.push(Error::new(
                ErrorKind::Conflict,
                &word.position,
                message,
                hint,
            ));
        } else {
            let (address, position) = (address.clone(), word.position.clone());
            taken.push(Taken {
                address,
                bind,
                position,
            });
        }
    }
    Site {
        addresses: addresses.into_iter().map(|(address, _)| address).collect(),
        routes,
        access_log: settings.access_log,
        bind: settings.bind,
    }
}

fn address(cx: &Context, word: &Word) -> Result<Address, Error> {
    let text = word.text.as_str();
    if DIRECTIVES.items.iter().any(|item| item.name() == text)
        || accepted::find(DIRECTIVES.kind, text).is_some()
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
    let tls = |hint: String| {
        Error::new(
            ErrorKind::Unsupported,
            &word.position,
            format!("the address `{text}` means HTTPS, which is not supported in this version"),
            hint,
        )
    };
    match scheme.as_deref() {
        None | Some("http") => {}
        Some("https") => return Err(tls(format!("write `http://{rest}`"))),
        Some(other) => {
            return Err(bad_value(
                &word.position,
                format!("the address `{text}` has the unknown scheme `{other}`"),
                "write `http://` or no scheme",
            ));
        }
    }
    if rest.contains('/') {
        return Err(Error::new(
            ErrorKind::Unsupported,
            &word.position,
            format!("the address `{text}` has a path, which is not supported in this version"),
            "use `handle` with a path in the site",
        ));
    }
    let (host, number) = split_port(rest);
    let number = number.map(|number| port(word, number)).transpose()?;
    let host = host_name(word, host)?;
    if scheme.is_none() && number != Some(cx.http_port) {
        // As in Caddy: a name without `http://` asks for HTTPS, and so does port 443.
        match (&host, number) {
            (Some(_), _) => return Err(tls(format!("write `http://{rest}`"))),
            (None, None) => {
                return Err(bad_value(
                    &word.position,
                    format!("the address `{text}` has neither host nor port"),
                    "write for example `:8080`",
                ));
            }
            (None, Some(HTTPS_PORT)) => return Err(tls("use another port".into())),
            (None, Some(_)) => {}
        }
    }
    if scheme.is_some() && number == Some(HTTPS_PORT) && cx.http_port != HTTPS_PORT {
        return Err(bad_value(
            &word.position,
            format!("the address `{text}` has the scheme of HTTP and the port of HTTPS"),
            "use another port",
        ));
    }
    Ok(Address {
        host,
        port: number.unwrap_or(cx.http_port),
    })
}

/// Splits `host:port`; the colons of an IPv6 address are in brackets.
pub(crate) fn split_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if host.is_empty() || !host.contains(':') || host.ends_with(']') => {
            (host, Some(port))
        }
        _ => (text, None),
    }
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
