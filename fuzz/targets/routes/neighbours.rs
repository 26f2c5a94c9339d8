//! Replacements for items of other crates that the files under test use.

/// `howdah_http::message::route_error`.
pub(crate) mod route_error {
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

    /// Parses the name of a header field, spelled as in the configuration.
    pub(crate) fn header_name(text: &str) -> Result<http::HeaderName, RouteErrorKind> {
        http::HeaderName::from_bytes(text.as_bytes()).map_err(|_| RouteErrorKind::HeaderName {
            text: text.to_owned(),
        })
    }
}

/// `howdah_http::route::outcome`.
pub(crate) mod outcome {
    use super::reply::Refused;

    pub(crate) enum Outcome {
        Next,
        #[allow(dead_code, reason = "no route asks for it")]
        Answer(Refusal),
    }

    /// Response to a request that the configuration would turn into an invalid one.
    pub(crate) type Refusal = Box<Refused>;

    impl Outcome {
        pub(crate) fn of(change: Result<(), Refusal>) -> Self {
            change.map_or_else(Self::Answer, |()| Self::Next)
        }
    }
}

/// `howdah_http::message::reply`.
pub(crate) mod reply {
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

/// `howdah_http::message::connection`.
pub(crate) mod connection {
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

    /// No client has a certificate here.
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

/// `howdah_http::observe::log`: the fields of an access log are not tested here.
pub(crate) mod log {
    #[derive(Debug)]
    pub(crate) enum AppendedValue {}
}

/// `howdah_http::clock`: the result of a file lookup is never cached.
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

pub(crate) mod verdict {
    /// `howdah_http::route::verdict`: the routes run once, so there is none.
    #[allow(dead_code, reason = "made by phases that are not tested here")]
    pub(crate) enum Verdict {
        Granted,
        Body(bytes::Bytes),
    }
}

pub(crate) mod copied_headers {
    pub(crate) struct CopiedHeaders;
}

pub(crate) mod encode {
    #[derive(Default)]
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

pub(crate) mod header_change {
    #[derive(Default)]
    pub(crate) struct Changes;
}

pub(crate) mod intercept {
    pub(crate) struct Intercept;
}

/// `howdah_observe::trace` and `howdah_http::observe::trace`: tracing is off.
pub(crate) mod trace {
    #[derive(Debug, Clone)]
    pub(crate) struct TraceContext {
        pub(crate) trace: u128,
        pub(crate) span: u64,
    }

    #[derive(Debug, Clone)]
    pub(crate) struct Trace {
        pub(crate) context: TraceContext,
        #[allow(dead_code, reason = "set by the front")]
        pub(crate) name: String,
    }

    pub(crate) const TRACEPARENT: http::HeaderName = http::HeaderName::from_static("traceparent");

    pub(crate) struct Sampler;

    impl TraceContext {
        pub(crate) fn begin<'t>(_: impl IntoIterator<Item = &'t [u8]>, _: &Sampler) -> Self {
            Self { trace: 1, span: 1 }
        }
    }
}

/// A server that does not shut down.
pub(crate) mod shutdown {
    use std::time::Duration;

    #[derive(Debug)]
    pub(crate) struct Shutdown;

    impl Shutdown {
        pub(crate) fn closes_in(&self) -> Option<Duration> {
            None
        }

        pub(crate) fn count_poll(&self) {}
    }
}
