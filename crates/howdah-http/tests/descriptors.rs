//! Lack of file descriptors. There is one test, because the limit applies to the process.

mod support;

use std::io;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::{Harness, file_site, wait_until};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn count(&self) -> usize {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.matches("raise the limit of open files").count()
    }
}

#[test]
fn connections_wait_while_descriptors_are_out() {
    let lines = Lines::default();
    let writer = lines.clone();
    tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .init();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.txt"), "a").unwrap();
    let harness = Harness::start(&file_site(directory.path()));
    assert_eq!(harness.get("/a.txt").text(), "a");

    let before = getrlimit(Resource::Nofile);
    let open = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(open + 21),
            maximum: before.maximum,
        },
    )
    .unwrap();
    // Each uses a descriptor here and, once accepted, one of the server.
    let mut clients = Vec::new();
    while let Ok(client) = TcpStream::connect(harness.address()) {
        clients.push(client);
    }
    assert!(clients.len() > 5, "{}", clients.len());
    wait_until("it is said", || lines.count() == 1);
    let waiting = clients.len() - harness.server.stats().connections();
    assert!(waiting > 0);
    drop(clients);
    wait_until("all are gone", || harness.server.stats().connections() == 0);
    assert_eq!(harness.get("/a.txt").text(), "a");
    setrlimit(Resource::Nofile, before).unwrap();
    // A busy loop would have filled the log or, without log lines, used all CPU time of the second.
    assert!(lines.count() <= 2, "said {} times", lines.count());
}
