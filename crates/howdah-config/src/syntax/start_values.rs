//! `{env.NAME}` where a value is needed when the configuration is read: in the global options, and in the listen
//! addresses, logs and TLS of a site; for addresses of upstreams, and for users and their passwords. Elsewhere it is a
//! placeholder of requests.

use crate::syntax::env::Lookup;
use crate::syntax::tree::{Statement, Tree, Word};

/// Directives whose arguments and blocks have no placeholders of requests.
const DIRECTIVES: &[&str] = &["bind", "log", "tls"];

/// Directives whose arguments are upstreams, also in other directives.
const UPSTREAMS: &[&str] = &["reverse_proxy", "php_fastcgi", "forward_auth", "to"];

/// Directives whose block has users with hashes of their passwords.
const USERS: &[&str] = &["basic_auth", "basicauth"];

/// Replaces the placeholders through `env`; an unset variable becomes empty.
pub(crate) fn fill(tree: &mut Tree, env: Lookup<'_>) {
    block(&mut tree.global, env);
    for site in &mut tree.sites {
        let own = site.statements.iter_mut();
        for statement in own.filter(|one| DIRECTIVES.contains(&one.name.text.as_str())) {
            words(statement, env);
        }
        within(&mut site.statements, env);
    }
    for (_, statements) in &mut tree.named {
        within(statements, env);
    }
}

/// Replaces them in upstreams and users at any depth.
fn within(statements: &mut [Statement], env: Lookup<'_>) {
    for statement in statements {
        let name = statement.name.text.as_str();
        if UPSTREAMS.contains(&name) {
            for word in &mut statement.arguments {
                replace(word, env);
            }
        }
        let has_users = USERS.contains(&name);
        let inner = statement.block.as_deref_mut().unwrap_or_default();
        if has_users {
            for user in &mut *inner {
                replace(&mut user.name, env);
            }
            block(inner, env);
        } else {
            within(inner, env);
        }
    }
}

fn block(statements: &mut [Statement], env: Lookup<'_>) {
    for statement in statements {
        words(statement, env);
    }
}

fn words(statement: &mut Statement, env: Lookup<'_>) {
    for word in &mut statement.arguments {
        replace(word, env);
    }
    block(statement.block.as_deref_mut().unwrap_or_default(), env);
}

fn replace(word: &mut Word, env: Lookup<'_>) {
    const START: &str = "{env.";
    let mut from = 0;
    while let Some(at) = word.text[from..].find(START).map(|at| at + from) {
        let inner = at + START.len();
        let Some(length) = word.text[inner..].find('}') else {
            return;
        };
        let name = &word.text[inner..inner + length];
        if word.text[..at].ends_with('\\') || name.is_empty() {
            from = inner;
            continue;
        }
        let value = env(name).unwrap_or_default();
        word.text.replace_range(at..=inner + length, &value);
        // Placeholders in the value of a variable are not expanded.
        from = at + value.len();
    }
}
