//! The front alone, for measuring: an application that answers `Hello World`, files below a
//! directory, and, with `bare`, hyper without any of this crate.
//!
//! ```text
//! cargo run --release -p howdah-http --example hello -- 8080 [DIRECTORY | bare]
//! wrk -t1 -c32 http://127.0.0.1:8080/index.php
//! ```

use std::convert::Infallible;
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
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

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

    async fn call(self: Rc<Self>, _: AppRequest, _: Interim<'_>) -> Response<Text> {
        Text::response()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let port = arguments.next().unwrap_or_else(|| "8080".into()).parse()?;
    match arguments.next().as_deref() {
        Some("bare") => bare(port),
        directory => howdah(port, directory),
    }
}

fn howdah(port: u16, directory: Option<&str>) -> Result<(), Box<dyn Error>> {
    let own = tempfile::tempdir()?;
    std::fs::write(own.path().join("index.php"), "")?;
    let root = directory.or(own.path().to_str()).unwrap_or(".");
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

fn bare(port: u16) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::task::spawn_local(async move {
                let service = service_fn(|_| async { Ok::<_, Infallible>(Text::response()) });
                let builder = hyper::server::conn::http1::Builder::new();
                // An error is the client's end of the connection: nothing to measure.
                let _ = builder
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    })
}
