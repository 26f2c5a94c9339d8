//! Makes a worker script from the front controller of a PSR-15 framework, if this has one of the forms of the framework's
//! skeletons and manual. The statements that handle a request move into a function, and the rest runs once. Any other
//! form is left alone: which of its statements belong to a request is then unknown.

use super::tokens::{Token, tokens};

/// Names that belong to one request. In the part that runs once they would have the values of no request.
const OF_A_REQUEST: &[&str] = &[
    "$_COOKIE",
    "$_FILES",
    "$_GET",
    "$_POST",
    "$_REQUEST",
    "$_SERVER",
    "$_SESSION",
    "__FILE__",
    "apache_request_headers",
    "createFromGlobals",
    "createServerRequestFromGlobals",
    "die",
    "exit",
    "filter_input",
    "fromGlobals",
    "getallheaders",
    "header",
    "http_response_code",
    "ob_start",
    "php://input",
    "register_shutdown_function",
    "session_start",
    "setcookie",
];

/// Classes that make the application: Slim's, that of its bridge to PHP-DI, and the names in a container.
const FACTORIES: &[&str] = &["AppFactory", "Bridge", "App", "Application"];

/// Starts of the statements in Slim's skeleton that belong to a request, in their order.
const SKELETON: &[&str] = &[
    "$serverRequestCreator = ServerRequestCreatorFactory::create();",
    "$request = $serverRequestCreator->createServerRequestFromGlobals();",
    "$shutdownHandler = new ShutdownHandler(",
    "register_shutdown_function($shutdownHandler);",
    "$response = $app->handle($request);",
    "$responseEmitter = new ResponseEmitter();",
    "$responseEmitter->emit($response);",
];
/// Number of them at the end of the script.
const SKELETON_END: usize = 3;
/// Variables that they assign.
const ASSIGNED: &[&str] = &[
    "$serverRequestCreator",
    "$request",
    "$shutdownHandler",
    "$response",
    "$responseEmitter",
];

/// The worker script for a front controller, whose name goes into a comment. The error says why it cannot be made.
pub(super) fn worker_script(name: &str, text: &str) -> Result<String, String> {
    let all = tokens(text).ok_or("has text that is not simple PHP code")?;
    let code = without_built_in_server(&all);
    let handling = Handling::find(text, &code)
        .ok_or("does not end with `$app->run();` as in the framework's manual and skeleton")?;
    let outside = |token: &&Token<'_>| !handling.moved.iter().any(|place| place.contains(token));
    let once: Vec<Token<'_>> = code.iter().filter(outside).copied().collect();
    if let Some(found) = once
        .iter()
        .enumerate()
        .find_map(|(at, _)| of_a_request(&once, at))
    {
        return Err(format!("uses {found} outside of the framework"));
    }
    Ok(handling.rewrite(name, text))
}

/// Tokens without a block for PHP's built-in server: `if (PHP_SAPI === 'cli-server' …) { … }`.
fn without_built_in_server<'a>(all: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut kept = Vec::new();
    let mut at = 0;
    while let Some(token) = all.get(at) {
        if let Some(length) = built_in_server(&all[at..]) {
            at += length;
        } else {
            kept.push(*token);
            at += 1;
        }
    }
    kept
}

/// Number of tokens of such a block at the start.
fn built_in_server(tokens: &[Token<'_>]) -> Option<usize> {
    let condition = ["if", "(", "PHP_SAPI"];
    if !texts(tokens).take(3).eq(condition) {
        return None;
    }
    let value = tokens[3..].iter().find(|token| token.text != "=")?;
    if value.string() != Some("cli-server") {
        return None;
    }
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "{" => depth += 1,
            "}" if depth == 1 => return Some(at + 1),
            "}" => depth -= 1,
            ";" if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn texts<'a>(tokens: &[Token<'a>]) -> impl Iterator<Item = &'a str> {
    tokens.iter().map(|token| token.text)
}

/// The name at this place, if it belongs to one request. Methods may have any name.
fn of_a_request<'a>(tokens: &[Token<'a>], at: usize) -> Option<&'a str> {
    let token = tokens[at];
    let name = token
        .string()
        .unwrap_or_else(|| token.text.trim_start_matches('\\'));
    if !OF_A_REQUEST
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name))
    {
        return None;
    }
    let is_method = at > 0 && tokens[at - 1].text == "->" && !name.ends_with("Globals");
    (!is_method).then_some(token.text)
}

/// A part of the front controller's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    start: usize,
    end: usize,
}

impl Place {
    fn of(first: &Token<'_>, last: &Token<'_>) -> Self {
        Self {
            start: first.start,
            end: last.end(),
        }
    }

    fn contains(self, token: &Token<'_>) -> bool {
        (self.start..self.end).contains(&token.start)
    }

    fn text(self, text: &str) -> &str {
        &text[self.start..self.end]
    }
}

/// The statements of a front controller that handle a request.
struct Handling {
    /// Their places, in order. The last one is replaced by the loop.
    moved: Vec<Place>,
    /// A statement in place of the last one that runs once.
    before: String,
    /// Variables of the part that runs once.
    used: Vec<String>,
    /// The body of the function.
    body: Vec<String>,
}

impl Handling {
    fn find(text: &str, code: &[Token<'_>]) -> Option<Self> {
        let makes_application = texts(code).any(|word| {
            let last = word.rsplit('\\').next().unwrap_or_default();
            FACTORIES.contains(&last)
        });
        Self::required(text, code).or_else(|| {
            let found = Self::run(code).or_else(|| Self::skeleton(text, code));
            found.filter(|_| makes_application)
        })
    }

    /// `$app->run();` at the end, or at the end of a function around everything, which is called at once.
    fn run(code: &[Token<'_>]) -> Option<Self> {
        let is_end = |at: &usize| texts(&code[*at..]).take(5).eq(["->", "run", "(", ")", ";"]);
        let at = (1..code.len()).find(is_end)?;
        let variable = code[at - 1];
        let is_statement = at < 2 || matches!(code[at - 2].text, ";" | "}" | "{");
        let after: Vec<_> = texts(&code[at + 5..]).collect();
        let depth = texts(&code[..at]).fold(0, |depth, text| match text {
            "{" => depth + 1,
            "}" => depth - 1,
            _ => depth,
        });
        let is_last = match depth {
            0 => after.is_empty(),
            1 => after == ["}", ")", "(", ")", ";"],
            _ => false,
        };
        (variable.text.starts_with('$') && is_statement && is_last).then(|| Self {
            moved: vec![Place::of(&variable, &code[at + 4])],
            before: String::new(),
            used: vec![variable.text.to_owned()],
            body: vec![format!("{}->run();", variable.text)],
        })
    }

    /// `(require FILE)->run();`
    fn required(text: &str, code: &[Token<'_>]) -> Option<Self> {
        let end = code.len().checked_sub(6)?;
        let closes = texts(&code[end..]).eq([")", "->", "run", "(", ")", ";"]);
        let is_start = |at: &usize| texts(&code[*at..]).take(2).eq(["(", "require"]);
        let start = (0..end).rev().find(is_start)?;
        let is_statement = start == 0 || matches!(code[start - 1].text, ";" | "}");
        let is_whole = !texts(&code[start + 1..end]).any(|text| matches!(text, "(" | ";" | "{"));
        let file = &text[code[start + 1].start..code[end].start];
        (closes && is_statement && is_whole).then(|| Self {
            moved: vec![Place::of(&code[start], &code[end + 5])],
            before: format!("$app = {file};"),
            used: vec!["$app".to_owned()],
            body: vec!["$app->run();".to_owned()],
        })
    }

    /// The statements of Slim's skeleton.
    fn skeleton(text: &str, code: &[Token<'_>]) -> Option<Self> {
        let mut moved: Vec<Place> = Vec::new();
        let mut rest = code;
        for statement in SKELETON {
            let opening = format!("<?php {statement}");
            let opening = tokens(&opening)?;
            let is_start = |at: &usize| {
                let words = texts(&rest[*at..]).take(opening.len());
                words.eq(texts(&opening))
            };
            let at = (0..rest.len()).find(is_start)?;
            let length = rest[at..].iter().position(|token| token.text == ";")? + 1;
            moved.push(Place::of(&rest[at], &rest[at + length - 1]));
            rest = &rest[at + length..];
        }
        let body = moved.iter().map(|place| place.text(text).to_owned());
        let body = body.collect();
        let is_moved = |token: &&Token<'_>| moved.iter().any(|place| place.contains(token));
        let (inner, outer): (Vec<&Token<'_>>, Vec<_>) = code.iter().partition(is_moved);
        let is_used = outer.iter().any(|token| ASSIGNED.contains(&token.text));
        let ends = &moved[moved.len() - SKELETON_END..];
        let is_end =
            rest.is_empty() && ends.windows(2).all(|pair| is_empty(text, pair[0], pair[1]));
        let variables = inner.iter().map(|token| token.text.to_owned());
        let mut used: Vec<_> = variables
            .filter(|text| text.starts_with('$') && !ASSIGNED.contains(&text.as_str()))
            .collect();
        used.sort_unstable();
        used.dedup();
        (is_end && !is_used).then(|| Self {
            moved: merged(text, moved),
            before: String::new(),
            used,
            body,
        })
    }

    /// The front controller with the loop in place of the statements.
    fn rewrite(&self, name: &str, text: &str) -> String {
        let indent = self
            .moved
            .last()
            .map_or("", |place| indent(text, place.start));
        let mut made = format!(
            "<?php\n\n// Written by `howdah init` from {name}: what handles a request is a function here. Changes of that \
             file\n// belong here too."
        );
        let mut from = "<?php".len();
        for place in &self.moved {
            made += &text[from..place.start];
            from = place.end;
            if Some(place) == self.moved.last() {
                made += &self.replacement(indent);
            } else {
                remove_comments(&mut made);
            }
        }
        made + &text[from..]
    }

    fn replacement(&self, indent: &str) -> String {
        let before = if self.before.is_empty() {
            String::new()
        } else {
            format!("{}\n{indent}", self.before)
        };
        let body = self.body.iter().map(|line| format!("{indent}    {line}\n"));
        format!(
            "{before}$handleRequest = static function () use ({used}): void {{\n{body}{indent}}};\n\
             {indent}// A client that disconnects does not interrupt the application.\n\
             {indent}ignore_user_abort(true);\n\
             {indent}while (frankenphp_handle_request($handleRequest)) {{\n\
             {indent}    // Otherwise cycles of the request would keep memory until PHP collects them in a later one.\n\
             {indent}    gc_collect_cycles();\n\
             {indent}}}",
            used = self.used.join(", "),
            body = body.collect::<String>(),
        )
    }
}

/// Places with only white space between them as one.
fn merged(text: &str, places: Vec<Place>) -> Vec<Place> {
    let mut all: Vec<Place> = Vec::new();
    for place in places {
        match all.last_mut() {
            Some(last) if is_empty(text, *last, place) => last.end = place.end,
            _ => all.push(place),
        }
    }
    all
}

/// Whether there is only white space between two places.
fn is_empty(text: &str, one: Place, next: Place) -> bool {
    text[one.end..next.start].trim().is_empty()
}

/// Removes white space at the end, and comments of one line there.
fn remove_comments(text: &mut String) {
    loop {
        text.truncate(text.trim_end().len());
        let line = text.rfind('\n').map_or(0, |newline| newline + 1);
        if !text[line..].trim_start().starts_with("//") {
            return;
        }
        text.truncate(line);
    }
}

/// White space before this place in its line.
fn indent(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let before = &text[line..at];
    if before.trim().is_empty() { before } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The script without the comment at its start.
    fn made(code: &str) -> Result<String, String> {
        let made = worker_script("public/index.php", &format!("<?php\n{code}"))?;
        let (comment, rest) = made.split_once("belong here too.").expect("a comment");
        assert!(comment.contains("public/index.php"), "{comment}");
        Ok(rest.to_owned())
    }

    const LOOP: &str = "
// A client that disconnects does not interrupt the application.
ignore_user_abort(true);
while (frankenphp_handle_request($handleRequest)) {
    // Otherwise cycles of the request would keep memory until PHP collects them in a later one.
    gc_collect_cycles();
}";

    #[test]
    fn the_last_statement_becomes_a_loop() {
        let code = "use Slim\\Factory\\AppFactory;
require __DIR__ . '/../vendor/autoload.php';
$app = AppFactory::create();
$app->get('/', function ($request, $response) { return $response->withHeader('A', 'b'); });
// Run app
$app->run();
";
        let expected = code.replace(
            "$app->run();",
            &format!(
                "$handleRequest = static function () use ($app): void {{\n    $app->run();\n}};{LOOP}"
            ),
        );
        assert_eq!(made(code).expect("a script"), format!("\n{expected}"));
        let required = "$app = 1;\n(require __DIR__ . '/../config/bootstrap.php')->run();\n";
        let text = made(required).expect("a script");
        let app = "$app = require __DIR__ . '/../config/bootstrap.php';\n$handleRequest = static function () use ($app)";
        assert!(text.contains(app), "{text}");
    }

    #[test]
    fn a_function_around_everything_stays() {
        let code = "if (PHP_SAPI === 'cli-server' && $_SERVER['SCRIPT_FILENAME'] !== __FILE__) {
    return false;
}
(function () {
    $container = require 'config/container.php';
    $app = $container->get(\\Mezzio\\Application::class);
    $app->run();
})();
";
        let text = made(code).expect("a script");
        assert!(text.ends_with("    }\n})();\n"), "{text}");
        assert!(text.contains("\n    $handleRequest = static function () use ($app): void {\n        $app->run();\n    };\n    // A"), "{text}");
        let condition = code
            .replace("(function () {", "if (true) {")
            .replace("})();", "}");
        made(&condition).expect_err("it is a condition");
    }

    #[test]
    fn statements_of_the_skeleton_move() {
        let code = "$app = AppFactory::create();
$display = true;

// Create the request
$serverRequestCreator = ServerRequestCreatorFactory::create();
$request = $serverRequestCreator->createServerRequestFromGlobals();

// Create the error handler
$errorHandler = new HttpErrorHandler($app->getCallableResolver());

// Create the shutdown handler
$shutdownHandler = new ShutdownHandler($request, $errorHandler, $display);
register_shutdown_function($shutdownHandler);

$app->addRoutingMiddleware();

// Run
$response = $app->handle($request);
$responseEmitter = new ResponseEmitter();
$responseEmitter->emit($response);
";
        let expected = format!(
            "
$app = AppFactory::create();
$display = true;

// Create the error handler
$errorHandler = new HttpErrorHandler($app->getCallableResolver());

$app->addRoutingMiddleware();

// Run
$handleRequest = static function () use ($app, $display, $errorHandler): void {{
    $serverRequestCreator = ServerRequestCreatorFactory::create();
    $request = $serverRequestCreator->createServerRequestFromGlobals();
    $shutdownHandler = new ShutdownHandler($request, $errorHandler, $display);
    register_shutdown_function($shutdownHandler);
    $response = $app->handle($request);
    $responseEmitter = new ResponseEmitter();
    $responseEmitter->emit($response);
}};{LOOP}
"
        );
        assert_eq!(made(code).expect("a script"), expected);
        for changed in [
            code.replace("$app->addRoutingMiddleware();", "log($request);"),
            code.replace("$app->addRoutingMiddleware();", "$_SERVER['A'] = 1;"),
            format!("{code}after();"),
            code.replace("$responseEmitter->emit($response);", ""),
        ] {
            made(&changed).expect_err(&changed);
        }
    }

    #[test]
    fn other_forms_are_left_alone() {
        let app = "$app = AppFactory::create();";
        for (code, reason) in [
            (format!("{app} if ($a) $app->run();"), "does not end"),
            (format!("{app} if ($a) {{ $app->run(); }}"), "does not end"),
            (format!("{app} $app->run(); after();"), "does not end"),
            (format!("{app} $app->run($request);"), "does not end"),
            (
                "$app = new Other(); $app->run();".to_owned(),
                "does not end",
            ),
            (
                format!("{app} $a = $_SERVER['A']; $app->run();"),
                "uses $_SERVER",
            ),
            (
                format!("{app} \\session_start(); $app->run();"),
                "uses \\session_start",
            ),
            (format!("{app} Exit(1); $app->run();"), "uses Exit"),
            (
                format!("{app} fopen('php://input', 'r'); $app->run();"),
                "uses 'php://input'",
            ),
            (
                format!("{app} $a->fromGlobals(); $app->run();"),
                "uses fromGlobals",
            ),
            (format!("?> {app} $app->run();"), "not simple PHP code"),
        ] {
            let error = made(&code).expect_err(&code);
            assert!(error.contains(reason), "{code}: {error}");
        }
        made(&format!("{app} $app->header(); $app->run();")).expect("a method");
        worker_script("index.php", "text").expect_err("no PHP");
    }
}
