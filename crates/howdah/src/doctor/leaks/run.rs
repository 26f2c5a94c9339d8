//! The requests of the check, and their order.

use super::LeakCheckError;
use super::caddyfile::{Application, Mode};
use super::compare::{NewServers, Page, Visits};
use super::leak::Leak;
use super::response::Response;
use super::server::TestServer;
use super::target::Target;
use crate::request_header::RequestHeader;

/// Consecutive requests of a page for which a difference is to be confirmed: each of a few random lines shows up.
const CONSECUTIVE: usize = 12;

/// Requests the pages from servers that it starts.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) application: &'a Application,
    pub(super) targets: &'a [Target],
    pub(super) headers: &'a [RequestHeader],
    /// Requests that were sent.
    pub(super) requests: usize,
}

impl Run<'_> {
    /// Requests the pages from one server in different orders; returns the reported leaks and the responses.
    pub(super) fn first_server(&mut self) -> Result<(Vec<Leak>, Vec<Page>), LeakCheckError> {
        let mut pages: Vec<Page> = self.targets.iter().map(|_| Page::default()).collect();
        let mut server = self.start(Mode::DetectLeaks)?;
        let send = |page: usize| self.request(&server, page);
        for (page, seen) in pages.iter_mut().enumerate() {
            seen.first = send(page)?;
        }
        for (page, seen) in pages.iter_mut().enumerate() {
            seen.consecutive = [send(page)?, send(page)?, send(page)?];
        }
        for page in (0..pages.len()).rev() {
            pages[page].after = send(page)?;
        }
        // The leaks of a request are reported when its worker claims the next one.
        send(0)?;
        self.requests += server.requests();
        Ok((server.stop(), pages))
    }

    /// Requests several pages from two new servers, in reverse order and in the same order as before.
    pub(super) fn new_servers(&mut self, pages: &mut [Page]) -> Result<(), LeakCheckError> {
        if pages.len() < 2 {
            return Ok(());
        }
        let reverse = self.visits(&(0..pages.len()).rev().collect::<Vec<_>>())?;
        // Last: data that the pages have created by then is in this one too.
        let same = self.visits(&(0..pages.len()).collect::<Vec<_>>())?;
        for ((page, reverse_order), same_order) in pages.iter_mut().zip(reverse).zip(same) {
            page.new_servers = Some(NewServers {
                same_order,
                reverse_order,
            });
        }
        Ok(())
    }

    fn visits(&mut self, order: &[usize]) -> Result<Vec<Visits>, LeakCheckError> {
        let mut visits: Vec<Visits> = self.targets.iter().map(|_| Visits::default()).collect();
        let server = self.start(Mode::DetectLeaks)?;
        for &page in order {
            visits[page].first = self.request(&server, page)?;
        }
        for &page in order {
            visits[page].last = self.request(&server, page)?;
        }
        self.requests += server.requests();
        Ok(visits)
    }

    /// The responses of each page when no request sees what earlier ones left in the worker. The order is that of all
    /// servers above, since a data store may have something of the request before. Pages in `often` follow each
    /// themselves.
    pub(super) fn stateless(
        &mut self,
        often: &[usize],
    ) -> Result<Vec<Vec<Response>>, LeakCheckError> {
        let number = self.targets.len();
        let (same, reverse) = (0..number, (0..number).rev());
        let mut order: Vec<usize> = same.clone().collect();
        order.extend(same.clone().flat_map(|page| [page; 3]));
        order.extend(reverse.clone().chain([0]));
        if number > 1 {
            order.extend(reverse.clone().chain(reverse));
            order.extend(same.clone().chain(same));
        }
        order.extend(often.iter().flat_map(|&page| [page; CONSECUTIVE]));
        let mut responses: Vec<Vec<Response>> = self.targets.iter().map(|_| Vec::new()).collect();
        let server = self.start(Mode::Isolated)?;
        for page in order {
            responses[page].push(self.request(&server, page)?);
        }
        self.requests += server.requests();
        Ok(responses)
    }

    fn start(&self, mode: Mode) -> Result<TestServer, LeakCheckError> {
        TestServer::start(self.application, mode)
            .map_err(|error| LeakCheckError::Start(error.to_string()))
    }

    fn request(&self, server: &TestServer, page: usize) -> Result<Response, LeakCheckError> {
        let target = &self.targets[page];
        let response = server.get(target, self.headers);
        response.map_err(|error| LeakCheckError::Request {
            url: target.url.clone(),
            error,
        })
    }
}
