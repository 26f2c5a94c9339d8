//! HTTPS across sites: shared ports, certificates, and redirects.

use crate::draft::{Binding, SiteAddress};
use crate::error::{Error, ErrorKind};
use crate::model::{Address, Site};
use crate::model::{NoSource, redirect_to_https, source};
use crate::table::Context;

/// A listener either has TLS or not: an address that does not specify it follows the others on its
/// port.
pub(crate) fn share_ports(cx: &mut Context, sites: &mut [Site], listed: &mut [SiteAddress]) {
    for index in 0..listed.len() {
        let one = &listed[index];
        // Each use of port 0 is a different port.
        if one.resolved.tls || one.resolved.port == 0 {
            continue;
        }
        let encrypted = listed.iter().find(|other| {
            other.resolved.tls
                && other.resolved.port == one.resolved.port
                && other.bind.overlaps(&one.bind)
        });
        let Some(encrypted) = encrypted else { continue };
        if one.fixed || one.resolved.port == cx.http_port {
            let message = format!(
                "the address `{}` is served without encryption on a port that has HTTPS",
                one.text
            );
            let hint = format!(
                "the other one is at {}; use another port",
                encrypted.position
            );
            cx.errors.push(Error::new(
                ErrorKind::Conflict,
                &one.position,
                message,
                hint,
            ));
            continue;
        }
        let one = &mut listed[index];
        one.resolved.tls = true;
        if let Some(address) = sites[one.site].addresses.get_mut(one.address) {
            address.tls = true;
        }
    }
}

/// Checks that each address with TLS can have a certificate, and that each `tls` has an address with TLS. Returns the
/// numbers of the addresses for which no certificate is possible, where others are served.
pub(crate) fn check(cx: &mut Context, sites: &[Site], listed: &[SiteAddress]) -> Vec<usize> {
    let mut left_out = Vec::new();
    for (index, one) in listed.iter().enumerate() {
        let tls = &sites[one.site].tls;
        if !one.resolved.tls {
            check_plain(cx, one, listed);
            continue;
        }
        let host = one.resolved.host.as_deref();
        let shares = || {
            // A site for all hosts may accompany sites with certificates, to handle their errors.
            host.is_none()
                && tls.issuer.is_none()
                && listed.iter().any(|other| {
                    other.site != one.site
                        && other.resolved.tls
                        && other.resolved.port == one.resolved.port
                        && other.resolved.host.is_some()
                })
        };
        let Err(reason) = source(host, tls, &cx.https) else {
            continue;
        };
        if reason == NoSource::NoName && shares() {
            continue;
        }
        let is_served = |other: &SiteAddress| {
            let tls = &sites[other.site].tls;
            !other.resolved.tls || source(other.resolved.host.as_deref(), tls, &cx.https).is_ok()
        };
        // As Caddy, whose other sites are served too.
        let is_optional = match reason {
            NoSource::NoName | NoSource::NotPublic => listed.iter().any(is_served),
            NoSource::Off => {
                let mut same_site = listed.iter().filter(|other| other.site == one.site);
                same_site.any(is_served)
            }
            NoSource::Wildcard | NoSource::NoAskEndpoint => false,
        };
        if is_optional {
            cx.warn(
                &one.position,
                format!(
                    "the address `{}` is not served, because no certificate is possible: {reason}; {}",
                    one.text,
                    hint(reason, host)
                ),
            );
            left_out.push(index);
            continue;
        }
        cx.errors.push(Error::new(
            ErrorKind::Conflict,
            &one.position,
            format!(
                "no certificate is possible for the address `{}`: {reason}",
                one.text
            ),
            hint(reason, host),
        ));
    }
    left_out
}

/// Checks an address without TLS.
fn check_plain(cx: &mut Context, one: &SiteAddress, listed: &[SiteAddress]) {
    let others = listed
        .iter()
        .any(|other| other.site == one.site && other.resolved.tls);
    if one.resolved.port == cx.https.port && cx.https.port != cx.http_port {
        cx.warn(
            &one.position,
            format!(
                "`{}` is served without encryption: `auto_https` is off, and the site has no `tls`",
                one.text
            ),
        );
    }
    if one.has_tls && one.resolved.port == cx.http_port && !one.fixed {
        cx.warn(
            &one.position,
            format!(
                "`tls` has no effect for `{}`: the HTTP port is not encrypted",
                one.text
            ),
        );
    } else if one.has_tls && !others {
        cx.errors.push(Error::new(
            ErrorKind::Conflict,
            &one.position,
            format!(
                "`tls` has no effect: the address `{}` is not encrypted",
                one.text
            ),
            "remove `tls`, or write `https://` or a different port",
        ));
    }
}

/// How to get a certificate.
fn hint(reason: NoSource, host: Option<&str>) -> String {
    match reason {
        NoSource::Off => format!(
            "give `tls CERT KEY` or `tls internal`, or write `http://{}`",
            host.unwrap_or_default()
        ),
        NoSource::NoName => "name the hosts in the address, or give `tls CERT KEY`".to_owned(),
        NoSource::Wildcard => "give `tls CERT KEY` or `tls internal`".to_owned(),
        NoSource::NotPublic => "write `tls internal`".to_owned(),
        NoSource::NoAskEndpoint => {
            "add an `ask` endpoint in the global options: `on_demand_tls { ask URL }`".to_owned()
        }
    }
}

/// Removes addresses, by their numbers in ascending order.
pub(crate) fn leave_out(sites: &mut [Site], listed: &mut Vec<SiteAddress>, numbers: &[usize]) {
    for number in numbers.iter().rev() {
        let gone = listed.remove(*number);
        sites[gone.site].addresses.remove(gone.address);
        let later =
            |other: &&mut SiteAddress| other.site == gone.site && other.address > gone.address;
        for other in listed.iter_mut().filter(later) {
            other.address -= 1;
        }
    }
}

/// Sites on the HTTP port that redirect clients to those with HTTPS.
pub(crate) fn redirects(cx: &Context, sites: &[Site]) -> Vec<Site> {
    let mut redirects: Vec<Site> = Vec::new();
    for site in sites {
        let encrypted = site.addresses.iter().filter(|address| address.tls);
        for address in encrypted {
            // The port that the system will choose for 0 is unknown here.
            if address.port == 0 || cx.http_port == 0 {
                continue;
            }
            let taken = sites.iter().chain(&redirects).any(|other| {
                Binding::of(other).overlaps(&Binding::of(site))
                    && other
                        .addresses
                        .iter()
                        .any(|own| !own.tls && own.port == cx.http_port && own.host == address.host)
            });
            if !taken {
                redirects.push(redirect(cx, site, address));
            }
        }
    }
    redirects
}

fn redirect(cx: &Context, site: &Site, address: &Address) -> Site {
    // Browsers and Caddy assume 443, whatever `https_port` is; behind port forwarding, `https_port`
    // is visible as 443.
    let port = Some(address.port).filter(|port| *port != cx.https.port);
    let from = Address {
        host: address.host.clone(),
        port: cx.http_port,
        tls: false,
    };
    let mut redirect = redirect_to_https(from, port);
    redirect.bind.clone_from(&site.bind);
    redirect
}
