//! `howdah_cgi`: a request, as text, becomes variables that decode to the input.
//!
//! ```text
//! METHOD TARGET
//! name: value          header fields, any number
//!                      an empty line
//! root                 then one line each; missing ones are empty
//! path                 split into script name and path information
//! query
//! scheme
//! remote user
//! name=value           variables of the configuration, any number
//! ```
#![no_main]

use howdah_cgi::{Host, Input, Record, decode, encode, max_size, split_path, vars};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, Version};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // The decoder accepts any bytes.
    if let Ok(records) = decode(data) {
        assert!(records.iter().all(|record| !record.value.contains(&0)));
    }
    _ = run(data);
});

fn run(data: &[u8]) -> Option<()> {
    let mut lines = data.split(|b| *b == b'\n');
    let first = str::from_utf8(lines.next()?).ok()?;
    let (method, target) = first.split_once(' ')?;
    let method: Method = method.parse().ok()?;
    let target: Uri = target.parse().ok()?;
    let mut headers = HeaderMap::new();
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        let colon = line.iter().position(|b| *b == b':')?;
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        headers.append(
            name,
            HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?,
        );
    }
    let mut texts = [""; 5];
    for text in &mut texts {
        *text = str::from_utf8(lines.next().unwrap_or_default()).ok()?;
    }
    let [root, path, query, scheme, user] = texts;
    let env: Vec<(String, String)> = lines
        .filter_map(|line| str::from_utf8(line).ok()?.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();

    let split = [".php".to_owned(), ".phtml".to_owned()];
    let (script_name, path_info) = split_path(path, &split).unwrap_or((path, ""));
    assert_eq!([script_name, path_info].concat(), path);
    assert!(path_info.is_empty() || path_info.starts_with('/'));

    let input = Input {
        id: u64::MAX,
        method: &method,
        target: &target,
        query,
        version: Version::HTTP_11,
        headers: &headers,
        remote: ([192, 0, 2, 7], 40000).into(),
        local: ([0, 0, 0, 0, 0, 0, 0, 1], 443).into(),
        scheme,
        root,
        script_name,
        path_info,
        script_filename: None,
        body_size: data.len() as u64,
        tls_protocol: "",
        tls_cipher: "",
        remote_user: Some(user),
        env: &env,
    };
    let mut out = vec![b'x'; 3];
    if encode(&input, &mut out).is_err() {
        let texts = [root, path, query, scheme, user].into_iter();
        let pairs = env
            .iter()
            .flat_map(|(name, value)| [name.as_str(), value.as_str()]);
        assert!(
            texts
                .chain(pairs)
                .any(|text| text.contains('\0') || text.len() > 65_530)
                || env.iter().any(|(name, _)| name.is_empty())
                || headers.keys().any(|name| name.as_str().len() > 65_530),
            "an error without a cause"
        );
        assert_eq!(out, b"xxx");
        return None;
    }
    assert!(out.len() - 3 <= max_size(&input), "the bound is too low");
    let records = decode(&out[3..]).expect("what was written is valid");
    if env.is_empty() {
        check(&records, &input);
    }
    Some(())
}

fn check(records: &[Record<'_>], input: &Input<'_>) {
    let value = |name: &str| {
        let mut found = records
            .iter()
            .filter(|record| record.name == name.as_bytes());
        let value = found.next().map(|record| record.value);
        assert!(found.next().is_none(), "{name} is there twice");
        value
    };
    assert_eq!(value("HTTP_PROXY"), None);
    if let Some(host) = value("HTTP_HOST") {
        let host = str::from_utf8(host).expect("ASCII");
        assert!(Host::parse(host).is_some(), "a hostile host came through");
    }
    let encrypted = input.scheme == "https";
    assert_eq!(value("HTTPS"), encrypted.then_some(b"on".as_slice()));
    assert_eq!(value("QUERY_STRING"), Some(input.query.as_bytes()));
    if let Some(translated) = value("PATH_TRANSLATED") {
        let root = input.root.strip_suffix('/').unwrap_or(input.root);
        let below = translated
            .strip_prefix(root.as_bytes())
            .expect("below the root");
        let mut segments = below.split(|b| *b == b'/');
        assert!(!segments.any(|segment| segment == b".." || segment == b"."));
    }
    for record in records.iter().filter(|record| record.id == vars::LITERAL) {
        assert!(
            record
                .name
                .iter()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_'),
            "a name that PHP would change"
        );
    }
}
