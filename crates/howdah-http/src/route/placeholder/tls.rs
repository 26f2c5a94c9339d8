//! TLS of the connection.

use howdah_config::model::ClientPart;

use crate::route::context::Context;

pub(super) fn version(text: &mut String, context: &Context<'_>) {
    // `TLSv1.3` in Caddy's notation.
    let version = context.connection.tls.as_ref();
    if let Some(number) = version.and_then(|tls| tls.protocol.strip_prefix("TLSv")) {
        text.push_str("tls");
        text.push_str(number);
    }
}

pub(super) fn cipher(text: &mut String, context: &Context<'_>) {
    let tls = context.connection.tls.as_ref();
    text.push_str(tls.map_or("", |tls| tls.cipher));
}

/// A part of the client's certificate.
pub(super) fn client(text: &mut String, context: &Context<'_>, part: ClientPart) {
    let tls = context.connection.tls.as_ref();
    let Some(certificate) = tls.and_then(|tls| tls.client.certificate()) else {
        return;
    };
    match part {
        ClientPart::Subject => text.push_str(&certificate.subject),
        ClientPart::Issuer => text.push_str(&certificate.issuer),
        ClientPart::Serial => text.push_str(&certificate.serial_decimal),
        ClientPart::Fingerprint => text.push_str(&certificate.fingerprint()),
        ClientPart::Pem => text.push_str(&certificate.pem()),
        ClientPart::Der => text.push_str(&certificate.der_base64()),
    }
}
