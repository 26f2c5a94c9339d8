//! `bind`: what a site listens on.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use crate::error::{Error, ErrorKind};
use crate::https_sites::Listed;
use crate::model::Site;
use crate::table::{Call, Context, bad_value};
use crate::tree::Word;

/// A Unix socket that a site listens on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UnixSocket {
    /// Absolute.
    pub path: PathBuf,
    /// Permissions of its file: who may write may connect. Default 0200.
    pub mode: u32,
}

const DEFAULT_MODE: u32 = 0o200;

/// What one listener listens on, as configurations name it: `:443`, `127.0.0.1:80`, `unix//PATH`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ListenerAddress {
    /// A port.
    Tcp {
        /// `None`: all addresses of the machine.
        ip: Option<IpAddr>,
        /// Its number.
        port: u16,
    },
    /// A Unix socket, by its absolute path.
    Unix(PathBuf),
}

impl fmt::Display for ListenerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { ip: None, port } => write!(f, ":{port}"),
            Self::Tcp { ip: Some(ip), port } => SocketAddr::new(*ip, *port).fmt(f),
            Self::Unix(path) => write!(f, "unix/{}", path.display()),
        }
    }
}

/// IP addresses and Unix sockets; without any all IP addresses.
#[derive(Debug, Clone, Default)]
pub(crate) struct Binding {
    pub(crate) ips: Vec<IpAddr>,
    pub(crate) sockets: Vec<UnixSocket>,
}

impl Binding {
    /// Of a site.
    pub(crate) fn of(site: &Site) -> Self {
        Self {
            ips: site.bind.clone(),
            sockets: site.unix_sockets.clone(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ips.is_empty() && self.sockets.is_empty()
    }

    /// Adds what is not there yet.
    pub(crate) fn add(&mut self, other: Self) {
        for ip in other.ips {
            if !self.ips.contains(&ip) {
                self.ips.push(ip);
            }
        }
        for socket in other.sockets {
            if !self.sockets.contains(&socket) {
                self.sockets.push(socket);
            }
        }
    }

    fn has_ports(&self) -> bool {
        !self.ips.is_empty() || self.sockets.is_empty()
    }

    /// Whether both listen on the ports of one IP address.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.has_ports()
            && other.has_ports()
            && (self.ips.is_empty()
                || other.ips.is_empty()
                || self.ips.iter().any(|ip| other.ips.contains(ip)))
    }

    /// Whether both listen on the same, in whatever order it is written.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let sorted = |own: &Self| {
            let mut ips = own.ips.clone();
            ips.sort_unstable();
            let mut paths: Vec<_> = own.sockets.iter().map(|one| one.path.clone()).collect();
            paths.sort_unstable();
            (ips, paths)
        };
        sorted(self) == sorted(other)
    }

    /// A Unix socket of both, with the modes that each gives it.
    fn shared(&self, other: &Self) -> Option<(&UnixSocket, u32)> {
        self.sockets.iter().find_map(|own| {
            let other = other.sockets.iter().find(|one| one.path == own.path)?;
            Some((own, other.mode))
        })
    }

    /// The words of `bind` and `default_bind`.
    pub(crate) fn read(call: &Call<'_>) -> Result<Self, Error> {
        let mut binding = Self::default();
        for word in call.arguments(1, usize::MAX)? {
            binding.add(match word.text.strip_prefix("unix/") {
                Some(rest) => Self {
                    sockets: vec![socket(word, rest, call.entry.name)?],
                    ..Self::default()
                },
                None => Self {
                    ips: vec![ip(word, call.entry.name)?],
                    ..Self::default()
                },
            });
        }
        Ok(binding)
    }
}

/// An IP address; one of IPv6 may be in brackets.
pub(crate) fn parse_ip(text: &str) -> Option<IpAddr> {
    let inner = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    inner.unwrap_or(text).parse().ok()
}

fn ip(word: &Word, name: &str) -> Result<IpAddr, Error> {
    parse_ip(&word.text).ok_or_else(|| {
        bad_value(
            &word.position,
            format!("`{}` is not an IP address", word.text),
            format!("write for example `{name} 127.0.0.1`"),
        )
    })
}

/// `/PATH|MODE`, of which the mode may be missing.
pub(crate) fn socket(word: &Word, text: &str, name: &str) -> Result<UnixSocket, Error> {
    let (path, mode) = match text.split_once('|') {
        Some((path, mode)) => (path, Some(mode)),
        None => (text, None),
    };
    if !path.starts_with('/') || path.ends_with('/') {
        return Err(bad_value(
            &word.position,
            format!("`{}` is not the absolute path of a Unix socket", word.text),
            format!("write for example `{name} unix//run/howdah.sock`"),
        ));
    }
    let mode = match mode {
        None => DEFAULT_MODE,
        Some(mode) => u32::from_str_radix(mode, 8)
            .ok()
            .filter(|mode| *mode <= 0o777 && mode & 0o200 != 0)
            .ok_or_else(|| {
                bad_value(
                    &word.position,
                    format!("`{mode}` are no permissions of a Unix socket that its owner can use"),
                    format!(
                        "write for example `{name} unix/{path}|0222`, with which all may connect"
                    ),
                )
            })?,
    };
    Ok(UnixSocket {
        path: path.into(),
        mode,
    })
}

/// On a Unix socket there is HTTP without encryption, each host once, and its file has one mode.
pub(crate) fn check(cx: &mut Context, listed: &[Listed]) {
    for (index, one) in listed.iter().enumerate() {
        if one.resolved.tls && !one.bind.sockets.is_empty() {
            let host = one.resolved.host.as_deref().unwrap_or_default();
            cx.errors.push(Error::new(
                ErrorKind::Conflict,
                &one.position,
                format!(
                    "the address `{}` has HTTPS, which there is none of on a Unix socket",
                    one.text
                ),
                format!("write `http://{host}` in a site of its own"),
            ));
        }
        let conflict = listed[..index].iter().find_map(|other| {
            let (socket, mode) = one.bind.shared(&other.bind)?;
            let path = socket.path.display();
            // Their ports mean nothing there. With the same ports too, it was said.
            let twice = other.resolved.host == one.resolved.host
                && (other.resolved != one.resolved || !other.bind.is_same(&one.bind));
            let message = if socket.mode != mode {
                format!(
                    "the Unix socket `{path}` has the mode {:04o} here",
                    socket.mode
                )
            } else if twice {
                format!(
                    "the address `{}` is served twice on the Unix socket `{path}`",
                    one.text
                )
            } else {
                return None;
            };
            let hint = if socket.mode == mode {
                format!("the other one is at {}", other.position)
            } else {
                format!("it is {mode:04o} for the address at {}", other.position)
            };
            Some((message, hint))
        });
        if let Some((message, hint)) = conflict {
            cx.errors.push(Error::new(
                ErrorKind::Conflict,
                &one.position,
                message,
                hint,
            ));
        }
    }
}
