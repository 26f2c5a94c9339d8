//! The statements of a configuration as read, with imports and environment variables resolved: the
//! form that the admin API shows.

use serde::Serialize;

use crate::syntax::tree::{Statement, Tree};

/// A whole configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Outline {
    /// The statements of the global block.
    pub global: Vec<Line>,
    pub sites: Vec<SiteOutline>,
}

/// A site block as written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct SiteOutline {
    pub addresses: Vec<String>,
    /// Its directives.
    pub statements: Vec<Line>,
}

/// A statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Line {
    /// The first word.
    pub name: String,
    /// The others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<Vec<Line>>,
}

impl Outline {
    pub(crate) fn new(tree: &Tree) -> Self {
        let sites = tree.sites.iter().map(|site| SiteOutline {
            addresses: site
                .addresses
                .iter()
                .map(|word| word.text.clone())
                .collect(),
            statements: lines(&site.statements),
        });
        Self {
            global: lines(&tree.global),
            sites: sites.collect(),
        }
    }
}

fn lines(statements: &[Statement]) -> Vec<Line> {
    let line = |statement: &Statement| Line {
        name: statement.name.text.clone(),
        arguments: statement
            .arguments
            .iter()
            .map(|word| word.text.clone())
            .collect(),
        block: statement.block.as_deref().map(lines),
    };
    statements.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use crate::{NoFiles, parse};

    #[test]
    fn statements_are_shown_as_they_were_read() {
        let text = "{\n\tdebug\n}\n(s) {\n\troot * {args[0]}\n}\n:80, :81 {\n\timport s {$WHERE}\n\tphp_server {\n\t\tindex off\n\t}\n}\n";
        let env = |name: &str| (name == "WHERE").then(|| "/srv".to_owned());
        let parsed = parse(text, "Caddyfile", &env, &NoFiles).expect("valid");
        let outline = parsed.outline;
        assert_eq!(outline.global[0].name, "debug");
        assert_eq!(outline.sites[0].addresses, [":80", ":81"]);
        let lines = &outline.sites[0].statements;
        assert_eq!(lines[0].arguments, ["*", "/srv"]);
        let block = lines[1].block.as_ref().expect("a block");
        assert_eq!(
            (block[0].name.as_str(), &block[0].arguments[..]),
            ("index", &["off".to_owned()][..])
        );
    }
}
