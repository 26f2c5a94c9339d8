//! The upstream of a request, for placeholders.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use howdah_config::model::UpstreamPart;

use super::duration::{precise_duration, push_milliseconds};

/// The upstream that a request goes to, and once it has responded the time that it took. In the extensions of its
/// response, behind an `Arc`.
#[derive(Debug)]
pub(crate) struct UpstreamNote {
    /// Its address as configured, or of this request.
    pub(crate) name: Arc<str>,
    /// Its other requests in flight.
    pub(crate) requests: usize,
    pub(crate) max_requests: Option<usize>,
    /// Failures that have not expired.
    pub(crate) fails: usize,
    /// Attempts before this one.
    pub(crate) retries: u32,
    /// The start of the first attempt.
    pub(crate) begin: Instant,
    /// The start of this attempt.
    pub(crate) start: Instant,
    /// `None` before the response.
    pub(crate) latency: Option<Duration>,
}

impl UpstreamNote {
    /// Appends a part; nothing if it is not known. `is_over`: the response has ended.
    pub(crate) fn push(&self, text: &mut String, part: UpstreamPart, is_over: bool) {
        let until_end = |begin: Instant| is_over.then(|| begin.elapsed());
        // Writing to memory cannot fail.
        let _ = match part {
            UpstreamPart::HostPort => text.write_str(&self.name),
            UpstreamPart::Host => text.write_str(self.host_and_port().0),
            UpstreamPart::Port => text.write_str(self.host_and_port().1),
            UpstreamPart::Address => {
                let network = if self.socket().is_some() { "" } else { "tcp/" };
                write!(text, "{network}{}", self.name)
            }
            UpstreamPart::Requests => write!(text, "{}", self.requests),
            UpstreamPart::MaxRequests => write!(text, "{}", self.max_requests.unwrap_or(0)),
            UpstreamPart::Fails => write!(text, "{}", self.fails),
            UpstreamPart::Retries => write!(text, "{}", self.retries),
            UpstreamPart::Latency => text.write_str(&shown(self.latency)),
            UpstreamPart::LatencyMs => {
                push_milliseconds(text, self.latency);
                Ok(())
            }
            UpstreamPart::Duration => text.write_str(&shown(until_end(self.start))),
            UpstreamPart::DurationMs => {
                push_milliseconds(text, until_end(self.start));
                Ok(())
            }
            UpstreamPart::TotalDuration => text.write_str(&shown(until_end(self.begin))),
            UpstreamPart::TotalDurationMs => {
                push_milliseconds(text, until_end(self.begin));
                Ok(())
            }
        };
    }

    /// The path of a socket.
    fn socket(&self) -> Option<&str> {
        self.name.strip_prefix("unix/")
    }

    fn host_and_port(&self) -> (&str, &str) {
        if let Some(path) = self.socket() {
            return (path, "");
        }
        let (host, port) = self.name.rsplit_once(':').unwrap_or((&self.name, ""));
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        (bare.unwrap_or(host), port)
    }
}

fn shown(time: Option<Duration>) -> String {
    time.map(precise_duration).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(name: &str, latency: Option<Duration>, is_over: bool) -> String {
        let note = UpstreamNote {
            name: name.into(),
            requests: 3,
            max_requests: None,
            fails: 1,
            retries: 2,
            begin: Instant::now(),
            start: Instant::now(),
            latency,
        };
        let parts = [
            UpstreamPart::HostPort,
            UpstreamPart::Host,
            UpstreamPart::Port,
            UpstreamPart::Address,
            UpstreamPart::Requests,
            UpstreamPart::MaxRequests,
            UpstreamPart::Fails,
            UpstreamPart::Retries,
            UpstreamPart::Latency,
            UpstreamPart::LatencyMs,
        ];
        let mut text = String::new();
        for part in parts {
            note.push(&mut text, part, is_over);
            text.push(' ');
        }
        let length = text.len();
        note.push(&mut text, UpstreamPart::Duration, is_over);
        note.push(&mut text, UpstreamPart::TotalDurationMs, is_over);
        assert_eq!(text.len() > length, is_over);
        text.truncate(length);
        text
    }

    #[test]
    fn an_upstream_is_known_in_parts() {
        assert_eq!(
            parts("a.test:80", None, false),
            "a.test:80 a.test 80 tcp/a.test:80 3 0 1 2   "
        );
        let latency = Some(Duration::from_micros(1500));
        assert_eq!(
            parts("[::1]:8080", latency, true),
            "[::1]:8080 ::1 8080 tcp/[::1]:8080 3 0 1 2 1.500ms 1.500 "
        );
        assert_eq!(
            parts("unix//run/a.sock", latency, true),
            "unix//run/a.sock /run/a.sock  unix//run/a.sock 3 0 1 2 1.500ms 1.500 "
        );
    }
}
