//! Variables of nginx as placeholders.

use std::collections::BTreeMap;

/// Variables to which `set` assigns a value that does not depend on the request.
pub(super) type Constants = BTreeMap<String, String>;

/// Converts a text with variables to one with placeholders. The error is a variable without a
/// counterpart.
pub(super) fn placeholders(text: &str, constants: &Constants) -> Result<String, String> {
    let mut result = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('$') {
        result.push_str(&rest[..start]);
        rest = &rest[start + 1..];
        let (name, after) = if let Some(braced) = rest.strip_prefix('{') {
            let Some(parts) = braced.split_once('}') else {
                return Err("${".to_owned());
            };
            parts
        } else {
            let first_is_digit = rest.starts_with(|c: char| c.is_ascii_digit());
            let ends = |c: char| {
                if first_is_digit {
                    !c.is_ascii_digit()
                } else {
                    !(c.is_ascii_alphanumeric() || c == '_')
                }
            };
            rest.split_at(rest.find(ends).unwrap_or(rest.len()))
        };
        if name.is_empty() {
            result.push('$');
        } else if let Some(value) = constants.get(name) {
            result.push_str(value);
        } else {
            result.push_str(&placeholder(name).ok_or_else(|| format!("${name}"))?);
        }
        rest = after;
    }
    result.push_str(rest);
    // The syntax for a query that may be empty.
    Ok(result
        .replace("{is_args}{query}", "{?query}")
        .replace("?{query}", "{?query}"))
}

fn placeholder(name: &str) -> Option<String> {
    let known = match name {
        "host" | "server_name" => "{host}",
        "http_host" => "{hostport}",
        "scheme" => "{scheme}",
        "request_uri" => "{orig_uri}",
        "uri" | "document_uri" | "fastcgi_script_name" => "{path}",
        "args" | "query_string" => "{query}",
        "is_args" => "{is_args}",
        "remote_addr" => "{remote_host}",
        "remote_port" => "{remote_port}",
        "remote_user" => "{http.auth.user.id}",
        "server_port" => "{port}",
        "server_addr" => "{http.request.local.host}",
        "server_protocol" => "{http.request.proto}",
        "request_method" => "{method}",
        "request_id" => "{uuid}",
        "document_root" | "realpath_root" => "{root}",
        "request_filename" => "{root}{path}",
        "ssl_protocol" => "{tls_version}",
        "ssl_cipher" => "{tls_cipher}",
        "ssl_client_s_dn" => "{tls_client_subject}",
        "ssl_client_i_dn" => "{tls_client_issuer}",
        "ssl_client_serial" => "{tls_client_serial}",
        _ => "",
    };
    if !known.is_empty() {
        return Some(known.to_owned());
    }
    if name.chars().all(|c| c.is_ascii_digit()) {
        return Some(format!("{{re.{name}}}"));
    }
    if let Some(name) = name.strip_prefix("arg_") {
        return Some(format!("{{query.{name}}}"));
    }
    if let Some(name) = name.strip_prefix("cookie_") {
        return Some(format!("{{cookie.{name}}}"));
    }
    let field = name.strip_prefix("http_")?;
    Some(format!("{{header.{}}}", header_name(field)))
}

/// `x_forwarded_for` as `X-Forwarded-For`.
pub(super) fn header_name(name: &str) -> String {
    let capital = |part: &str| {
        let mut letters = part.chars();
        let first = letters.next().map(|c| c.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    let parts: Vec<_> = name.split('_').map(capital).collect();
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_placeholders() {
        let constants = Constants::from([("base".to_owned(), "/srv".to_owned())]);
        for (text, expected) in [
            ("https://$host$request_uri", "https://{host}{orig_uri}"),
            ("/i.php?$args", "/i.php{?query}"),
            ("/i.php$is_args$args", "/i.php{?query}"),
            ("$base/${arg_a}b", "/srv/{query.a}b"),
            ("/$1x$http_x_real_ip", "/{re.1}x{header.X-Real-Ip}"),
            ("$", "$"),
        ] {
            assert_eq!(placeholders(text, &constants).as_deref(), Ok(expected));
        }
        let unknown = placeholders("$upstream_addr", &constants);
        assert_eq!(unknown, Err("$upstream_addr".to_owned()));
    }
}
