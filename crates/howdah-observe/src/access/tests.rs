//! Lines, filters, and the effects of a bad output.

use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant, UNIX_EPOCH};

use howdah_config::model::{
    AccessLog, DurationFormat, Edit, Filter, LineFormat, LogFile, LogFormat, LogOutput, Roll, Site,
    TimeFormat,
};
use http::{HeaderMap, HeaderValue, Method, Version};
use serde_json::{Value, json};

use super::encode::LineEncoder;
use super::output::Output;
use super::queue::{ENTRIES_MAX, Queue};
use super::{Entry, Logs, TlsInfo};

fn entry(uri: &str, status: u16) -> Entry {
    let mut headers = HeaderMap::new();
    headers.append("user-agent", HeaderValue::from_static("test/1 \"q\""));
    headers.append("accept", HeaderValue::from_static("a"));
    headers.append("accept", HeaderValue::from_static("b"));
    headers.append("cookie", HeaderValue::from_static("id=1; theme=dark"));
    headers.append("authorization", HeaderValue::from_static("Basic x"));
    let mut response_headers = HeaderMap::new();
    response_headers.append("set-cookie", HeaderValue::from_static("id=2"));
    response_headers.append("content-type", HeaderValue::from_static("text/html"));
    Entry {
        at: UNIX_EPOCH + Duration::from_millis(1_136_214_245_067),
        duration: Duration::from_micros(1_500),
        id: 42,
        remote: ([192, 0, 2, 17], 4711).into(),
        client: [192, 0, 2, 17].into(),
        method: Method::GET,
        uri: uri.parse().expect("a URI"),
        version: Version::HTTP_2,
        host: "example.com:8080".into(),
        headers,
        response_headers,
        credentials: false,
        tls: Some(TlsInfo {
            version: "TLSv1.3",
            cipher_suite: "TLS_AES_128_GCM_SHA256".into(),
        }),
        user: String::new(),
        bytes_read: 3,
        size: 10,
        status,
        cut: false,
        php: None,
        appended: vec![("country".into(), "NL\n".into())],
    }
}

/// An entry with its credentials.
fn unredacted(uri: &str) -> Entry {
    Entry {
        credentials: true,
        ..entry(uri, 200)
    }
}

fn line_of(log: &AccessLog, entry: &Entry) -> String {
    let mut line = String::new();
    LineEncoder::new(log, LogFormat::Json).push(&mut line, entry);
    line
}

fn json_of(log: &AccessLog, entry: &Entry) -> Value {
    serde_json::from_str(&line_of(log, entry)).expect("JSON")
}

fn filtered(filters: Vec<(&str, Filter)>) -> AccessLog {
    let split = |path: &str| path.split('>').map(str::to_owned).collect();
    AccessLog {
        format: LineFormat {
            filters: filters
                .into_iter()
                .map(|(path, filter)| (split(path), filter))
                .collect(),
            ..LineFormat::default()
        },
        ..AccessLog::default()
    }
}

#[test]
fn a_line_has_caddys_names_and_no_passwords() {
    let line = line_of(&AccessLog::default(), &entry("/a?b=c", 200));
    assert_eq!(line.matches('\n').count(), 1);
    assert!(line.starts_with("{\"level\":\"info\",\"ts\":1136214245.067000,"));
    let shown: Value = serde_json::from_str(&line).expect("JSON");
    let expected = json!({
        "level": "info",
        "ts": 1_136_214_245.067,
        "logger": "http.log.access",
        "msg": "handled request",
        "request": {
            "remote_ip": "192.0.2.17",
            "remote_port": "4711",
            "client_ip": "192.0.2.17",
            "proto": "HTTP/2.0",
            "method": "GET",
            "host": "example.com:8080",
            "uri": "/a?b=c",
            "headers": {
                "User-Agent": ["test/1 \"q\""],
                "Accept": ["a", "b"],
                "Cookie": ["REDACTED"],
                "Authorization": ["REDACTED"],
            },
            "tls": {"version": "TLSv1.3", "cipher_suite": "TLS_AES_128_GCM_SHA256"},
        },
        "bytes_read": 3,
        "user_id": "",
        "duration": 0.0015,
        "size": 10,
        "status": 200,
        "resp_headers": {"Set-Cookie": ["REDACTED"], "Content-Type": ["text/html"]},
        "request_id": "000000000000002a",
        "country": "NL\n",
    });
    assert_eq!(shown, expected);
}

#[test]
fn passwords_are_logged_if_configured() {
    let line = line_of(&AccessLog::default(), &unredacted("/"));
    let shown: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(shown["request"]["headers"]["Authorization"][0], "Basic x");
    assert_eq!(shown["resp_headers"]["Set-Cookie"][0], "id=2");
}

#[test]
fn an_error_and_a_cut_response_are_reported() {
    let mut entry = entry("/", 502);
    entry.cut = true;
    let log = AccessLog {
        name: Some("shop".into()),
        ..AccessLog::default()
    };
    let shown = json_of(&log, &entry);
    assert_eq!(shown["level"], "error");
    assert_eq!(shown["cut"], true);
    assert_eq!(shown["logger"], "http.log.access.shop");
}

#[test]
fn formats() {
    let mut log = AccessLog::default();
    log.format.encoding = Some(LogFormat::Console);
    let mut plain = entry("/a", 200);
    plain.headers.clear();
    plain.response_headers.clear();
    plain.tls = None;
    plain.appended.clear();
    assert_eq!(
        line_of(&log, &plain),
        "2006/01/02 15:04:05.067\tINFO\thttp.log.access\thandled request\t{\"request\":{\"remote_ip\":\
         \"192.0.2.17\",\"remote_port\":\"4711\",\"client_ip\":\"192.0.2.17\",\"proto\":\"HTTP/2.0\",\
         \"method\":\"GET\",\"host\":\"example.com:8080\",\"uri\":\"/a\",\"headers\":{}},\"bytes_read\":3,\
         \"user_id\":\"\",\"duration\":0.0015,\"size\":10,\"status\":200,\"resp_headers\":{},\
         \"request_id\":\"000000000000002a\"}\n"
    );
    log.format.encoding = Some(LogFormat::Json);
    log.format.time = Some(TimeFormat::Iso8601);
    log.format.duration = DurationFormat::Text;
    let shown = json_of(&log, &plain);
    assert_eq!(shown["ts"], "2006-01-02T15:04:05.067Z");
    assert_eq!(shown["duration"], "1.5ms");
}

#[test]
fn filters() {
    let log = filtered(vec![
        ("request>headers>User-Agent", Filter::Delete),
        ("request>headers>Accept", Filter::Replace("x".into())),
        ("request>remote_ip", Filter::IpMask(16, 32)),
        (
            "request>uri",
            Filter::Query(vec![Edit::Replace("token".into(), "REDACTED".into())]),
        ),
        (
            "request>host",
            Filter::Regexp("^(e)xample".into(), "$1-".into()),
        ),
        ("request>method", Filter::Rename("verb".into())),
        ("status", Filter::Hash),
        ("nothing>here", Filter::Delete),
        ("request>uri>deeper", Filter::Delete),
    ]);
    let shown = json_of(&log, &entry("/a?token=secret&x=1", 200));
    let request = &shown["request"];
    assert_eq!(request["headers"].get("User-Agent"), None);
    assert_eq!(request["headers"]["Accept"], "x");
    assert_eq!(request["remote_ip"], "192.0.0.0");
    assert_eq!(request["uri"], "/a?token=REDACTED&x=1");
    assert_eq!(request["host"], "e-.com:8080");
    assert_eq!(
        (&request["verb"], request.get("method")),
        (&json!("GET"), None)
    );
    // The SHA-256 of "200" begins so.
    assert_eq!(shown["status"], "27badc98");
    let cookies = filtered(vec![(
        "request>headers>Cookie",
        Filter::Cookie(vec![Edit::Delete("id".into())]),
    )]);
    let line = line_of(&cookies, &unredacted("/"));
    let shown: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(shown["request"]["headers"]["Cookie"][0], "theme=dark");
}

fn encoder() -> Arc<LineEncoder> {
    Arc::new(LineEncoder::new(&AccessLog::default(), LogFormat::Json))
}

/// Reports that it was called, and writes when it may.
struct GatedWriter {
    asked: Sender<()>,
    gate: Receiver<()>,
    written: Arc<std::sync::Mutex<Vec<u8>>>,
}

impl Write for GatedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A test that is over lets all pass.
        let _ = self.asked.send(());
        let _ = self.gate.recv();
        self.written
            .lock()
            .expect("no panic")
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_reader_that_does_not_read_costs_lines_and_no_time() {
    let ((asked, was_asked), (open, gate)) = (channel(), channel());
    let written = Arc::default();
    let gated = GatedWriter {
        asked,
        gate,
        written: Arc::clone(&written),
    };
    let queue = Queue::start(Output::Stream(Box::new(gated)), Arc::default()).expect("a thread");
    queue.push(Arc::new(entry("/first", 200)), encoder());
    was_asked.recv().expect("the writer writes");
    // From here on nothing is written, and still each push returns.
    let encoder = encoder();
    for number in 0..ENTRIES_MAX + 10 {
        let mut small = entry("/", 200);
        small.headers.clear();
        small.response_headers.clear();
        small.id = number as u64;
        queue.push(Arc::new(small), Arc::clone(&encoder));
    }
    assert_eq!(queue.dropped(), 10);
    assert_eq!(queue.wait_end(Instant::now()), ENTRIES_MAX + 1);
    drop(open);
    queue.close();
    assert_eq!(queue.wait_end(Instant::now() + Duration::from_secs(60)), 0);
    let written = String::from_utf8(written.lock().expect("no panic").clone()).expect("UTF-8");
    assert_eq!(written.lines().count(), ENTRIES_MAX + 1);
    queue.push(Arc::new(entry("/late", 200)), encoder);
    assert_eq!(queue.dropped(), 11, "a closed queue takes nothing");
}

#[test]
fn large_entries_are_limited_by_their_size() {
    let ((asked, was_asked), (open, gate)) = (channel(), channel());
    let gated = GatedWriter {
        asked,
        gate,
        written: Arc::default(),
    };
    let queue = Queue::start(Output::Stream(Box::new(gated)), Arc::default()).expect("a thread");
    queue.push(Arc::new(entry("/first", 200)), encoder());
    was_asked.recv().expect("the writer writes");
    let mut large = entry("/", 200);
    let value = HeaderValue::from_bytes(&vec![b'x'; 1 << 20]).expect("a value");
    large.headers.insert("x-large", value);
    let large = Arc::new(large);
    for _ in 0..20 {
        queue.push(Arc::clone(&large), encoder());
    }
    assert_eq!(queue.dropped(), 5, "15 of them are below 16 MiB");
    drop(open);
    queue.close();
    assert_eq!(queue.wait_end(Instant::now() + Duration::from_secs(60)), 0);
}

fn site(output: LogOutput) -> Site {
    Site {
        access_logs: vec![AccessLog {
            output,
            ..AccessLog::default()
        }],
        ..Site::default()
    }
}

#[test]
fn a_full_disk_drops_lines_and_reports_it() {
    let full = LogFile {
        path: "/dev/full".into(),
        mode: 0o600,
        roll: None,
    };
    let logs = Logs::start(&[site(LogOutput::File(full))]).expect("it opens");
    let own = logs.site(0);
    for _ in 0..3 {
        own[0].write(Arc::new(entry("/", 200)));
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    while logs.losses().lines() < 3 {
        assert!(Instant::now() < deadline, "{:?}", logs.losses());
        std::thread::yield_now();
    }
}

#[test]
fn a_file_that_cannot_be_opened_is_named() {
    let nowhere = LogFile {
        path: "/proc/nowhere/access.log".into(),
        mode: 0o600,
        roll: None,
    };
    let error = Logs::start(&[site(LogOutput::File(nowhere))]).expect_err("no folder");
    assert!(
        error.to_string().starts_with(
            "access log /proc/nowhere/access.log: folder /proc/nowhere cannot be created: "
        ),
        "{error}"
    );
}

#[test]
fn missing_folders_are_created_for_the_owner_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = LogFile {
        path: dir.path().join("a/b/access.log"),
        mode: 0o600,
        roll: None,
    };
    let output = LogOutput::File(file.clone());
    super::check(&output).expect("it could be created");
    assert!(!dir.path().join("a").exists(), "a check creates nothing");
    let logs = Logs::start(&[site(output)]).expect("started");
    logs.site(0)[0].write(Arc::new(entry("/", 200)));
    drop(logs);
    let text = std::fs::read_to_string(&file.path).expect("written");
    assert!(text.contains("\"/\""), "{text}");
    for folder in ["a", "a/b"] {
        let found = dir.path().join(folder).metadata().expect("made");
        assert_eq!(found.mode() & 0o077, 0, "{folder}");
    }
}

#[test]
fn a_file_is_rolled_between_lines_and_nothing_is_lost() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = LogFile {
        path: dir.path().join("access.log"),
        mode: 0o640,
        roll: Some(Roll {
            size: 10_000,
            keep: 1_000,
            gzip: false,
            ..Roll::default()
        }),
    };
    let sites = [
        site(LogOutput::File(file.clone())),
        site(LogOutput::File(file.clone())),
    ];
    let logs = Logs::start(&sites).expect("it opens");
    for number in 0..200 {
        // Two sites, one file, one writer.
        logs.site(number % 2)[0].write(Arc::new(entry(&format!("/{number}"), 200)));
    }
    drop(logs);
    let mut numbers = Vec::new();
    let mut files = 0;
    for found in std::fs::read_dir(dir.path()).expect("a folder") {
        let text = std::fs::read_to_string(found.expect("an entry").path()).expect("read");
        assert!(text.len() <= 10_000, "{} bytes", text.len());
        files += 1;
        for line in text.lines() {
            let shown: Value = serde_json::from_str(line).expect("a whole line");
            let uri = shown["request"]["uri"].as_str().expect("a URI");
            numbers.push(uri[1..].parse::<usize>().expect("a number"));
        }
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..200).collect::<Vec<_>>());
    assert!(files > 5, "{files} files");
    let mode = std::fs::metadata(&file.path)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777 & !0o640, 0, "{mode:o}");
}

/// One that is rolled after so many bytes.
fn rolled(path: PathBuf, size: u64) -> LogFile {
    LogFile {
        path,
        mode: 0o640,
        roll: Some(Roll {
            size,
            gzip: false,
            ..Roll::default()
        }),
    }
}

#[test]
fn a_device_is_never_rolled() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("pipe");
    let mode = rustix::fs::Mode::from_bits_truncate(0o600);
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).expect("a pipe");
    // Until the log is open, this end keeps both from waiting for each other.
    let both = std::fs::File::options().read(true).write(true).open(&path);
    let both = both.expect("opened");
    let mut pipe = std::fs::File::open(&path).expect("opened");
    let logs = Logs::start(&[site(LogOutput::File(rolled(path, 1_000)))]).expect("it opens");
    drop(both);
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).map(|_| text).expect("read")
    });
    for number in 0..50 {
        logs.site(0)[0].write(Arc::new(entry(&format!("/{number}"), 200)));
    }
    drop(logs);
    let text = reader.join().expect("no panic");
    assert_eq!(text.lines().count(), 50);
    let left = std::fs::read_dir(dir.path()).expect("a folder");
    assert_eq!(left.count(), 1, "nothing was put aside");
}

#[test]
fn a_removed_file_is_created_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = rolled(dir.path().join("access.log"), 10_000);
    let logs = Logs::start(&[site(LogOutput::File(file.clone()))]).expect("it opens");
    let losses = logs.losses();
    let write = |uri: &str| logs.site(0)[0].write(Arc::new(entry(uri, 200)));
    write("/before");
    let deadline = Instant::now() + Duration::from_secs(60);
    while std::fs::metadata(&file.path).expect("it is there").len() == 0 {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
    std::fs::remove_file(&file.path).expect("removed");
    for number in 0..50 {
        write(&format!("/{number}"));
    }
    drop(logs);
    assert_eq!(losses.lines(), 0);
    let text = std::fs::read_to_string(&file.path).expect("it is there again");
    assert!(text.contains("\"/49\""), "{text}");
}

#[test]
fn a_file_that_cannot_be_recreated_is_tried_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let folder = dir.path().join("logs");
    std::fs::create_dir(&folder).expect("created");
    let file = rolled(folder.join("access.log"), 10);
    let mut output =
        Output::open(&LogOutput::File(file.clone()), super::report_error).expect("it opens");
    output.write(b"first line\n").expect("written");
    std::fs::remove_dir_all(&folder).expect("removed");
    std::os::unix::fs::symlink("nowhere", &folder).expect("linked");
    for _ in 0..2 {
        let error = output.write(b"lost line\n").expect_err("no folder");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }
    assert_eq!(
        output.remaining_bytes(),
        Some(10),
        "nothing is there to put aside"
    );
    std::fs::remove_file(&folder).expect("removed");
    output.write(b"next line\n").expect("written");
    let text = std::fs::read_to_string(&file.path).expect("it is there");
    assert_eq!(text, "next line\n");
    assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 1);
}

#[test]
fn hosts_and_levels_choose() {
    let sites = [Site {
        access_logs: vec![
            AccessLog {
                errors_only: true,
                output: LogOutput::Stderr,
                ..AccessLog::default()
            },
            AccessLog {
                hostnames: vec!["a.example".into()],
                output: LogOutput::Stderr,
                ..AccessLog::default()
            },
            AccessLog {
                output: LogOutput::Discard,
                ..AccessLog::default()
            },
        ],
        ..Site::default()
    }];
    let logs = Logs::start(&sites).expect("nothing to open");
    let own = logs.site(0);
    assert_eq!(own.len(), 2, "what is discarded costs nothing");
    assert!(own[0].includes("x", 500) && !own[0].includes("x", 499));
    assert!(own[1].includes("A.example", 200) && !own[1].includes("b.example", 200));
    assert!(logs.site(7).is_empty());
}

#[test]
fn the_next_configuration_goes_on_with_the_same_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str| LogFile {
        path: dir.path().join(name),
        mode: 0o600,
        roll: None,
    };
    let (kept, gone) = (file("kept.log"), file("gone.log"));
    let sites = [
        site(LogOutput::File(kept.clone())),
        site(LogOutput::File(gone.clone())),
    ];
    let first = Logs::start(&sites).expect("it opens");
    let next = first.next(&sites[..1]).expect("it opens");
    // Of a request that is still in flight.
    let late = [first.site(0), first.site(1)];
    drop(first);
    for own in &late {
        own[0].write(Arc::new(entry("/late", 200)));
    }
    next.site(0)[0].write(Arc::new(entry("/new", 200)));
    drop(late);
    drop(next);
    let text = |file: &LogFile| std::fs::read_to_string(&file.path).expect("read");
    let kept = text(&kept);
    let places = ["/late", "/new"].map(|uri| kept.find(uri));
    assert!(places[0].is_some() && places[0] < places[1], "{kept}");
    // That writer was not waited for; it ends by itself.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !text(&gone).contains("/late") {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
}

#[test]
fn the_next_configuration_opens_a_moved_file_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("access.log");
    let file = LogFile {
        path: path.clone(),
        mode: 0o600,
        roll: None,
    };
    let sites = [site(LogOutput::File(file))];
    let first = Logs::start(&sites).expect("it opens");
    let moved = dir.path().join("access.log.1");
    std::fs::rename(&path, &moved).expect("moved");
    let next = first.next(&sites).expect("it opens");
    // Also without a request.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !path.exists() {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
    next.site(0)[0].write(Arc::new(entry("/new", 200)));
    drop(first);
    drop(next);
    let text = |path: &PathBuf| std::fs::read_to_string(path).expect("read");
    assert!(text(&path).contains("/new"), "{}", text(&path));
    assert_eq!(text(&moved), "");
}
