//! `reverse_proxy` with upstreams that have HTTP/2.

use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::{HeaderMap, Request, Response};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

use crate::http2::{connect, request, within};
use crate::proxy_tls::{Authority, transport};
use crate::support::front::{back, front};
use crate::support::upstream::{ConnectionAction, Upstream};
use crate::support::wait_until;

/// What the upstream does with a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Echo,
    /// Closes the connection after the response.
    Last,
    Refuse,
    /// Never responds.
    Hang,
}

/// A server with HTTP/2 only. It returns the body, and trailers as gRPC does.
struct Http2Upstream {
    port: u16,
    connections: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<Request<()>>>>,
}

impl Http2Upstream {
    /// `script`: what to do with the nth request.
    fn start(tls: Option<Arc<ServerConfig>>, script: fn(usize) -> Action) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (count, requests) = (Arc::clone(&connections), Arc::clone(&seen));
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                listener.set_nonblocking(true).unwrap();
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    count.fetch_add(1, SeqCst);
                    let (tls, seen) = (tls.clone(), Arc::clone(&requests));
                    tokio::spawn(async move {
                        match tls {
                            None => serve(stream, script, &seen).await,
                            Some(tls) => {
                                let stream = TlsAcceptor::from(tls).accept(stream).await;
                                serve(stream.unwrap(), script, &seen).await;
                            }
                        }
                    });
                }
            });
        });
        Self {
            port,
            connections,
            seen,
        }
    }

    fn url(&self, scheme: &str) -> String {
        format!("{scheme}://localhost:{}", self.port)
    }
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    script: fn(usize) -> Action,
    seen: &Mutex<Vec<Request<()>>>,
) {
    let mut builder = h2::server::Builder::new();
    builder.max_concurrent_streams(2);
    let Ok(mut connection) = builder.handshake(stream).await else {
        return;
    };
    let mut hanging = Vec::new();
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let (head, body) = request.into_parts();
        let nth = {
            let mut seen = seen.lock().unwrap();
            seen.push(Request::from_parts(head, ()));
            seen.len()
        };
        let action = script(nth);
        if action == Action::Refuse {
            respond.send_reset(Reason::REFUSED_STREAM);
            continue;
        }
        if action == Action::Hang {
            hanging.push((body, respond));
            continue;
        }
        tokio::spawn(echo(body, respond));
        if action == Action::Last {
            connection.graceful_shutdown();
        }
    }
}

async fn echo(mut body: RecvStream, mut respond: SendResponse<Bytes>) {
    let mut bytes = Vec::new();
    while let Some(Ok(chunk)) = body.data().await {
        body.flow_control().release_capacity(chunk.len()).unwrap();
        bytes.extend_from_slice(&chunk);
    }
    let response = Response::builder()
        .header("content-type", "application/grpc")
        .body(())
        .unwrap();
    let mut stream = respond.send_response(response, false).unwrap();
    stream.send_data(bytes.into(), false).unwrap();
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", "0".parse().unwrap());
    // The front may have lost its client.
    let _ = stream.send_trailers(trailers);
}

#[test]
fn requests_are_http2_with_prior_knowledge() {
    for (scheme, site) in [
        ("h2c://", "reverse_proxy UP"),
        (
            "",
            "reverse_proxy UP {\ntransport http {\nversions h2c 2\n}\n}",
        ),
    ] {
        let back = back();
        let front = front(&format!("{scheme}{}", back.address()), "", site);
        let reply = front.get_with(
            "/a%20b?c=d",
            "Connection: x-hop\r\nX-Hop: 1\r\nTE: trailers\r\n",
        );
        for (name, value) in [
            ("version", "HTTP/2.0"),
            ("uri", "/a%20b?c=d"),
            ("host", "localhost"),
            ("h.x-forwarded-for", "127.0.0.1"),
            ("h.te", "trailers"),
        ] {
            assert_eq!(reply.value(name), value);
        }
        assert!(!reply.text().contains("h.x-hop"), "{reply:?}");
        let body = "x".repeat(300_000);
        let reply = front.send(&format!(
            "POST /up HTTP/1.1\r\nHost: a.test:81\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        assert_eq!(reply.value("length"), "300000");
        assert_eq!(reply.value("host"), "a.test:81");
        for method in ["POST", "GET"] {
            let reply = front.send(&format!(
                "{method} /up HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                 3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
            ));
            assert_eq!(reply.value("length"), "5", "{method}");
        }
        // No upgrade: HTTP/2 has none.
        let reply = front.get_with("/", "Connection: Upgrade\r\nUpgrade: websocket\r\n");
        assert_eq!(reply.status, 200);
        assert_eq!(back.harness.server.stats().connections(), 1);
    }
}

#[test]
fn http2_responses_are_streamed() {
    let back = back();
    let front = front(&format!("h2c://{}", back.address()), "", "reverse_proxy UP");
    let mut client = front.connect();
    client.write(b"GET /?mode=gate HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_until(b"first");
    back.harness.seen.open_gate();
    client.read_until(b"0\r\n\r\n");
    // A client that disconnects ends the upstream's request.
    let dropped = back.harness.seen.dropped.load(SeqCst);
    let mut client = front.connect();
    client.write(b"GET /?mode=endless HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_until(b"\r\n\r\n");
    drop(client);
    wait_until("the upstream knows that the client is gone", || {
        back.harness.seen.dropped.load(SeqCst) > dropped
    });
    let mut client = front.connect();
    client.write(b"GET /?mode=hang HTTP/1.1\r\nHost: a\r\n\r\n");
    let calls = dropped + 1;
    wait_until("the upstream has the request", || {
        back.harness.seen.calls.load(SeqCst) > calls
    });
    drop(client);
    wait_until("the request that hangs is cancelled", || {
        back.harness.seen.dropped.load(SeqCst) > calls
    });
}

#[tokio::test]
async fn grpc_passes_with_its_trailers() {
    let upstream = Http2Upstream::start(None, |_| Action::Echo);
    let front = front(
        &upstream.url("h2c"),
        "",
        "reverse_proxy UP {\nhealth_uri /up\nhealth_interval 20ms\n}",
    );
    let (mut client, _driver) = connect(&front, 65_535).await;
    let mut call = request("POST", "/shop.Cart/Add");
    for (name, value) in [("content-type", "application/grpc"), ("te", "trailers")] {
        call.headers_mut().insert(name, value.parse().unwrap());
    }
    let (response, mut body) = client.send_request(call, false).unwrap();
    body.send_data(Bytes::from_static(b"message"), true)
        .unwrap();
    let (head, mut body) = within(response).await.unwrap().into_parts();
    assert_eq!(head.headers["content-type"], "application/grpc");
    assert_eq!(within(body.data()).await.unwrap().unwrap(), "message");
    let trailers = within(body.trailers()).await.unwrap().unwrap();
    assert_eq!(trailers["grpc-status"], "0");
    wait_until("the upstream is checked with HTTP/2", || {
        let seen = upstream.seen.lock().unwrap();
        seen.iter().any(|request| request.uri().path() == "/up")
    });
    let seen = upstream.seen.lock().unwrap();
    let call = seen.iter().find(|request| request.method() == "POST");
    let call = call.unwrap();
    assert_eq!(call.uri(), "http://a.test:99/shop.Cart/Add");
    assert_eq!(call.headers()["te"], "trailers");
    assert!(!call.headers().contains_key("host"));
}

#[test]
fn closed_connections_and_refused_requests_are_replaced() {
    let upstream = Http2Upstream::start(None, |_| Action::Last);
    let front_end = front(&upstream.url("h2c"), "", "reverse_proxy UP");
    for _ in 0..3 {
        assert_eq!(front_end.get("/").status, 200);
    }
    assert_eq!(upstream.connections.load(SeqCst), 3);
    let upstream = Http2Upstream::start(None, |nth| match nth {
        1 => Action::Refuse,
        _ => Action::Echo,
    });
    assert_eq!(
        front(&upstream.url("h2c"), "", "reverse_proxy UP")
            .get("/")
            .status,
        200
    );
    assert_eq!(upstream.seen.lock().unwrap().len(), 2);
    let upstream = Http2Upstream::start(None, |_| Action::Echo);
    let site = transport("versions h2c\nkeepalive off");
    let front_end = front(&format!("localhost:{}", upstream.port), "", &site);
    for _ in 0..3 {
        assert_eq!(front_end.get("/").status, 200);
    }
    assert_eq!(upstream.connections.load(SeqCst), 3);
}

#[test]
fn requests_beyond_the_limit_of_a_connection_have_another() {
    let upstream = Http2Upstream::start(None, |nth| match nth {
        1..=4 => Action::Hang,
        _ => Action::Echo,
    });
    let front = front(&upstream.url("h2c"), "", "reverse_proxy UP");
    let mut clients = Vec::new();
    for number in 1..=4 {
        let mut client = front.connect();
        client.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        clients.push(client);
        wait_until("the upstream has the request", || {
            upstream.seen.lock().unwrap().len() == number
        });
    }
    for _ in 0..3 {
        assert_eq!(front.get("/").status, 200);
    }
    assert_eq!(upstream.connections.load(SeqCst), 3);
}

#[test]
fn an_upstream_without_http2_is_a_bad_gateway() {
    let upstream = Upstream::answering(
        b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        ConnectionAction::Close,
    );
    let address = format!("h2c://{}", upstream.address);
    assert_eq!(front(&address, "", "reverse_proxy UP").get("/").status, 502);
}

#[test]
fn http2_is_negotiated_with_tls() {
    let authority = Authority::new();
    let site = transport(&format!("{}\nversions 2", authority.pool()));
    let upstream =
        Http2Upstream::start(Some(authority.server("localhost", None)), |_| Action::Echo);
    let front_end = front(&upstream.url("https"), "", &site);
    for _ in 0..2 {
        assert_eq!(front_end.get("/a").status, 200);
    }
    assert_eq!(upstream.connections.load(SeqCst), 1);
    let uri = upstream.seen.lock().unwrap()[0].uri().to_string();
    assert_eq!(uri, format!("https://localhost:{}/a", upstream.port));
    for offered in [vec![b"http/1.1".to_vec()], vec![]] {
        let mut config = (*authority.server("localhost", None)).clone();
        config.alpn_protocols = offered;
        let upstream = crate::proxy_tls::Upstream::start(Arc::new(config));
        let front = front(&upstream.url("localhost"), "", &site);
        assert_eq!(front.get("/").status, 502);
    }
}

#[test]
fn placeholders_choose_an_upstream_with_http2() {
    let authority = Authority::new();
    let upstream =
        Http2Upstream::start(Some(authority.server("localhost", None)), |_| Action::Echo);
    let site = transport(&format!("{}\nversions 2", authority.pool()));
    let address = format!("{{query.host}}:{}", upstream.port);
    let front = front(&address, "", &site);
    for (host, status) in [
        ("localhost", 200),
        ("LOCALHOST", 200),
        ("127.0.0.1", 502),
        ("", 502),
    ] {
        assert_eq!(
            front.get(&format!("/a?host={host}")).status,
            status,
            "{host}"
        );
    }
    let seen = upstream.seen.lock().unwrap();
    let expected = format!("localhost:{}", upstream.port);
    assert_eq!(seen[0].uri().authority().unwrap().as_str(), expected);
}
