//! The front alone, for measuring: an application that answers `Hello World`, and files below a
//! directory. hyper without any of this crate is in `bench/hyper`.
//!
//! ```text
//! cargo run --release -p howdah-http --example hello -- 8080 [DIRECTORY]
//! wrk -t1 -c32 http://127.0.0.1:8080/index.php
//! ```

use std::error::Error;
use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use howdah_config::model::{Address, Config, Handler, PhpServer, Route, Site, Template};
use howdah_http::{AppRequest, Application, Hooks, Interim, Server, Shutdown};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use http_body::{Body, Frame, SizeHint};

struct Hello;

struct Text(Option<Bytes>);

impl Text {
    fn response() -> Response<Self> {
        let mut response = Response::new(Self(Some(Bytes::from_static(b"Hello World"))));
        let html = HeaderValue::from_static("text/html; charset=UTF-8");
        response.headers_mut().insert(CONTENT_TYPE, html);
        response
    }
}

impl Body for Text {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        Poll::Ready(self.0.take().map(|text| Ok(Frame::data(text))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, Bytes::len) as u64)
    }
}

impl Application for Hello {
    type Body = Text;

    async fn call(self: Rc<Self>, _: &mut AppRequest, _: Interim<'_>) -> Response<Text> {
        Text::response()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let port = arguments.next().unwrap_or_else(|| "8080".into()).parse()?;
    let directory = arguments.next();
    let own = tempfile::tempdir()?;
    std::fs::write(own.path().join("index.php"), "")?;
    let root = directory.as_deref().or(own.path().to_str()).unwrap_or(".");
    let route = |handler| Route {
        matcher: None,
        handler,
        group: None,
    };
    let mut config = Config {
        sites: vec![Site {
            addresses: vec![Address {
                port,
                ..Address::default()
            }],
            routes: vec![
                route(Handler::Root(Template::text(root))),
                route(Handler::PhpServer(PhpServer::default())),
            ],
            bind: vec![Ipv4Addr::LOCALHOST.into()],
            ..Site::default()
        }],
        ..Config::default()
    };
    config.global.php.front_threads = Some(1);
    let server = Server::bind(&config, None)?;
    server.run_thread(0, Hooks::default(), &Shutdown::new(), || Ok(Rc::new(Hello)))?;
    Ok(())
}
