//! Weak TLS is refused: old protocols, ciphers without authenticated encryption or forward secrecy,
//! compression, renegotiation. The client is OpenSSL, which still supports them.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use howdah_testkit::Server;
use tempfile::TempDir;

/// A server with a certificate for this type of key, in the syntax of `openssl req -newkey`.
fn start(key: &[&str]) -> (Server, TempDir) {
    start_with(key, "")
}

/// The same with these options of `tls`.
fn start_with(key: &[&str], options: &str) -> (Server, TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let made = openssl(&[
        "req",
        "-x509",
        "-nodes",
        "-days",
        "30",
        "-subj",
        "/CN=a.test",
    ])
    .args(["-addext", "subjectAltName=DNS:a.test", "-newkey"])
    .args(key)
    .args(["-out", "a.crt", "-keyout", "a.key"])
    .current_dir(directory.path())
    .output()
    .expect("openssl is installed");
    assert!(made.status.success(), "{made:?}");
    let path = directory.path().display();
    let text = format!(
        "{{\nadmin off\nauto_https disable_redirects\nstorage file_system {path}\n\
         servers {{\ntimeouts {{\nidle 5s\n}}\n}}\n}}\n\
         https://a.test:0 {{\nbind 127.0.0.1\ntls {path}/a.crt {path}/a.key {{\n{options}\n}}\nrespond OK\n}}\n"
    );
    (Server::caddyfile(text).start(), directory)
}

const RSA: &[&str] = &["rsa:2048"];
const CURVE: &[&str] = &["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];

fn openssl(args: &[&str]) -> Command {
    let mut command = Command::new("openssl");
    command.args(args);
    command
}

/// Runs `openssl s_client` with these options, sends `input`, and returns the output.
fn connect(server: &Server, options: &[&str], input: &str) -> (Output, String) {
    let address = server.address().to_string();
    let mut client = openssl(&["s_client", "-connect", &address, "-servername", "a.test"]);
    let mut client = client
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("openssl is installed");
    let mut stdin = client.stdin.take().expect("piped");
    // The process may have exited already.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = client.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output, text)
}

/// A handshake that the server must refuse, so that it does not fail for a reason of the client.
#[track_caller]
fn refused(server: &Server, options: &[&str]) {
    let (output, text) = connect(server, options, "");
    assert!(!output.status.success(), "{options:?}: {text}");
    assert!(text.contains("SSL alert number"), "{options:?}: {text}");
    assert!(!text.contains("BEGIN CERTIFICATE"), "{options:?}: {text}");
}

#[track_caller]
fn accepted(server: &Server, options: &[&str]) -> String {
    let (output, text) = connect(server, options, "");
    assert!(output.status.success(), "{options:?}: {text}");
    assert!(text.contains("BEGIN CERTIFICATE"), "{options:?}: {text}");
    text
}

#[test]
fn old_protocols() {
    let (server, _directory) = start(CURVE);
    for version in ["-tls1", "-tls1_1"] {
        refused(&server, &[version, "-cipher", "ALL:@SECLEVEL=0"]);
    }
    for (option, version) in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")] {
        let text = accepted(&server, &[option]);
        assert!(
            text.contains(&format!("New, {version}, Cipher is")),
            "{text}"
        );
    }
}

#[test]
fn weak_ciphers() {
    for (kind, key) in [("RSA", RSA), ("ECDSA", CURVE)] {
        let (server, _directory) = start(key);
        let mut others = "ALL:COMPLEMENTOFALL:@SECLEVEL=0".to_owned();
        for cipher in [
            "AES128-GCM-SHA256",
            "AES256-GCM-SHA384",
            "CHACHA20-POLY1305",
        ] {
            let cipher = format!("ECDHE-{kind}-{cipher}");
            let text = accepted(&server, &["-tls1_2", "-cipher", &cipher]);
            assert!(text.contains(&format!("Cipher is {cipher}")), "{text}");
            others = format!("{others}:!{cipher}");
        }
        // All remaining ciphers of OpenSSL: CBC, CCM, static RSA, finite fields, no encryption.
        let listed = openssl(&["ciphers", "-tls1_2", "-s", &others]).output();
        let listed = String::from_utf8(listed.expect("openssl is installed").stdout);
        let listed = listed.expect("names");
        assert!(
            listed.split(':').count() > 50,
            "OpenSSL knows few: {listed}"
        );
        refused(&server, &["-tls1_2", "-cipher", &others]);
        for suite in [
            "TLS_AES_128_GCM_SHA256",
            "TLS_AES_256_GCM_SHA384",
            "TLS_CHACHA20_POLY1305_SHA256",
        ] {
            accepted(&server, &["-tls1_3", "-ciphersuites", suite]);
        }
        for suite in ["TLS_AES_128_CCM_SHA256", "TLS_AES_128_CCM_8_SHA256"] {
            // Above level 0, OpenSSL itself refuses the short tags of CCM_8.
            let mut options = vec!["-tls1_3", "-cipher", "DEFAULT:@SECLEVEL=0"];
            options.extend(["-ciphersuites", suite]);
            refused(&server, &options);
        }
    }
}

#[test]
fn curves_are_those_that_are_configured() {
    let (server, _directory) = start_with(RSA, "curves secp384r1 secp521r1");
    server.expect_log("the curve `secp521r1` is not offered");
    for version in ["-tls1_2", "-tls1_3"] {
        let text = accepted(&server, &[version, "-groups", "X25519:P-384"]);
        assert!(text.contains("ECDH, secp384r1, 384 bits"), "{text}");
        refused(&server, &[version, "-groups", "X25519:P-256"]);
    }
}

#[test]
fn no_compression_and_no_renegotiation() {
    let (server, _directory) = start(CURVE);
    let text = accepted(&server, &["-tls1_2", "-comp"]);
    assert!(text.contains("Compression: NONE"), "{text}");
    // With the letter R, OpenSSL starts another handshake on the connection. It receives the
    // refusal after the server's timeout for a request.
    let (output, text) = connect(&server, &["-tls1_2"], "R\n");
    assert!(text.contains("RENEGOTIATING"), "{text}");
    assert!(text.contains("no renegotiation"), "{text}");
    assert!(!output.status.success(), "{text}");
}

#[test]
fn weak_groups() {
    let (server, _directory) = start(CURVE);
    for group in ["X25519", "P-256", "P-384"] {
        accepted(&server, &["-tls1_3", "-groups", group]);
    }
    for group in ["ffdhe2048", "P-521"] {
        refused(&server, &["-tls1_3", "-groups", group]);
    }
    refused(&server, &["-tls1_2", "-groups", "P-521"]);
}
