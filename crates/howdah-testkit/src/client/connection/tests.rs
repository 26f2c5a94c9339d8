use std::net::TcpListener;
use std::thread;

use super::*;

/// A server that reads `expect` bytes and then sends `pieces`, each in a separate packet.
fn serve(expect: usize, pieces: Vec<Vec<u8>>) -> (SocketAddr, thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the client connects");
        stream.set_nodelay(true).expect("a socket option");
        let mut seen = vec![0; expect];
        stream.read_exact(&mut seen).expect("the request comes");
        for piece in pieces {
            stream.write_all(&piece).expect("the client takes it");
        }
        seen
    });
    (address, server)
}

fn receive(method: &str, wire: &[u8], piece: usize) -> Result<Response, ClientError> {
    let (address, server) = serve(0, wire.chunks(piece).map(<[u8]>::to_vec).collect());
    let response = Connection::open(address)?.receive(method);
    server.join().expect("the server ends");
    response
}

#[test]
fn decodes_each_framing_however_it_is_cut() {
    let wires: [(&str, &[u8], &str); 5] = [
        ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello"),
        ("GET", b"HTTP/1.1 200 OK\r\n\r\nhello", "hello"),
        ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n", "hello"),
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", ""),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", ""),
    ];
    for (method, wire, body) in wires {
        for piece in [1, 7, 1000] {
            let response = receive(method, wire, piece).expect("it is well formed");
            assert_eq!(
                response.text(),
                body,
                "{} cut at {piece}",
                String::from_utf8_lossy(wire)
            );
        }
    }
}

#[test]
fn keeps_informational_heads_and_trailers() {
    let wire = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\
        Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Sum: 1\r\n\r\n";
    let response = receive("GET", wire, 3).expect("it is well formed");
    assert_eq!(response.informational[0].header("link"), Some("</a>"));
    assert_eq!(response.trailers, [("X-Sum".to_owned(), "1".to_owned())]);
}

#[test]
fn notices_truncated_and_wrong_data() {
    for wire in [
        "",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
    ] {
        let error = receive("GET", wire.as_bytes(), 9).expect_err("it is cut off");
        assert!(error.is_closed(), "{wire:?}: {error}");
    }
    for wire in [
        "HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nh",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n",
        "FTP 200\r\n\r\n",
    ] {
        let error = receive("GET", wire.as_bytes(), 9).expect_err("it is wrong");
        assert!(
            matches!(error, ClientError::Malformed { .. }),
            "{wire:?}: {error}"
        );
    }
}

#[test]
fn keeps_pipelined_responses_apart() {
    let one = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
    let wire = format!("{one}a{one}b");
    let request = Request::get("/");
    let (address, server) = serve(request.to_bytes().len() * 2, vec![wire.into_bytes()]);
    let mut connection = Connection::open(address).expect("it connects");
    connection
        .send_slowly(
            &[request.to_bytes(), request.to_bytes()].concat(),
            1,
            |_| {},
        )
        .expect("sent");
    assert_eq!(connection.receive("GET").expect("the first").text(), "a");
    assert_eq!(connection.receive("GET").expect("the second").text(), "b");
    connection.wait_closed().expect("the server is gone");
    assert!(
        server
            .join()
            .expect("the server ends")
            .starts_with(b"GET / HTTP/1.1\r\n")
    );
}

#[test]
fn reads_a_stream_as_it_comes() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let wire = format!("{head}5\r\nfirst\r\n4\r\nlast\r\n0\r\n\r\n");
    let (address, server) = serve(0, vec![wire.into_bytes()]);
    let mut connection = Connection::open(address).expect("it connects");
    connection.begin("GET").expect("a head");
    assert_eq!(connection.read_until("first").expect("it comes"), b"first");
    assert_eq!(connection.read_until("last").expect("it comes"), b"last");
    assert_eq!(connection.next_part().expect("the end"), None);
    server.join().expect("the server ends");
}

#[test]
fn gives_up_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let mut connection =
        Connection::open(listener.local_addr().expect("bound")).expect("it connects");
    connection
        .set_timeout(Duration::from_millis(20))
        .expect("a socket option");
    assert!(matches!(
        connection.receive("GET"),
        Err(ClientError::Timeout(_))
    ));
}
