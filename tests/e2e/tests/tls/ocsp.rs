//! OCSP stapling, with OpenSSL as the responder and as the client.

use std::path::Path;
use std::process::{Command, Stdio};

use howdah_testkit::{Server, ServerBuilder};
use howdah_tests::ocsp::{Responder, Signer};
use howdah_tests::tls::{Authority, Pair};
use tempfile::TempDir;

const STAPLED: &str = "OCSP response stapled";

struct Setup {
    directory: TempDir,
    responder: Responder,
    pair: Pair,
}

impl Setup {
    fn new(signer: Signer) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let authority = Authority::new();
        let responder = Responder::start(directory.path(), &authority, signer);
        let pair = responder.issue(&authority, "a.test");
        Self {
            directory,
            responder,
            pair,
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn server(&self, global: &str) -> ServerBuilder {
        Server::caddyfile(format!(
            "{{\nstorage file_system {}/storage\n{global}\n}}\n\
             https://a.test:0 {{\nbind 127.0.0.1\ntls {}\nrespond OK\n}}\n",
            self.path().display(),
            self.pair
        ))
    }

    /// Output of OpenSSL's client about the OCSP response in a handshake.
    fn handshake(&self, server: &Server, version: &str) -> String {
        let output = Command::new("openssl")
            .args(["s_client", "-status", "-servername", "a.test", version])
            .args(["-verify_return_error", "-connect"])
            .arg(server.address().to_string())
            .arg("-CAfile")
            .arg(self.path().join("ca.crt"))
            .stdin(Stdio::null())
            .output()
            .expect("openssl is installed");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{output:?}");
        text
    }

    #[track_caller]
    fn assert_good(&self, server: &Server) {
        for version in ["-tls1_2", "-tls1_3"] {
            let text = self.handshake(server, version);
            assert!(text.contains("Cert Status: good"), "{version}: {text}");
        }
    }

    #[track_caller]
    fn assert_none(&self, server: &Server) {
        let text = self.handshake(server, "-tls1_3");
        assert!(text.contains("OCSP response: no response sent"), "{text}");
    }

    fn kept(&self) -> std::path::PathBuf {
        self.path().join("storage/ocsp/a.test.der")
    }
}

#[test]
fn a_good_response_is_stapled_and_kept() {
    for signer in [Signer::Authority, Signer::Delegate] {
        let setup = Setup::new(signer);
        let server = setup.server("").start();
        server.wait_log(STAPLED);
        setup.assert_good(&server);
        server.stop();
        // OpenSSL accepts it as well.
        let output = Command::new("openssl")
            .args(["ocsp", "-no_nonce", "-respin"])
            .arg(setup.kept())
            .arg("-issuer")
            .arg(setup.path().join("ca.crt"))
            .arg("-CAfile")
            .arg(setup.path().join("ca.crt"))
            .arg("-cert")
            .arg(&setup.pair.certificate)
            .output()
            .expect("openssl is installed");
        let text =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("Response verify OK"), "{signer:?}: {text}");
        assert!(text.contains(": good"), "{signer:?}: {text}");

        // After a restart the response is stapled from the first handshake on, without a request.
        setup.responder.set_away(true);
        let server = setup.server("").start();
        setup.assert_good(&server);
        server.stop();
        assert_eq!(setup.responder.questions(), 1, "{signer:?}");
    }
}

#[test]
fn a_responder_that_recovers_is_queried_again() {
    let setup = Setup::new(Signer::Authority);
    setup.responder.set_away(true);
    let server = setup.server("").start();
    server.wait_log("no OCSP response was obtained");
    setup.assert_none(&server);
    setup.responder.set_away(false);
    server.wait_log(STAPLED);
    setup.assert_good(&server);
}

#[test]
fn an_answer_that_a_stranger_signed_is_not_stapled() {
    let setup = Setup::new(Signer::Stranger);
    let server = setup.server("").start();
    let line = server.wait_log("no OCSP response was obtained");
    assert!(line.raw.contains("signed neither by"), "{}", line.raw);
    setup.assert_none(&server);
    assert!(!setup.kept().exists());
}

#[test]
fn a_revoked_certificate_is_an_error_and_has_nothing_stapled() {
    let setup = Setup::new(Signer::Authority);
    setup.responder.revoke();
    let server = setup.server("").start();
    let line = server.wait_log("the certificate is revoked");
    assert!(line.raw.contains("KeyCompromise"), "{}", line.raw);
    setup.assert_none(&server);
    assert!(!setup.kept().exists());
}

#[test]
fn stapling_can_be_turned_off() {
    let setup = Setup::new(Signer::Authority);
    // The response in the storage is not stapled either.
    let server = setup.server("").start();
    server.wait_log(STAPLED);
    server.stop();
    let server = setup.server("ocsp_stapling off").start();
    setup.assert_none(&server);
    server.stop();
    assert_eq!(setup.responder.questions(), 1);
}
