//! What the end-to-end tests share, and the runner of external `.phpt` files.
#![forbid(unsafe_code)]

use std::path::PathBuf;

use howdah_testkit::PATIENCE;

pub mod acme;
pub mod admin;
pub mod browser;
pub mod codeigniter;
pub mod frames;
pub mod http2;
pub mod http3;
pub mod meeting;
pub mod ocsp;
pub mod phpt;
pub mod soak;
pub mod tls;
pub mod traffic;
pub mod worker;

/// The document root of the tests' own scripts.
pub fn www() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("www")
}

/// A Caddyfile with options of the global block and one site on a free port.
pub fn caddyfile(global: &str, site: &str) -> String {
    format!("{{\n{global}\n}}\nhttp://:0 {{\n\tbind 127.0.0.1\n{site}\n}}\n")
}

/// Runs `work` on this thread.
///
/// # Panics
/// If it takes longer than [`PATIENCE`].
pub fn in_time(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime
        .block_on(async { tokio::time::timeout(PATIENCE, work).await })
        .expect("the server answers in time");
}

/// A query value: everything but letters, digits and `-._~/` percent-encoded.
pub fn encode(text: impl AsRef<std::ffi::OsStr>) -> String {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;

    let mut out = String::new();
    for byte in text.as_ref().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(byte) {
            out.push(char::from(*byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn encodes_what_a_query_cannot_hold() {
        assert_eq!(super::encode("/a b&c=ä"), "/a%20b%26c%3D%C3%A4");
    }
}
