//! W3C trace context: <https://www.w3.org/TR/trace-context/>.

use std::fmt;

use super::settings::Sampler;

/// A trace's id, never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId(pub u128);

/// The position of a request in its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct TraceContext {
    pub trace: TraceId,
    /// The span of this request, never 0.
    pub span: u64,
    /// The span of the caller, if it sent one.
    pub parent: Option<u64>,
    /// Its spans are exported.
    pub sampled: bool,
}

impl TraceContext {
    /// Continues the caller's trace, or starts one. An invalid `traceparent` is ignored, and so are two. If the result
    /// has a [`parent`](Self::parent), it continues the caller's trace; otherwise the caller's `tracestate` does not
    /// apply.
    pub fn begin<'t>(traceparents: impl IntoIterator<Item = &'t [u8]>, sampler: &Sampler) -> Self {
        let mut traceparents = traceparents.into_iter();
        let caller = match (traceparents.next(), traceparents.next()) {
            (Some(one), None) => parse(one),
            _ => None,
        };
        let span = Self::new_span();
        let trace = caller.map_or_else(|| TraceId(fastrand::u128(1..)), |(trace, ..)| trace);
        Self {
            trace,
            span,
            parent: caller.map(|(_, parent, _)| parent),
            sampled: sampler.samples(trace, caller.map(|(.., flag)| flag)),
        }
    }

    /// An id for a span.
    pub fn new_span() -> u64 {
        fastrand::u64(1..)
    }

    /// The header for servers that this request calls.
    pub fn traceparent(&self) -> String {
        let flags = u8::from(self.sampled);
        format!("00-{}-{:016x}-{flags:02x}", self.trace, self.span)
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Trace, parent and whether the caller samples.
fn parse(text: &[u8]) -> Option<(TraceId, u64, bool)> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let mut parts = text.split('-');
    let (version, trace, parent, flags) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let hex = |text: &str, length: usize| {
        let digits = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == length && text.bytes().all(digits)).then_some(())
    };
    hex(version, 2)?;
    hex(trace, 32)?;
    hex(parent, 16)?;
    hex(flags, 2)?;
    // A later version may have additional fields, this one may not.
    if version == "ff" || (version == "00" && parts.next().is_some()) {
        return None;
    }
    let trace = u128::from_str_radix(trace, 16)
        .ok()
        .filter(|trace| *trace != 0)?;
    let parent = u64::from_str_radix(parent, 16)
        .ok()
        .filter(|parent| *parent != 0)?;
    let flags = u8::from_str_radix(flags, 16).ok()?;
    Some((TraceId(trace), parent, flags & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_callers_trace_goes_on() {
        let context = TraceContext::begin([VALID.as_bytes()], &Sampler::default());
        assert_eq!(
            context.trace.to_string(),
            "0af7651916cd43dd8448eb211c80319c"
        );
        assert_eq!(context.parent, Some(0xb7ad_6b71_6920_3331));
        assert!(context.sampled);
        assert_ne!(Some(context.span), context.parent);
        let passed = context.traceparent();
        let (trace, parent, sampled) = parse(passed.as_bytes()).expect("valid");
        assert_eq!(
            (trace, parent, sampled),
            (context.trace, context.span, true)
        );
    }

    #[test]
    fn an_invalid_context_starts_a_trace() {
        for wrong in [
            "",
            "00",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
            let context = TraceContext::begin([wrong.as_bytes()], &Sampler::default());
            assert_eq!(context.parent, None, "{wrong}");
            assert_ne!((context.trace.0, context.span), (0, 0));
        }
        let two = TraceContext::begin([VALID.as_bytes(); 2], &Sampler::default());
        assert_eq!(two.parent, None);
        assert_eq!(TraceContext::begin([], &Sampler::default()).parent, None);
        let later = "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-what-comes";
        assert!(parse(later.as_bytes()).is_some_and(|(_, _, sampled)| !sampled));
    }
}
