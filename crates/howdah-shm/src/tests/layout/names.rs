//! The names that the header declares, and whether the Rust layout has each of them.

/// The declarations of a header, each as the expression that compares it.
pub(super) fn expressions(header: &str) -> Vec<String> {
    let text = without_comments(header);
    let mut expressions = macros(&text);
    for (name, body) in structures(&text) {
        expressions.push(format!("sizeof(struct {name})"));
        let fields = fields(body).map(|field| format!("offsetof(struct {name}, {field})"));
        expressions.extend(fields);
    }
    expressions
}

/// The expressions that the Rust layout lacks. A macro with arguments must be called at least once.
pub(super) fn missing(header: &str, mirror: &[(String, u64)]) -> Vec<String> {
    let is_compared = |wanted: &String| {
        mirror.iter().any(|(expression, _)| {
            expression == wanted || (wanted.ends_with('(') && expression.starts_with(wanted))
        })
    };
    expressions(header)
        .into_iter()
        .filter(|expression| !is_compared(expression))
        .collect()
}

fn without_comments(header: &str) -> String {
    let mut parts = header.split("/*");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, rest) = part.split_once("*/").expect("a comment ends");
        text.push_str(rest);
    }
    text
}

/// Macros with a value, those with arguments as `NAME(`.
fn macros(text: &str) -> Vec<String> {
    let definitions = text
        .lines()
        .filter_map(|line| line.strip_prefix("#define "));
    let mut names = Vec::new();
    for definition in definitions {
        let end = definition
            .find(|char: char| !char.is_ascii_alphanumeric() && char != '_')
            .unwrap_or(definition.len());
        let (name, rest) = definition.split_at(end);
        if rest.starts_with('(') {
            names.push(format!("{name}("));
        } else if !rest.trim().is_empty() {
            names.push(name.to_owned());
        }
    }
    names
}

/// Names and bodies of all structures.
fn structures(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("\nstruct ").skip(1).map(|definition| {
        let (name, rest) = definition.split_once(" {").expect("a structure has a body");
        let (body, _) = rest.split_once("\n};").expect("the body ends");
        (name, body)
    })
}

/// Names of the fields of a structure, those of a union inside it included.
fn fields(body: &str) -> impl Iterator<Item = &str> {
    let declarations = body.split([';', '{']).map(str::trim);
    declarations.filter_map(|declaration| {
        let declarator = declaration.split('[').next()?.trim_end();
        let name = declarator.rsplit([' ', '\t', '\n']).next()?;
        // The rest of a union: its brace and its keyword.
        (!name.is_empty() && name != "}" && name != "union").then_some(name)
    })
}

#[test]
fn a_name_that_is_not_compared_is_found() {
    let header = "\
#ifndef GUARD_H
#define GUARD_H
#define KNOWN 1u /* with a comment */
#define UNKNOWN 2u
#define CALL(a, b) ((a) + (b))
#define OTHER(a) (a)

struct known {
\t_Alignas(64) _Atomic uint64_t head; /* one */
\tuint32_t key[2];
\tunion {
\t\t_Alignas(64) uint32_t life;
\t\tpthread_mutex_t mutex;
\t};
};
static_assert(sizeof(struct known) == 192, \"layout\");
struct unknown {
\tuint64_t cells[];
};
";
    let mirror = [
        "KNOWN",
        "CALL(1, 2)",
        "sizeof(struct known)",
        "offsetof(struct known, head)",
        "offsetof(struct known, key)",
        "offsetof(struct known, life)",
    ];
    let mirror = mirror.map(|expression| (expression.to_owned(), 0));
    let expected = [
        "UNKNOWN",
        "OTHER(",
        "offsetof(struct known, mutex)",
        "sizeof(struct unknown)",
        "offsetof(struct unknown, cells)",
    ];
    assert_eq!(missing(header, &mirror), expected);
}
