//! `howdah_http` and `howdah_observe`: values of header fields that clients and applications send.
//!
//! ```text
//! SIZE SECONDS       of a file
//! name: value        the request's fields, any number
//!                    an empty line
//! name: value        the response's fields
//! ```
#![no_main]
#![allow(
    unfulfilled_lint_expectations,
    reason = "modules that are public in their crate are private here"
)]

use http::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;

#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/encode/accept.rs"]
mod accept;
#[allow(dead_code, unreachable_pub, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/answer/files/conditional.rs"]
mod conditional;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-observe/src/trace/context.rs"]
mod context;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/route/credentials.rs"]
mod credentials;
#[allow(dead_code, unreachable_pub, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/encode/header.rs"]
mod header;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/answer/hints.rs"]
mod hints;
#[allow(dead_code, unreachable_pub, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/answer/files/range.rs"]
mod range;
#[allow(dead_code, reason = "private to its crate")]
#[path = "../../crates/howdah-http/src/listen/trusted_proxies.rs"]
mod trusted_proxies;

#[path = "headers/files.rs"]
mod files;
#[path = "headers/neighbours.rs"]
mod neighbours;
#[path = "headers/oracles.rs"]
mod oracles;

use neighbours::{clock, joined, settings};

/// Folders of `howdah_http`, under the names that the files under test use.
mod message {
    pub(crate) use crate::neighbours::{file_origin, interim, route_error};
}

fuzz_target!(|data: &[u8]| {
    _ = run(data);
});

fn run(data: &[u8]) -> Option<()> {
    let mut lines = data.split(|byte| *byte == b'\n');
    let first = str::from_utf8(lines.next()?).ok()?;
    let (size, seconds) = first.split_once(' ')?;
    let (size, seconds) = (size.parse::<u16>().ok()?, seconds.parse().ok()?);
    let request = fields(lines.by_ref().take_while(|line| !line.is_empty()))?;
    let response = fields(lines.filter(|line| !line.is_empty()))?;
    files::ranges(&request, u64::from(size % 300));
    files::conditions(&request, size.into(), seconds);
    oracles::codings(&request);
    oracles::compressed(&request, &response);
    oracles::clients(&request);
    oracles::passwords(&request);
    oracles::traces(&request);
    oracles::links(&request, &response);
    Some(())
}

fn fields<'l>(lines: impl Iterator<Item = &'l [u8]>) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':')?;
        headers.append(
            HeaderName::from_bytes(&line[..colon]).ok()?,
            HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?,
        );
    }
    Some(headers)
}
