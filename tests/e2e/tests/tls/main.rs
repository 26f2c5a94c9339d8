//! HTTPS: certificates, where they come from, and what is spoken with them.

mod acme;
mod certificates;
mod ocsp;
mod redis;
mod upstream;
mod weak;
