//! Prints what `encode` and the header lookup cost for a request as a browser sends it.
//! Run with `cargo run --release -p howdah-cgi --example encode_cost`.

use std::hint::black_box;
use std::time::Instant;

use howdah_cgi::{Input, decode, encode, vars};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, Version};

const ROUNDS: u32 = 1_000_000;

const HEADERS: &[(&str, &str)] = &[
    ("host", "shop.example.com"),
    (
        "user-agent",
        "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0",
    ),
    (
        "accept",
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8",
    ),
    ("accept-language", "en-GB,en;q=0.7,de;q=0.3"),
    ("accept-encoding", "gzip, deflate, br, zstd"),
    ("connection", "keep-alive"),
    ("referer", "https://shop.example.com/cart"),
    ("cookie", "PHPSESSID=0123456789abcdef0123456789; theme=dark"),
    ("upgrade-insecure-requests", "1"),
    ("sec-fetch-dest", "document"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-site", "same-origin"),
    ("sec-fetch-user", "?1"),
    ("priority", "u=0, i"),
    ("x-custom-header", "one that has no number"),
];

fn main() {
    let mut headers = HeaderMap::new();
    for (name, value) in HEADERS {
        headers.append(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    let target = Uri::from_static("/index.php/products/42?page=2");
    let input = Input {
        id: 42,
        method: &Method::GET,
        target: &target,
        query: "page=2",
        version: Version::HTTP_11,
        headers: &headers,
        remote: ([192, 0, 2, 7], 40000).into(),
        local: ([198, 51, 100, 1], 8080).into(),
        scheme: "http",
        root: "/srv/www/public",
        script_name: "/index.php",
        path_info: "/products/42",
        script_filename: None,
        body_size: 0,
        tls_protocol: "",
        tls_cipher: "",
        remote_user: None,
        env: &[],
    };
    let mut out = Vec::new();
    if let Err(error) = encode(&input, &mut out) {
        println!("encode: {error}");
        return;
    }
    let records = decode(&out).map_or(0, |records| records.len());
    let size = out.len();

    let start = Instant::now();
    for _ in 0..ROUNDS {
        out.clear();
        _ = black_box(encode(black_box(&input), &mut out));
    }
    let each = start.elapsed() / ROUNDS;
    println!(
        "encode: {} ns for {records} variables in {size} bytes",
        each.as_nanos()
    );

    let start = Instant::now();
    let mut found = 0;
    for _ in 0..ROUNDS {
        for (name, _) in HEADERS {
            found += u32::from(vars::header_id(black_box(name)).is_some());
        }
    }
    let all = start.elapsed() / ROUNDS;
    println!(
        "header_id: {} ns for {} names, {} known",
        all.as_nanos(),
        HEADERS.len(),
        found / ROUNDS
    );
}
