//! Shared checks for the PSR-7 packages. Their scripts respond in the same way.

use howdah_testkit::{Request, Response, Server};
use serde_json::{Value, json};

pub(crate) fn json(response: &Response) -> Value {
    response.assert_status(201);
    response.json()
}

#[track_caller]
pub(crate) fn assert_request_arrives(server: &Server) {
    let request = Request::new("PUT", "/a//b?x=1&y[]=2")
        .host("example.com")
        .header("X-Who", "ann")
        .header("Cookie", "c=d")
        .header("Content-Type", "text/plain")
        .body("the body");
    let response = server.send(&request);
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.head.header_all("set-cookie"), ["one=1", "two=2"]);
    let answer = json(&response);
    assert_eq!(answer["method"], "PUT");
    assert_eq!(answer["uri"], "http://example.com/a//b?x=1&y%5B%5D=2");
    assert_eq!(answer["header"], "ann");
    assert_eq!(answer["cookies"], json!({"c": "d"}));
    assert_eq!(answer["parsed"], Value::Null);
    assert_eq!(answer["body"], "the body");
}
