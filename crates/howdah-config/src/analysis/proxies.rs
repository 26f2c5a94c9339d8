//! The `reverse_proxy` directives of a site.

use crate::model::{Handler, Policy, ReverseProxy, Site, each_handler};

impl Site {
    /// Its reverse proxies, wherever they stand.
    #[must_use]
    pub fn reverse_proxies(&self) -> Vec<&ReverseProxy> {
        let mut proxies = Vec::new();
        for routes in self.all_routes() {
            each_handler(routes, &mut |handler| {
                if let Handler::ReverseProxy(proxy) = handler {
                    proxies.push(&**proxy);
                }
            });
        }
        proxies
    }
}

impl Policy {
    /// Its name in a Caddyfile.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::RandomChoose(_) => "random_choose",
            Self::RoundRobin => "round_robin",
            Self::WeightedRoundRobin(_) => "weighted_round_robin",
            Self::LeastConnections => "least_conn",
            Self::First => "first",
            Self::IpHash => "ip_hash",
            Self::ClientIpHash => "client_ip_hash",
            Self::UriHash => "uri_hash",
            Self::Header { .. } => "header",
            Self::Query { .. } => "query",
            Self::Cookie { .. } => "cookie",
        }
    }
}
