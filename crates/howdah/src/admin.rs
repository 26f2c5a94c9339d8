//! The address of the admin API: the configured or the default one.

use std::path::Path;

use howdah_config::model;
use howdah_observe::admin::{Admin, AdminAddress, BindError};

use crate::failure::Failure;

/// Default address of the admin API of a server whose PHP has fewer rights than
/// itself: PHP can reach any TCP address.
pub(crate) const ADMIN_SOCKET: &str = "/run/howdah/admin.sock";

/// Binds the admin API that the configuration requests; `is_php_restricted`: PHP has fewer rights than the server. If
/// another server on this machine uses the default address, this server starts without an admin API.
pub(crate) fn bind_admin(
    admin: &model::Admin,
    is_php_restricted: bool,
) -> Result<Option<Admin>, Failure> {
    let bound = match admin {
        model::Admin::Off => return Ok(None),
        model::Admin::Default if is_php_restricted => bind_socket(),
        model::Admin::Default => Admin::bind(&AdminAddress::default()),
        model::Admin::On(chosen) => Admin::bind(&address(chosen)),
    };
    match bound {
        Ok(bound) => {
            warn_of_exposure(&bound, is_php_restricted, *admin == model::Admin::Default);
            Ok(Some(bound))
        }
        Err(error) if *admin == model::Admin::Default => {
            let another = if is_php_restricted {
                "unix//PATH"
            } else {
                "localhost:PORT"
            };
            let hint = match error {
                BindError::Io { .. } if !is_php_restricted => String::new(),
                _ => format!("; write `admin {another}` or `admin off`"),
            };
            tracing::warn!(target: "howdah", "the admin API is off: {error}{hint}");
            Ok(None)
        }
        Err(error) => Err(Failure::Setup(error.to_string())),
    }
}

/// Binds the default socket, in a directory that may have to be created.
fn bind_socket() -> Result<Admin, BindError> {
    let path = Path::new(ADMIN_SOCKET);
    let address = AdminAddress::Unix(path.to_owned());
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.map_err(|source| BindError::Io {
        address: address.clone(),
        source,
    })?;
    Admin::bind(&address)
}

fn warn_of_exposure(admin: &Admin, is_php_restricted: bool, default: bool) {
    if is_php_restricted && default {
        tracing::info!(
            target: "howdah",
            "the admin API is at a Unix socket and not at localhost:2019, since PHP runs as another user"
        );
    } else if is_php_restricted && matches!(admin.address(), AdminAddress::Tcp { .. }) {
        tracing::info!(
            target: "howdah",
            "PHP runs as another user and can reach the admin API: it can stop the server and reload PHP; \
             another configuration is refused there; `admin unix//PATH` denies PHP access"
        );
    }
    if !admin.is_local() {
        tracing::warn!(
            target: "howdah",
            address = %admin.address(),
            "other machines can reach the admin API, and with it all that the server may do: write `admin \
             localhost:PORT` or `admin unix//PATH`"
        );
    }
}

/// Converts the configured address to the one that listener and client use.
pub(crate) fn address(configured: &model::AdminAddress) -> AdminAddress {
    match configured {
        model::AdminAddress::Tcp { host, port } => AdminAddress::Tcp {
            host: host.clone(),
            port: *port,
        },
        model::AdminAddress::Unix(path) => AdminAddress::Unix(path.clone()),
    }
}

/// The reverse of [`address`].
pub(crate) fn configured(address: AdminAddress) -> model::AdminAddress {
    match address {
        AdminAddress::Tcp { host, port } => model::AdminAddress::Tcp { host, port },
        AdminAddress::Unix(path) => model::AdminAddress::Unix(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_was_chosen_has_to_be_free() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let _inside = runtime.enter();
        assert!(
            bind_admin(&model::Admin::Off, false)
                .expect("nothing to do")
                .is_none()
        );
        let of = |port| {
            model::Admin::On(model::AdminAddress::Tcp {
                host: "127.0.0.1".into(),
                port,
            })
        };
        let bound = bind_admin(&of(0), false).expect("a free port").expect("on");
        let AdminAddress::Tcp { port, .. } = *bound.address() else {
            panic!("TCP")
        };
        let error = bind_admin(&of(port), false).expect_err("taken");
        assert!(error.to_string().contains("in use"), "{error}");
    }
}
