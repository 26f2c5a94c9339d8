//! Certificates: from files, from the internal authority, and by ACME; which of them a client gets; and verification of
//! upstreams. Independent of connections.
//!
//! ```text
//! configuration ──> Tls ──acceptor──> Acceptor (one for each listener) <── ClientHello
//!                    │                   │
//!                 maintain             Slot: the certificate of a name at this moment
//!                    └── renews ───────> │
//! ```
//!
//! - [`Tls::new`] reads and creates what is needed before the server listens; an error names the file.
//! - [`Tls::maintain`] renews certificates and their OCSP responses, until it is dropped. It runs on a separate thread,
//!   since the storage may be on another machine.
//! - [`Tls::after`] does the same as [`Tls::new`] while another configuration is served: its certificates stay in use.
//! - A handshake takes no lock: [`Acceptor::choose`] uses a map that never changes, and the slot is an atomic pointer.
//!   Only names of `on_demand` are in a map with a lock.
#![forbid(unsafe_code)]

mod acceptor;
mod account;
mod acme;
mod active_certificates;
mod ask;
mod authority;
mod authority_client;
#[cfg(test)]
mod caddy_files;
mod certificate;
mod challenge;
mod check;
mod client_certificate;
mod directory;
mod error;
mod failures;
mod file_lock;
mod issuance_context;
mod layout;
mod lease;
mod lock;
mod maintain;
mod ocsp;
mod on_demand;
mod redis_storage;
mod remote;
mod schedule;
mod server_config;
mod slot;
mod storage;
mod stored_certificate;
mod tls;
mod upstream;

pub use acceptor::{Acceptor, Choice, PendingCertificate};
pub use active_certificates::ActiveCertificates;
pub use authority::{AuthorityCertificates, AuthorityError, InternalAuthority, NamedCertificate};
pub use certificate::CertificateError;
pub use challenge::{HttpProofs, SharedProofs};
pub use check::check;
pub use client_certificate::ClientCertificate;
pub use error::TlsError;
pub use slot::{Expiries, Validity};
pub use storage::default_root as default_storage;
pub use tls::{Tls, authority_root};
pub use upstream::upstream_config;
