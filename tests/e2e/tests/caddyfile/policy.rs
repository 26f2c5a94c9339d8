//! The choice of `try_files` and of the matcher `file` among several files.

use std::fmt::Write;
use std::fs::File;
use std::time::{Duration, SystemTime};

use howdah_testkit::{Server, Www};
use howdah_tests::caddyfile;

/// Creates three files (a small, a large and an old one), a folder and a script.
fn start(site: &str) -> (Www, Server) {
    let www = Www::new()
        .file("small.txt", "small")
        .file("large.txt", "a large one")
        .file("middle.txt", "a middle")
        .file("empty.txt", "")
        .file("folder/x.txt", "x")
        .file(
            "index.php",
            "<?php echo 'script ', $_SERVER['QUERY_STRING'];",
        );
    for (name, age) in [
        ("small.txt", 30),
        ("large.txt", 20),
        ("middle.txt", 10),
        ("empty.txt", 40),
    ] {
        let file = File::options().append(true).open(www.path().join(name));
        let changed = SystemTime::now() - Duration::from_secs(age * 3600);
        let set = file.and_then(|file| file.set_modified(changed));
        set.expect("its time is set");
    }
    let site = format!("root * {}\n{site}", www.path().display());
    let server = Server::caddyfile(caddyfile(
        "admin off\nfrankenphp {\nnum_threads 1\n}",
        &site,
    ));
    (www, server.start())
}

#[test]
fn one_of_those_that_exist() {
    let files = "none.txt middle.txt large.txt folder small.txt";
    let mut site = String::new();
    for policy in ["smallest_size", "largest_size", "most_recently_modified"] {
        // Writing to a String cannot fail.
        let _ = write!(
            site,
            "handle /{policy} {{\ntry_files {files} {{\npolicy {policy}\n}}\nfile_server\n}}\n\
             handle /matcher/{policy} {{\n@found file {{\ntry_files {files}\ntry_policy {policy}\n}}\n\
             respond @found \"{{file_match.relative}} {{file_match.type}}\"\n}}\n\
             handle /none/{policy} {{\n@found file none.txt folder {{\ntry_policy {policy}\n}}\n\
             respond @found found\nrespond nothing\n}}\n\
             handle /code/{policy} {{\ntry_files none.txt =410 {{\npolicy {policy}\n}}\n}}\n"
        );
    }
    site += "handle /empty {\ntry_files small.txt empty.txt {\npolicy smallest_size\n}\nfile_server\n}\n\
             handle /folder {\n@found file none.txt folder/ {\ntry_policy largest_size\n}\n\
             respond @found {file_match.type}\n}\n";
    let (www, server) = start(&site);
    for (policy, name, content) in [
        ("smallest_size", "small.txt", "small"),
        ("largest_size", "large.txt", "a large one"),
        ("most_recently_modified", "middle.txt", "a middle"),
    ] {
        server.get(&format!("/{policy}")).assert(200, content);
        let found = server.get(&format!("/matcher/{policy}"));
        found.assert_status(200);
        assert!(
            found.text().ends_with(&format!("{name} file")),
            "{policy}: {}",
            found.text()
        );
        // A folder matches only with a slash at the end.
        server
            .get(&format!("/none/{policy}"))
            .assert(200, "nothing");
        server.get(&format!("/code/{policy}")).assert_status(410);
    }
    server.get("/empty").assert(200, "");
    server.get("/folder").assert(200, "directory");
    // A changed file counts at the next request.
    www.write("small.txt", "the largest of them all");
    server
        .get("/largest_size")
        .assert(200, "the largest of them all");
    server
        .get("/most_recently_modified")
        .assert(200, "the largest of them all");
    server.get("/smallest_size").assert(200, "a middle");
}

#[test]
fn the_last_one_without_a_look() {
    let fallback = "{\npolicy first_exist_fallback\n}";
    let (www, server) = start(&format!(
        "handle /file/* {{\ntry_files /none.txt /late.txt {fallback}\nfile_server\n}}\n\
         handle /matcher/* {{\n@found file none.txt late.txt {{\ntry_policy first_exist_fallback\n}}\n\
         respond @found \"{{file_match.relative}} {{file_match.type}}\"\n}}\n\
         handle /code/* {{\ntry_files /none.txt =410 {fallback}\nfile_server\n}}\n\
         handle {{\ntry_files {{path}} /index.php?{{query}}&p={{path}} {fallback}\nphp_server\n}}\n"
    ));
    server.get("/small.txt?q").assert(200, "small");
    server
        .get("/other?q=1")
        .assert(200, "script q=1&p=%2Fother");
    server.get("/code/x").assert_status(410);
    // The path is chosen although the file is missing.
    server.get("/file/x").assert_status(404);
    let found = server.get("/matcher/x");
    found.assert_status(200);
    assert!(found.text().ends_with("late.txt file"), "{}", found.text());
    www.write("late.txt", "late");
    server.get("/file/x").assert(200, "late");
    www.write("none.txt", "first");
    server.get("/file/x").assert(200, "first");
}

/// The recipe "A folder of uploads" of the guide, without its address.
fn uploads_recipe() -> String {
    let guide = include_str!("../../../../docs/guides/caddyfile.md");
    let (_, section) = guide.split_once("## A folder of uploads").expect("there");
    let (_, recipe) = section.split_once("\n:8080 {\n").expect("an address");
    let (recipe, _) = recipe.split_once("\n}\n```").expect("its end");
    recipe.to_owned()
}

#[test]
fn nothing_in_a_folder_of_uploads_is_run() {
    const SCRIPT: &str = "<?php echo 'RUN', 'NING';";
    let www = Www::new()
        .file("public/index.php", "<?php echo 'the application';")
        .file("public/uploads/picture.jpg", "a picture")
        .file("public/uploads/evil.php", SCRIPT)
        .file("public/uploads/EVIL.PHP", SCRIPT)
        .file("public/uploads/evil.php.jpg", SCRIPT)
        .file("public/uploads/index.php", SCRIPT)
        .file("public/uploads/folder/index.php", SCRIPT)
        .file("public/uploads/folder/evil.php", SCRIPT);
    let start = |site: &str| {
        let root = www.path().join("public").display().to_string();
        let site = site.replace("root * public", &format!("root * {root}"));
        let global = "admin off\nfrankenphp {\nnum_threads 1\n}";
        Server::caddyfile(caddyfile(global, &site)).start()
    };
    let targets = [
        "/uploads",
        "/uploads/",
        "/uploads/evil.php",
        "/uploads/EVIL.PHP",
        "/uploads/Evil.Php",
        "/UPLOADS/evil.php",
        "/uploads/evil.php.jpg",
        "/uploads/evil.php/",
        "/uploads/evil.php/x",
        "/uploads/evil.php/x.jpg",
        "/uploads/evil.php/../evil.php",
        "/uploads/evil.php?x=.jpg",
        "/uploads/evil.php;x.jpg",
        "/uploads/evil%2ephp",
        "/uploads/evil.%70hp",
        "/%75ploads/evil.php",
        "/uploads%2fevil.php",
        "/uploads%2Ffolder%2Findex.php",
        "/uploads/evil.php%00",
        "/uploads/evil.php%00.jpg",
        "/uploads/picture.jpg%00.php",
        "/uploads/evil.php%20",
        "/uploads/evil.php.",
        "//uploads/evil.php",
        "//uploads//evil.php",
        "/./uploads/./evil.php",
        "/x/../uploads/evil.php",
        "/x/%2e%2e/uploads/evil.php",
        "/x/..%2fuploads/evil.php",
        "/uploads/x/../evil.php",
        "/uploads/../uploads/evil.php",
        "/uploads/..\\uploads\\evil.php",
        "/uploads/picture.jpg/evil.php",
        "/uploads/picture.jpg/x.php",
        "/uploads/folder",
        "/uploads/folder/",
        "/uploads/folder/none",
        "/uploads/folder/index.php",
        "/uploads/folder/evil.php/x",
        "//uploads/folder//",
        "/index.php/../uploads/evil.php",
    ];
    let open = start("root * public\nphp_server");
    let run = |server: &Server, target: &str| server.get(target).text().contains("RUNNING");
    let runs = targets.iter().filter(|target| run(&open, target)).count();
    assert!(runs > 20, "they are worth a test: {runs}");

    let server = start(&uploads_recipe());
    for target in targets {
        let answer = server.get(target);
        let text = answer.text();
        assert!(!text.contains("RUNNING"), "{target} was run: {text}");
        assert!(!text.contains("<?php"), "{target} was shown: {text}");
    }
    server.get("/uploads/evil.php").assert_status(403);
    server.get("/uploads/evil.php/x").assert_status(403);
    server.get("/uploads/folder/").assert_status(404);
    server.get("/uploads/picture.jpg").assert(200, "a picture");
    server.get("/page").assert(200, "the application");
    server
        .get("/index.php/uploads/evil.php")
        .assert(200, "the application");
}
