//! The route of a request in logs and metrics: a method and a path without its query, with identifiers replaced, so
//! that there are few.

use crate::path;

/// Bytes of a path in a route.
const PATH_MAX: usize = 200;
/// Replaces an identifier in a path.
const IDENTIFIER: &str = ":id";
/// Minimum length of hexadecimal digits that count as an identifier and not a word.
const HEX_MIN: usize = 16;

/// The route of a request: `GET /users/:id`. `path`: as the client has sent it. Different spellings of a path, such as
/// `/%78` for `/x`, are one route.
#[must_use]
pub fn route(method: &str, path: &str) -> String {
    let normalised = path::normalise(path);
    let escaped = normalised.as_deref().map(path::encode);
    // An invalid path stays as it is, and so does the `*` of a request for the server itself.
    let escaped = escaped.as_deref().ok().filter(|_| path.starts_with('/'));
    let mut path = escaped.unwrap_or(path);
    let method = match method {
        "GET" | "HEAD" | "POST" | "PUT" | "DELETE" | "PATCH" | "OPTIONS" | "QUERY" => method,
        // A client may send any word.
        _ => "OTHER",
    };
    let mut route = String::with_capacity(method.len() + 1 + path.len().min(PATH_MAX));
    route.push_str(method);
    if path.len() > PATH_MAX {
        let ends = 0..=PATH_MAX;
        let end = ends.rev().find(|end| path.is_char_boundary(*end));
        path = &path[..end.unwrap_or(0)];
    }
    for (index, segment) in path.split('/').enumerate() {
        route.push(if index == 0 { ' ' } else { '/' });
        route.push_str(if is_identifier(segment) {
            IDENTIFIER
        } else {
            segment
        });
    }
    route
}

/// A number, a UUID or a long hexadecimal string.
fn is_identifier(segment: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let hex = segment
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    digits(segment) || (hex && segment.len() >= HEX_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_replaced() {
        for (method, path, expected) in [
            ("GET", "/users/17/posts", "GET /users/:id/posts"),
            (
                "POST",
                "/a/0af76519-16cd-43dd-8448-eb211c80319c",
                "POST /a/:id",
            ),
            ("GET", "/face/added", "GET /face/added"),
            ("NONSENSE", "/", "OTHER /"),
            ("GET", "/%78", "GET /x"),
            ("GET", "//x/./y/../", "GET /x/"),
            ("GET", "/users/%31%37", "GET /users/:id"),
            ("GET", "/caf%c3%a9", "GET /caf%C3%A9"),
            ("GET", "/a%0Ab", "GET /a%0Ab"),
            ("GET", "/%zz", "GET /%zz"),
        ] {
            assert_eq!(route(method, path), expected);
        }
        let long = format!("/{}", "ä".repeat(300));
        assert!(route("GET", &long).len() <= "GET ".len() + PATH_MAX);
    }
}
