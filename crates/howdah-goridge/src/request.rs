//! A request as a worker gets it: the context in JSON.

use std::net::IpAddr;

use http::header::{COOKIE, HOST};
use http::{HeaderMap, HeaderName, Method, Version};
use percent_encoding::percent_decode;

/// A request without its body.
#[derive(Debug, Clone, Copy)]
pub struct RequestHead<'r> {
    /// The method as received.
    pub method: &'r Method,
    /// `http` or `https`.
    pub scheme: &'static str,
    /// Host and port; empty if the client named none.
    pub authority: &'r str,
    /// Path as sent, escaped.
    pub path: &'r str,
    /// The query after `?`; `None`: there is no `?`.
    pub query: Option<&'r str>,
    /// Protocol of the client.
    pub version: Version,
    /// The client.
    pub remote: IpAddr,
    /// The headers as received.
    pub headers: &'r HeaderMap,
    /// Attributes that the server adds.
    pub attributes: &'r [(String, String)],
}

/// How the body is sent.
#[derive(Debug, Clone, Copy)]
pub struct BodyFacts<'r> {
    /// It is a form in JSON.
    pub is_parsed: bool,
    /// JSON of the uploaded files.
    pub uploads: Option<&'r str>,
}

impl RequestHead<'_> {
    /// Writes the context.
    pub fn encode(&self, body: BodyFacts<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"remoteAddr\":");
        string(out, &self.remote.to_canonical().to_string());
        out.extend_from_slice(b",\"protocol\":");
        string(out, protocol(self.version));
        out.extend_from_slice(b",\"method\":");
        string(out, self.method.as_str());
        out.extend_from_slice(b",\"uri\":");
        self.uri(out);
        out.extend_from_slice(b",\"headers\":{");
        self.fields(out);
        out.extend_from_slice(b"},\"cookies\":{");
        self.cookies(out);
        out.extend_from_slice(b"},\"rawQuery\":");
        string(out, self.query.unwrap_or_default());
        out.extend_from_slice(b",\"parsed\":");
        out.extend_from_slice(if body.is_parsed { b"true" } else { b"false" });
        out.extend_from_slice(b",\"uploads\":");
        out.extend_from_slice(body.uploads.unwrap_or("null").as_bytes());
        out.extend_from_slice(b",\"attributes\":{");
        let mut separator = Separator::default();
        for (name, value) in self.attributes {
            separator.write(out);
            string(out, name);
            out.push(b':');
            string(out, value);
        }
        out.extend_from_slice(b"}}");
    }

    fn uri(&self, out: &mut Vec<u8>) {
        let (scheme, authority, path) = (self.scheme, self.authority, self.path);
        let mut uri = String::with_capacity(authority.len() + path.len() + 16);
        if !authority.is_empty() {
            uri.push_str(scheme);
            uri.push_str("://");
            uri.push_str(authority);
        }
        uri.push_str(path);
        if let Some(query) = self.query {
            uri.push('?');
            uri.push_str(query);
        }
        string(out, &uri);
    }

    fn fields(&self, out: &mut Vec<u8>) {
        let mut separator = Separator::default();
        for name in self.headers.keys().filter(|name| is_passed(name)) {
            separator.write(out);
            out.push(b'"');
            capitalised(out, name.as_str());
            out.extend_from_slice(b"\":[");
            let mut inner = Separator::default();
            for value in self.headers.get_all(name) {
                inner.write(out);
                // JSON cannot contain other bytes.
                string(out, &String::from_utf8_lossy(value.as_bytes()));
            }
            out.push(b']');
        }
    }

    fn cookies(&self, out: &mut Vec<u8>) {
        let mut cookies: Vec<(String, String)> = Vec::new();
        let fields = self.headers.get_all(COOKIE).iter();
        for part in fields.flat_map(|field| field.as_bytes().split(|byte| *byte == b';')) {
            let mut halves = part.trim_ascii().splitn(2, |byte| *byte == b'=');
            let (Some(name), Some(value)) = (halves.next(), halves.next()) else {
                continue;
            };
            let value = value
                .strip_prefix(b"\"")
                .and_then(|value| value.strip_suffix(b"\""))
                .unwrap_or(value);
            let value = value
                .iter()
                .map(|byte| if *byte == b'+' { b' ' } else { *byte });
            let value: Vec<u8> = value.collect();
            let value = percent_decode(&value).decode_utf8_lossy().into_owned();
            let name = String::from_utf8_lossy(name).into_owned();
            if name.is_empty() {
                continue;
            }
            match cookies.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known = value,
                None => cookies.push((name, value)),
            }
        }
        let mut separator = Separator::default();
        for (name, value) in &cookies {
            separator.write(out);
            string(out, name);
            out.push(b':');
            string(out, value);
        }
    }
}

/// All fields except the host, which is in the URI, and those with an underscore: `$_SERVER` does not distinguish it
/// from a hyphen, so a client could forge fields that directives set.
fn is_passed(name: &HeaderName) -> bool {
    *name != HOST && !name.as_str().contains('_')
}

/// The comma between members.
#[derive(Default)]
struct Separator(bool);

impl Separator {
    fn write(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.0, true) {
            out.push(b',');
        }
    }
}

fn string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("memory takes all of it");
}

/// `content-type` as `Content-Type`. A field's name needs no escapes.
fn capitalised(out: &mut Vec<u8>, name: &str) {
    let mut is_first = true;
    for byte in name.bytes() {
        out.push(if is_first {
            byte.to_ascii_uppercase()
        } else {
            byte
        });
        is_first = byte == b'-';
    }
}

fn protocol(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2.0",
        Version::HTTP_3 => "HTTP/3.0",
        _ => "HTTP/1.1",
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use serde_json::{Value, json};

    use super::*;

    fn encoded(
        attributes: &[(String, String)],
        change: impl FnOnce(&mut RequestHead<'_>),
        headers: &[(&'static str, &[u8])],
    ) -> Value {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value).expect("a value"));
        }
        let mut out = Vec::new();
        let mut head = RequestHead {
            method: &Method::GET,
            scheme: "http",
            authority: "a.example:81",
            path: "/x%20y",
            query: None,
            version: Version::HTTP_11,
            remote: "::ffff:10.0.0.7".parse().expect("an address"),
            headers: &map,
            attributes,
        };
        change(&mut head);
        let body = BodyFacts {
            is_parsed: false,
            uploads: None,
        };
        head.encode(body, &mut out);
        serde_json::from_slice(&out).expect("JSON")
    }

    #[test]
    fn all_of_a_request() {
        let expected = json!({
            "remoteAddr": "10.0.0.7", "protocol": "HTTP/1.1", "method": "GET", "uri": "http://a.example:81/x%20y",
            "headers": {}, "cookies": {}, "rawQuery": "", "parsed": false, "uploads": null, "attributes": {},
        });
        assert_eq!(encoded(&[], |_| (), &[]), expected);
        let attributes = [("tenant".to_owned(), "a\"b".to_owned())];
        let other = encoded(
            &attributes,
            |head| {
                head.query = Some("a=1&b");
                head.version = Version::HTTP_2;
            },
            &[],
        );
        assert_eq!(other["uri"], "http://a.example:81/x%20y?a=1&b");
        assert_eq!(other["rawQuery"], "a=1&b");
        assert_eq!(other["protocol"], "HTTP/2.0");
        assert_eq!(other["attributes"], json!({"tenant": "a\"b"}));
        let without = encoded(&[], |head| head.authority = "", &[]);
        assert_eq!(without["uri"], "/x%20y");
    }

    #[test]
    fn fields_have_the_names_that_go_gives_them() {
        let shown = encoded(
            &[],
            |_| (),
            &[
                ("x-forwarded-for", b"1"),
                ("x-forwarded-for", b"2"),
                ("host", b"a.example"),
                ("etag", b"\"\xff\\\""),
            ],
        );
        let expected = json!({"X-Forwarded-For": ["1", "2"], "Etag": ["\"\u{fffd}\\\""]});
        assert_eq!(shown["headers"], expected);
    }

    #[test]
    fn cookies_are_unescaped() {
        let cookie: &[u8] = b"a=1; b=x%20y+z ;c=\"q\"; a=2;novalue; =x; d==";
        let shown = encoded(&[], |_| (), &[("cookie", cookie), ("cookie", b"e=%FF")]);
        let expected = json!({"a": "2", "b": "x y z", "c": "q", "d": "=", "e": "\u{fffd}"});
        assert_eq!(shown["cookies"], expected);
    }
}
