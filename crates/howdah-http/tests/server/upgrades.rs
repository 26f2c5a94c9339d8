//! `reverse_proxy` and connections that switch to another protocol, such as WebSocket.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use crate::support::PATIENCE;
use crate::support::front::{back, front};

/// A server that sends the given response to one request and then echoes all bytes until the end.
/// It returns the request head, and at the end the bytes after it.
fn echo(answer: &'static str) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        sender.send(String::from_utf8(head).unwrap()).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        let mut said = Vec::new();
        let mut chunk = [0; 4096];
        while let Ok(read) = stream.read(&mut chunk)
            && read > 0
        {
            said.extend_from_slice(&chunk[..read]);
            if stream.write_all(&chunk[..read]).is_err() || said.ends_with(b"bye") {
                break;
            }
        }
        // A test that has ended does not receive it.
        let _ = sender.send(String::from_utf8(said).unwrap());
    });
    (address, receiver)
}

const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\
                      Sec-WebSocket-Accept: yes\r\nX-Secret: 1\r\n\r\n";
const ASK: &str = "GET /app?key HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
                   Sec-WebSocket-Key: k\r\n\r\n";

fn heard(receiver: &Receiver<String>) -> String {
    receiver
        .recv_timeout(PATIENCE)
        .expect("the upstream is asked")
}

#[test]
fn bytes_pass_both_ways() {
    let (upstream, receiver) = echo(SWITCH);
    let front = front(
        &upstream,
        "",
        "encode gzip\nheader X-Front yes\nreverse_proxy UP {\nheader_down -X-Secret\n}",
    );
    let mut client = front.connect();
    // Bytes that arrive with the request belong to the new protocol.
    client.write(format!("{ASK}early").as_bytes());
    let head = String::from_utf8(client.read_until(b"\r\n\r\n")).unwrap();
    let lower = head.to_ascii_lowercase();
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    for field in [
        "\r\nupgrade: websocket\r\n",
        "\r\nconnection: upgrade\r\n",
        "\r\nsec-websocket-accept: yes\r\n",
        "\r\nx-front: yes\r\n",
    ] {
        assert!(lower.contains(field), "{field:?} is not in {head}");
    }
    assert!(!lower.contains("x-secret"), "{head}");
    assert!(!lower.contains("content-length"), "{head}");
    let asked = heard(&receiver).to_ascii_lowercase();
    assert!(asked.starts_with("get /app?key http/1.1\r\n"), "{asked}");
    for field in [
        "\r\nupgrade: websocket\r\n",
        "\r\nconnection: upgrade\r\n",
        "\r\nsec-websocket-key: k\r\n",
        "\r\nx-forwarded-for: 127.0.0.1\r\n",
    ] {
        assert!(asked.contains(field), "{field:?} is not in {asked}");
    }
    assert_eq!(client.read_exact(5), b"early");
    // More than any buffer on the path.
    let large = "x".repeat(300_000);
    let mut writer = client.stream.try_clone().unwrap();
    let sending = thread::spawn({
        let large = large.clone();
        move || writer.write_all(large.as_bytes()).unwrap()
    });
    assert_eq!(client.read_exact(large.len()), large.as_bytes());
    sending.join().unwrap();
    client.write(b"GET / HTTP/1.1\r\n\r\nbye");
    assert_eq!(client.read_exact(21), b"GET / HTTP/1.1\r\n\r\nbye");
    // The upstream has closed its connection, and so has the front.
    assert!(client.is_closed());
    assert_eq!(heard(&receiver).len(), 5 + large.len() + 21);
}

#[test]
fn a_client_that_disconnects_ends_it() {
    let (upstream, receiver) = echo(SWITCH);
    let front = front(&upstream, "", "reverse_proxy UP");
    let mut client = front.connect();
    client.write(ASK.as_bytes());
    client.read_until(b"\r\n\r\n");
    heard(&receiver);
    client.write(b"once");
    assert_eq!(client.read_exact(4), b"once");
    drop(client);
    assert_eq!(heard(&receiver), "once");
}

#[test]
fn the_server_and_its_limit_end_it() {
    let (upstream, receiver) = echo(SWITCH);
    let limited = front(&upstream, "", "reverse_proxy UP {\nstream_timeout 50ms\n}");
    let mut client = limited.connect();
    client.write(ASK.as_bytes());
    client.read_until(b"\r\n\r\n");
    heard(&receiver);
    assert!(client.is_closed());
    assert_eq!(heard(&receiver), "");

    let (upstream, receiver) = echo(SWITCH);
    let stopping = front(&upstream, "", "reverse_proxy UP");
    let mut client = stopping.connect();
    client.write(ASK.as_bytes());
    client.read_until(b"\r\n\r\n");
    heard(&receiver);
    // There is time, but an upgraded connection has no end for which the server could wait.
    stopping.shutdown.drain(Duration::from_secs(3600));
    assert!(client.is_closed());
    assert_eq!(heard(&receiver), "");
    stopping.join();
}

#[test]
fn without_an_upgrade_the_protocol_stays() {
    // Requests that are not HTTP/1.1, lack one of the fields, or could carry requests past the
    // routes. They are proxied like any other request.
    let back = back();
    let plain = front(&back.address(), "", "reverse_proxy UP");
    for request in [
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c, websocket\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    ] {
        let reply = plain.send(request);
        assert_eq!(reply.status, 200, "{request}");
        assert!(!reply.text().contains("h.upgrade"), "{reply:?}");
    }
    // An upstream without another protocol responds as usual.
    let reply = plain.send(ASK);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.value("h.upgrade"), "websocket");
    // A different protocol than the requested one.
    let (upstream, _hears) =
        echo("HTTP/1.1 101 Other\r\nUpgrade: other\r\nConnection: upgrade\r\n\r\n");
    let other = front(&upstream, "", "reverse_proxy UP");
    assert_eq!(other.send(ASK).status, 502);
}

#[test]
fn a_response_in_its_place_ends_it() {
    let (upstream, receiver) = echo(SWITCH);
    let front = front(
        &upstream,
        "",
        "reverse_proxy UP {\nhandle_response {\nrespond no 403\n}\n}",
    );
    let reply = front.send(ASK);
    assert_eq!((reply.status, reply.text()), (403, "no"));
    heard(&receiver);
    assert_eq!(heard(&receiver), "");
}

#[test]
fn an_upstream_that_is_gone_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let front = front(&address.to_string(), "", "reverse_proxy UP");
    let closing = thread::spawn(move || drop(listener.accept().unwrap()));
    assert_eq!(front.send(ASK).status, 502);
    closing.join().unwrap();
    assert!(TcpStream::connect(address).is_err());
}
