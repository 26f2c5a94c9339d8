//! An OCSP responder. OpenSSL creates the responses. This code listens on the loopback address,
//! which OpenSSL's responder cannot.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rcgen::{CustomExtension, ExtendedKeyUsagePurpose, SerialNumber};

use crate::tls::{Authority, Pair};

/// Serial number of the one certificate that responders know.
const SERIAL: u8 = 0x42;

/// A running responder of an authority. Its thread ends with the test.
#[derive(Debug)]
pub struct Responder {
    address: SocketAddr,
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    directory: PathBuf,
    signer: Pair,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    away: bool,
    revoked: bool,
    questions: usize,
}

/// Signer of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signer {
    /// The authority.
    Authority,
    /// A signer that the authority has authorized.
    Delegate,
    /// A signer with a certificate of the authority for other purposes.
    Stranger,
}

impl Responder {
    /// Starts a responder on a free port. `ca.crt` and other files are in `directory`.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    pub fn start(directory: &Path, authority: &Authority, signer: Signer) -> Self {
        let own = Pair {
            certificate: directory.join("ca.crt"),
            key: directory.join("ca.key"),
        };
        std::fs::write(&own.certificate, authority.pem()).expect("written");
        std::fs::write(&own.key, authority.key_pem()).expect("written");
        let signer = match signer {
            Signer::Authority => own,
            Signer::Delegate => authority.issue_with(directory, "signer", &[], |params| {
                let usages = &mut params.extended_key_usages;
                usages.push(ExtendedKeyUsagePurpose::OcspSigning);
            }),
            Signer::Stranger => authority.issue(directory, "signer", &["b.test"]),
        };
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it has one");
        let inner = Arc::new(Inner {
            directory: directory.to_owned(),
            signer,
            state: Mutex::default(),
        });
        let served = Arc::clone(&inner);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that disconnects is not a failure here. The test notices the missing
                // response.
                served.serve(stream);
            }
        });
        Self { address, inner }
    }

    /// Issues a certificate that names this responder, with its chain.
    ///
    /// # Panics
    /// Panics if it cannot be written.
    pub fn issue(&self, authority: &Authority, name: &str) -> Pair {
        let directory = &self.inner.directory;
        let pair = authority.issue_with(directory, name, &[name], |params| {
            params.serial_number = Some(SerialNumber::from(vec![SERIAL]));
            params.custom_extensions.push(self.access());
        });
        let leaf = std::fs::read_to_string(&pair.certificate).expect("readable");
        std::fs::write(&pair.certificate, leaf + &authority.pem()).expect("written");
        pair
    }

    /// Sets whether connections are closed without a response.
    pub fn set_away(&self, away: bool) {
        self.inner.lock().away = away;
    }

    /// Revokes the certificate.
    pub fn revoke(&self) {
        self.inner.lock().revoked = true;
    }

    /// Number of requests, including those that got no response.
    pub fn questions(&self) -> usize {
        self.inner.lock().questions
    }

    /// The authority information access extension with the URL of this responder.
    fn access(&self) -> CustomExtension {
        let tlv = |tag: u8, parts: &[&[u8]]| {
            let content = parts.concat();
            let length = u8::try_from(content.len()).expect("short");
            [&[tag, length], &content[..]].concat()
        };
        let url = format!("http://{}/", self.address);
        let method = tlv(6, &[&[0x2b, 6, 1, 5, 5, 7, 0x30, 1]]);
        let location = tlv(0x86, &[url.as_bytes()]);
        let description = tlv(0x30, &[&method, &location]);
        let access = tlv(0x30, &[&description]);
        CustomExtension::from_oid_content(&[1, 3, 6, 1, 5, 5, 7, 1, 1], access)
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves one request on one connection.
    fn serve(&self, stream: TcpStream) -> Option<()> {
        let (away, revoked) = {
            let mut state = self.lock();
            state.questions += 1;
            (state.away, state.revoked)
        };
        if away {
            return None;
        }
        let mut stream = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).ok()?;
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().ok()?;
            }
        }
        let mut question = vec![0; length];
        stream.read_exact(&mut question).ok()?;
        let answer = self.answer(&question, revoked);
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/ocsp-response\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            answer.len()
        );
        let stream = stream.get_mut();
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(&answer).ok()
    }

    fn answer(&self, question: &[u8], revoked: bool) -> Vec<u8> {
        let file = |name: &str| self.directory.join(name);
        let status = if revoked {
            "R\t400101000000Z\t260101000000Z,keyCompromise"
        } else {
            "V\t400101000000Z\t"
        };
        let index = format!("{status}\t{SERIAL:02X}\tunknown\t/CN=a.test\n");
        std::fs::write(file("index.txt"), index).expect("written");
        std::fs::write(file("question.der"), question).expect("written");
        let output = Command::new("openssl")
            .args(["ocsp", "-nmin", "60", "-index"])
            .arg(file("index.txt"))
            .arg("-CA")
            .arg(file("ca.crt"))
            .arg("-rsigner")
            .arg(&self.signer.certificate)
            .arg("-rkey")
            .arg(&self.signer.key)
            .arg("-reqin")
            .arg(file("question.der"))
            .arg("-respout")
            .arg(file("answer.der"))
            .output()
            .expect("openssl is installed");
        assert!(output.status.success(), "{output:?}");
        std::fs::read(file("answer.der")).expect("it was written")
    }
}
