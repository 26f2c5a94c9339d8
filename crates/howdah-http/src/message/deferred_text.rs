//! Text with the costs of a request, which are known when the response has arrived or has ended.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use howdah_config::model::{Figure, UpstreamPart};
use howdah_observe::usage::UsageSoFar;

use super::duration::{precise_duration, push_milliseconds};
use super::upstream_note::UpstreamNote;

/// The costs of a request that are known at a certain time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Figures<'a> {
    /// Time since the end of the request's header.
    pub(crate) duration: Duration,
    /// 0 without a response.
    pub(crate) status: u16,
    /// Bytes of the bodies, once the response is over.
    pub(crate) bytes: Option<BodyBytes>,
    /// Usage in PHP, if PHP runs it.
    pub(crate) php: Option<UsageSoFar>,
    /// The upstream that the request goes to, or that has responded.
    pub(crate) upstream: Option<&'a UpstreamNote>,
}

/// Lengths of the bodies of request and response, without framing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyBytes {
    pub(crate) received: u64,
    pub(crate) sent: u64,
}

/// A text whose placeholders are replaced, except those of [`Figure`] and [`UpstreamPart`], whose values are known later.
#[derive(Debug)]
pub(crate) struct DeferredText {
    parts: Vec<DeferredPart>,
    begin: Instant,
}

#[derive(Debug)]
pub(crate) enum DeferredPart {
    Text(String),
    Figure(Figure),
    Upstream(UpstreamPart),
}

impl DeferredText {
    /// `begin`: the end of the request's header.
    pub(crate) fn new(parts: Vec<DeferredPart>, begin: Instant) -> Self {
        Self { parts, begin }
    }

    /// Time since the end of the request's header.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    /// The texts that are known.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            DeferredPart::Text(text) => Some(text.as_str()),
            DeferredPart::Figure(_) | DeferredPart::Upstream(_) => None,
        })
    }

    /// Whether it contains costs of the request.
    pub(crate) fn has_figures(&self) -> bool {
        let is_figure = |part: &DeferredPart| matches!(part, DeferredPart::Figure(_));
        self.parts.iter().any(is_figure)
    }

    /// The text; unknown figures are left out.
    pub(crate) fn text(&self, figures: &Figures<'_>) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                DeferredPart::Text(piece) => text.push_str(piece),
                DeferredPart::Figure(figure) => figures.push(&mut text, *figure),
                DeferredPart::Upstream(part) => {
                    if let Some(upstream) = figures.upstream {
                        upstream.push(&mut text, *part, figures.bytes.is_some());
                    }
                }
            }
        }
        text
    }
}

impl Figures<'_> {
    fn push(&self, text: &mut String, figure: Figure) {
        let usage = self.php.and_then(|php| php.usage);
        let script = usage.map(|usage| usage.script);
        match figure {
            Figure::Duration => text.push_str(&precise_duration(self.duration)),
            Figure::DurationMs => push_milliseconds(text, Some(self.duration)),
            Figure::Status if self.status == 0 => {}
            Figure::Status => push_number(text, Some(self.status.into())),
            Figure::BytesRead => push_number(text, self.bytes.map(|bytes| bytes.received)),
            Figure::Size => push_number(text, self.bytes.map(|bytes| bytes.sent)),
            Figure::Queue => push_milliseconds(text, self.php.map(|php| php.queue)),
            Figure::Php => push_milliseconds(text, usage.map(|usage| usage.time)),
            Figure::Cpu => push_milliseconds(text, script.map(|script| script.cpu)),
            Figure::Database => push_milliseconds(text, script.map(|script| script.database)),
            Figure::Queries => push_number(text, script.map(|script| script.queries.into())),
            Figure::MemoryPeak => push_number(text, script.map(|script| script.memory_peak)),
        }
    }
}

fn push_number(text: &mut String, number: Option<u64>) {
    if let Some(number) = number {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{number}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use howdah_observe::usage::{PhpUsage, ScriptUsage};

    const ALL: [Figure; 11] = [
        Figure::Duration,
        Figure::DurationMs,
        Figure::Status,
        Figure::BytesRead,
        Figure::Size,
        Figure::Queue,
        Figure::Php,
        Figure::Cpu,
        Figure::Database,
        Figure::Queries,
        Figure::MemoryPeak,
    ];

    fn text(figures: &Figures<'_>) -> String {
        let parts = ALL.into_iter().flat_map(|figure| {
            let part = DeferredPart::Text(" ".into());
            [DeferredPart::Figure(figure), part]
        });
        DeferredText::new(parts.collect(), Instant::now()).text(figures)
    }

    #[test]
    fn what_is_known_is_in_the_text() {
        let mut figures = Figures {
            duration: Duration::from_micros(12_345),
            status: 200,
            bytes: None,
            php: None,
            upstream: None,
        };
        assert_eq!(text(&figures), "12.345ms 12.345 200         ");
        let usage = PhpUsage {
            queue: Duration::from_micros(40),
            time: Duration::from_millis(9),
            script: ScriptUsage {
                cpu: Duration::from_millis(8),
                database: Duration::from_micros(1),
                queries: 2,
                memory_peak: 4096,
            },
        };
        figures.php = Some(UsageSoFar {
            queue: usage.queue,
            usage: None,
        });
        assert_eq!(text(&figures), "12.345ms 12.345 200   0.040      ");
        figures.php = Some(UsageSoFar::of(usage));
        figures.bytes = Some(BodyBytes {
            received: 3,
            sent: 7,
        });
        assert_eq!(
            text(&figures),
            "12.345ms 12.345 200 3 7 0.040 9.000 8.000 0.001 2 4096 "
        );
    }
}
