use proptest::prelude::*;

use super::*;

const PLAIN: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const SIZED: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 54\r\n\r\n\
                     Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n12345";
const CHUNKED: &str = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nCookie: content-length: 1\r\n\r\n\
                       1B ;x=\"\r\na: b\r\nContent-Length: 1\r\n\r\n\r\n\
                       3\r\nabc\r\n0\r\nContent-Length: 7\r\nT: x\r\n\r\n";
const BOTH: &str =
    "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
const BOTH_TURNED: &str =
    "POST / HTTP/1.1\r\ntransfer-encoding:chunked\r\nX: y\r\nCONTENT-LENGTH:3\r\n\r\n0\r\n\r\n";
const TWICE: &str = "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc";

/// The state of a reader after its input.
#[derive(Debug, PartialEq)]
struct ReaderOutcome {
    heads: u64,
    refused: Option<(u64, &'static str)>,
    state: State,
    /// How many bytes hyper gets.
    passed: usize,
    unescaped: Vec<usize>,
}

fn read<'t>(pieces: impl Iterator<Item = &'t [u8]>) -> ReaderOutcome {
    let mut framing = Framing::default();
    let (mut start, mut passed, mut unescaped) = (0, 0, Vec::new());
    for piece in pieces {
        passed += framing.receive(piece);
        unescaped.extend(framing.unescaped().iter().map(|at| start + at));
        framing.clear_unescaped();
        start += piece.len();
    }
    ReaderOutcome {
        heads: framing.heads,
        refused: framing.refused,
        state: framing.state,
        passed,
        unescaped,
    }
}

/// The result is the same, however the bytes are divided.
#[track_caller]
fn outcome(text: &[u8]) -> ReaderOutcome {
    let whole = read(std::iter::once(text));
    for piece in 1..text.len() {
        assert_eq!(read(text.chunks(piece)), whole, "in pieces of {piece}");
        let (first, second) = text.split_at(piece);
        assert_eq!(read([first, second].into_iter()), whole, "cut at {piece}");
    }
    whole
}

#[track_caller]
fn passes(text: &str, heads: u64) {
    let outcome = outcome(text.as_bytes());
    let expected = ReaderOutcome {
        heads,
        refused: None,
        state: State::Head,
        passed: text.len(),
        unescaped: Vec::new(),
    };
    assert_eq!(outcome, expected, "{text:?}");
}

/// Checks that request `number` and every later one is refused.
#[track_caller]
fn refused(text: &str, number: u64, reason: &str) {
    let outcome = outcome(text.as_bytes());
    assert_eq!(outcome.refused, Some((number, reason)), "{text:?}");
    assert_eq!(outcome.state, State::Stopped, "{text:?}");
    assert_eq!(outcome.passed, text.len(), "{text:?}");
}

#[test]
fn requests_with_one_length_pass() {
    passes(PLAIN, 1);
    passes(SIZED, 1);
    passes(CHUNKED, 1);
    passes(&[CHUNKED, SIZED, PLAIN, CHUNKED, PLAIN].concat(), 5);
    passes("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n\r\n", 1);
    passes("C / HTTP/1.1\r\nT: x\r\nContent-Lengths: 4\r\n\r\n", 1);
    passes("POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 1);
    let cookie = "c".repeat(400);
    passes(&format!("GET / HTTP/1.1\r\nCookie: {cookie}\r\n\r\n"), 1);
    passes(&format!("GET /{cookie} HTTP/1.1\r\nHost: a\r\n\r\n"), 1);
}

#[test]
fn two_lengths_are_found_in_any_order_and_place() {
    for request in [BOTH, BOTH_TURNED, TWICE] {
        refused(request, 1, TWO_LENGTHS);
        refused(&[PLAIN, request, PLAIN].concat(), 2, TWO_LENGTHS);
        refused(&[CHUNKED, SIZED, request].concat(), 3, TWO_LENGTHS);
    }
    let rest = &BOTH["POST / HTTP/1.1\r\n".len()..];
    let cookie = "c".repeat(400);
    let long = format!("GET / HTTP/1.1\r\nCookie: {cookie}\r\n{rest}");
    refused(&long, 1, TWO_LENGTHS);
}

#[test]
fn requests_after_a_refused_one_are_refused() {
    let mut framing = Framing::default();
    framing.receive([PLAIN, BOTH, PLAIN].concat().as_bytes());
    let refusals = [1, 2, 3, 100].map(|request| framing.refusal(request).is_some());
    assert_eq!(refusals, [false, true, true, true]);
}

#[test]
fn a_length_is_never_cut_off() {
    for padding in [" ", "\t", "0"] {
        let request = |size: usize| {
            let padding = padding.repeat(size - "Content-Length:3".len());
            format!("POST / HTTP/1.1\r\nContent-Length:{padding}3\r\n\r\nabc{TWICE}")
        };
        refused(&request(LINE_MAX), 2, TWO_LENGTHS);
        refused(&request(LINE_MAX + 1), 1, LONG_LENGTH);
        refused(&request(LINE_MAX + 40), 1, LONG_LENGTH);
    }
    let spaces = " ".repeat(LINE_MAX);
    let coded = format!("POST / HTTP/1.1\r\nTransfer-Encoding:{spaces}chunked\r\n\r\n{BOTH}");
    refused(&coded, 1, LONG_LENGTH);
}

#[test]
fn an_invalid_length_ends_the_connection() {
    for length in ["+1", "99999999999999999999", "", "3,3", "3 3"] {
        let request = format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{BOTH}");
        refused(&request, 1, NO_LENGTH);
    }
}

#[test]
fn lines_end_in_cr_lf() {
    for head in [
        "GET / HTTP/1.1\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\n",
        "GET / HTTP/1.1\nHost: a\n\n",
        "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        // hyper skips any CR before a request.
        "\r\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        refused(head, 1, LINE_END);
        refused(&[SIZED, head, PLAIN].concat(), 2, LINE_END);
    }
}

#[test]
fn a_broken_body_goes_no_further() {
    for (good, bad) in [
        ("1000000000000000", "0\r\n"),
        ("", "\r\n"),
        ("1;", "\nx"),
        ("1\r\na", "bc"),
        ("0\r\n", "\n"),
        ("0\r\nX: a", "\n\r\n"),
        ("0\r\nX: a\r\n", "\n"),
        ("0\r\nX: a\r", "\r\n"),
        ("1\r\na", "\n0\r\n\r\n"),
        ("0", "\n\r\n"),
    ] {
        let head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        let text = [PLAIN, head, good, bad, PLAIN, BOTH].concat();
        let expected = ReaderOutcome {
            heads: 2,
            refused: Some((3, BAD_CHUNK)),
            state: State::Broken,
            passed: [PLAIN, head, good].concat().len(),
            unescaped: Vec::new(),
        };
        assert_eq!(outcome(text.as_bytes()), expected, "{good:?} {bad:?}");
    }
}

#[test]
fn odd_bytes_of_targets_are_found() {
    let check = |text: &[u8], unescaped: &[usize]| {
        assert_eq!(outcome(text).unescaped, unescaped, "{text:?}");
    };
    check(
        b"GET /a?\"<>\" HTTP/1.1\r\nX: \"<>\xe9\r\n\r\n",
        &[7, 8, 9, 10],
    );
    check(b"\r\nGET /`\xe9\xc3 HTTP/1.1\r\n\r\n", &[7, 8, 9]);
    check(b"G\"T / HTTP/1.1\r\n\r\n", &[]);
    let second = [SIZED.as_bytes(), b"GET /<>"].concat();
    check(&second, &[SIZED.len() + 5, SIZED.len() + 6]);
    // The frames of HTTP/2, and those of a WebSocket, are not targets.
    check(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0 \xff\xff\n\xff", &[]);
    let upgrade = b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n\x81 \xff\xff\xff";
    check(upgrade, &[]);
}

proptest! {
    #[test]
    fn the_cuts_do_not_matter(
        words in prop::collection::vec(prop::sample::select(vec![
            PLAIN, SIZED, CHUNKED, BOTH, TWICE, "\r\n", "\n", "\r", "POST / HTTP/1.1\r\n",
            "Content-Length: 3\r\n", "Content-Length:", "Transfer-Encoding: chunked\r\n",
            "\r\n\r\n", "0\r\n", "3\r\nabc\r\n", "5;x\r\n", "X: y\r\n", " ", "\"", "abc", "<é>",
            "                                                                                    ",
        ]), 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let text = words.concat();
        let text = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.sort_unstable();
        let ends = cuts.iter().copied().chain([text.len()]);
        let starts = [0].into_iter().chain(cuts.iter().copied());
        let pieces = starts.zip(ends).map(|(start, end)| &text[start..end]);
        prop_assert_eq!(read(pieces), read(std::iter::once(text)));
    }
}
