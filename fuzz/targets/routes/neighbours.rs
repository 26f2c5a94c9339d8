//! What the files under test expect of the crate that they are taken from.

/// `howdah_http::route`.
#[derive(Debug)]
pub(crate) enum RouteErrorKind {
    Regex {
        #[allow(dead_code, reason = "shown when a target's own expression is wrong")]
        text: String,
        #[allow(dead_code, reason = "the same")]
        reason: String,
    },
    HeaderName {
        #[allow(dead_code, reason = "the same")]
        text: String,
    },
    Method {
        #[allow(dead_code, reason = "the same")]
        text: String,
    },
}

#[derive(Debug)]
pub(crate) struct RouteError(#[allow(dead_code, reason = "shown")] RouteErrorKind);

impl From<RouteErrorKind> for RouteError {
    fn from(kind: RouteErrorKind) -> Self {
        Self(kind)
    }
}

/// The answer to a request that cannot be what the configuration makes of it.
pub(crate) type Refusal = Box<answer::Refused>;

/// `howdah_http::answer`.
pub(crate) mod answer {
    #[derive(Debug)]
    pub(crate) struct Refused;

    pub(crate) fn bad_request(reason: &str) -> Refused {
        assert!(!reason.is_empty());
        Refused
    }

    pub(crate) fn uri_too_long(reason: &str) -> Refused {
        bad_request(reason)
    }
}

/// `howdah_http::application`.
pub(crate) mod application {
    use std::net::SocketAddr;

    pub(crate) struct Connection {
        pub(crate) remote: SocketAddr,
        pub(crate) local: SocketAddr,
        pub(crate) tls: Option<Tls>,
    }

    pub(crate) struct Tls {
        pub(crate) protocol: &'static str,
        pub(crate) cipher: &'static str,
        pub(crate) client: TlsClient,
    }

    /// Nobody has a certificate here.
    #[derive(Default)]
    pub(crate) struct TlsClient;

    pub(crate) struct ClientCertificate {
        pub(crate) subject: String,
        pub(crate) issuer: String,
        pub(crate) serial_decimal: String,
    }

    impl TlsClient {
        pub(crate) fn certificate(&self) -> Option<&ClientCertificate> {
            None
        }
    }

    impl ClientCertificate {
        pub(crate) fn fingerprint(&self) -> String {
            String::new()
        }

        pub(crate) fn pem(&self) -> String {
            String::new()
        }

        pub(crate) fn der_base64(&self) -> String {
            String::new()
        }
    }
}

/// `howdah_http::clock`: what is found on disk is looked at each time.
pub(crate) mod clock {
    use std::cell::Cell;

    thread_local! {
        static NOW: Cell<u64> = const { Cell::new(1) };
    }

    pub(crate) fn now() -> u64 {
        NOW.set(NOW.get() + 1000);
        NOW.get()
    }
}

pub(crate) mod auth {
    pub(crate) struct Verdict;
}

pub(crate) mod copy {
    pub(crate) struct Copy;
}

pub(crate) mod encode {
    pub(crate) struct Encodings;
}

pub(crate) mod error {
    use std::borrow::Cow;

    use http::StatusCode;

    pub(crate) struct ErrorRoutes;

    pub(crate) struct Problem {
        pub(crate) status: StatusCode,
        pub(crate) message: Cow<'static, str>,
    }
}

pub(crate) mod header {
    #[derive(Default)]
    pub(crate) struct Changes;
}

pub(crate) mod intercept {
    pub(crate) struct Intercept;
}

/// `howdah_observe::trace`: there are none.
pub(crate) mod trace {
    #[derive(Debug, Clone)]
    pub(crate) struct TraceContext {
        pub(crate) trace: u128,
        pub(crate) span: u64,
    }

    pub(crate) struct Sampler;

    impl TraceContext {
        pub(crate) fn begin<'t>(_: impl IntoIterator<Item = &'t [u8]>, _: &Sampler) -> Self {
            Self { trace: 1, span: 1 }
        }
    }
}
