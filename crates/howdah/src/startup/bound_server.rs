//! The sockets of a server, and the checks before PHP starts.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use howdah_config::model::Config;
use howdah_http::Server;
use howdah_mercure::Hub;
use howdah_observe::admin::Admin;
use howdah_observe::log;
use howdah_tls::Tls;

use super::activation::Activation;
use crate::admin::bind_admin;
use crate::failure::Failure;
use crate::rights::privileges;
use crate::server::hubs;

/// A server that has its sockets and does not serve yet.
pub(super) struct BoundServer {
    pub(super) server: Arc<Server>,
    pub(super) tls: Option<Tls>,
    pub(super) hubs: Vec<Arc<Hub>>,
    /// The folder of spooled bodies.
    pub(super) spool: OwnedFd,
    pub(super) admin: Option<Admin>,
}

impl BoundServer {
    pub(super) fn bind(config: &Config, mut activation: Activation) -> Result<Self, Failure> {
        let tls = Tls::new(config).map_err(|error| Failure::Setup(error.to_string()))?;
        let users = privileges::restricted_users(config);
        let server = Server::bind_with(config, tls.as_ref(), users, &mut activation.sockets)
            .map_err(|error| Failure::Setup(error.to_string()))?;
        let hubs = hubs::hubs(config)?;
        let spool = server
            .spool()
            .fd()
            .try_clone_to_owned()
            .map_err(|error| Failure::Runtime(error.to_string()))?;
        let admin = match activation.admin(&config.global.admin)? {
            Some(admin) => Some(admin),
            None => bind_admin(&config.global.admin, privileges::is_php_restricted(config))?,
        };
        if admin.is_some() {
            log::enable();
        }
        activation.check_used()?;
        Ok(Self {
            server: Arc::new(server),
            tls,
            hubs,
            spool,
            admin,
        })
    }

    pub(super) fn log_addresses(&self) {
        for address in self.server.local_addrs() {
            tracing::info!(target: "howdah", address = %address, "listening");
        }
        for path in self.server.unix_sockets() {
            tracing::info!(target: "howdah", socket = %path.display(), "listening on a Unix socket");
        }
    }
}
