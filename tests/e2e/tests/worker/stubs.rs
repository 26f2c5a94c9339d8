//! The Composer package `php/stubs`, whose file is generated from the server's stubs.

use howdah_testkit::Server;
use howdah_tests::worker::scripts;

#[test]
fn the_stubs_are_what_the_server_has() {
    let server = Server::builder(scripts()).workers(1).start();
    let response = server.get("/stubs.php");
    response.assert_status(200);
    let answer = response.json();
    for kind in ["functions", "classes", "constants"] {
        let (declared, has) = (&answer["declared"][kind], &answer["has"][kind]);
        assert!(has.as_object().is_some_and(|all| !all.is_empty()), "{has}");
        assert_eq!(declared, has, "{kind}");
    }
}
