//! The OCSP responder of a certificate, and the request to it (RFC 6960).

use der::Encode;
use der::asn1::{Null, ObjectIdentifier, OctetString};
use hyper::Uri;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use rustls::pki_types::CertificateDer;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::AlgorithmIdentifierOwned;
use x509_ocsp::{CertId, OcspRequest, Request, TbsRequest};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::parse_x509_certificate;

const SHA1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.14.3.2.26");
/// `id-ad-ocsp`: the identifier of the responder's URL in a certificate.
const RESPONDER: &str = "1.3.6.1.5.5.7.48.1";

/// Why the certificate's responder is unusable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OcspQueryError {
    #[error("the authority's certificate is not in the chain: append it to the certificate")]
    NoIssuer,
    #[error("the responder {0} is not supported: only http:// is")]
    Scheme(String),
    #[error("a certificate of the chain is malformed: {0}")]
    Chain(#[from] x509_parser::nom::Err<x509_parser::error::X509Error>),
    #[error("the OCSP request cannot be written: {0}")]
    Der(#[from] der::Error),
}

/// The responder of a certificate, and the request to it.
#[derive(Debug, Clone)]
pub(crate) struct OcspQuery {
    /// The certificate's first name, for messages and files.
    pub(crate) name: String,
    pub(crate) responder: Uri,
    /// Identifier of the certificate.
    pub(crate) id: CertId,
    /// Its issuer, which signs the response.
    pub(crate) issuer: CertificateDer<'static>,
}

impl OcspQuery {
    /// A query for the first certificate of a chain. `None`: it names no responder.
    pub(crate) fn about(chain: &[CertificateDer<'static>]) -> Result<Option<Self>, OcspQueryError> {
        let Some((leaf, above)) = chain.split_first() else {
            return Ok(None);
        };
        let (_, leaf) = parse_x509_certificate(leaf)?;
        let responders = responders(&leaf);
        let Some(first) = responders.first() else {
            return Ok(None);
        };
        let http = |url: &String| {
            let uri: Uri = url.parse().ok()?;
            (uri.scheme_str() == Some("http") && uri.host().is_some()).then_some(uri)
        };
        let Some(responder) = responders.iter().find_map(http) else {
            return Err(OcspQueryError::Scheme(first.clone()));
        };
        for candidate in above {
            let (_, issuer) = parse_x509_certificate(candidate)?;
            if issuer.subject().as_raw() == leaf.issuer().as_raw() {
                return Ok(Some(Self {
                    name: name(&leaf),
                    responder,
                    id: id(&leaf, &issuer)?,
                    issuer: candidate.clone(),
                }));
            }
        }
        Err(OcspQueryError::NoIssuer)
    }

    /// Encodes it. Without a nonce: responders sign one response for all clients.
    pub(crate) fn der(&self) -> Result<Vec<u8>, OcspQueryError> {
        let request = Request {
            req_cert: self.id.clone(),
            single_request_extensions: None,
        };
        let request = OcspRequest {
            tbs_request: TbsRequest {
                request_list: vec![request],
                ..TbsRequest::default()
            },
            optional_signature: None,
        };
        Ok(request.to_der()?)
    }
}

fn responders(leaf: &X509Certificate<'_>) -> Vec<String> {
    let access = leaf.extensions().iter().filter_map(|extension| {
        let ParsedExtension::AuthorityInfoAccess(access) = extension.parsed_extension() else {
            return None;
        };
        Some(&access.accessdescs)
    });
    let access = access.flatten();
    let ocsp = access.filter(|one| one.access_method.to_id_string() == RESPONDER);
    let url = ocsp.filter_map(|one| match one.access_location {
        GeneralName::URI(url) => Some(url.to_owned()),
        _ => None,
    });
    url.collect()
}

fn name(leaf: &X509Certificate<'_>) -> String {
    let names = leaf.subject_alternative_name().ok().flatten();
    let names = names.map_or(&[][..], |names| &names.value.general_names);
    let name = names.iter().find_map(|name| match name {
        GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
        _ => None,
    });
    name.unwrap_or_else(|| leaf.raw_serial_as_string().replace(':', ""))
}

/// Uses SHA-1, which all responders support (RFC 5019); it only serves to find the certificate.
fn id(leaf: &X509Certificate<'_>, issuer: &X509Certificate<'_>) -> Result<CertId, der::Error> {
    let hash = |bytes: &[u8]| OctetString::new(digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes).as_ref());
    Ok(CertId {
        hash_algorithm: AlgorithmIdentifierOwned {
            oid: SHA1,
            parameters: Some(Null.into()),
        },
        issuer_name_hash: hash(issuer.subject().as_raw())?,
        issuer_key_hash: hash(&issuer.public_key().subject_public_key.data)?,
        serial_number: SerialNumber::new(leaf.raw_serial())?,
    })
}
