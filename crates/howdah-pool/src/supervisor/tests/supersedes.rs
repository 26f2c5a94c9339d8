//! Reloads that are requested while another one boots.

use super::*;

async fn reload(handle: Handle) -> Result<(), String> {
    let reloaded = handle.reload(None).await;
    reloaded.map_err(|error| error.to_string())
}

#[test]
fn a_boot_that_hangs_gives_way_to_the_next_reload() {
    let boots = [Boot::Good, Boot::Hangs];
    let hurry = |supervisor: &mut Supervisor| supervisor.boot_least = Duration::from_millis(50);
    run_with(worker_pool(1, |_, _| {}), &boots, hurry, async |server| {
        let first = tokio::spawn(reload(server.handle.clone()));
        server
            .until("booting", |status| status.generations.len() == 2)
            .await;
        let second = tokio::spawn(reload(server.handle.clone()));
        assert_eq!(second.await.expect("no panic"), Ok(()));
        assert_eq!(
            first.await.expect("no panic"),
            Ok(()),
            "it waits for the next"
        );
        assert_eq!(server.get("").await, Ok("generation 3".into()));
        let status = server.status().await;
        let counters = status.counters;
        assert_eq!((counters.reloads, counters.reloads_failed), (1, 0));
    })
    .expect("started");
}
