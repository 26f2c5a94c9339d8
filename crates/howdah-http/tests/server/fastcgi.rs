//! `php_fastcgi` with several upstreams, which speak FastCGI and run no scripts.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use crate::support::front::front;
use crate::support::{Harness, PATIENCE, Reply, closed_port, wait_until};
use tempfile::TempDir;

const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;
/// Protocol status of an end: the application is overloaded.
const OVERLOADED: u8 = 2;

/// Behavior of an upstream.
#[derive(Clone, Copy)]
enum Behavior {
    Answer(u16),
    HangUp,
    Refuse,
}

/// An upstream that responds with its number and the length of the body. At `/ping` it reports its
/// health.
struct Upstream {
    address: SocketAddr,
    requests: Arc<AtomicUsize>,
    pings: Arc<Pings>,
}

/// Requests for `/ping`.
struct Pings {
    /// Status of the responses. 0: no response.
    status: AtomicU16,
    /// Variables of the last one.
    last: Mutex<String>,
    /// Bytes of its body.
    length: AtomicUsize,
}

impl Upstream {
    fn start(number: usize, behavior: Behavior) -> Self {
        Self::listen(TcpListener::bind("127.0.0.1:0").unwrap(), number, behavior)
    }

    fn listen(listener: TcpListener, number: usize, behavior: Behavior) -> Self {
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(AtomicUsize::new(0));
        let pings = Arc::new(Pings {
            status: AtomicU16::new(200),
            last: Mutex::default(),
            length: AtomicUsize::new(0),
        });
        let (count, asked) = (Arc::clone(&requests), Arc::clone(&pings));
        thread::spawn(move || {
            let mut unanswered = Vec::new();
            for stream in listener.incoming() {
                count.fetch_add(1, SeqCst);
                let stream = stream.unwrap();
                // A server that closes the connection is not a failure.
                let _ = serve(&stream, number, behavior, &asked);
                if asked.status.load(SeqCst) == 0 {
                    unanswered.push(stream);
                }
            }
        });
        Self {
            address,
            requests,
            pings,
        }
    }

    fn answer_pings(&self, status: u16) {
        self.pings.status.store(status, SeqCst);
    }

    fn requests(&self) -> usize {
        self.requests.load(SeqCst)
    }
}

fn serve(
    mut stream: &TcpStream,
    number: usize,
    mut behavior: Behavior,
    pings: &Pings,
) -> io::Result<()> {
    let (mut length, mut is_ping) = (0, false);
    loop {
        let mut header = [0; 8];
        stream.read_exact(&mut header)?;
        let size = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let mut content = vec![0; size + usize::from(header[6])];
        stream.read_exact(&mut content)?;
        match header[1] {
            STDIN if size == 0 => break,
            STDIN => length += size,
            PARAMS if size > 0 => {
                let variables = String::from_utf8_lossy(&content).into_owned();
                if variables.contains("SCRIPT_NAME/ping") {
                    is_ping = true;
                    *pings.last.lock().unwrap() = variables;
                    behavior = match pings.status.load(SeqCst) {
                        0 => return Ok(()),
                        status => Behavior::Answer(status),
                    };
                }
            }
            _ => {}
        }
    }
    if is_ping {
        pings.length.store(length, SeqCst);
    }
    let mut record = |kind: u8, content: &[u8]| {
        let [high, low] = u16::try_from(content.len()).unwrap().to_be_bytes();
        stream.write_all(&[1, kind, 0, 1, high, low, 0, 0])?;
        stream.write_all(content)
    };
    match behavior {
        Behavior::HangUp => Ok(()),
        Behavior::Refuse => record(END_REQUEST, &[0, 0, 0, 0, OVERLOADED, 0, 0, 0]),
        Behavior::Answer(status) => {
            let location = if status == 302 {
                "Location: /index.php\r\n"
            } else {
                ""
            };
            let text =
                format!("Status: {status}\r\n{location}\r\nupstream={number}\nlength={length}\n");
            record(STDOUT, text.as_bytes())?;
            record(END_REQUEST, &[0; 8])
        }
    }
}

/// A server in front of these upstreams, with these options.
struct Site {
    harness: Harness,
    root: PathBuf,
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
        root: directory.path().to_owned(),
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

    /// Number of the upstream that responds.
    fn upstream(&self) -> String {
        let reply = self.get();
        reply.value("upstream").to_owned()
    }
}

const WELL: Behavior = Behavior::Answer(200);

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
fn there_are_as_many_attempts_as_configured() {
    let (_reserved, gone) = closed_port();
    let well = Upstream::start(1, WELL);
    let both = [gone, well.address];
    let once = site(&both, "lb_policy first\nlb_retries 0");
    assert_eq!(once.get().status, 502);
    let twice = site(&both, "lb_policy first\nlb_retries 1\nlb_try_interval 1ms");
    assert_eq!(twice.post().value("length"), "3");
    // After one remembered failure, no upstream is left.
    let alone = site(&[gone], "fail_duration 1h");
    assert_eq!(alone.get().status, 502);
    assert_eq!(alone.get().status, 503);
    assert_eq!(site(&[], "").get().status, 503);
    // An upstream that returns in time.
    let (socket, later) = closed_port();
    let patient = site(&[later], "lb_try_duration 20s\nlb_try_interval 1ms");
    let mut client = patient.harness.connect();
    client.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    socket.listen(16).unwrap();
    let _back = Upstream::listen(socket.into(), 7, WELL);
    assert_eq!(client.reply(true).value("upstream"), "7");
}

#[test]
fn safe_requests_are_sent_again() {
    let well = Upstream::start(1, WELL);
    let torn = Upstream::start(2, Behavior::HangUp);
    let both = site(&[torn.address, well.address], "lb_policy first");
    assert_eq!(both.upstream(), "1");
    assert_eq!(both.post().status, 502);
    let matched = site(
        &[torn.address, well.address],
        "lb_policy first\nlb_retry_match method POST",
    );
    assert_eq!(matched.post().value("length"), "3");
    assert_eq!(matched.get().status, 502);
    // An upstream that refuses has not started the request.
    let busy = Upstream::start(3, Behavior::Refuse);
    let both = site(&[busy.address, well.address], "lb_policy first");
    assert_eq!(both.upstream(), "1");
    assert_eq!(both.post().value("length"), "3");
}

#[test]
fn upstreams_that_fail_are_left_alone() {
    for (behavior, options) in [
        (Behavior::Answer(503), "unhealthy_status 5xx"),
        (WELL, "unhealthy_latency 1ns"),
        (Behavior::HangUp, "max_fails 1"),
    ] {
        let (bad, good) = (Upstream::start(1, behavior), Upstream::start(2, WELL));
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

#[test]
fn upstreams_are_health_checked() {
    let (one, two) = (Upstream::start(1, WELL), Upstream::start(2, WELL));
    one.answer_pings(503);
    let site = site(
        &[one.address, two.address],
        "lb_policy first\nenv APP own\nenv FROM {remote_host}\nhealth_uri /ping?full\nhealth_interval 10ms\n\
         health_timeout 300ms",
    );
    wait_until("the one that is not well gets no requests", || {
        site.upstream() == "2"
    });
    let variables = one.pings.last.lock().unwrap().clone();
    for part in [
        "REQUEST_METHODGET",
        "QUERY_STRINGfull",
        "REQUEST_URI/ping?full",
        "HTTP_USER_AGENTHowdah",
        "APPown",
        // Below the root of the first request.
        &format!("{}/ping", site.root.display()),
        &format!("HTTP_HOST{}", one.address),
    ] {
        assert!(variables.contains(part), "{part}: {variables:?}");
    }
    assert!(!variables.contains("FROM"), "{variables:?}");
    one.answer_pings(204);
    wait_until("it gets requests again", || site.upstream() == "1");
    // It accepts the connection and sends nothing.
    one.answer_pings(0);
    wait_until("it has none again", || site.upstream() == "2");
    two.answer_pings(500);
    wait_until("no upstream is left", || site.get().status == 503);
    let before = two.requests();
    wait_until("questions go on", || two.requests() > before);
}

#[test]
fn checks_may_have_a_body_and_follow_redirects() {
    let one = Upstream::start(1, WELL);
    let options = "health_uri /ping\nhealth_method POST\nhealth_request_body \"a check\"\nhealth_interval 10ms";
    let checked = site(&[one.address], options);
    checked.get();
    wait_until("the check has its body", || {
        one.pings.length.load(SeqCst) == "a check".len()
    });
    let variables = one.pings.last.lock().unwrap().clone();
    for part in ["REQUEST_METHODPOST", "CONTENT_LENGTH7"] {
        assert!(variables.contains(part), "{part}: {variables:?}");
    }
    // `/ping` redirects to a script that is well.
    let (two, three) = (Upstream::start(2, WELL), Upstream::start(3, WELL));
    two.answer_pings(302);
    let options = format!("lb_policy first\n{options}\nhealth_follow_redirects");
    let site = site(&[two.address, three.address], &options);
    assert_eq!(site.upstream(), "2");
    // A check sends two requests.
    wait_until("the checks have a result", || two.requests() > 4);
    assert_eq!(site.upstream(), "2");
}

#[test]
fn other_statuses_may_count_as_healthy() {
    let (one, two) = (Upstream::start(1, WELL), Upstream::start(2, WELL));
    two.answer_pings(404);
    let site = site(
        &[one.address, two.address],
        "lb_policy first\nhealth_uri /ping\nhealth_interval 10ms\nhealth_status 404",
    );
    wait_until("the one that answers 200 gets no requests", || {
        site.upstream() == "2"
    });
}

/// More than sockets can buffer.
const LARGE: usize = 8 << 20;

fn large_post() -> String {
    let body = "x".repeat(LARGE);
    format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {LARGE}\r\n\r\n{body}")
}

#[test]
fn a_server_that_reads_nothing_times_out() {
    // The kernel accepts connections, and no process reads from them.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let options = "write_timeout 50ms\nfail_duration 1h";
    let site = site(&[silent.local_addr().unwrap()], options);
    assert_eq!(site.harness.send(&large_post()).status, 504);
    assert_eq!(site.get().status, 503);
}

#[test]
fn an_upstream_may_read_the_rest_after_its_response() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (go, wait) = mpsc::channel::<()>();
    let upstream = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = b"Status: 200\r\n\r\nfirst ";
        stream.write_all(&[1, STDOUT, 0, 1, 0, 21, 0, 0]).unwrap();
        stream.write_all(head).unwrap();
        wait.recv().unwrap();
        let pings = Pings {
            status: AtomicU16::new(200),
            last: Mutex::default(),
            length: AtomicUsize::new(0),
        };
        serve(&stream, 1, WELL, &pings).unwrap();
    });
    let site = site(&[address], "write_timeout 1s");
    let mut client = site.harness.connect();
    client.write(large_post().as_bytes());
    client.read_until(b"first ");
    // The wait is under test: no byte is accepted for longer than the limit.
    let wait = Some(Duration::from_millis(1_500));
    client.stream.set_read_timeout(wait).unwrap();
    let answer = client.stream.read(&mut [0]);
    assert!(answer.is_err(), "a part, or the end: {answer:?}");
    client.stream.set_read_timeout(Some(PATIENCE)).unwrap();
    go.send(()).unwrap();
    client.read_until(format!("length={LARGE}\n").as_bytes());
    upstream.join().unwrap();
}
