//! Sockets from a service manager: systemd's `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES`.

use howdah_config::model;
use howdah_http::InheritedSockets;
use howdah_observe::admin::Admin;
use listenfd::ListenFd;

use crate::admin;
use crate::failure::Failure;

/// Sockets that were passed and have not been used yet.
#[derive(Debug, Default)]
pub(crate) struct Activation {
    pub(crate) sockets: InheritedSockets,
}

impl Activation {
    /// Takes the sockets. Must be called once, before any file is opened that stays open.
    pub(crate) fn take() -> Result<Self, Failure> {
        let variable = |name: &str| std::env::var(name).ok();
        let mut found = Self::default();
        let names = variable("LISTEN_FDNAMES").unwrap_or_default();
        // The variables belong to another process, which did not remove them.
        if variable("LISTEN_PID").as_deref() != Some(&std::process::id().to_string()) {
            return Ok(found);
        }
        let mut descriptors = ListenFd::from_env();
        let mut names = names.split(':');
        for index in 0..descriptors.len() {
            let name = names.next().unwrap_or_default();
            let name = name_of(index, name);
            found.add(&mut descriptors, index, name.clone()).map_err(|error| {
                Failure::Setup(format!(
                    "the service manager handed over {name}, which is neither a listening TCP or Unix socket nor a \
                     UDP socket: {error}"
                ))
            })?;
        }
        Ok(found)
    }

    fn add(
        &mut self,
        descriptors: &mut ListenFd,
        index: usize,
        name: String,
    ) -> std::io::Result<()> {
        if let Ok(Some(socket)) = descriptors.take_udp_socket(index) {
            return self.sockets.add_udp(name, socket);
        }
        if let Ok(Some(socket)) = descriptors.take_unix_listener(index) {
            return self.sockets.add_unix(name, socket);
        }
        match descriptors.take_tcp_listener(index)? {
            Some(socket) => self.sockets.add_tcp(name, socket),
            None => Ok(()),
        }
    }

    /// The admin API, if its Unix socket was passed. Must be called within a tokio runtime.
    pub(crate) fn admin(&mut self, configured: &model::Admin) -> Result<Option<Admin>, Failure> {
        let model::Admin::On(address @ model::AdminAddress::Unix(path)) = configured else {
            return Ok(None);
        };
        let Some(socket) = self.sockets.take_unix(path) else {
            return Ok(None);
        };
        let admin = Admin::adopt(&admin::address(address), socket);
        admin
            .map(Some)
            .map_err(|error| Failure::Setup(error.to_string()))
    }

    /// An unused socket is an error: clients would connect and never get a response.
    pub(crate) fn check_used(&self) -> Result<(), Failure> {
        let left: Vec<_> = self
            .sockets
            .unused()
            .map(|given| given.to_string())
            .collect();
        if left.is_empty() {
            return Ok(());
        }
        Err(Failure::Setup(format!(
            "the service manager handed over sockets that the configuration has no address for: {}; give a site \
             or `admin` this address, or remove them from the socket unit",
            left.join(", ")
        )))
    }
}

/// The name in the socket unit.
fn name_of(index: usize, name: &str) -> String {
    let descriptor = 3 + index;
    match name {
        // systemd's values for no name.
        "" | "unknown" => format!("descriptor {descriptor}"),
        name => format!("{name} (descriptor {descriptor})"),
    }
}
