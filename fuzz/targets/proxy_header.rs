//! `howdah_http`: the header of the PROXY protocol, compared with a simple reference
//! implementation.
#![no_main]

use std::net::{IpAddr, SocketAddr};

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/connection/proxy_protocol/header.rs"]
mod header;

use header::{FirstBytes, LENGTH_MAX, detect};

fuzz_target!(|data: &[u8]| {
    // No more bytes than these are ever read.
    let data = &data[..data.len().min(LENGTH_MAX)];
    match detect(data) {
        Ok(Some(FirstBytes::Header { length, client })) => {
            let header = &data[..length];
            assert_eq!(client, plain(header));
            for end in 0..length {
                assert_eq!(detect(&header[..end]), Ok(None), "{end} of {length}");
            }
            assert_eq!(detect(header), detect(data));
        }
        // The bytes are rejected as early as possible, and more bytes do not turn them into a
        // header.
        Ok(Some(FirstBytes::Other)) => {
            let begun = (0..data.len()).find(|end| detect(&data[..*end]) != Ok(None));
            for end in begun.unwrap_or(data.len())..data.len() {
                assert_eq!(detect(&data[..end]), Ok(Some(FirstBytes::Other)));
            }
        }
        Ok(None) => assert!(data.len() < LENGTH_MAX),
        Err(_) => {}
    }
});

/// Client address of a complete header.
fn plain(header: &[u8]) -> Option<SocketAddr> {
    if header.starts_with(b"PROXY") {
        let line = str::from_utf8(header).ok()?;
        let words: Vec<&str> = line.trim_end_matches("\r\n").split(' ').collect();
        if words[1].starts_with("UNKNOWN") {
            return None;
        }
        let ip: IpAddr = words[2].parse().expect("an address");
        return Some(SocketAddr::new(ip, words[4].parse().expect("a port")));
    }
    if header[12] == 0x20 {
        return None;
    }
    let port = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    match header[13] >> 4 {
        1 => {
            let ip: [u8; 4] = header[16..20].try_into().expect("four bytes");
            Some(SocketAddr::new(ip.into(), port(24)))
        }
        2 => {
            let ip: [u8; 16] = header[16..32].try_into().expect("sixteen bytes");
            Some(SocketAddr::new(ip.into(), port(48)))
        }
        _ => None,
    }
}
