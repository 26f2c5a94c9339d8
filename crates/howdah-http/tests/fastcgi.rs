//! `php_fastcgi` with several upstreams, which speak FastCGI and run nothing.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use support::front::front;
use support::{Harness, Reply, closed_port};
use tempfile::TempDir;

const END_REQUEST: u8 = 3;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;
/// Of an end: there is too much to do.
const OVERLOADED: u8 = 2;

/// What an upstream does with a request.
#[derive(Clone, Copy)]
enum Manner {
    Answer(u16),
    HangUp,
    Refuse,
}

/// An upstream that answers with its number and the length of the body.
struct Upstream {
    address: SocketAddr,
    requests: Arc<AtomicUsize>,
}

impl Upstream {
    fn start(number: usize, manner: Manner) -> Self {
        Self::listen(TcpListener::bind("127.0.0.1:0").unwrap(), number, manner)
    }

    fn listen(listener: TcpListener, number: usize, manner: Manner) -> Self {
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                count.fetch_add(1, SeqCst);
                // A server that hangs up is no failure.
                let _ = serve(&stream.unwrap(), number, manner);
            }
        });
        Self { address, requests }
    }

    fn requests(&self) -> usize {
        self.requests.load(SeqCst)
    }
}

fn serve(mut stream: &TcpStream, number: usize, manner: Manner) -> io::Result<()> {
    let mut length = 0;
    loop {
        let mut header = [0; 8];
        stream.read_exact(&mut header)?;
        let size = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let mut content = vec![0; size + usize::from(header[6])];
        stream.read_exact(&mut content)?;
        if header[1] == STDIN {
            if size == 0 {
                break;
            }
            length += size;
        }
    }
    let mut record = |kind: u8, content: &[u8]| {
        let [high, low] = u16::try_from(content.len()).unwrap().to_be_bytes();
        stream.write_all(&[1, kind, 0, 1, high, low, 0, 0])?;
        stream.write_all(content)
    };
    match manner {
        Manner::HangUp => Ok(()),
        Manner::Refuse => record(END_REQUEST, &[0, 0, 0, 0, OVERLOADED, 0, 0, 0]),
        Manner::Answer(status) => {
            let text = format!("Status: {status}\r\n\r\nupstream={number}\nlength={length}\n");
            record(STDOUT, text.as_bytes())?;
            record(END_REQUEST, &[0; 8])
        }
    }
}

/// A server in front of these upstreams, with these options.
struct Site {
    harness: Harness,
    _directory: TempDir,
}

fn site(upstreams: &[SocketAddr], options: &str) -> Site {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("index.php"), "<?php").unwrap();
    let upstreams: Vec<String> = upstreams.iter().map(ToString::to_string).collect();
    let text = format!(
        "root * {}\nphp_fastcgi UP {{\n{options}\n}}",
        directory.path().display()
    );
    Site {
        harness: front(&upstreams.join(" "), "", &text),
        _directory: directory,
    }
}

impl Site {
    fn get(&self) -> Reply {
        self.harness.get("/")
    }

    fn post(&self) -> Reply {
        self.harness
            .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
    }

    /// Which upstream answers.
    fn upstream(&self) -> String {
        let reply = self.get();
        reply.value("upstream").to_owned()
    }
}

const WELL: Manner = Manner::Answer(200);

#[test]
fn upstreams_are_taken_in_turns_and_passed_over() {
    let (_reserved, gone) = closed_port();
    let (one, two) = (Upstream::start(1, WELL), Upstream::start(2, WELL));
    let site = site(&[gone, one.address, two.address], "");
    for _ in 0..4 {
        assert_eq!(site.get().status, 200);
        assert_eq!(site.post().value("length"), "3");
    }
    assert_eq!(one.requests() + two.requests(), 8);
    assert!(one.requests() >= 2 && two.requests() >= 2);
}

#[test]
fn attempts_are_as_many_as_was_said() {
    let (_reserved, gone) = closed_port();
    let well = Upstream::start(1, WELL);
    let both = [gone, well.address];
    let once = site(&both, "lb_policy first\nlb_retries 0");
    assert_eq!(once.get().status, 502);
    let twice = site(&both, "lb_policy first\nlb_retries 1\nlb_try_interval 1ms");
    assert_eq!(twice.post().value("length"), "3");
    // With one failure remembered there is nobody left.
    let alone = site(&[gone], "fail_duration 1h");
    assert_eq!(alone.get().status, 502);
    assert_eq!(alone.get().status, 503);
    // One that comes back in time.
    let (socket, later) = closed_port();
    let patient = site(&[later], "lb_try_duration 20s\nlb_try_interval 1ms");
    let mut client = patient.harness.connect();
    client.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    socket.listen(16).unwrap();
    let _back = Upstream::listen(socket.into(), 7, WELL);
    assert_eq!(client.reply(true).value("upstream"), "7");
}

#[test]
fn what_changes_nothing_is_sent_again() {
    let well = Upstream::start(1, WELL);
    let torn = Upstream::start(2, Manner::HangUp);
    let both = site(&[torn.address, well.address], "lb_policy first");
    assert_eq!(both.upstream(), "1");
    assert_eq!(both.post().status, 502);
    // Who refuses has not begun.
    let busy = Upstream::start(3, Manner::Refuse);
    let both = site(&[busy.address, well.address], "lb_policy first");
    assert_eq!(both.upstream(), "1");
    assert_eq!(both.post().value("length"), "3");
}

#[test]
fn upstreams_that_fail_are_left_alone() {
    for (manner, options) in [
        (Manner::Answer(503), "unhealthy_status 5xx"),
        (WELL, "unhealthy_latency 1ns"),
        (Manner::HangUp, "max_fails 1"),
    ] {
        let (bad, good) = (Upstream::start(1, manner), Upstream::start(2, WELL));
        let options = format!("lb_policy first\nfail_duration 1h\n{options}");
        let site = site(&[bad.address, good.address], &options);
        site.get();
        assert_eq!(site.upstream(), "2", "{options}");
        assert_eq!(bad.requests(), 1, "{options}");
    }
}

#[test]
fn clients_stay_with_their_upstream() {
    let (one, two) = (Upstream::start(1, WELL), Upstream::start(2, WELL));
    let both = [one.address, two.address];
    let sticky = site(&both, "lb_policy cookie");
    let reply = sticky.get();
    let cookie = reply.header("set-cookie").unwrap();
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
    for _ in 0..8 {
        let again = sticky.harness.get_with("/", &cookie);
        assert_eq!(again.value("upstream"), reply.value("upstream"));
        assert_eq!(again.header("set-cookie"), None);
    }
    let hashed = site(&both, "lb_policy uri_hash");
    let of = |target: &str| hashed.harness.get(target).value("upstream").to_owned();
    let first = of("/?a");
    for _ in 0..4 {
        assert_eq!(of("/?a"), first);
    }
    let seen: BTreeSet<String> = (0..40).map(|number| of(&format!("/?{number}"))).collect();
    assert_eq!(seen.len(), 2);
}
