//! Whether clients consider a response complete.

use bytes::Bytes;

use super::{Harness, PATIENCE};

/// Result of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Whole(u16, String),
    /// The client can detect that a part is missing.
    Broken,
}

pub fn whole(status: u16, body: &str) -> Outcome {
    Outcome::Whole(status, body.to_owned())
}

pub fn refused() -> Outcome {
    whole(502, "502 Bad Gateway\n")
}

/// Result of an HTTP/1.1 client that reads to the end of its connection.
pub fn get(front: &Harness, method: &str, target: &str) -> Outcome {
    let mut client = front.connect();
    let request = format!("{method} {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    client.write(request.as_bytes());
    let (bytes, ended) = client.rest();
    let mut text = str::from_utf8(&bytes).unwrap();
    while text.starts_with("HTTP/1.1 1") {
        text = text.split_once("\r\n\r\n").unwrap().1;
    }
    let Some((head, mut body)) = text.split_once("\r\n\r\n") else {
        return Outcome::Broken;
    };
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let head = head.to_ascii_lowercase();
    let lengths: Vec<&str> = head
        .lines()
        .filter_map(|line| line.strip_prefix("content-length: "))
        .collect();
    let is_chunked = head.contains("\r\ntransfer-encoding: chunked");
    assert!(lengths.len() + usize::from(is_chunked) <= 1, "{head}");
    if method == "HEAD" || matches!(status, 204 | 304) {
        assert_eq!(body, "", "{head}");
        return whole(status, "");
    }
    if let Some(length) = lengths.first() {
        if length.parse() == Ok(body.len()) {
            return whole(status, body);
        }
        return Outcome::Broken;
    }
    if !is_chunked {
        return if ended {
            whole(status, body)
        } else {
            Outcome::Broken
        };
    }
    let mut content = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            // There may be trailers.
            return if rest.ends_with("\r\n") {
                whole(status, &content)
            } else {
                Outcome::Broken
            };
        }
        let Some(chunk) = rest.get(..size) else { break };
        content.push_str(chunk);
        body = rest[size..].strip_prefix("\r\n").unwrap_or_default();
    }
    Outcome::Broken
}

/// Result of an HTTP/2 client.
pub fn get_http2(front: &Harness, method: &str, target: &str) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    let exchange = async {
        let stream = tokio::net::TcpStream::connect(front.address())
            .await
            .unwrap();
        let (mut client, connection) = h2::client::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        let uri = format!("http://a{target}");
        let request = http::Request::builder()
            .method(method)
            .uri(uri)
            .body(())
            .unwrap();
        let (response, _): (_, h2::SendStream<Bytes>) = client.send_request(request, true).unwrap();
        let (head, mut body) = response.await.ok()?.into_parts();
        let mut content = Vec::new();
        while let Some(part) = body.data().await {
            let part = part.ok()?;
            body.flow_control().release_capacity(part.len()).ok()?;
            content.extend_from_slice(&part);
        }
        Some(whole(
            head.status.as_u16(),
            &String::from_utf8(content).unwrap(),
        ))
    };
    let within = async { tokio::time::timeout(PATIENCE, exchange).await };
    let got = runtime.block_on(within).expect("waited in vain");
    got.unwrap_or(Outcome::Broken)
}
