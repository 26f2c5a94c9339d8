//! A responder's response, RFC 6960: its contents are not used before its signature is verified.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use der::asn1::{AnyRef, GeneralizedTime};
use der::{Decode, Encode, Reader, SliceReader};
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, UnixTime};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};
use x509_cert::ext::pkix::CrlReason;
use x509_ocsp::{
    BasicOcspResponse, CertId, CertStatus, OcspResponse, OcspResponseStatus, SingleResponse,
};

use crate::certificate::date;
use crate::ocsp::request::OcspQuery;

/// `id-kp-OCSPSigning`: a responder that the authority delegated.
const OCSP_SIGNING: KeyUsage = KeyUsage::required(&[0x2b, 6, 1, 5, 5, 7, 3, 9]);
/// `id-pkix-ocsp-basic`.
const BASIC: der::asn1::ObjectIdentifier =
    der::asn1::ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.48.1.1");
/// Maximum time by which the responder's clock may be ahead.
const AHEAD: Duration = Duration::from_secs(300);
/// Maximum number of certificates in a response that are tried.
const MAX_SIGNERS: usize = 4;

/// Why a response is not usable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ResponseError {
    #[error("the response is malformed: {0}")]
    Malformed(#[from] der::Error),
    #[error("the responder refused the request: {0:?}")]
    Refused(OcspResponseStatus),
    #[error("the response has an unknown type")]
    Kind,
    #[error("the response's signature has an unknown algorithm")]
    Algorithm,
    #[error(
        "the response is signed neither by the issuer of the certificate nor by a responder that the issuer delegated"
    )]
    Signature,
    #[error("the response is for a different certificate")]
    Other,
    #[error("the responder does not know the certificate")]
    Unknown,
    #[error("the response is valid from {} on: check this machine's clock", date(*.0))]
    Early(SystemTime),
    #[error("the response was valid until {}", date(*.0))]
    Expired(SystemTime),
    #[error("the response has no expiry time (`nextUpdate`)")]
    NoEnd,
}

/// The authority's statement about a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Good,
    Revoked {
        on: SystemTime,
        reason: Option<CrlReason>,
    },
}

/// A verified response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) verdict: Verdict,
    pub(crate) from: SystemTime,
    pub(crate) until: SystemTime,
    /// The whole response, as it is stapled.
    pub(crate) der: Vec<u8>,
}

impl Answer {
    /// Verifies a whole response to `question`.
    pub(crate) fn check(
        der: Vec<u8>,
        question: &OcspQuery,
        algorithms: &WebPkiSupportedAlgorithms,
        now: SystemTime,
    ) -> Result<Self, ResponseError> {
        let response = OcspResponse::from_der(&der)?;
        if response.response_status != OcspResponseStatus::Successful {
            return Err(ResponseError::Refused(response.response_status));
        }
        let body = response.response_bytes.ok_or(ResponseError::Kind)?;
        if body.response_type != BASIC {
            return Err(ResponseError::Kind);
        }
        let basic = BasicOcspResponse::from_der(body.response.as_bytes())?;
        let signed = SignedData::of(&basic, body.response.as_bytes())?;
        signed.check(&basic, &question.issuer, algorithms, now)?;

        let about = |one: &&SingleResponse| is_same(&one.cert_id, &question.id);
        let single = basic.tbs_response_data.responses.iter().find(about);
        let single = single.ok_or(ResponseError::Other)?;
        let from = time(single.this_update.0);
        let until = single.next_update.ok_or(ResponseError::NoEnd)?;
        let until = time(until.0);
        if from > now + AHEAD {
            return Err(ResponseError::Early(from));
        }
        if until <= now {
            return Err(ResponseError::Expired(until));
        }
        let verdict = match single.cert_status {
            CertStatus::Good(_) => Verdict::Good,
            CertStatus::Revoked(info) => Verdict::Revoked {
                on: time(info.revocation_time.0),
                reason: info.revocation_reason,
            },
            CertStatus::Unknown(_) => return Err(ResponseError::Unknown),
        };
        Ok(Self {
            verdict,
            from,
            until,
            der,
        })
    }
}

/// The signed bytes, as received, and the signature.
struct SignedData<'a> {
    data: &'a [u8],
    /// The contents of the sequence, in webpki's form.
    algorithm: &'a [u8],
    signature: &'a [u8],
}

impl<'a> SignedData<'a> {
    fn of(basic: &'a BasicOcspResponse, der: &'a [u8]) -> Result<Self, ResponseError> {
        let (data, algorithm) = SliceReader::new(der)?.sequence(|inner| {
            let data = inner.tlv_bytes()?;
            let algorithm = AnyRef::decode(inner)?;
            inner.read_slice(inner.remaining_len())?;
            Ok((data, algorithm.value()))
        })?;
        Ok(Self {
            data,
            algorithm,
            signature: basic.signature.as_bytes().ok_or(ResponseError::Signature)?,
        })
    }

    fn check(
        &self,
        basic: &BasicOcspResponse,
        issuer: &CertificateDer<'_>,
        algorithms: &WebPkiSupportedAlgorithms,
        now: SystemTime,
    ) -> Result<(), ResponseError> {
        if !algorithms.all.iter().any(|known| self.is_algorithm(*known)) {
            return Err(ResponseError::Algorithm);
        }
        if self.is_signed_by(issuer, algorithms) {
            return Ok(());
        }
        for certificate in basic.certs.iter().flatten().take(MAX_SIGNERS) {
            let delegate = CertificateDer::from(certificate.to_der()?);
            if self.is_signed_by(&delegate, algorithms)
                && is_delegate(&delegate, issuer, algorithms, now)
            {
                return Ok(());
            }
        }
        Err(ResponseError::Signature)
    }

    fn is_algorithm(&self, known: &dyn rustls::pki_types::SignatureVerificationAlgorithm) -> bool {
        known.signature_alg_id().as_ref() == self.algorithm
    }

    fn is_signed_by(
        &self,
        signer: &CertificateDer<'_>,
        algorithms: &WebPkiSupportedAlgorithms,
    ) -> bool {
        EndEntityCert::try_from(signer).is_ok_and(|signer| {
            // ECDSA has one for each curve.
            algorithms.all.iter().any(|known| {
                self.is_algorithm(*known)
                    && signer
                        .verify_signature(*known, self.data, self.signature)
                        .is_ok()
            })
        })
    }
}

/// Whether `issuer` has delegated the signing of responses to this one, and the delegation is still
/// valid.
fn is_delegate(
    certificate: &CertificateDer<'_>,
    issuer: &CertificateDer<'_>,
    algorithms: &WebPkiSupportedAlgorithms,
    now: SystemTime,
) -> bool {
    let (Ok(certificate), Ok(anchor)) = (
        EndEntityCert::try_from(certificate),
        anchor_from_trusted_cert(issuer),
    ) else {
        return false;
    };
    let now = UnixTime::since_unix_epoch(now.duration_since(UNIX_EPOCH).unwrap_or_default());
    let anchors = [anchor];
    certificate
        .verify_for_usage(algorithms.all, &anchors, &[], now, OCSP_SIGNING, None, None)
        .is_ok()
}

/// Parameters of the hash are optional.
fn is_same(one: &CertId, other: &CertId) -> bool {
    one.hash_algorithm.oid == other.hash_algorithm.oid
        && one.issuer_name_hash == other.issuer_name_hash
        && one.issuer_key_hash == other.issuer_key_hash
        && one.serial_number == other.serial_number
}

fn time(time: GeneralizedTime) -> SystemTime {
    UNIX_EPOCH + time.to_unix_duration()
}
