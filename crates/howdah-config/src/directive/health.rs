//! Active health checks of upstreams: options that `reverse_proxy` and `php_fastcgi` have in
//! common.

use std::time::Duration;

use super::encode::statuses;
use crate::error::{Error, ErrorKind};
use crate::model::HealthCheck;
use crate::table::template::literal;
use crate::table::value::duration;
use crate::table::{Call, Entry, bad_value};

/// Options read so far of a block.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    uri: Option<String>,
    interval: Option<Duration>,
    timeout: Option<Duration>,
    status: Option<(u16, u16)>,
}

impl Draft {
    /// Completes them with Caddy's defaults; `None` if there are no checks.
    pub(super) fn finish(self, call: &Call<'_>) -> Result<Option<HealthCheck>, Error> {
        let others = self.interval.is_some() || self.timeout.is_some() || self.status.is_some();
        match self.uri {
            Some(uri) => Ok(Some(HealthCheck {
                uri,
                interval: self.interval.unwrap_or(Duration::from_secs(30)),
                timeout: self.timeout.unwrap_or(Duration::from_secs(5)),
                status: self.status.unwrap_or((200, 299)),
            })),
            None if others => Err(call.error(
                ErrorKind::Conflict,
                "the options of `health_uri` are here without it".into(),
                "write `health_uri PATH` too",
            )),
            None => Ok(None),
        }
    }
}

pub(super) const URI: Entry = Entry {
    name: "health_uri",
    syntax: "health_uri PATH",
    default: "no active health checks",
    about: "Active health check: requests this path from each upstream, from the first request on, and uses the \
        healthy ones.",
    differs: "Caddy starts checking at its start.",
    example: "health_uri /health",
};

pub(super) const INTERVAL: Entry = Entry {
    name: "health_interval",
    syntax: "health_interval DURATION",
    default: "`30s`",
    about: "The time between two checks of `health_uri`.",
    differs: "",
    example: "health_interval 10s",
};

pub(super) const TIMEOUT: Entry = Entry {
    name: "health_timeout",
    syntax: "health_timeout DURATION",
    default: "`5s`",
    about: "An upstream that takes longer to respond is unhealthy.",
    differs: "",
    example: "health_timeout 2s",
};

pub(super) const STATUS: Entry = Entry {
    name: "health_status",
    syntax: "health_status CODE|4xx",
    default: "`2xx`",
    about: "Status of a healthy upstream.",
    differs: "",
    example: "health_status 204",
};

pub(super) fn uri(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let word = call.one()?;
    let uri = literal(word, "a path to request")?;
    let printable = uri.bytes().all(|byte| byte.is_ascii_graphic());
    if !uri.starts_with('/') || !printable {
        return Err(bad_value(
            &word.position,
            format!("`{}` is not a path", word.text),
            "a path starts with `/` and has no spaces",
        ));
    }
    draft.uri = Some(uri);
    Ok(())
}

pub(super) fn interval(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.interval = Some(duration(call)?);
    Ok(())
}

pub(super) fn timeout(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.timeout = Some(duration(call)?);
    Ok(())
}

pub(super) fn status(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.status = Some(statuses(call.one()?)?);
    Ok(())
}
