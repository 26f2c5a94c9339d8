//! Shared parts of the end-to-end tests, and the runner of external `.phpt` files.
#![forbid(unsafe_code)]

use std::path::PathBuf;

use howdah_testkit::{PATIENCE, Server, process};

pub mod acme;
pub mod admin;
pub mod browser;
pub mod codeigniter;
pub mod devtools;
pub mod frames;
pub mod http2;
pub mod http3;
pub mod meeting;
pub mod nginx;
pub mod ocsp;
pub mod octane;
pub mod phpt;
pub mod soak;
pub mod tls;
pub mod traffic;
pub mod worker;

/// Document root of the tests' scripts.
pub fn www() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("www")
}

/// A Caddyfile with options of the global block and one site on a free port.
pub fn caddyfile(global: &str, site: &str) -> String {
    format!("{{\n{global}\n}}\nhttp://:0 {{\n\tbind 127.0.0.1\n{site}\n}}\n")
}

/// Returns a command that runs a server with a private temporary directory of 1 MiB. Returns `None`
/// and prints a note if mounting is not permitted here.
pub fn small_disk() -> Option<[&'static str; 6]> {
    let mount = "mount -t tmpfs -o size=1m tmpfs \"$TMPDIR\" && exec \"$0\" \"$@\"";
    let unshare = ["unshare", "-m", "--fork", "sh", "-c", mount];
    let permitted = std::process::Command::new(unshare[0])
        .args(&unshare[1..])
        .arg("true")
        .env("TMPDIR", "/tmp")
        .output();
    if permitted.is_ok_and(|output| output.status.success()) {
        return Some(unshare);
    }
    println!("skipped: mounting a file system is not permitted here");
    None
}

/// Runs `work` on this thread.
///
/// # Panics
/// Panics if it takes longer than [`PATIENCE`].
pub fn in_time(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime
        .block_on(async { tokio::time::timeout(PATIENCE, work).await })
        .expect("the server answers in time");
}

/// Sends requests to `target` that exceed their timeout, until the log contains the backtrace with
/// `text`. One request is enough, unless its worker gets no CPU time to write the backtrace before
/// it is killed.
///
/// # Panics
/// Panics if a response is not 504, or if none of a hundred workers reports its location.
#[track_caller]
pub fn hang_until_traced(server: &Server, target: &str, text: &str) {
    server.expect_log(text);
    for killed in 1..=100 {
        server.get(target).assert_status(504);
        // The messages of the worker precede this line in the log.
        let ends = || server.log().containing("worker killed: request timed out");
        assert!(
            process::wait_until(PATIENCE, || ends().len() >= killed),
            "no worker was killed"
        );
        if !server.log().containing(text).is_empty() {
            return;
        }
    }
    panic!("no backtrace with {text}");
}

/// Encodes a query value: all bytes except letters, digits and `-._~/` are percent-encoded.
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
    fn encodes_characters_that_a_query_cannot_hold() {
        assert_eq!(super::encode("/a b&c=ä"), "/a%20b%26c%3D%C3%A4");
    }
}
