//! Requests and responses: HTTP/1.1, 2 and 3, compression, files, limits, and hostile clients.

mod abandoned;
mod aborts;
mod basics;
mod browser;
mod early_hints;
mod encode;
mod http2;
mod http2_attacks;
mod http2_h2spec;
mod http2_nghttp;
mod http3;
mod idle;
mod large_files;
mod learned_hints;
mod limits;
mod listeners;
mod slow_clients;
mod smuggling;
mod smuggling_http2;
mod static_files;
mod streaming;
mod unix_sockets;
mod uploads;
