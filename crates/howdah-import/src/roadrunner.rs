//! `RoadRunner`: `.rr.yaml` as a site with a worker.

use std::path::Path;

use saphyr::{LoadableYamlNode, Yaml};

use crate::ImportError;
use crate::output::{FORBIDDEN, Lines, Notes, block, word};
use crate::pattern::is_script;

/// Sections that are not about HTTP, or that need no conversion.
const SILENT: &[&str] = &[
    "version", "server", "http", "env", "endure", "status", "metrics", "logs", "rpc", "reload",
];

pub(crate) fn convert(text: &str, file: &Path) -> Result<(Lines, Notes), ImportError> {
    let lenient = closed_deeper(text);
    let parsed = Yaml::load_from_str(text).or_else(|error| {
        // Its own parser accepts a list that ends at the indentation of its key.
        Yaml::load_from_str(&lenient).map_err(|_| error)
    });
    let documents = parsed.map_err(|error| ImportError::Syntax {
        file: file.display().to_string(),
        line: error.marker().line(),
        reason: error.info().to_owned(),
    })?;
    let empty = || ImportError::Empty {
        file: file.display().to_string(),
        reason: "there is no `http` section",
    };
    let root = documents.first().ok_or_else(empty)?;
    let http = get(root, "http").ok_or_else(empty)?;
    let mut converter = Converter {
        text,
        notes: Notes::default(),
        global: Lines::new(),
        site: Lines::new(),
    };
    Ok(converter.file(root, http)).map(|lines| (lines, converter.notes))
}

/// The text with each line that begins with the end of a list or object indented further.
fn closed_deeper(text: &str) -> String {
    let deeper = |line: &str| {
        let closes = line.trim_start().starts_with([']', '}']);
        format!("{}{line}\n", if closes { "  " } else { "" })
    };
    text.lines().map(deeper).collect()
}

fn get<'a, 'y>(yaml: &'a Yaml<'y>, name: &str) -> Option<&'a Yaml<'y>> {
    yaml.as_mapping_get(name)
}

/// A scalar as written.
fn text(yaml: &Yaml<'_>) -> Option<String> {
    if let Some(text) = yaml.as_str() {
        return Some(environment(text));
    }
    if let Some(number) = yaml.as_integer() {
        return Some(number.to_string());
    }
    yaml.as_bool().map(|value| value.to_string())
}

/// `${NAME:-default}` as `{$NAME:default}`.
fn environment(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, end)) = after.split_once('}') else {
            break;
        };
        result.push_str(before);
        result.push_str("{$");
        result.push_str(&name.replacen(":-", ":", 1));
        result.push('}');
        rest = end;
    }
    result + rest
}

fn list(yaml: &Yaml<'_>) -> Vec<String> {
    let items = yaml.as_sequence().into_iter().flatten();
    items.filter_map(text).collect()
}

fn entries<'a, 'y>(yaml: &'a Yaml<'y>) -> impl Iterator<Item = (String, &'a Yaml<'y>)> {
    let entries = yaml.as_mapping().into_iter().flatten();
    entries.filter_map(|(name, value)| Some((text(name)?, value)))
}

/// Static files, then the worker.
fn files(http: &Yaml<'_>, worker: Option<Lines>) -> Lines {
    let mut lines = Lines::new();
    if let Some(files) = get(http, "static") {
        let folder = get(files, "dir").and_then(text).unwrap_or(".".to_owned());
        let mut conditions = vec!["file".to_owned()];
        for (key, not) in [("forbid", "not "), ("allow", "")] {
            let endings = get(files, key).map(list).unwrap_or_default();
            let endings: Vec<_> = endings
                .iter()
                .filter(|ending| !ending.is_empty())
                .map(|ending| format!("*{ending}"))
                .collect();
            if !endings.is_empty() && !endings.contains(&"*#".to_owned()) {
                conditions.push(format!("{not}path {}", endings.join(" ")));
            }
        }
        lines.push(format!("root * {}", word(&folder)));
        lines.extend(block("@files", conditions));
        for (key, directive) in [("request", "request_header"), ("response", "header")] {
            for (name, value) in get(files, key).into_iter().flat_map(entries) {
                let value = text(value).unwrap_or_default();
                lines.push(format!("{directive} @files {name} {}", word(&value)));
            }
        }
        lines.extend(block("handle @files", vec!["file_server".to_owned()]));
    }
    if let Some(worker) = worker {
        lines.extend(block("handle", block("php", worker)));
    }
    lines
}

struct Converter<'a> {
    text: &'a str,
    notes: Notes,
    /// Before the site.
    global: Lines,
    site: Lines,
}

impl Converter<'_> {
    /// The comment of a note about a key.
    fn note(&mut self, key: &str, why: &str) -> String {
        let name = key.rsplit('.').next().unwrap_or(key);
        let is_key = |line: &str| {
            line.trim_start()
                .trim_matches('"')
                .starts_with(&format!("{name}:"))
        };
        let line = self
            .text
            .lines()
            .position(is_key)
            .map_or(1, |index| index + 1);
        self.notes.add(line, key, why)
    }

    fn file(&mut self, root: &Yaml<'_>, http: &Yaml<'_>) -> Lines {
        for (name, _) in entries(root).filter(|(name, _)| !SILENT.contains(&name.as_str())) {
            let why = "not a part of this server; run it in a separate process";
            let note = self.note(&name, why);
            self.global.push(note);
        }
        let worker = self.worker(root, http);
        let middleware = get(http, "middleware").map(list).unwrap_or_default();
        if let Some(fields) = get(http, "headers") {
            self.headers(fields);
        }
        if middleware.iter().any(|name| name == "gzip") {
            self.site.push("encode zstd br gzip".to_owned());
        }
        if let Some(megabytes) = get(http, "max_request_size")
            .and_then(Yaml::as_integer)
            .filter(|size| *size > 0)
        {
            self.site.extend(block(
                "request_body",
                vec![format!("max_size {megabytes}MiB")],
            ));
        }
        if get(http, "access_logs").and_then(Yaml::as_bool) == Some(true) {
            self.site.push("log".to_owned());
        }
        self.others(http, &middleware);
        let mut files = files(http, worker);
        let mut refusal = self.refusal(http, &middleware);
        if !refusal.is_empty() {
            refusal.append(&mut files);
            files = block("route", refusal);
        }
        self.site.extend(files);
        let addresses = self.addresses(http);
        let mut lines = std::mem::take(&mut self.global);
        lines.extend(block(&addresses.join(", "), std::mem::take(&mut self.site)));
        lines
    }

    fn addresses(&mut self, http: &Yaml<'_>) -> Vec<String> {
        let mut addresses = Vec::new();
        let mut bind = None;
        let mut parts = |address: &str| {
            let address = address.strip_prefix("tcp://").unwrap_or(address);
            // A variable may have a default, which comes after a colon too.
            let end = address.find("{$").unwrap_or(address.len());
            let (host, port) = match address[..end].rfind(':') {
                Some(at) => (&address[..at], &address[at + 1..]),
                None => ("", address),
            };
            if !["", "0.0.0.0", "::", "[::]"].contains(&host) && !host.contains('{') {
                bind = Some(if host == "localhost" {
                    "127.0.0.1".to_owned()
                } else {
                    host.to_owned()
                });
            }
            port.to_owned()
        };
        if let Some(address) = get(http, "address").and_then(text) {
            if let Some(path) = address.strip_prefix("unix://") {
                return self.socket(path);
            }
            // The variable may hold the host too.
            let port = if address.starts_with("{$") {
                "8080".to_owned()
            } else {
                parts(&address)
            };
            addresses.push(format!("http://:{port}"));
        }
        if let Some(ssl) = get(http, "ssl") {
            let address = get(ssl, "address")
                .and_then(text)
                .unwrap_or(":443".to_owned());
            let port = parts(&address);
            addresses.push(format!("https://:{port}"));
            self.certificate(ssl);
            if get(ssl, "redirect").and_then(Yaml::as_bool) == Some(true) {
                self.site.push("@plain protocol http".to_owned());
                self.site
                    .push("redir @plain https://{host}{uri} 308".to_owned());
            }
        }
        if let Some(bind) = bind {
            self.site.insert(0, format!("bind {bind}"));
        }
        if addresses.is_empty() {
            addresses.push("http://:8080".to_owned());
        }
        addresses
    }

    /// The files of `ssl`, or a note where RoadRunner obtains certificates itself.
    fn certificate(&mut self, ssl: &Yaml<'_>) {
        let files = [get(ssl, "cert"), get(ssl, "key")];
        let files: Vec<_> = files.into_iter().flatten().filter_map(text).collect();
        let clients = client_auth(ssl).unwrap_or_default();
        if files.len() == 2 {
            let head = format!("tls {} {}", word(&files[0]), word(&files[1]));
            self.site.splice(0..0, block(&head, clients));
            return;
        }
        if !clients.is_empty() {
            self.site.splice(0..0, block("tls", clients));
        }
        let note = self.note(
            "ssl.acme",
            "write the names of the site in place of the port",
        );
        self.site.push(note);
    }

    /// A Unix socket, on which the site has no other address.
    fn socket(&mut self, path: &str) -> Vec<String> {
        if path.starts_with('/') {
            self.site.insert(0, format!("bind unix/{}", word(path)));
        } else {
            let why = format!("write `bind unix//PATH` with the whole path of `{path}`");
            let note = self.note("http.address", &why);
            self.site.insert(0, note);
        }
        vec!["http://".to_owned()]
    }

    /// The lines of `php`.
    fn worker(&mut self, root: &Yaml<'_>, http: &Yaml<'_>) -> Option<Lines> {
        let server = get(root, "server")?;
        let command = get(server, "command");
        let command =
            command.and_then(|command| text(command).or_else(|| Some(list(command).join(" "))));
        let command = command.unwrap_or_default();
        let mut words = command
            .split_whitespace()
            .skip_while(|word| !is_script(word));
        let Some(script) = words.next() else {
            let note = self.note("server.command", "name the worker script: `worker FILE`");
            self.site.push(note);
            return None;
        };
        // The worker handles every request.
        let mut lines = vec![format!("file {}", word(script)), "match *".to_owned()];
        let before: Vec<_> = command
            .split_whitespace()
            .take_while(|word| *word != script)
            .collect();
        let mut ini = command_ini(&before);
        let rest: Vec<_> = words.collect();
        if !rest.is_empty() {
            lines.push(self.note(
                "server.command",
                &format!("the arguments {} of the script", rest.join(" ")),
            ));
        }
        lines.push("# The script takes its requests from howdah/psr7-worker in place of RoadRunner's PSR7Worker.".to_owned());
        if let Some(pool) = get(http, "pool") {
            self.pool(pool, &mut lines);
        }
        if get(root, "reload").is_some() {
            lines.push("watch".to_owned());
        }
        if let Some(limit) = get(http, "uploads")
            && let Some(folder) = get(limit, "dir").and_then(text)
        {
            ini.push(format!("upload_tmp_dir {}", word(&folder)));
        }
        lines.extend(variables(root, server));
        if !ini.is_empty() {
            lines.extend(block("php_ini", ini));
        }
        if let Some(user) = get(server, "user")
            .and_then(text)
            .filter(|user| !user.is_empty())
        {
            lines.push(format!("user {}", word(&user)));
        }
        for name in ["on_init", "relay"] {
            if get(server, name)
                .is_some_and(|value| text(value).is_none_or(|relay| relay != "pipes"))
            {
                lines.push(self.note(&format!("server.{name}"), ""));
            }
        }
        Some(block("worker", lines))
    }

    fn pool(&mut self, pool: &Yaml<'_>, lines: &mut Lines) {
        for (name, value) in entries(pool) {
            let number = value.as_integer().filter(|number| *number > 0);
            let time = text(value).map(|time| {
                if value.as_integer().is_some() {
                    format!("{time}s")
                } else {
                    time
                }
            });
            match (name.as_str(), number, time) {
                ("num_workers", Some(number), _) => lines.push(format!("num {number}")),
                ("max_jobs", Some(number), _) => lines.push(format!("max_requests {number}")),
                (
                    "num_workers" | "max_jobs" | "command" | "destroy_timeout" | "reset_timeout"
                    | "stream_timeout",
                    ..,
                ) => {}
                ("max_queue_size", Some(number), _) => lines.push(format!("queue_length {number}")),
                ("allocate_timeout", _, Some(time)) => lines.push(format!("max_wait_time {time}")),
                ("debug", ..) if value.as_bool() == Some(false) => {}
                ("debug", ..) => {
                    lines.push("# A new worker for each request.\nmax_requests 1".to_owned());
                }
                ("supervisor", ..) => self.supervisor(value, lines),
                _ => lines.push(self.note(&format!("http.pool.{name}"), "")),
            }
        }
    }

    fn supervisor(&mut self, supervisor: &Yaml<'_>, lines: &mut Lines) {
        for (name, value) in entries(supervisor) {
            let is_zero = text(value).is_some_and(|text| ["0", "0s"].contains(&text.as_str()));
            if is_zero || name == "watch_tick" {
                continue;
            }
            let plain = text(value).unwrap_or_default();
            let time = if value.as_integer().is_some() {
                format!("{plain}s")
            } else {
                plain.clone()
            };
            match name.as_str() {
                "ttl" => lines.push(format!("max_age {time}")),
                "idle_ttl" => lines.push(format!("max_idle_time {time}")),
                "exec_ttl" => lines.push(format!("request_timeout {time}")),
                "max_worker_memory" => lines.push(format!("max_memory {plain}MiB")),
                _ => lines.push(self.note(&format!("http.pool.supervisor.{name}"), "")),
            }
        }
    }

    fn headers(&mut self, fields: &Yaml<'_>) {
        for (name, value) in entries(fields) {
            match name.as_str() {
                "response" => {
                    for (name, value) in entries(value) {
                        let value = text(value).unwrap_or_default();
                        self.site.push(format!("header {name} {}", word(&value)));
                    }
                }
                "request" => {
                    for (name, value) in entries(value) {
                        let value = text(value).unwrap_or_default();
                        self.site
                            .push(format!("request_header {name} {}", word(&value)));
                    }
                }
                "cors" => self.cors(value),
                _ => {
                    let note = self.note(&format!("http.headers.{name}"), "");
                    self.site.push(note);
                }
            }
        }
    }

    fn cors(&mut self, cors: &Yaml<'_>) {
        let mut names = Vec::new();
        for (name, value) in entries(cors) {
            let field = match name.as_str() {
                "allowed_origin" => "Access-Control-Allow-Origin",
                "allowed_headers" => "Access-Control-Allow-Headers",
                "allowed_methods" => "Access-Control-Allow-Methods",
                "allow_credentials" => "Access-Control-Allow-Credentials",
                "exposed_headers" => "Access-Control-Expose-Headers",
                "max_age" => "Access-Control-Max-Age",
                _ => {
                    names.push(self.note(&format!("http.headers.cors.{name}"), ""));
                    continue;
                }
            };
            let value = text(value).unwrap_or_default();
            names.push(format!("header {field} {}", word(&value)));
        }
        self.site.extend(names);
        self.site.push("@preflight method OPTIONS".to_owned());
        self.site.push("respond @preflight 200".to_owned());
    }

    /// Denies all requests if a restriction of access cannot be converted.
    fn refusal(&mut self, http: &Yaml<'_>, middleware: &[String]) -> Lines {
        let mut lines = Lines::new();
        if let Some(kind) = get(http, "ssl").and_then(|ssl| client_auth(ssl).err()) {
            let why = format!("{kind}: the response is 403 until `tls` has `client_auth`");
            lines.push(self.note("http.ssl.client_auth_type", &why));
        }
        for name in middleware.iter().filter(|name| restricts_access(name)) {
            let why =
                format!("{name}: the response is 403 until access is restricted in another way");
            lines.push(self.note("http.middleware", &why));
        }
        if !lines.is_empty() {
            lines.push(FORBIDDEN.to_owned());
        }
        lines
    }

    fn others(&mut self, http: &Yaml<'_>, middleware: &[String]) {
        const KNOWN: &[&str] = &[
            "address",
            "middleware",
            "pool",
            "headers",
            "static",
            "ssl",
            "uploads",
            "max_request_size",
            "access_logs",
            "http2",
            "http3",
            "raw_body",
            "internal_error_code",
        ];
        for (name, _) in entries(http).filter(|(name, _)| !KNOWN.contains(&name.as_str())) {
            let why = match name.as_str() {
                "trusted_subnets" => {
                    "write `servers { trusted_proxies static … }` in the global options"
                }
                "fcgi" => "this server does not accept requests by FastCGI",
                _ => "",
            };
            let note = self.note(&format!("http.{name}"), why);
            self.site.push(note);
        }
        for name in middleware.iter().filter(|name| !restricts_access(name)) {
            let why = match name.as_str() {
                "gzip" | "headers" | "static" | "http_metrics" => continue,
                "sendfile" => {
                    "sendfile: send the files that PHP names in X-Sendfile with `intercept` and `handle_response`, below \
                     a `root` of their own"
                        .to_owned()
                }
                name => format!("{name} is not a part of this server"),
            };
            let note = self.note("http.middleware", &why);
            self.site.push(note);
        }
        if let Some(uploads) = get(http, "uploads") {
            for key in ["forbid", "allow"] {
                let endings = get(uploads, key).map(list).unwrap_or_default();
                if !endings.is_empty() {
                    let why = "the application checks the names of uploads";
                    let note = self.note(&format!("http.uploads.{key}"), why);
                    self.site.push(note);
                }
            }
        }
    }
}

/// Whether a middleware of this name probably restricts access.
fn restricts_access(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let parts = ["auth", "jwt", "acl", "firewall", "limit"];
    parts.iter().any(|part| name.contains(part))
}

/// What clients have to prove: options of `tls`. The error is a mode that cannot be converted.
fn client_auth(ssl: &Yaml<'_>) -> Result<Lines, String> {
    let authority = get(ssl, "root_ca").and_then(text);
    let kind = get(ssl, "client_auth_type").and_then(text);
    let mode = match kind.as_deref() {
        None | Some("" | "no_client_certs" | "request_client_cert") => return Ok(Lines::new()),
        Some("require_and_verify_client_cert") => Some("require_and_verify"),
        Some("verify_client_cert_if_given") => Some("verify_if_given"),
        Some(_) => None,
    };
    match (mode, authority) {
        (Some(mode), Some(file)) => {
            let pool = format!("trust_pool file {}", word(&file));
            Ok(block("client_auth", vec![format!("mode {mode}"), pool]))
        }
        _ => Err(kind.unwrap_or_default()),
    }
}

/// Settings of PHP in the arguments before the script: `-d NAME=VALUE`.
fn command_ini(before: &[&str]) -> Lines {
    let apart = before.windows(2).filter(|pair| pair[0] == "-d");
    let apart = apart.map(|pair| pair[1]);
    let attached = before.iter().filter_map(|word| word.strip_prefix("-d"));
    apart
        .chain(attached)
        .filter_map(|option| option.split_once('='))
        .map(|(name, value)| format!("{name} {}", word(value)))
        .collect()
}

/// `env` of the server and of the file.
fn variables(root: &Yaml<'_>, server: &Yaml<'_>) -> Lines {
    let of_server = get(server, "env");
    let of_file = get(root, "env").into_iter().flat_map(entries);
    let mapped = of_server.into_iter().flat_map(entries).chain(of_file);
    // RoadRunner also has a list of single entries.
    let listed = of_server.and_then(|env| env.as_sequence());
    let listed = listed.into_iter().flatten().flat_map(entries);
    mapped
        .chain(listed)
        .map(|(name, value)| format!("env {name} {}", word(&text(value).unwrap_or_default())))
        .collect()
}
