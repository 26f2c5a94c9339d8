//! Settings in the `OTEL_*` environment variables:
//! <https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/>.

use std::time::Duration;

use howdah_config::model::{CertificateFiles, UpstreamTls};

use super::context::TraceId;

/// How traces are sampled and where spans are sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Spans are created and exported. False with `OTEL_SDK_DISABLED` or `OTEL_TRACES_EXPORTER=none`: contexts are
    /// passed on nevertheless.
    pub exports: bool,
    /// `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, or `OTEL_EXPORTER_OTLP_ENDPOINT` with `/v1/traces`. Default
    /// `http://localhost:4318/v1/traces`.
    pub endpoint: http::Uri,
    /// `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL`, or without `TRACES_`. Default `http/protobuf`.
    pub protocol: Protocol,
    /// `OTEL_EXPORTER_OTLP_TRACES_COMPRESSION`, or without `TRACES_`: `gzip`, or `none`, which is the default.
    pub gzip: bool,
    /// TLS of an `https` endpoint: `OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE`, `…_CLIENT_CERTIFICATE` and `…_CLIENT_KEY`, or
    /// without `TRACES_`. Default: the authorities of the system, and no certificate of the server's own.
    pub tls: UpstreamTls,
    /// `OTEL_EXPORTER_OTLP_TRACES_HEADERS`, or without `TRACES_`.
    pub headers: Vec<(http::HeaderName, http::HeaderValue)>,
    /// `OTEL_EXPORTER_OTLP_TRACES_TIMEOUT`, or without `TRACES_`: milliseconds. Default 10 s.
    pub timeout: Duration,
    /// `OTEL_TRACES_SAMPLER` with `OTEL_TRACES_SAMPLER_ARG`.
    pub sampler: Sampler,
    /// `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`. The service's default name is `howdah`.
    pub resource: Vec<(String, String)>,
    /// `OTEL_BSP_SCHEDULE_DELAY`: milliseconds. Default 5 s.
    pub delay: Duration,
    /// `OTEL_BSP_MAX_QUEUE_SIZE`: spans that may be queued. Default 2,048.
    pub queue: usize,
    /// `OTEL_BSP_MAX_EXPORT_BATCH_SIZE`: spans of one export. Default 512.
    pub batch: usize,
}

/// How spans are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// `http/protobuf`
    #[default]
    Protobuf,
    /// `http/json`
    Json,
}

impl Protocol {
    /// The `Content-Type` of its requests.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Protobuf => "application/x-protobuf",
            Self::Json => "application/json",
        }
    }
}

/// Which traces are exported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampler {
    /// The decision of the caller takes precedence.
    parent: bool,
    /// Share of traces without a caller's decision, 0 to 1.
    ratio: f64,
}

impl Default for Sampler {
    /// `parentbased_always_on`.
    fn default() -> Self {
        Self {
            parent: true,
            ratio: 1.0,
        }
    }
}

/// The bits of a trace's id that are random in all versions of the standard.
const RANDOM: u128 = (1 << 56) - 1;

impl Sampler {
    /// Whether this trace is exported.
    #[expect(clippy::cast_precision_loss, reason = "a share of all traces")]
    pub fn samples(&self, trace: TraceId, caller: Option<bool>) -> bool {
        if self.parent
            && let Some(caller) = caller
        {
            return caller;
        }
        // All servers come to the same decision.
        ((trace.0 & RANDOM) as f64) < self.ratio * (RANDOM + 1) as f64
    }
}

/// An invalid variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}={value}: {hint}")]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub struct SettingsError {
    pub name: String,
    pub value: String,
    /// The valid values.
    pub hint: &'static str,
}

const PAIRS: &str = "write `NAME=VALUE`, with commas between several";
const ENDPOINT: &str = "http://localhost:4318/v1/traces";

impl Settings {
    /// Reads the variables.
    pub fn from_env(env: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        // According to the standard, an empty variable counts as missing.
        let get = |name: &str| {
            let value = env(name)?;
            let value = value.trim();
            (!value.is_empty()).then(|| Variable {
                name: name.to_owned(),
                value: value.to_owned(),
            })
        };
        let either = |name: &str| {
            get(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"))
                .or_else(|| get(&format!("OTEL_EXPORTER_OTLP_{name}")))
        };
        let exports = exports(&get)?;
        // If nothing is exported, the protocol need not be valid.
        let protocol = match either("PROTOCOL").filter(|_| exports) {
            Some(variable) => protocol(variable)?,
            None => Protocol::default(),
        };
        check_propagators(get("OTEL_PROPAGATORS"))?;
        Ok(Self {
            exports,
            endpoint: endpoint(&get)?,
            protocol,
            gzip: compression(either("COMPRESSION"))?,
            tls: UpstreamTls {
                roots: either("CERTIFICATE")
                    .map(|file| file.value.into())
                    .into_iter()
                    .collect(),
                client: client(either("CLIENT_CERTIFICATE"), either("CLIENT_KEY"))?,
                ..UpstreamTls::default()
            },
            headers: headers(either("HEADERS"))?,
            timeout: Duration::from_millis(number(either("TIMEOUT"), 10_000)?),
            sampler: sampler(&get)?,
            resource: resource(&get)?,
            delay: Duration::from_millis(number(get("OTEL_BSP_SCHEDULE_DELAY"), 5_000)?),
            queue: number(get("OTEL_BSP_MAX_QUEUE_SIZE"), 2_048)? as usize,
            batch: number(get("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"), 512)? as usize,
        })
    }
}

/// What made the spans: resource attributes that the conventions require.
const TELEMETRY: [(&str, &str); 3] = [
    ("telemetry.sdk.language", "rust"),
    ("telemetry.sdk.name", "howdah"),
    ("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
];

/// An environment variable that is not empty.
#[derive(Debug, Clone, Default)]
struct Variable {
    name: String,
    value: String,
}

impl Variable {
    /// The error of an invalid value.
    fn invalid(self, hint: &'static str) -> SettingsError {
        SettingsError {
            name: self.name,
            value: self.value,
            hint,
        }
    }

    /// The value as `a=1,b=2`.
    fn pairs(self) -> Result<Vec<(String, String)>, SettingsError> {
        pairs(&self.value).ok_or_else(|| self.invalid(PAIRS))
    }
}

fn exports(get: &impl Fn(&str) -> Option<Variable>) -> Result<bool, SettingsError> {
    let disabled = get("OTEL_SDK_DISABLED");
    let disabled = disabled.is_some_and(|variable| variable.value.eq_ignore_ascii_case("true"));
    let Some(exporter) = get("OTEL_TRACES_EXPORTER") else {
        return Ok(!disabled);
    };
    match exporter.value.as_str() {
        "otlp" => Ok(!disabled),
        "none" => Ok(false),
        _ => Err(exporter.invalid("exporters are `otlp` and `none`")),
    }
}

fn check_propagators(variable: Option<Variable>) -> Result<(), SettingsError> {
    let known = |name: &str| matches!(name.trim(), "tracecontext" | "baggage");
    match variable {
        Some(variable) if !variable.value.split(',').all(known) => Err(variable.invalid(
            "contexts are propagated as `tracecontext`; `baggage` is forwarded unchanged",
        )),
        _ => Ok(()),
    }
}

/// The attributes of the resource, beginning with the service's name.
fn resource(
    get: &impl Fn(&str) -> Option<Variable>,
) -> Result<Vec<(String, String)>, SettingsError> {
    let mut service = get("OTEL_SERVICE_NAME").map(|variable| variable.value);
    let mut attributes = Vec::new();
    if let Some(variable) = get("OTEL_RESOURCE_ATTRIBUTES") {
        for (name, value) in variable.pairs()? {
            if name == "service.name" {
                service.get_or_insert(value);
            } else {
                attributes.push((name, value));
            }
        }
    }
    let service = service.unwrap_or_else(|| "howdah".into());
    attributes.insert(0, ("service.name".into(), service));
    for (name, value) in TELEMETRY {
        if attributes.iter().all(|(other, _)| other != name) {
            attributes.push((name.into(), value.into()));
        }
    }
    Ok(attributes)
}

fn endpoint(get: &impl Fn(&str) -> Option<Variable>) -> Result<http::Uri, SettingsError> {
    let (variable, text) = match get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
        Some(variable) => (variable.clone(), variable.value),
        None => match get("OTEL_EXPORTER_OTLP_ENDPOINT") {
            Some(variable) => {
                let text = format!("{}/v1/traces", variable.value.trim_end_matches('/'));
                (variable, text)
            }
            None => (Variable::default(), ENDPOINT.to_owned()),
        },
    };
    let hint = "write for example `http://localhost:4318` or `https://collector.example.com:4318`";
    match text.parse::<http::Uri>() {
        Ok(uri) if matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some() => {
            Ok(uri)
        }
        _ => Err(variable.invalid(hint)),
    }
}

fn protocol(variable: Variable) -> Result<Protocol, SettingsError> {
    match variable.value.as_str() {
        "http/protobuf" => Ok(Protocol::Protobuf),
        "http/json" => Ok(Protocol::Json),
        _ => Err(variable.invalid(
            "protocols are `http/protobuf` and `http/json`, which collectors accept at port 4318",
        )),
    }
}

fn compression(variable: Option<Variable>) -> Result<bool, SettingsError> {
    let Some(variable) = variable else {
        return Ok(false);
    };
    match variable.value.as_str() {
        "gzip" => Ok(true),
        "none" => Ok(false),
        _ => Err(variable.invalid("compressions are `gzip` and `none`")),
    }
}

fn client(
    certificate: Option<Variable>,
    key: Option<Variable>,
) -> Result<Option<CertificateFiles>, SettingsError> {
    match (certificate, key) {
        (None, None) => Ok(None),
        (Some(certificate), Some(key)) => Ok(Some(CertificateFiles {
            certificate: certificate.value.into(),
            key: key.value.into(),
        })),
        (Some(alone), None) | (None, Some(alone)) => Err(alone
            .invalid("a client certificate needs both `…_CLIENT_CERTIFICATE` and `…_CLIENT_KEY`")),
    }
}

fn headers(
    variable: Option<Variable>,
) -> Result<Vec<(http::HeaderName, http::HeaderValue)>, SettingsError> {
    let Some(variable) = variable else {
        return Ok(Vec::new());
    };
    let header = |(name, value): (String, String)| Some((name.parse().ok()?, value.parse().ok()?));
    let pairs = variable.clone().pairs()?.into_iter();
    let headers = pairs.map(header).collect::<Option<_>>();
    headers.ok_or_else(|| variable.invalid(PAIRS))
}

/// `a=1,b=2`, the values percent-encoded.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let pair = |part: &str| {
        let (name, value) = part.split_once('=')?;
        let value = percent_encoding::percent_decode_str(value.trim());
        Some((
            name.trim().to_owned(),
            value.decode_utf8().ok()?.into_owned(),
        ))
    };
    text.split(',')
        .filter(|part| !part.trim().is_empty())
        .map(pair)
        .collect()
}

fn number(variable: Option<Variable>, default: u64) -> Result<u64, SettingsError> {
    let Some(variable) = variable else {
        return Ok(default);
    };
    match variable.value.parse() {
        Ok(number @ 1..=1_000_000_000) => Ok(number),
        _ => Err(variable.invalid("give a whole number above 0")),
    }
}

fn sampler(get: &impl Fn(&str) -> Option<Variable>) -> Result<Sampler, SettingsError> {
    let Some(variable) = get("OTEL_TRACES_SAMPLER") else {
        return Ok(Sampler::default());
    };
    let ratio = || match get("OTEL_TRACES_SAMPLER_ARG") {
        None => Ok(1.0),
        Some(variable) => match variable.value.parse() {
            Ok(ratio) if (0.0..=1.0).contains(&ratio) => Ok(ratio),
            _ => Err(variable.invalid("give a number from 0 to 1")),
        },
    };
    let (parent, ratio) = match variable.value.as_str() {
        "always_on" => (false, 1.0),
        "always_off" => (false, 0.0),
        "traceidratio" => (false, ratio()?),
        "parentbased_always_on" => (true, 1.0),
        "parentbased_always_off" => (true, 0.0),
        "parentbased_traceidratio" => (true, ratio()?),
        _ => {
            let hint = "samplers are `always_on`, `always_off` and `traceidratio`, each also with `parentbased_` before it";
            return Err(variable.invalid(hint));
        }
    };
    Ok(Sampler { parent, ratio })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        Settings::from_env(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn defaults() {
        let settings = read(&[("OTEL_SERVICE_NAME", "")]).expect("valid");
        assert!(settings.exports);
        assert_eq!(settings.endpoint, ENDPOINT);
        assert_eq!(settings.protocol, Protocol::Protobuf);
        assert!(!settings.gzip);
        let names: Vec<&str> = settings.resource.iter().map(|(name, _)| &**name).collect();
        let telemetry = TELEMETRY.map(|(name, _)| name);
        assert_eq!((names[0], &names[1..]), ("service.name", &telemetry[..]));
        assert_eq!(settings.resource[0].1, "howdah");
        assert_eq!((settings.queue, settings.batch), (2_048, 512));
        assert_eq!(settings.timeout, Duration::from_secs(10));
    }

    #[test]
    fn variables() {
        let settings = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:1234/"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b, x=y"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1"),
            ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "250"),
            (
                "OTEL_RESOURCE_ATTRIBUTES",
                "service.name=shop,deployment.environment=prod",
            ),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/roots.pem"),
            (
                "OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE",
                "/client.pem",
            ),
            ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/client.key"),
            ("OTEL_PROPAGATORS", "tracecontext,baggage"),
        ])
        .expect("valid");
        assert_eq!(settings.endpoint, "http://collector:1234/v1/traces");
        assert_eq!(settings.headers[0].1, "a b");
        assert_eq!(settings.protocol, Protocol::Json);
        assert!(settings.gzip);
        assert_eq!(settings.tls.roots, [std::path::Path::new("/roots.pem")]);
        let client = settings.tls.client.expect("a client certificate");
        assert_eq!(client.certificate, std::path::Path::new("/client.pem"));
        assert_eq!(settings.timeout, Duration::from_millis(250));
        assert_eq!(settings.resource[0].1, "shop");
        assert_eq!(settings.resource[1].0, "deployment.environment");
        let own = read(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://c:1/x")]);
        assert_eq!(own.expect("valid").endpoint, "https://c:1/x");
        for (name, value) in [
            ("OTEL_SDK_DISABLED", "TRUE"),
            ("OTEL_TRACES_EXPORTER", "none"),
        ] {
            assert!(!read(&[(name, value)]).expect("valid").exports);
        }
    }

    #[test]
    fn options_that_cannot_be_honoured_are_errors() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"),
            ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/key.pem"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://collector"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"),
            ("OTEL_TRACES_EXPORTER", "zipkin"),
            ("OTEL_TRACES_SAMPLER", "sometimes"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "novalue"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "0"),
            ("OTEL_PROPAGATORS", "b3"),
        ] {
            let error = read(&[(name, value)]).expect_err(name);
            assert!(
                error.to_string().starts_with(&format!("{name}={value}: ")),
                "{error}"
            );
        }
    }

    #[test]
    fn samplers() {
        let of = |name: &str, arg: &str| {
            let variables = [
                ("OTEL_TRACES_SAMPLER", name),
                ("OTEL_TRACES_SAMPLER_ARG", arg),
            ];
            read(&variables).expect("valid").sampler
        };
        let trace = TraceId(1);
        assert!(of("always_on", "").samples(trace, Some(false)));
        assert!(!of("always_off", "").samples(trace, Some(true)));
        assert!(of("parentbased_always_off", "").samples(trace, Some(true)));
        assert!(!of("parentbased_always_off", "").samples(trace, None));
        let tenth = of("traceidratio", "0.1");
        let sampled = (0..10_000_u128)
            .filter(|n| tenth.samples(TraceId(n * ((1 << 56) / 10_000)), None))
            .count();
        assert!((990..=1_010).contains(&sampled), "{sampled}");
    }
}
