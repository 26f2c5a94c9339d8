//! Statements that were read before the whole file is known.

mod binding;
mod global_logs;
mod order;
mod pool;
mod site_address;
mod worker;

pub(crate) use binding::{BindProtocols, Binding, ListenerProtocols, Protocols};
pub(crate) use global_logs::GlobalLogs;
pub(crate) use order::Order;
pub(crate) use pool::{ClassicPoolDraft, PoolDraft};
pub(crate) use site_address::SiteAddress;
pub(crate) use worker::{Place, WorkerDraft};
