//! Addresses with a path, `:80/health`: the site handles requests for that path; the site with the same address without
//! a path, if there is one, handles the others. Caddy recommends `handle` instead.

use std::cmp::Reverse;

use crate::draft::SiteAddress;
use crate::model::{Address, Handler, Matcher, Part, Placeholder, Route, Site, Template};
use crate::table::Context;

/// A site whose addresses have a path.
struct PathSite {
    address: Address,
    path: String,
    routes: Vec<Route>,
}

/// Turns sites with paths into routes of the sites without.
pub(super) fn merge(cx: &mut Context, sites: Vec<Site>, listed: &[SiteAddress]) -> Vec<Site> {
    if listed.iter().all(|own| own.path.is_none()) {
        return sites;
    }
    let mut whole: Vec<Site> = Vec::new();
    let mut parts: Vec<PathSite> = Vec::new();
    for (index, mut site) in sites.into_iter().enumerate() {
        let own = listed.iter().filter(|own| own.site == index);
        let with_path: Vec<&SiteAddress> = own.filter(|own| own.path.is_some()).collect();
        let mut routes = site.routes.clone();
        if !site.errors.is_empty() && !with_path.is_empty() {
            let errors = Handler::HandleErrors(site.errors.clone());
            routes.insert(0, route(None, errors, None));
        }
        for own in &with_path {
            let address = site.addresses[own.address].clone();
            let sibling = listed.iter().any(|other| {
                other.path.is_none()
                    && sites_share(other, own)
                    && other.resolved.host == address.host
            });
            warn_of_path(cx, own, sibling && !site.access_logs.is_empty());
            let mut others = whole.iter();
            // Otherwise the site without a path listens, and configures TLS and logs.
            if !sibling && !others.any(|other| is_derived_from(other, &site, &address)) {
                whole.push(Site {
                    addresses: vec![address.clone()],
                    routes: Vec::new(),
                    errors: Vec::new(),
                    ..site.clone()
                });
            }
            parts.push(PathSite {
                address,
                path: own.path.clone().unwrap_or_default(),
                routes: routes.clone(),
            });
        }
        let mut number = 0;
        site.addresses.retain(|_| {
            let stays = !with_path.iter().any(|own| own.address == number);
            number += 1;
            stays
        });
        if !site.addresses.is_empty() || with_path.is_empty() {
            whole.push(site);
        }
    }
    add_routes(cx, &mut whole, parts);
    whole
}

fn warn_of_path(cx: &mut Context, address: &SiteAddress, has_unused_log: bool) {
    cx.warn(
        &address.position,
        format!(
            "`{}` has a path: a site without one and `handle` in it say the same more clearly",
            address.text
        ),
    );
    if has_unused_log {
        cx.warn(
            &address.position,
            format!(
                "`log` has no effect for `{}`: the site without a path logs its requests",
                address.text
            ),
        );
    }
}

/// Adds the routes of the sites with paths to those without.
fn add_routes(cx: &mut Context, whole: &mut [Site], mut parts: Vec<PathSite>) {
    parts.sort_by_key(|part| Reverse(specific(&part.path)));
    for site in whole {
        let own = |part: &&PathSite| site.addresses.contains(&part.address);
        let own: Vec<&PathSite> = parts.iter().filter(own).collect();
        if own.is_empty() {
            continue;
        }
        let group = Some(cx.next_group());
        let rest = std::mem::take(&mut site.routes);
        for part in own {
            let path = Matcher::Path(vec![part.path.clone()]);
            let matcher = if site.addresses.len() > 1 {
                Matcher::All([vec![path], of_address(&part.address)].concat())
            } else {
                path
            };
            let chain = Handler::Chain(part.routes.clone());
            site.routes.push(route(Some(matcher), chain, group));
        }
        site.routes.push(route(None, Handler::Chain(rest), group));
    }
}

/// How specific a path is: the longer without its `*`, the more; then a path without `*`.
fn specific(path: &str) -> (usize, bool) {
    (path.trim_end_matches('*').len(), !path.ends_with('*'))
}

/// Matches only requests for this address.
fn of_address(address: &Address) -> Vec<Matcher> {
    let port = Template {
        parts: vec![Part::Placeholder(Placeholder::LocalPort)],
    };
    let port = Matcher::Vars(port, vec![Template::text(address.port.to_string())]);
    let host = address.host.clone().map(|host| Matcher::Host(vec![host]));
    std::iter::once(port).chain(host).collect()
}

fn sites_share(one: &SiteAddress, other: &SiteAddress) -> bool {
    one.resolved.port == other.resolved.port && one.bind.is_same(&other.bind)
}

/// Whether the site was generated for the address of another one with a path.
fn is_derived_from(made: &Site, site: &Site, address: &Address) -> bool {
    made.addresses.contains(address)
        && made.bind == site.bind
        && made.unix_sockets == site.unix_sockets
}

fn route(matcher: Option<Matcher>, handler: Handler, group: Option<u32>) -> Route {
    Route {
        matcher,
        handler,
        group,
    }
}
