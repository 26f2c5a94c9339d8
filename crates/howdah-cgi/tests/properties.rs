//! Properties of every request.

use std::net::SocketAddr;

use howdah_cgi::{Input, decode, encode, max_size, vars};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, Version};
use proptest::collection::vec;
use proptest::prelude::*;

fn header_name() -> impl Strategy<Value = HeaderName> {
    let known = proptest::sample::select(
        vars::NAMES
            .iter()
            .filter_map(|name| name.strip_prefix("HTTP_"))
            .map(|name| name.to_ascii_lowercase().replace('_', "-"))
            .collect::<Vec<_>>(),
    );
    prop_oneof![known, "[a-z0-9_.!-]{1,12}", Just("proxy".to_owned())]
        .prop_map(|name| HeaderName::from_bytes(name.as_bytes()).unwrap())
}

fn header_value() -> impl Strategy<Value = HeaderValue> {
    vec(prop_oneof![Just(b'\t'), 32..=126u8, 128..=255u8], 0..40)
        .prop_map(|bytes| HeaderValue::from_bytes(&bytes).unwrap())
}

fn target() -> impl Strategy<Value = Uri> {
    prop_oneof![
        "/[a-z/%0-9.]{0,20}(\\?[a-z=&%0-9]{0,20})?",
        "http://[a-z.:@0-9]{1,12}/",
        Just("*".to_owned())
    ]
    .prop_filter_map("a target", |text| text.parse().ok())
}

#[derive(Debug)]
struct Parts {
    id: u64,
    method: Method,
    target: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    texts: Vec<String>,
    addresses: (SocketAddr, SocketAddr),
    body_size: u64,
    env: Vec<(String, String)>,
}

fn parts() -> impl Strategy<Value = Parts> {
    let text = prop_oneof![9 => "[a-zA-Z0-9./é -]{0,30}", 1 => ".{0,30}", 1 => Just("/../a/./b//".to_owned())];
    (
        any::<u64>(),
        proptest::sample::select(vec![
            Method::GET,
            Method::POST,
            Method::from_bytes(b"PROPFIND").unwrap(),
        ]),
        target(),
        vec((header_name(), header_value()), 0..20),
        vec(text, 8),
        any::<(SocketAddr, SocketAddr)>(),
        prop_oneof![Just(0), any::<u64>()],
        vec(("[A-Z_=.\u{0}]{0,12}", ".{0,20}"), 0..4),
    )
        .prop_map(
            |(id, method, target, headers, texts, addresses, body_size, env)| Parts {
                id,
                method,
                target,
                headers,
                texts,
                addresses,
                body_size,
                env,
            },
        )
}

proptest! {
    /// Encoding never panics. The result can be decoded, so every name and value is terminated and
    /// free of NUL. It stays within the size limit, and the values are unchanged.
    #[test]
    fn every_request_round_trips(parts in parts()) {
        let mut headers = HeaderMap::new();
        for (name, value) in &parts.headers {
            headers.append(name.clone(), value.clone());
        }
        let [query, scheme, root, script_name, path_info, tls_protocol, tls_cipher, user] =
            parts.texts.as_slice()
        else {
            unreachable!("eight texts")
        };
        let input = Input {
            id: parts.id,
            method: &parts.method,
            target: &parts.target,
            query,
            version: Version::HTTP_11,
            headers: &headers,
            remote: parts.addresses.0,
            local: parts.addresses.1,
            scheme,
            root,
            script_name,
            path_info,
            script_filename: None,
            body_size: parts.body_size,
            tls_protocol,
            tls_cipher,
            remote_user: Some(user),
            env: &parts.env,
        };
        let mut out = Vec::new();
        // Variables of TLS are not compared without TLS.
        let encrypted = scheme == "https";
        let mut used = parts.texts.iter().enumerate().filter(|(at, _)| encrypted || !matches!(at, 5 | 6));
        let nul = used.any(|(_, text)| text.contains('\0'))
            || parts.env.iter().any(|(name, value)| name.contains('\0') || value.contains('\0'));
        let no_name = parts.env.iter().any(|(name, _)| name.is_empty());
        if encode(&input, &mut out).is_err() {
            prop_assert!(nul || no_name);
            prop_assert!(out.is_empty());
        } else {
            prop_assert!(!nul && !no_name);
            prop_assert!(out.len() <= max_size(&input));
            prop_assert_eq!(out.len() % 4, 0);
            let records = decode(&out).unwrap();
            let last = |name: &str| {
                records.iter().rfind(|r| r.name == name.as_bytes()).map(|r| r.value.to_vec())
            };
            for (name, value) in parts.env.iter().rev() {
                if parts.env.iter().rfind(|(other, _)| other == name).unwrap().1 == *value {
                    prop_assert_eq!(last(name).unwrap(), value.as_bytes());
                }
            }
            if parts.env.is_empty() {
                prop_assert_eq!(last("SCRIPT_NAME").unwrap(), script_name.as_bytes());
                prop_assert_eq!(last("PHP_SELF").unwrap(), [script_name.as_bytes(), path_info.as_bytes()].concat());
                prop_assert_eq!(last("HTTP_PROXY"), None);
                // Each variable occurs once.
                let mut names: Vec<_> = records.iter().map(|r| r.name).collect();
                names.sort_unstable();
                names.dedup();
                prop_assert_eq!(names.len(), records.len());
                for (name, _) in &parts.headers {
                    let name = name.as_str();
                    if name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
                        && !matches!(name, "proxy" | "host" | "cookie" | "transfer-encoding")
                    {
                        let joined = headers
                            .get_all(name)
                            .iter()
                            .map(HeaderValue::as_bytes)
                            .collect::<Vec<_>>()
                            .join(&b", "[..]);
                        let variable = format!("HTTP_{}", name.to_ascii_uppercase().replace('-', "_"));
                        prop_assert_eq!(last(&variable).unwrap(), joined);
                    }
                }
            }
        }
    }

    #[test]
    fn the_decoder_takes_any_bytes(bytes in vec(any::<u8>(), 0..200)) {
        if let Ok(records) = decode(&bytes) {
            prop_assert!(records.iter().all(|r| !r.name.contains(&0) && !r.value.contains(&0)));
        }
    }
}
