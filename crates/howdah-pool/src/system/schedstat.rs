//! The kernel's counters of a thread's time on processors: `/proc/…/schedstat`.

/// Times since the thread began, in nanoseconds. A wait that has not ended is not counted yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Schedstat {
    /// Time on a processor.
    pub(crate) ran_ns: u64,
    /// Waiting for one.
    pub(crate) waited_ns: u64,
}

impl Schedstat {
    /// Longer than any line.
    pub(crate) const SIZE_MAX: usize = 512;

    /// `TIME-ON-A-PROCESSOR TIME-WAITING-FOR-ONE TIMES`, all 0 where the kernel does not count.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let mut numbers = str::from_utf8(text)
            .ok()?
            .split_ascii_whitespace()
            .map(|number| number.parse::<u64>().ok());
        let (ran_ns, waited_ns) = (numbers.next()??, numbers.next()??);
        (numbers.next()?? > 0).then_some(Self { ran_ns, waited_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::Schedstat;

    #[test]
    fn data_of_the_kernel_is_read() {
        let turns = Schedstat {
            ran_ns: 1200,
            waited_ns: 34,
        };
        assert_eq!(Schedstat::parse(b"1200 34 5\n"), Some(turns));
        assert_eq!(Schedstat::parse(b"0 0 0\n"), None, "it does not count");
        assert_eq!(Schedstat::parse(b"1 x 5"), None);
        assert_eq!(Schedstat::parse(b""), None);
    }
}
