//! Memory that an application uses after its boot is collected into huge pages before workers are
//! forked.

use std::fs;
use std::path::Path;

use howdah_testkit::{Server, Www, process};
use howdah_tests::worker::worker_caddyfile;

/// The script allocates 16 MiB. A request changes one piece and returns the values of all.
const SCRIPT: &str = r"<?php
$held = [];
for ($i = 0; $i < 16384; ++$i) {
    $held[] = str_repeat(chr($i & 127), 1000);
}
while (frankenphp_handle_request(static function () use (&$held): void {
    $held[(int) $_GET['change']][0] = '!';
    echo hash('sha256', implode('', $held));
})) {
}
";
/// Some of eight blocks of the heap may be half empty, or the kernel may have no memory for them at
/// that time.
const AT_LEAST_KIB: u64 = 4 << 10;

/// Whether Linux is 6.1 or later and supports such pages.
fn kernel_can() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("Linux");
    let mut numbers = release.split(['.', '-']).map_while(|n| n.parse().ok());
    let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= (6, 1) && Path::new("/sys/kernel/mm/transparent_hugepage").exists()
}

#[test]
fn the_boot_of_an_application_lies_in_huge_pages() {
    let www = Www::new().file("app.php", SCRIPT);
    let lines = "num 1\nname app\nisolation request";
    let server = Server::caddyfile(worker_caddyfile(&www.path().join("app.php"), lines)).start();

    // Each request has a separate process, so its change is not visible to the next.
    let first = server.get("/app.php?change=0");
    first.assert_status(200);
    assert_ne!(server.get("/app.php?change=9999").text(), first.text());
    assert_eq!(server.get("/app.php?change=0").text(), first.text());

    if !kernel_can() {
        println!("skipped: this kernel does not put pages together");
        return;
    }
    let processes = server.processes();
    let zygote = processes
        .iter()
        .find(|one| one.command == "howdah: pool app");
    let huge = process::memory_kib(zygote.expect("the pool's zygote").pid, "AnonHugePages:");
    assert!(huge >= AT_LEAST_KIB, "{huge} KiB in huge pages");
}
