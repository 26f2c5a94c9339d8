//! The formatter `fmt`.

use howdah_config::fmt;

#[test]
fn cases() {
    for (text, expected) in [
        ("", "\n"),
        ("abc   def\n\tg hi jkl\nmn", "abc def\ng hi jkl\nmn\n"),
        ("a {\nb\n  c{ d\n}}", "a {\n\tb\n\tc {\n\t\td\n\t}\n}\n"),
        ("a{\n\tb\n}\n\nc{ d\n}", "a {\n\tb\n}\n\nc {\n\td\n}\n"),
        (
            "abc {\n\tdef\n}ghi{\n\tjkl mno\npqr}",
            "abc {\n\tdef\n}\n\nghi {\n\tjkl mno\n\tpqr\n}\n",
        ),
        ("a\n\n\n\nb\n\n", "a\n\nb\n"),
        ("a {\n\n\nb\n\n\nc\n\n}", "a {\n\tb\n\n\tc\n}\n"),
        ("a {\n}\nb {\n}", "a {\n}\n\nb {\n}\n"),
        ("a\n{\n\tb\n}", "a {\n\tb\n}\n"),
        ("# comment\n{\n\tfoo\n}", "# comment\n{\n\tfoo\n}\n"),
        ("import a\n{\n\torder\n}", "import a\n{\n\torder\n}\n"),
        ("h { # i\n}", "h {\n\t# i\n}\n"),
        ("a # b  \n c", "a # b\nc\n"),
        ("a {\n} # end\nb", "a {\n} # end\n\nb\n"),
        (
            "{$A}\n\nb {\n{$C}\n}\n\n{ {$F}\n}",
            "{$A}\n\nb {\n\t{$C}\n}\n\n{\n\t{$F}\n}\n",
        ),
        (":{$PORT:80 }  x", ":{$PORT:80 } x\n"),
        ("a \"b  \\\" c\"   `d  e`", "a \"b  \\\" c\" `d  e`\n"),
        ("g { \"h\"\n}", "g {\n\t\"h\"\n}\n"),
        ("i {\n\t\"foo\nbar\"\n}", "i {\n\t\"foo\nbar\"\n}\n"),
        ("foo {bar}  foo{bar}baz", "foo {bar} foo{bar}baz\n"),
        ("foo{bar} foo{ bar}baz", "foo{bar} foo {\n\tbar\n}\n\nbaz\n"),
        ("redir / /some/#/path", "redir / /some/#/path\n"),
        (
            "a {\nb <<END\n   x   y\n  END   200\n}",
            "a {\n\tb <<END\n   x   y\n  END 200\n}\n",
        ),
        ("b <<END   x", "b <<END x\n"),
        ("b \\<<END   x", "b \\<<END x\n"),
        ("a b \\\n  c\nd", "a b \\\n\tc\nd\n"),
        ("a {\nb \\\r\n c\r\n}", "a {\n\tb \\\n\t\tc\n}\n"),
        (
            "block {\n\trespond \"{\"\n\trespond \"}\"\n}",
            "block {\n\trespond \"{\"\n\trespond \"}\"\n}\n",
        ),
        ("a\n{\n{\n}}}", "a {\n\t{\n\t}\n}\n}\n"),
        ("\u{feff}a", "a\n"),
        (" \u{feff}a", "a\n"),
        // Text with an unclosed quote is unchanged.
        ("a   \"b", "a   \"b"),
        // A backslash and `<<` that would have another meaning at the end of a line.
        ("a\\ \nb", "a\\ \nb\n"),
        ("<<a \nb", "<<a \nb\n"),
    ] {
        let got = fmt(text);
        assert_eq!(got, expected, "{text:?}");
        assert_eq!(fmt(&got), got, "not stable: {text:?}");
    }
}
