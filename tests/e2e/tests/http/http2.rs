//! HTTP/2 with prior knowledge (h2c).

use bytes::Bytes;
use h2::client::SendRequest;
use howdah_testkit::Server;
use howdah_testkit::load::CONCURRENCY;
use howdah_tests::http2::{over_http2, ready, whole};
use howdah_tests::www;
use http::{Request, Response};

async fn exchange(
    client: &SendRequest<Bytes>,
    request: Request<()>,
    body: Option<Bytes>,
) -> Response<Vec<u8>> {
    let mut client = ready(client).await;
    let (response, mut stream) = client
        .send_request(request, body.is_none())
        .expect("a stream");
    if let Some(body) = body {
        stream.send_data(body, true).expect("the body is sent");
    }
    let (head, body) = response.await.expect("a response").into_parts();
    Response::from_parts(head, whole(body).await)
}

fn get(path: &str) -> Request<()> {
    Request::get(format!("http://localhost{path}"))
        .body(())
        .expect("a request")
}

#[test]
fn serves_a_request() {
    let server = Server::builder(www()).workers(2).start();
    over_http2(&server, async |client| {
        let response = exchange(client, get("/dump.php?a=1"), None).await;
        assert_eq!(response.status(), 200);
        let answer: serde_json::Value = serde_json::from_slice(response.body()).expect("JSON");
        assert_eq!(answer["get"]["a"], "1");
        assert_eq!(answer["server"]["SERVER_PROTOCOL"], "HTTP/2.0");
        assert_eq!(answer["server"]["HTTP_HOST"], "localhost");
    });
}

#[test]
fn takes_bodies() {
    let server = Server::builder(www())
        .workers(2)
        .ini("post_max_size", "64M")
        .start();
    over_http2(&server, async |client| {
        for size in [1, 60_000, 65_536, 3 << 20] {
            let request = Request::post("http://localhost/dump.php")
                .body(())
                .expect("a request");
            let body = Bytes::from(vec![b'x'; size]);
            let response = exchange(client, request, Some(body)).await;
            let answer: serde_json::Value = serde_json::from_slice(response.body()).expect("JSON");
            assert_eq!(answer["input_size"], size);
        }
    });
}

#[test]
fn serves_many_streams_at_once() {
    let server = Server::builder(www()).workers(4).start();
    over_http2(&server, async |client| {
        let all: Vec<_> = (0..CONCURRENCY)
            .map(|id| {
                let client = client.clone();
                tokio::spawn(async move {
                    let size = id * 1009 % 90_000;
                    let path = format!("/id.php?id={id}&size={size}");
                    let response = exchange(&client, get(&path), None).await;
                    let wanted = format!("[{id}]{}[{id}]", ".".repeat(size));
                    assert!(
                        response.body() == wanted.as_bytes(),
                        "stream {id} got another answer"
                    );
                })
            })
            .collect();
        for one in all {
            one.await.expect("no panic");
        }
    });
}

#[test]
fn a_reset_stream_harms_no_other() {
    let server = Server::builder(www()).workers(2).start();
    over_http2(&server, async |client| {
        for _ in 0..CONCURRENCY {
            let mut client = ready(client).await;
            let request = get("/stream.php?lines=500&flush=1");
            let (response, mut stream) = client.send_request(request, true).expect("a stream");
            // In the middle of the response, because resets before the response are an attack, and
            // the server would close the connection.
            assert_eq!(response.await.expect("a response").status(), 200);
            stream.send_reset(h2::Reason::CANCEL);
        }
        let response = exchange(client, get("/hello.php"), None).await;
        assert_eq!(response.body(), b"hello");
    });
    server.get("/hello.php").assert(200, "hello");
}

#[test]
fn hides_fields_that_belong_to_the_connection() {
    let server = Server::builder(www()).workers(2).start();
    over_http2(&server, async |client| {
        let path = "/status.php?code=200&header[]=Connection:+close&header[]=Keep-Alive:+1&body=x";
        let response = exchange(client, get(path), None).await;
        assert_eq!(response.body(), b"x");
        assert_eq!(response.headers().get("connection"), None);
        assert_eq!(response.headers().get("keep-alive"), None);
    });
}
