//! Descriptions of signals, and the fault that a process reports.

use super::{CrashSignal, text};

/// Most lines of a backtrace.
const FRAMES_MAX: usize = 66;
/// Characters of a line.
const FRAME_MAX: usize = 600;

/// The first record of a fault, without its frames.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) signal: i32,
    pub(super) code: Option<i32>,
    pub(super) address: Option<String>,
    pub(super) sender: Option<i32>,
    pub(super) thread: Option<String>,
    pub(super) stack_full: bool,
}

impl Fault {
    /// `fault SIGNAL CODE address|sender VALUE thread php|other [stack full]`; what does not fit is left out.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        if words.next() != Some("fault") {
            return None;
        }
        let mut fault = Self {
            signal: words.next()?.parse().ok()?,
            code: words.next().and_then(|word| word.parse().ok()),
            ..Self::default()
        };
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            match name {
                "address" => fault.address = Some(text::line(value, 20)),
                "sender" => fault.sender = value.parse().ok(),
                "thread" => fault.thread = Some(text::line(value, 10)),
                "stack" => fault.stack_full = value == "full",
                _ => {}
            }
        }
        Some(fault)
    }
}

/// The lines of a record after the first.
pub(super) fn frames(record: &str) -> Vec<String> {
    let lines = record.lines().skip(1).take(FRAMES_MAX);
    lines.map(|line| text::line(line, FRAME_MAX)).collect()
}

/// `SIGSEGV`.
pub(super) fn name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

/// The kernel's reason for the signal, as a part of a sentence.
fn reason(signal: &CrashSignal) -> Option<&'static str> {
    Some(match (signal.number, signal.code?) {
        (11, _) if signal.stack_full => "the stack is full, by calls that are nested too deeply",
        (4, 1) => "an invalid instruction",
        (4, _) => "an instruction that cannot be executed",
        (7, 1) => "a misaligned address",
        (7, 2) => "memory that does not exist: a mapped file became shorter, or a disk is full",
        (8, 1) => "an integer division by zero",
        (8, 2) => "an integer overflow",
        (8, _) => "an arithmetic error",
        (11, 1) => "no memory at this address",
        (11, 2) => "memory that does not permit this access",
        (11, 128) => "an invalid address",
        _ => return None,
    })
}

/// The signal in a sentence. `pid`: the process; `oom`: the kernel has killed a process for lack of memory.
pub(super) fn sentence(signal: &CrashSignal, pid: i32, oom: Option<bool>) -> String {
    let name = &signal.name;
    if signal.number == 9 {
        return match oom {
            Some(true) => format!(
                "{name}: the kernel has killed a process for lack of memory since the last crash, most likely this one"
            ),
            Some(false) => {
                format!("{name}: killed from outside, and not by the kernel for lack of memory")
            }
            None => {
                format!("{name}: killed from outside, perhaps by the kernel for lack of memory")
            }
        };
    }
    match (reason(signal), &signal.address, signal.sender) {
        (Some(reason), Some(address), _) => format!("{name}: {reason} ({address})"),
        (_, _, Some(sender)) if sender == pid && signal.number == 6 => {
            format!("{name}: the process called abort()")
        }
        (_, _, Some(sender)) if sender == pid => format!("{name}: sent by the process itself"),
        (_, _, Some(sender)) => format!("{name}: sent by process {sender}"),
        _ => name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_parsed_as_far_as_it_goes() {
        let fault = Fault::parse("fault 11 1 address 0x8 thread php").expect("a fault");
        let expected = Fault {
            signal: 11,
            code: Some(1),
            address: Some("0x8".into()),
            sender: None,
            thread: Some("php".into()),
            stack_full: false,
        };
        assert_eq!(fault, expected);
        let full = Fault::parse("fault 11 1 address 0x8 thread php stack full");
        assert!(full.is_some_and(|fault| fault.stack_full));
        let sent = Fault::parse("fault 6 -6 sender 17").expect("a fault");
        assert_eq!((sent.code, sent.sender), (Some(-6), Some(17)));
        for other in ["", "c", "fault", "fault x", "waits"] {
            assert_eq!(Fault::parse(other), None, "{other}");
        }
        assert!(Fault::parse("fault 11 ? address").is_some());
        let many = "c\n".to_owned() + &"#0 f()\n".repeat(1000);
        assert_eq!(frames(&many).len(), FRAMES_MAX);
    }

    #[test]
    fn signals_in_words() {
        let of = |number, code, address: Option<&str>, sender| {
            let signal = CrashSignal {
                number,
                name: name(number),
                code,
                address: address.map(Into::into),
                sender,
                thread: None,
                stack_full: address == Some("0x7ff0"),
            };
            sentence(&signal, 5, Some(true))
        };
        assert_eq!(
            of(11, Some(1), Some("0x7ff0"), None),
            "SIGSEGV: the stack is full, by calls that are nested too deeply (0x7ff0)"
        );
        assert_eq!(
            of(11, Some(1), Some("0x0"), None),
            "SIGSEGV: no memory at this address (0x0)"
        );
        assert_eq!(
            of(6, Some(-6), None, Some(5)),
            "SIGABRT: the process called abort()"
        );
        assert_eq!(of(11, Some(0), None, Some(9)), "SIGSEGV: sent by process 9");
        assert_eq!(of(11, None, None, None), "SIGSEGV");
        assert!(of(9, None, None, None).contains("lack of memory since"));
        assert_eq!(name(63), "signal 63");
    }
}
