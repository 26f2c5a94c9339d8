//! Responses of a responder in the test: good ones, and hostile ones.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::UNIX_EPOCH;

use der::asn1::{BitString, GeneralizedTime, Null, ObjectIdentifier, OctetString};
use der::{Decode, Encode};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, CustomExtension, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, SigningKey,
};
use rustls::pki_types::CertificateDer;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::AlgorithmIdentifierOwned;
use x509_ocsp::{
    BasicOcspResponse, CertStatus, OcspGeneralizedTime, OcspRequest, OcspResponse, ResponderId,
    ResponseData, RevokedInfo, SingleResponse, Version,
};

use super::*;
use crate::server_config::provider;

const HOUR: Duration = Duration::from_secs(3600);
const ECDSA_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2");
const ECDSA_SHA1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.1");

/// An authority with its own certificate and that of a server.
struct Setup {
    authority: CertifiedIssuer<'static, KeyPair>,
    key: KeyPair,
    chain: Vec<CertificateDer<'static>>,
}

/// The contents of `id-pe-authorityInfoAccess` for one responder.
fn access(url: &str) -> CustomExtension {
    let tlv = |tag: u8, parts: &[&[u8]]| {
        let content = parts.concat();
        let length = u8::try_from(content.len()).expect("short");
        assert!(length < 128, "{url}");
        [&[tag, length], &content[..]].concat()
    };
    let method = tlv(6, &[&[0x2b, 6, 1, 5, 5, 7, 0x30, 1]]);
    let location = tlv(0x86, &[url.as_bytes()]);
    let description = tlv(0x30, &[&method, &location]);
    let oid = [1, 3, 6, 1, 5, 5, 7, 1, 1];
    CustomExtension::from_oid_content(&oid, tlv(0x30, &[&description]))
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().expect("a key");
    CertifiedIssuer::self_signed(params, key).expect("an authority")
}

impl Setup {
    fn new(url: Option<&str>) -> Self {
        let authority = authority("authority");
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(["a.test".to_owned()]).expect("a name");
        params.custom_extensions.extend(url.map(access));
        let leaf = params.signed_by(&key, &authority).expect("a certificate");
        let chain = vec![leaf.der().clone(), authority.der().clone()];
        Self {
            authority,
            key,
            chain,
        }
    }

    fn query(&self) -> OcspQuery {
        let question = OcspQuery::about(&self.chain).expect("it can be asked");
        question.expect("it names a responder")
    }

    /// Another certificate of the authority, for a purpose.
    fn issue(&self, usage: Option<ExtendedKeyUsagePurpose>) -> (KeyPair, CertificateDer<'static>) {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.extended_key_usages.extend(usage);
        let issued = params.signed_by(&key, &self.authority);
        (key, issued.expect("a certificate").der().clone())
    }
}

/// The parts of a response.
struct Draft<'a> {
    id: x509_ocsp::CertId,
    status: CertStatus,
    from: SystemTime,
    until: Option<SystemTime>,
    key: &'a KeyPair,
    with: Option<CertificateDer<'static>>,
    algorithm: ObjectIdentifier,
}

fn draft(setup: &Setup) -> Draft<'_> {
    let now = SystemTime::now();
    Draft {
        id: setup.query().id,
        status: CertStatus::good(),
        from: now - HOUR,
        until: Some(now + HOUR),
        key: setup.authority.key(),
        with: None,
        algorithm: ECDSA_SHA256,
    }
}

fn time(at: SystemTime) -> OcspGeneralizedTime {
    let since = at.duration_since(UNIX_EPOCH).expect("after 1970");
    let since = Duration::from_secs(since.as_secs());
    OcspGeneralizedTime(GeneralizedTime::from_unix_duration(since).expect("a time"))
}

impl Draft<'_> {
    fn der(self) -> Vec<u8> {
        let single = SingleResponse {
            cert_id: self.id,
            cert_status: self.status,
            this_update: time(self.from),
            next_update: self.until.map(time),
            single_extensions: None,
        };
        let data = ResponseData {
            version: Version::default(),
            responder_id: ResponderId::ByKey(OctetString::new([7; 20]).expect("short")),
            produced_at: time(self.from),
            responses: vec![single],
            response_extensions: None,
        };
        let signature = self.key.sign(&data.to_der().expect("DER"));
        let with = self.with.map(|certificate| {
            vec![x509_cert::Certificate::from_der(&certificate).expect("a certificate")]
        });
        let basic = BasicOcspResponse {
            tbs_response_data: data,
            signature_algorithm: AlgorithmIdentifierOwned {
                oid: self.algorithm,
                parameters: None,
            },
            signature: BitString::from_bytes(&signature.expect("signed")).expect("bytes"),
            certs: with,
        };
        let response = OcspResponse::successful(basic).expect("DER");
        response.to_der().expect("DER")
    }
}

fn check(setup: &Setup, der: Vec<u8>) -> Result<Answer, ResponseError> {
    let algorithms = provider().signature_verification_algorithms;
    Answer::check(der, &setup.query(), &algorithms, SystemTime::now())
}

const RESPONDER: Option<&str> = Some("http://127.0.0.1:1/ocsp");

#[test]
fn a_certificate_names_its_ocsp_responder() {
    let setup = Setup::new(RESPONDER);
    let question = setup.query();
    assert_eq!(question.name, "a.test");
    assert_eq!(question.responder, "http://127.0.0.1:1/ocsp");
    assert_eq!(question.issuer, setup.chain[1]);
    let request = OcspRequest::from_der(&question.der().expect("DER")).expect("a request");
    assert_eq!(request.tbs_request.request_list[0].req_cert, question.id);
    // A root before the issuer does not matter.
    let other = authority("other");
    let chain = [
        setup.chain[0].clone(),
        other.der().clone(),
        setup.chain[1].clone(),
    ];
    let found = OcspQuery::about(&chain).expect("it can be asked");
    assert_eq!(
        found.map(|question| question.issuer),
        Some(setup.chain[1].clone())
    );

    let about = |chain: &[CertificateDer<'static>]| OcspQuery::about(chain);
    assert!(matches!(
        about(&setup.chain[..1]),
        Err(OcspQueryError::NoIssuer)
    ));
    assert!(matches!(about(&Setup::new(None).chain), Ok(None)));
    assert!(matches!(about(&[]), Ok(None)));
    for url in ["https://a.test/", "ldap://a.test/", "nonsense", "http://"] {
        let found = about(&Setup::new(Some(url)).chain);
        assert!(
            matches!(found, Err(OcspQueryError::Scheme(_))),
            "{url}: {found:?}"
        );
    }
}

#[test]
fn the_issuer_and_its_delegates_answer() {
    let setup = Setup::new(RESPONDER);
    let der = draft(&setup).der();
    let answer = check(&setup, der.clone()).expect("good");
    assert_eq!((answer.verdict, answer.der), (Verdict::Good, der));
    assert_eq!(answer.until, answer.from + 2 * HOUR);

    let (key, certificate) = setup.issue(Some(ExtendedKeyUsagePurpose::OcspSigning));
    let delegated = Draft {
        key: &key,
        with: Some(certificate),
        ..draft(&setup)
    };
    check(&setup, delegated.der()).expect("good");

    let revoked = Draft {
        status: CertStatus::Revoked(RevokedInfo {
            revocation_time: time(UNIX_EPOCH + 1000 * HOUR),
            revocation_reason: None,
        }),
        ..draft(&setup)
    };
    let on = UNIX_EPOCH + 1000 * HOUR;
    let verdict = check(&setup, revoked.der()).expect("an answer").verdict;
    assert_eq!(verdict, Verdict::Revoked { on, reason: None });
}

#[test]
fn no_other_signer_is_accepted() {
    let setup = Setup::new(RESPONDER);
    let refused = |draft: Draft<'_>| {
        let error = check(&setup, draft.der()).expect_err("refused");
        assert!(matches!(error, ResponseError::Signature), "{error}");
    };
    // Another authority, with its certificate or without.
    let other = Setup::new(RESPONDER);
    refused(Draft {
        key: other.authority.key(),
        ..draft(&setup)
    });
    let root = other.authority.der().clone();
    refused(Draft {
        key: other.authority.key(),
        with: Some(root),
        ..draft(&setup)
    });
    // Its delegate.
    let (key, certificate) = other.issue(Some(ExtendedKeyUsagePurpose::OcspSigning));
    refused(Draft {
        key: &key,
        with: Some(certificate),
        ..draft(&setup)
    });
    // A certificate of this authority for another purpose, such as the server itself.
    for usage in [None, Some(ExtendedKeyUsagePurpose::ServerAuth)] {
        let (key, certificate) = setup.issue(usage);
        refused(Draft {
            key: &key,
            with: Some(certificate),
            ..draft(&setup)
        });
    }
    let own = setup.chain[0].clone();
    refused(Draft {
        key: &setup.key,
        with: Some(own),
        ..draft(&setup)
    });
    // A delegate that has not signed it.
    let (_, certificate) = setup.issue(Some(ExtendedKeyUsagePurpose::OcspSigning));
    refused(Draft {
        key: &setup.key,
        with: Some(certificate),
        ..draft(&setup)
    });
}

#[test]
fn an_answer_is_about_this_certificate_and_this_time() {
    let setup = Setup::new(RESPONDER);
    let error = |draft: Draft<'_>| check(&setup, draft.der()).expect_err("refused");
    let now = SystemTime::now();
    let mut id = setup.query().id;
    id.serial_number = SerialNumber::new(&[1]).expect("a number");
    let other = Draft {
        id,
        ..draft(&setup)
    };
    assert!(matches!(error(other), ResponseError::Other));
    let mut id = setup.query().id;
    id.issuer_key_hash = OctetString::new([0; 20]).expect("short");
    let other = Draft {
        id,
        ..draft(&setup)
    };
    assert!(matches!(error(other), ResponseError::Other));
    let unknown = Draft {
        status: CertStatus::Unknown(Null),
        ..draft(&setup)
    };
    assert!(matches!(error(unknown), ResponseError::Unknown));
    let early = Draft {
        from: now + HOUR,
        ..draft(&setup)
    };
    assert!(matches!(error(early), ResponseError::Early(_)));
    let expired = Draft {
        until: Some(now - HOUR / 2),
        ..draft(&setup)
    };
    assert!(matches!(error(expired), ResponseError::Expired(_)));
    let endless = Draft {
        until: None,
        ..draft(&setup)
    };
    assert!(matches!(error(endless), ResponseError::NoEnd));
    let weak = Draft {
        algorithm: ECDSA_SHA1,
        ..draft(&setup)
    };
    assert!(matches!(error(weak), ResponseError::Algorithm));
}

#[test]
fn garbage_is_refused() {
    let setup = Setup::new(RESPONDER);
    let good = draft(&setup).der();
    for length in 0..good.len() {
        check(&setup, good[..length].to_vec()).expect_err("cut off");
    }
    check(&setup, [&good[..], b"x"].concat()).expect_err("too long");
    for index in 0..good.len() {
        let mut der = good.clone();
        der[index] ^= 0x20;
        // All but the outer shell is signed, and that has no room for anything else.
        check(&setup, der).expect_err(&format!("byte {index}"));
    }
    for refusal in [OcspResponse::try_later(), OcspResponse::unauthorized()] {
        let error = check(&setup, refusal.to_der().expect("DER")).expect_err("no answer");
        assert!(matches!(error, ResponseError::Refused(_)), "{error}");
    }
    let page = b"<html>a captive portal</html>".to_vec();
    check(&setup, page).expect_err("no answer");
}

/// A responder that answers one request with these bytes.
fn responder(head: &'static str, body: Vec<u8>) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it has one");
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut request = [0; 4096];
        let length = stream.read(&mut request).expect("a request");
        stream.write_all(head.as_bytes()).expect("written");
        // A client that has enough disconnects.
        let _ = stream.write_all(&body);
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    (format!("http://{address}/a/path"), thread)
}

#[tokio::test]
async fn answers_are_fetched_up_to_a_size() {
    const OK: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    let respond_with = async |head, body: Vec<u8>| {
        let (url, thread) = responder(head, body);
        let url = url.parse().expect("a URL");
        let answer = fetch::post(&url, b"question".to_vec()).await;
        (answer, thread.join().expect("it ends"))
    };
    let (answer, request) = respond_with(OK, b"answer".to_vec()).await;
    assert_eq!(answer.expect("an answer"), b"answer");
    assert!(
        request.starts_with("POST /a/path HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request.contains("content-type: application/ocsp-request\r\n"),
        "{request}"
    );
    let (answer, _) = respond_with(OK, vec![0; 100_000]).await;
    assert!(matches!(answer, Err(FetchError::Body(_))), "{answer:?}");
    let (answer, _) =
        respond_with("HTTP/1.1 503 Busy\r\nConnection: close\r\n\r\n", Vec::new()).await;
    assert!(matches!(answer, Err(FetchError::Status(_))), "{answer:?}");
    let (answer, _) = respond_with("SSH-2.0\r\n", Vec::new()).await;
    assert!(
        matches!(answer, Err(FetchError::Connection(_))),
        "{answer:?}"
    );
    let closed = "http://127.0.0.1:1/".parse().expect("a URL");
    let error = fetch::post(&closed, Vec::new()).await.expect_err("refused");
    assert!(error.to_string().contains("refused"), "{error}");
}
