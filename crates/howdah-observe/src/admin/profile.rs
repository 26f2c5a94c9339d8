//! `POST /profile`: where PHP spends its time.

use std::str::FromStr;

use howdah_profile::{Format, Metric};

use super::query::{QueryError, pairs};

/// Default samples per second.
const HZ: u32 = 100;
/// Maximum: more frequent samples would cost more than they show.
const HZ_MAX: u32 = 1000;
/// Default duration.
const SECONDS: u32 = 10;
const SECONDS_MAX: u32 = 3600;

/// Parameters of `/debug/profile`, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileRequest {
    /// Duration, 1 to 3600.
    pub seconds: u32,
    /// Samples of each worker per second, 1 to 1000.
    pub hz: u32,
    /// The pool; `None`: all.
    pub pool: Option<String>,
    /// Pattern of the routes to show; `None`: all.
    pub route: Option<String>,
    /// Its output format.
    pub format: Format,
    /// The time by which stacks are drawn.
    pub metric: Metric,
}

/// A rendered profile.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct ProfileReply {
    pub format: Format,
    /// The document.
    pub body: Vec<u8>,
    /// How many samples were due and taken, in one line.
    pub summary: String,
}

/// Why there is no profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum ProfileError {
    /// There is no such pool.
    #[error("pool {name} does not exist; the pools are: {}", known.join(", "))]
    UnknownPool { name: String, known: Vec<String> },
    /// A profile is already being taken.
    #[error("another profile is being taken: retry when it is complete")]
    UnderWay,
    /// No process has counted anything.
    #[error(
        "no PHP process took samples: none was ready, or its system does not permit it (see the server's log)"
    )]
    NoSamples,
    /// The server is stopping.
    #[error("the server is stopping")]
    Stopping,
    /// It was taken but cannot be rendered.
    #[error("{0}")]
    Failed(String),
}

impl ProfileRequest {
    pub(super) fn parse(query: Option<&str>) -> Result<Self, QueryError> {
        let mut request = Self {
            seconds: SECONDS,
            hz: HZ,
            pool: None,
            route: None,
            format: Format::Svg,
            metric: Metric::Wall,
        };
        for (name, value) in pairs(query)? {
            match &*name {
                "seconds" => request.seconds = number(&name, &value, SECONDS_MAX)?,
                "hz" => request.hz = number(&name, &value, HZ_MAX)?,
                "pool" => request.pool = Some(value),
                "route" => request.route = Some(value),
                "format" => {
                    request.format = Format::from_str(&value)
                        .map_err(|text| QueryError(format!("format={value}: {text}")))?;
                }
                "time" => {
                    request.metric = match &*value {
                        "wall" => Metric::Wall,
                        "cpu" => Metric::Cpu,
                        _ => return Err(QueryError(format!("time={value}: expected wall or cpu"))),
                    }
                }
                _ => {
                    return Err(QueryError(format!(
                        "{name}: expected seconds, hz, pool, route, format or time"
                    )));
                }
            }
        }
        Ok(request)
    }
}

fn number(name: &str, value: &str, most: u32) -> Result<u32, QueryError> {
    let number = value.parse().ok();
    number
        .filter(|number| (1..=most).contains(number))
        .ok_or_else(|| {
            QueryError(format!(
                "{name}={value}: expected a number from 1 to {most}"
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries() {
        let default = ProfileRequest::parse(None).expect("valid");
        assert_eq!((default.seconds, default.hz), (10, 100));
        assert_eq!(
            (default.format, default.metric),
            (Format::Svg, Metric::Wall)
        );
        let query = "seconds=2&hz=1000&pool=a%20b&route=/api/*&format=pprof&time=cpu";
        let request = ProfileRequest::parse(Some(query)).expect("valid");
        assert_eq!((request.seconds, request.hz), (2, 1000));
        assert_eq!(request.pool.as_deref(), Some("a b"));
        assert_eq!(request.route.as_deref(), Some("/api/*"));
        assert_eq!(
            (request.format, request.metric),
            (Format::Pprof, Metric::Cpu)
        );
        for wrong in [
            "hz=0",
            "hz=1001",
            "seconds=x",
            "format=png",
            "time=day",
            "x=1",
            "hz",
            "pool=",
        ] {
            assert!(ProfileRequest::parse(Some(wrong)).is_err(), "{wrong}");
        }
    }
}
