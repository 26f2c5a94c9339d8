//! Keys and certificates as Caddy writes them, for tests. OpenSSL encodes keys as Caddy does.

use std::path::Path;
use std::process::Command;

/// A key and its certificate in PEM.
pub(crate) struct PemPair {
    pub(crate) key: String,
    pub(crate) chain: String,
}

/// A key and a certificate for `host`. `kind`: the argument of `openssl req -newkey`.
pub(crate) fn pair(kind: &str, host: &str) -> PemPair {
    let directory = tempfile::tempdir().expect("a directory");
    let [key, certificate] = ["key", "crt"].map(|name| directory.path().join(name));
    let mut make = Command::new("openssl");
    make.args(["req", "-x509", "-nodes", "-days", "90", "-subj", "/"]);
    match kind {
        "p256" => make.args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]),
        kind => make.args(["-newkey", kind]),
    };
    make.args(["-addext", &format!("subjectAltName=DNS:{host}")]);
    make.arg("-keyout").arg(&key).arg("-out").arg(&certificate);
    run(&mut make);
    PemPair {
        key: as_of_caddy(&key, kind),
        chain: std::fs::read_to_string(&certificate).expect("it was made"),
    }
}

/// Converts a key to SEC1 or PKCS#1; Ed25519 has neither, but a special label.
fn as_of_caddy(key: &Path, kind: &str) -> String {
    if kind == "ed25519" {
        let text = std::fs::read_to_string(key).expect("it was made");
        return text.replace(" PRIVATE KEY", " ED25519 PRIVATE KEY");
    }
    let mut convert = Command::new("openssl");
    convert.args(["pkey", "-traditional", "-in"]).arg(key);
    run(&mut convert)
}

fn run(command: &mut Command) -> String {
    let output = command.output().expect("openssl is installed");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).expect("text")
}
