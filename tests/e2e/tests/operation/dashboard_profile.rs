//! The profile button of the dashboard, in a real browser.

use std::path::Path;
use std::thread;

use howdah_testkit::{Request, Server, Www};
use howdah_tests::admin::{Admin, worker_site};
use howdah_tests::browser::Browser;
use howdah_tests::devtools::Page;
use howdah_tests::encode;

/// Runs until the file of the query exists.
const WORKER: &str = "<?php
function reconcile(): void
{
    while (!file_exists($_GET['gate'])) {
        usleep(1000);
        clearstatcache();
    }
    echo 'served';
}
while (frankenphp_handle_request('reconcile')) {
}
";

#[test]
fn the_profile_button_opens_a_flame_graph_in_a_new_window() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let www = Www::new().file("worker.php", WORKER);
    let server = Server::caddyfile(worker_site(www.path(), "")).start();
    let admin = Admin::of(&server);
    let gate = www.path().join("gate");
    let target = format!("/?gate={}", encode(&gate));
    thread::scope(|scope| {
        let open = OpenOnDrop(&gate);
        let response = scope.spawn(|| {
            let mut connection = server.connect();
            connection.exchange(&Request::get(&target)).expect("served")
        });
        let mut page = Page::open(&browser);
        page.load(&format!("http://{}/", admin.address));
        let runs = "document.getElementById('state').textContent === 'live' \
                    && document.querySelector('#tab-Requests small').textContent === '1'";
        page.wait("the request", runs);
        page.value("document.getElementById('profile').click()");
        page.wait(
            "the dialog",
            "document.getElementById('ask-profile').open \
             && document.getElementById('profile-pool').options.length > 0",
        );
        page.value(
            "document.getElementById('profile-pool').value = 'app'; \
             document.getElementById('profile-seconds').value = '1'; \
             document.querySelector('#profile-form [type=submit]').click()",
        );
        assert_eq!(
            page.value("document.getElementById('ask-profile').open"),
            false
        );
        assert!(page.complaints().is_empty(), "{:#?}", page.complaints());
        page.switch_to("/profile?seconds=1");
        page.wait(
            "the flame graph",
            "document.documentElement.nodeName === 'svg' \
             && document.documentElement.textContent.includes('reconcile')",
        );
        assert_eq!(page.value("document.contentType"), "image/svg+xml");
        assert_eq!(
            page.value("window.opener === null"),
            true,
            "the graph is separate from the page"
        );
        drop(open);
        response.join().expect("no panic").assert(200, "served");
    });
}

/// Ends the request that waits, even if the test fails.
pub(crate) struct OpenOnDrop<'a>(pub &'a Path);

impl Drop for OpenOnDrop<'_> {
    fn drop(&mut self) {
        std::fs::write(self.0, "open").expect("written");
    }
}
