//! Splits a URL path into the script and the rest.

/// Splits a decoded path after its first script: `/shop/index.php/cart` with `.php` gives
/// `("/shop/index.php", "/cart")`. The second part is empty or starts with `/`.
///
/// A script's name ends with one of the extensions in `split` and is followed by `/` or the end.
/// Comparison ignores case only in ASCII: with Unicode folding, an upload named `photo.ⓟⓗⓟ` would
/// be executed (GHSA-g966-83w7-6w38 and GHSA-3g8v-8r37-cgjm of another server). Empty extensions
/// match nothing.
pub fn split_path<'a>(path: &'a str, split: &[String]) -> Option<(&'a str, &'a str)> {
    let bytes = path.as_bytes();
    let mut from = 0;
    loop {
        let end = bytes[from..]
            .iter()
            .position(|b| *b == b'/')
            .map_or(bytes.len(), |at| from + at);
        let segment = &bytes[from..end];
        if split
            .iter()
            .any(|extension| ends_with(segment, extension.as_bytes()))
        {
            // Both sides of `end` are ASCII or the end of the text, so this is a boundary.
            return path.split_at_checked(end);
        }
        if end == bytes.len() {
            return None;
        }
        from = end + 1;
    }
}

fn ends_with(segment: &[u8], extension: &[u8]) -> bool {
    !extension.is_empty()
        && segment.len() >= extension.len()
        && segment[segment.len() - extension.len()..].eq_ignore_ascii_case(extension)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn extensions(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn table() {
        let cases: &[(&str, Option<(&str, &str)>)] = &[
            ("/index.php", Some(("/index.php", ""))),
            ("/index.php/", Some(("/index.php", "/"))),
            ("/index.php/a/b", Some(("/index.php", "/a/b"))),
            ("/dir/x.php/y.php", Some(("/dir/x.php", "/y.php"))),
            ("/a.php/b.php/c", Some(("/a.php", "/b.php/c"))),
            ("/INDEX.PhP/x", Some(("/INDEX.PhP", "/x"))),
            ("/.php", Some(("/.php", ""))),
            ("index.php", Some(("index.php", ""))),
            ("/x.phpx", None),
            ("/x.phpx/y.php/z", Some(("/x.phpx/y.php", "/z"))),
            ("/x.php.bak", None),
            ("/x.php.txt/a.php", Some(("/x.php.txt/a.php", ""))),
            ("/x.php%2f", None),
            ("/php", None),
            ("", None),
            ("/", None),
            ("//", None),
            ("/é/ñ.php/ü", Some(("/é/ñ.php", "/ü"))),
            ("/日本.php", Some(("/日本.php", ""))),
            ("/x.php\u{0}", None),
            ("/x.php\u{0}.jpg/y", None),
            ("/x.php\n/", None),
        ];
        for (path, expected) in cases {
            assert_eq!(
                split_path(path, &extensions(&[".php"])),
                *expected,
                "{path:?}"
            );
        }
    }

    #[test]
    fn only_ascii_letters_fold() {
        // ⓟⓗⓟ (circled), ＰＨＰ (full width), K (Kelvin sign folds to k), ſ (long s folds to s).
        for path in ["/x.ⓟⓗⓟ", "/x.ＰＨＰ", "/x.p\u{212a}p", "/x.ph\u{1d56}"] {
            assert_eq!(
                split_path(path, &extensions(&[".php", ".pkp"])),
                None,
                "{path}"
            );
        }
        assert_eq!(split_path("/x.\u{17f}h", &extensions(&[".sh"])), None);
        // Other letters still compare byte for byte.
        assert_eq!(
            split_path("/x.é/y", &extensions(&[".é"])),
            Some(("/x.é", "/y"))
        );
        assert_eq!(split_path("/x.É", &extensions(&[".é"])), None);
    }

    #[test]
    fn several_extensions_and_none() {
        let both = extensions(&[".php", ".php8", ".phtml"]);
        assert_eq!(split_path("/a.php8/b", &both), Some(("/a.php8", "/b")));
        assert_eq!(
            split_path("/a.phtml/b.php", &both),
            Some(("/a.phtml", "/b.php"))
        );
        assert_eq!(split_path("/a.php", &[]), None);
        assert_eq!(split_path("/a.php", &extensions(&[""])), None);
    }

    proptest! {
        #[test]
        fn the_parts_make_the_path(path in "(/|[a-zA-Zéⓟ.]|\\.php|\\.PHP){0,12}") {
            let split = extensions(&[".php"]);
            if let Some((name, info)) = split_path(&path, &split) {
                prop_assert_eq!([name, info].concat(), path.as_str());
                prop_assert!(name.to_ascii_lowercase().ends_with(".php"));
                prop_assert!(info.is_empty() || info.starts_with('/'));
                // The first script counts: nothing before it is one.
                if let Some((before, _)) = name.rsplit_once('/') {
                    prop_assert_eq!(split_path(before, &split), None);
                }
            } else {
                let ended = [path.as_str(), "/"].concat().to_ascii_lowercase();
                prop_assert!(!ended.contains(".php/"));
            }
        }
    }
}
