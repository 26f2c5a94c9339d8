//! The `reverse_proxy` directives of a site.

use crate::model::{Handler, ReverseProxy, Site, each_handler};

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
