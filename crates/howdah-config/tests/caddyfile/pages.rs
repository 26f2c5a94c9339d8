//! The Caddyfiles in the documentation are valid, so no page names a directive that does not exist.

use std::fs;
use std::path::{Path, PathBuf};

use howdah_config::{Errors, NoFiles, parse};

/// Places in a file for a block of a page that is not a complete file.
const PLACES: &[(&str, &str)] = &[
    ("", ""),
    (":8080 {\n", "\n}\n"),
    ("{\n", "\n}\n:8080 {\n}\n"),
    ("{\n\thowdah {\n", "\n\t}\n}\n:8080 {\n}\n"),
    (
        "{\n\thowdah {\n\t\tworker index.php {\n",
        "\n\t\t}\n\t}\n}\n:8080 {\n}\n",
    ),
    (":8080 {\n\tphp_server {\n", "\n\t}\n}\n"),
    (":8080 {\n\t@name {\n", "\n\t}\n}\n"),
];

/// The Markdown files in and below a folder, except the reference, whose examples are tested where
/// it is generated.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "reference") {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The Caddyfiles of a page, with the numbers of their first lines.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (index, line) in text.lines().enumerate() {
        match open.take() {
            Some(block) if line.trim() == "```" => found.push(block),
            Some((start, block)) => open = Some((start, format!("{block}{line}\n"))),
            None if line.trim() == "```caddyfile" => open = Some((index + 2, String::new())),
            None => {}
        }
    }
    found
}

fn check(text: &str) -> Result<(), Errors> {
    let env = |name: &str| match name {
        "PWD" => Some("/srv/app".to_owned()),
        _ => name.ends_with("PASSWORD").then(|| "secret".to_owned()),
    };
    let read = |(before, after): &(&str, &str)| {
        let text = format!("{before}{text}{after}");
        parse(&text, "Caddyfile", &env, &NoFiles).map(|_| ())
    };
    let (whole, parts) = PLACES.split_first().expect("places");
    read(whole).or_else(|errors| {
        let fits = parts.iter().any(|place| read(place).is_ok());
        if fits { Ok(()) } else { Err(errors) }
    })
}

#[test]
fn caddyfiles_of_the_documentation_are_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("README.md")];
    for folder in ["docs", "examples", "php"] {
        pages(&root.join(folder), &mut files);
    }
    let mut problems = Vec::new();
    let mut number = 0;
    for file in files {
        let text = fs::read_to_string(&file).expect("text");
        for (line, block) in blocks(&text) {
            number += 1;
            if let Err(errors) = check(&block) {
                problems.push(format!("{}:{line}:\n{block}{errors}", file.display()));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    assert!(number > 40, "only {number} blocks were found");
}

#[test]
fn a_name_that_does_not_exist_is_noticed() {
    let page = "# A page\n\n```caddyfile\n:8080 {\n\tphp_serve\n}\n```\n```\nno Caddyfile\n```\n";
    let found = blocks(page);
    assert_eq!(found, [(4, ":8080 {\n\tphp_serve\n}\n".to_owned())]);
    check(&found[0].1).expect_err("an error");
    check("worker public/index.php {\n\tnum 1\n}\n").expect("part of a global block");
    check("worker public/index.php {\n\tnumber 1\n}\n").expect_err("an error");
}
