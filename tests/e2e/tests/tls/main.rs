//! HTTPS: certificates, their sources, and TLS protocols.

mod acme;
mod certificates;
mod ocsp;
mod redis;
mod upstream;
mod weak;
