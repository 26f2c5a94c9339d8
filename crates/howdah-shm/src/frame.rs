//! Response frames as the front passes them on, and the checks of their payloads.

use crate::errors::ProtocolViolation;
use crate::layout::{
    END_SIZE, EXIT_FATAL, EXIT_KEPT, EXIT_LOST, EXIT_NORMAL, EXIT_RESTARTED, EXIT_SKIPPED,
    EXIT_SUSPENDED,
};
use crate::update::Part;
use bytes::Bytes;

/// One frame of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A 1xx response.
    Info(Head),
    /// The head of the response.
    Headers(Head),
    /// Bytes of the body, never empty.
    Body(Bytes),
    /// The response is complete although the script continues.
    Finish,
    /// A part of an update for the request's hub; it may come anywhere before the end.
    Publish(Part),
    /// The last frame of a request.
    End(End),
}

/// Status, reason and headers. The structure is checked; whether names and values are valid HTTP is
/// for the front to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// 100 to 199 in an info frame, otherwise 200 to 999.
    pub status: u16,
    /// Reason phrase, usually empty.
    pub reason: Bytes,
    count: u32,
    /// The header records, checked.
    records: Bytes,
}

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// How the script ended.
    pub exit: Exit,
    /// Status of `exit()`; 255 after a fatal error.
    pub exit_status: u32,
    /// Largest use of PHP's allocator, in bytes.
    pub memory_peak: u64,
    /// User and system time of the request in microseconds; this and the following are 0 if not requested
    /// (`REQUEST_ACCOUNT`).
    pub cpu_us: u64,
    /// Wall time in calls of database extensions, in microseconds.
    pub database_us: u64,
    /// SQL statements that these calls ran.
    pub queries: u32,
}

/// How a script ended. The response is complete in all cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It ran to its end or, in classic mode, called `exit()`.
    Normal,
    /// A fatal error was reported.
    Fatal,
    /// Worker mode: it called `exit()`, and its `finally` blocks have run.
    Kept,
    /// It called `exit()` where that ends the worker.
    Restarted,
    /// It was unwound without its `finally` blocks, so the worker accepts no more requests.
    Skipped,
    /// An exception replaced its unwinding. The worker accepts no more requests.
    Lost,
    /// A Fiber or generator with a pending `finally` block was abandoned. The worker accepts no more requests.
    Suspended,
}

impl Exit {
    /// Converts the number in a frame; `None` if it is invalid.
    fn from_wire(number: u32) -> Option<Self> {
        Some(match number {
            EXIT_NORMAL => Self::Normal,
            EXIT_FATAL => Self::Fatal,
            EXIT_KEPT => Self::Kept,
            EXIT_RESTARTED => Self::Restarted,
            EXIT_SKIPPED => Self::Skipped,
            EXIT_LOST => Self::Lost,
            EXIT_SUSPENDED => Self::Suspended,
            _ => return None,
        })
    }

    /// Its number in an END frame. The front only reads such frames.
    #[cfg(any(test, loom, feature = "fake-worker"))]
    pub(crate) fn to_wire(self) -> u32 {
        match self {
            Self::Normal => EXIT_NORMAL,
            Self::Fatal => EXIT_FATAL,
            Self::Kept => EXIT_KEPT,
            Self::Restarted => EXIT_RESTARTED,
            Self::Skipped => EXIT_SKIPPED,
            Self::Lost => EXIT_LOST,
            Self::Suspended => EXIT_SUSPENDED,
        }
    }
}

/// The headers of a [`Head`], as pieces of one buffer: no copy is made.
#[derive(Clone, Debug)]
pub struct Headers {
    left: u32,
    records: Bytes,
}

impl Head {
    /// Name and value of each header, in order, as the script sent them.
    pub fn headers(&self) -> Headers {
        Headers {
            left: self.count,
            records: self.records.clone(),
        }
    }

    /// Checks the payload of a HEADERS or INFO frame.
    pub(crate) fn parse(mut payload: Bytes, info: bool) -> Result<Self, ProtocolViolation> {
        let (status, reason_size, count) = match *payload {
            [s0, s1, r0, r1, c0, c1, c2, c3, ..] => (
                u16::from_le_bytes([s0, s1]),
                usize::from(u16::from_le_bytes([r0, r1])),
                u32::from_le_bytes([c0, c1, c2, c3]),
            ),
            _ => return Err(ProtocolViolation::Head),
        };
        let statuses = if info { 100..=199 } else { 200..=999 };
        if !statuses.contains(&status) {
            return Err(ProtocolViolation::Status(status));
        }
        if payload.len() < 8 + reason_size {
            return Err(ProtocolViolation::Head);
        }
        let reason = payload.slice(8..8 + reason_size);
        let records = payload.split_off(8 + reason_size);
        let mut rest: &[u8] = &records;
        for _ in 0..count {
            let (name, value) = record_sizes(rest).ok_or(ProtocolViolation::Head)?;
            rest = rest
                .get(8 + name + value..)
                .ok_or(ProtocolViolation::Head)?;
        }
        if !rest.is_empty() {
            return Err(ProtocolViolation::Head);
        }
        Ok(Self {
            status,
            reason,
            count,
            records,
        })
    }
}

/// The sizes of name and value, if their sum does not overflow.
fn record_sizes(record: &[u8]) -> Option<(usize, usize)> {
    let [n0, n1, n2, n3, v0, v1, v2, v3, ..] = *record else {
        return None;
    };
    let name = u32::from_le_bytes([n0, n1, n2, n3]) as usize;
    let value = u32::from_le_bytes([v0, v1, v2, v3]) as usize;
    8_usize.checked_add(name)?.checked_add(value)?;
    Some((name, value))
}

impl Iterator for Headers {
    type Item = (Bytes, Bytes);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let (name_size, value_size) = record_sizes(&self.records)?;
        let end = 8 + name_size + value_size;
        let name = self.records.slice(8..8 + name_size);
        let value = self.records.slice(8 + name_size..end);
        self.records = self.records.slice(end..);
        Some((name, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Headers {}

impl End {
    /// Checks the payload of an END frame.
    pub(crate) fn parse(payload: &[u8]) -> Result<Self, ProtocolViolation> {
        let payload: &[u8; END_SIZE] = payload.try_into().map_err(|_| ProtocolViolation::End)?;
        let u32_at = |at: usize| {
            u32::from_le_bytes([
                payload[at],
                payload[at + 1],
                payload[at + 2],
                payload[at + 3],
            ])
        };
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        Ok(Self {
            exit: Exit::from_wire(u32_at(0)).ok_or(ProtocolViolation::End)?,
            exit_status: u32_at(4),
            memory_peak: u64_at(8),
            cpu_us: u64_at(16),
            database_us: u64_at(24),
            queries: u32_at(32),
        })
    }
}
