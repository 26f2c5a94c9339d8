//! An upstream over HTTP that follows a script.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::Harness;
use super::front::front;

/// Action on a connection after a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionAction {
    Keep,
    Close,
    /// With a reset.
    Reset,
}

/// An upstream. It responds to `/next` with `next`, and to all other requests as its script says.
pub struct Upstream {
    pub address: SocketAddr,
    /// Number of the connection and request head of each request.
    pub requests: Arc<Mutex<Vec<(usize, String)>>>,
}

/// Returns the response to a request with this head, which is the nth of its connection. `None`
/// closes the connection.
type Script = dyn Fn(&str, usize) -> Option<(Vec<u8>, ConnectionAction)> + Send + Sync;

impl Upstream {
    pub fn start(
        script: impl Fn(&str, usize) -> Option<(Vec<u8>, ConnectionAction)> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, script): (_, Arc<Script>) = (Arc::clone(&requests), Arc::new(script));
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
                let note = move |head: &str| seen.lock().unwrap().push((number, head.to_owned()));
                thread::spawn(move || serve(stream.unwrap(), &*script, note));
            }
        });
        Self { address, requests }
    }

    /// An upstream that responds to every request with these bytes.
    pub fn answering(answer: &'static [u8], then: ConnectionAction) -> Self {
        Self::start(move |_, _| Some((answer.to_vec(), then)))
    }

    pub fn front(&self) -> Harness {
        front(&self.address.to_string(), "", "reverse_proxy UP")
    }

    /// Number of the connection of each request whose first line contains this text.
    pub fn connections(&self, target: &str) -> Vec<usize> {
        let requests = self.requests.lock().unwrap();
        let line = format!(" {target} HTTP/1.1\r\n");
        let asked = requests.iter().filter(|(_, head)| head.contains(&line));
        asked.map(|(number, _)| *number).collect()
    }
}

fn serve(mut stream: TcpStream, script: &Script, note: impl Fn(&str)) {
    for nth in 0.. {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return,
            }
        }
        let head = String::from_utf8(head).unwrap();
        note(&head);
        let next = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext";
        let answer = if head.starts_with("GET /next ") {
            Some((next.to_vec(), ConnectionAction::Keep))
        } else {
            script(&head, nth)
        };
        let Some((answer, then)) = answer else { return };
        // The front closes the connection when it needs no more bytes.
        let written = stream.write_all(&answer);
        if then == ConnectionAction::Reset {
            let socket = socket2::SockRef::from(&stream);
            socket.set_linger(Some(Duration::ZERO)).unwrap();
        }
        if written.is_err() || then != ConnectionAction::Keep {
            return;
        }
    }
}
