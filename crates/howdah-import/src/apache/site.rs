//! The directives of a site.

use std::path::Path;

use howdah_config::Files;

use super::expiry::{endings, seconds};
use super::php::Php;
use super::rewrite::Rules;
use super::section::{Access, Scope};
use super::syntax::{parse, quoted};
use crate::directive::Directive;
use crate::output::{Lines, MatcherNames, Notes, block, is_terminal, word};
use crate::pattern::rust_regex;

/// Directives that need no conversion: about the server itself, or done anyway.
const SILENT: &[&str] = &[
    "acceptpathinfo",
    "addcharset",
    "adddefaultcharset",
    "addencoding",
    "addlanguage",
    "addtype",
    "allowencodedslashes",
    "authbasicprovider",
    "authtype",
    "browsermatch",
    "contentdigest",
    "defaultlanguage",
    "defaulttype",
    "deflatecompressionlevel",
    "directoryslash",
    "enablemmap",
    "enablesendfile",
    "errorlog",
    "errorlogformat",
    "expiresactive",
    "fileetag",
    "forcetype",
    "hostnamelookups",
    "indexignore",
    "indexoptions",
    "keepalive",
    "keepalivetimeout",
    "listen",
    "loadmodule",
    "logformat",
    "loglevel",
    "maxkeepaliverequests",
    "mutex",
    "order",
    "pidfile",
    "protocols",
    "proxybadheader",
    "proxypassreverse",
    "proxypassreversecookiedomain",
    "proxypassreversecookiepath",
    "proxyrequests",
    "proxytimeout",
    "proxyvia",
    "proxyfcgibackendtype",
    "proxyfcgisetenvif",
    "removehandler",
    "removetype",
    "rewritebase",
    "rewriteengine",
    "rewriteoptions",
    "satisfy",
    "serveradmin",
    "serverroot",
    "serversignature",
    "servertokens",
    "sslciphersuite",
    "sslcompression",
    "sslhonorcipherorder",
    "ssloptions",
    "sslprotocol",
    "sslsessioncache",
    "sslsessiontickets",
    "sslstaplingcache",
    "sslusestapling",
    "timeout",
    "traceenable",
    "usecanonicalname",
    "user",
    "group",
    "define",
    "undefine",
    "sslopensslconfcmd",
];

/// A site that is read.
pub(super) struct Site<'a> {
    files: &'a dyn Files,
    notes: &'a mut Notes,
    /// Within `.htaccess` or `<Directory>`: rules get the path without its leading slash.
    below: bool,
    /// The line that allows `.htaccess`.
    overrides: Option<usize>,
    names: MatcherNames,
    ports: Vec<u16>,
    bind: Vec<String>,
    hosts: Vec<String>,
    is_tls: bool,
    certificate: [Option<String>; 2],
    root: Option<String>,
    aliases: Vec<(String, String)>,
    php: Php,
    rules: Rules,
    /// Directives whose order does not count.
    settings: Lines,
    /// Those that may end a request, in their order.
    ordered: Lines,
    /// Access rules, before all of them.
    guards: Lines,
    errors: Lines,
}

impl<'a> Site<'a> {
    pub(super) fn new(files: &'a dyn Files, notes: &'a mut Notes, below: bool) -> Self {
        Self {
            files,
            notes,
            below,
            overrides: None,
            names: MatcherNames::default(),
            ports: Vec::new(),
            bind: Vec::new(),
            hosts: Vec::new(),
            is_tls: false,
            certificate: [None, None],
            root: None,
            aliases: Vec::new(),
            php: Php {
                // Such a file is in a folder of PHP scripts.
                runs: below,
                ..Php::default()
            },
            rules: Rules::default(),
            settings: Lines::new(),
            ordered: Lines::new(),
            guards: Lines::new(),
            errors: Lines::new(),
        }
    }

    /// `<VirtualHost *:80>`
    pub(super) fn addresses(&mut self, host: &Directive) {
        for address in &host.arguments {
            let (host, port) = match address.rsplit_once(':') {
                Some((host, port)) if !port.ends_with(']') => (host, port),
                _ => (address.as_str(), "80"),
            };
            self.ports.push(port.parse().unwrap_or(80));
            let host = host.trim_matches(['[', ']']);
            if host
                .parse::<std::net::IpAddr>()
                .is_ok_and(|ip| !ip.is_unspecified())
            {
                self.bind.push(host.to_owned());
            }
        }
    }

    /// The addresses of the site.
    pub(super) fn head(&self) -> String {
        let mut all = Vec::new();
        for &port in &self.ports {
            let tls = self.is_tls || port == 443;
            if self.hosts.is_empty() {
                all.push(format!("{}://:{port}", if tls { "https" } else { "http" }));
            }
            for host in &self.hosts {
                all.push(match (tls, port) {
                    (true, 443) => host.clone(),
                    (false, 80) => format!("http://{host}"),
                    (true, _) => format!("https://{host}:{port}"),
                    (false, _) => format!("http://{host}:{port}"),
                });
            }
        }
        all.dedup();
        all.join(", ")
    }

    pub(super) fn read(&mut self, directives: &[Directive]) {
        self.roots(directives);
        let mut access = Access::default();
        self.block(directives, &Scope::Site, &mut access);
        let lines = access.lines(&Scope::Site, &mut self.names, self.files, self.notes);
        self.guards.extend(lines);
    }

    /// `.htaccess` of the document root, if the site allows it.
    pub(super) fn read_override_file(&mut self) {
        let (Some(line), Some(root)) = (self.overrides, self.root.clone()) else {
            return;
        };
        let root = root.trim_end_matches('/');
        let file = format!("{root}/.htaccess");
        let Ok(text) = self.files.read(Path::new(&file)) else {
            // An application may have no `.htaccess`; without its folder that is unknown.
            let is_here = self.files.glob(&format!("{root}/*"));
            if is_here.is_ok_and(|found| found.is_empty()) {
                let why = "the folder is not on this machine; import its `.htaccess` too";
                let note = self.notes.add(line, root, why);
                self.settings.push(note);
            }
            return;
        };
        match parse(&text, Path::new(&file)) {
            Ok(own) => {
                let around = std::mem::replace(&mut self.below, true);
                self.read(&own);
                self.below = around;
            }
            Err(error) => {
                let note = self.notes.add(line, &file, &error.to_string());
                self.settings.push(note);
            }
        }
    }

    /// Document roots, which sections refer to.
    fn roots(&mut self, directives: &[Directive]) {
        for own in directives {
            match own.name.to_ascii_lowercase().as_str() {
                "documentroot" => self.root = Some(own.argument(0).to_owned()),
                "alias" => self
                    .aliases
                    .push((own.argument(0).to_owned(), own.argument(1).to_owned())),
                _ if is_condition(own) => self.roots(own.children()),
                _ => {}
            }
        }
    }

    fn note(&mut self, directive: &Directive, why: &str) {
        let note = self.notes.add(directive.line, &quoted(directive), why);
        self.settings.push(note);
    }

    fn block(&mut self, directives: &[Directive], scope: &Scope, access: &mut Access) {
        for own in directives {
            match own.name.to_ascii_lowercase().as_str() {
                "ifmodule" | "ifdefine" if own.argument(0).starts_with('!') => {}
                "requireall" | "requireany" => self.block(own.children(), scope, access),
                _ if is_condition(own) => self.block(own.children(), scope, access),
                "directory" | "location" | "locationmatch" | "files" | "filesmatch" => {
                    self.section(own, scope);
                }
                "require" | "deny" | "allow" => access.rule(own),
                "authname" => access.realm = Some(own.argument(0).to_owned()),
                "authuserfile" => access.file = Some(own.argument(0).to_owned()),
                "proxy" | "order" => {}
                _ => self.directive(own, scope),
            }
        }
    }

    fn section(&mut self, section: &Directive, around: &Scope) {
        let is_script = section.arguments.iter().any(|text| text.contains("php"));
        let hands_over = |own: &Directive| own.name.eq_ignore_ascii_case("SetHandler");
        if is_script && section.children().iter().any(hands_over) {
            self.php.runs = true;
            self.handler(section.children());
            return;
        }
        let mut scope = Scope::of(section, self.root.as_deref(), &self.aliases);
        let is_file = section.name.to_ascii_lowercase().starts_with("files");
        scope = match (around, scope) {
            (Scope::Matcher(outer), Scope::Site) => Scope::Matcher(outer.clone()),
            // Files of a folder: both have to match.
            (Scope::Matcher(outer), Scope::Matcher(inner)) => Scope::Matcher(format!(
                "expression {}",
                word(&format!("{} && {}", call(outer), call(&inner)))
            )),
            (Scope::Nothing, _) if !is_file => Scope::Nothing,
            (_, scope) => scope,
        };
        match scope {
            Scope::Nothing => {}
            Scope::Unknown => self.note(section, "write it with a matcher"),
            scope => {
                let mut access = Access::default();
                let is_folder = section.name.eq_ignore_ascii_case("Directory");
                let around = self.below;
                self.below |= is_folder;
                self.block(section.children(), &scope, &mut access);
                self.below = around;
                let lines = access.lines(&scope, &mut self.names, self.files, self.notes);
                self.guards.extend(lines);
            }
        }
    }

    /// `SetHandler proxy:…`
    fn handler(&mut self, children: &[Directive]) {
        let handlers = children
            .iter()
            .filter(|own| own.name.eq_ignore_ascii_case("SetHandler"));
        for own in handlers {
            self.upstream(own.argument(0));
        }
    }

    /// PHP-FPM: here it is this server's own PHP, unless it is on another machine.
    fn upstream(&mut self, text: &str) {
        self.php.runs = true;
        let Some((_, rest)) = text
            .split_once("fcgi://")
            .filter(|_| !text.contains("unix:"))
        else {
            return;
        };
        let host = rest.split('/').next().unwrap_or_default();
        let name = host.split(':').next().unwrap_or_default();
        let is_here = name == "localhost"
            || name
                .parse::<std::net::IpAddr>()
                .is_ok_and(|ip| ip.is_loopback());
        if !is_here {
            self.php.upstream = Some(host.to_owned());
        }
    }

    /// A line for requests of a scope.
    fn with(&mut self, scope: &Scope, name: &str, rest: &str) -> Lines {
        match scope {
            Scope::Matcher(matcher) => {
                let matcher_name = self.names.next("part");
                vec![
                    format!("@{matcher_name} {matcher}"),
                    format!("{name} @{matcher_name} {rest}"),
                ]
            }
            _ => vec![format!("{name} {rest}")],
        }
    }

    fn directive(&mut self, own: &Directive, scope: &Scope) {
        let name = own.name.to_ascii_lowercase();
        let (first, second) = (own.argument(0), own.argument(1));
        match name.as_str() {
            name if SILENT.contains(&name) => {}
            "servername" => {
                let host = first
                    .trim_start_matches("https://")
                    .trim_start_matches("http://");
                let host = host.split(':').next().unwrap_or_default();
                self.hosts.insert(0, host.to_owned());
            }
            "serveralias" => self.hosts.extend(own.arguments.iter().cloned()),
            "documentroot" => self.settings.push(format!("root * {}", word(first))),
            "allowoverride" if *scope == Scope::Site => {
                self.overrides = (!first.eq_ignore_ascii_case("none")).then_some(own.line);
            }
            "dav" if first.eq_ignore_ascii_case("off") => {}
            "fallbackresource" if first == "disabled" => {
                if let Scope::Matcher(_) = scope {
                    let options = vec!["try_files {path} =404".to_owned()];
                    let mut lines = self.with(scope, "php_server", "{");
                    lines.extend(options);
                    lines.push("}".to_owned());
                    self.ordered.extend(lines);
                }
            }
            "directoryindex" if first == "disabled" => {}
            "directoryindex" => self.php.index.clone_from(&own.arguments),
            "fallbackresource" => {
                self.php.front = Some(first.trim_start_matches('/').to_owned());
                self.php.runs = true;
            }
            "rewritecond" => self.rules.condition(own),
            "rewriterule" => {
                let below = self.below || *scope != Scope::Site;
                self.rules
                    .rule(own, below, &mut self.php, &mut self.names, self.notes);
                let lines = std::mem::take(&mut self.rules.lines);
                self.ordered.extend(lines);
            }
            "redirect" | "redirectpermanent" | "redirecttemp" => self.redirect(own),
            "redirectmatch" => self.redirect_match(own),
            "alias" => {
                let path = first.trim_end_matches('/');
                let lines = vec![
                    format!("root * {}", word(second.trim_end_matches('/'))),
                    "php_server".to_owned(),
                ];
                self.ordered.extend(block(
                    &format!("handle_path {}", word(&format!("{path}*"))),
                    lines,
                ));
            }
            "header" => self.header(own, scope),
            "requestheader" => self.request_header(own, scope),
            "options" => self.options(own, scope),
            "sethandler" | "addhandler" => self.sets_handler(own, scope),
            "action" | "fcgidwrapper" => self.php.runs = true,
            "proxypass" => self.proxy(first, second, own, scope),
            "proxypassmatch" if second.starts_with("fcgi:") || second.starts_with("unix:") => {
                self.upstream(second);
            }
            "allowoverride" | "proxypreservehost" => {}
            "php_value" | "php_flag" => self.php_value(own, false),
            "php_admin_value" | "php_admin_flag" => self.php_value(own, true),
            "setenv" => self.php.env.push(format!("env {first} {}", word(second))),
            "setenvif" | "setenvifnocase" | "cgipassauth" | "passenv"
                if own.to_string().contains("uthorization") || name == "cgipassauth" => {}
            "errordocument" => self.error_document(own),
            "sslengine" => self.is_tls |= first.eq_ignore_ascii_case("on"),
            "sslcertificatefile" => self.certificate[0] = Some(first.to_owned()),
            "sslcertificatekeyfile" => self.certificate[1] = Some(first.to_owned()),
            "sslcertificatechainfile" => self.note(own, "append it to the certificate's file"),
            "customlog" | "transferlog" => self.log(own),
            "limitrequestbody" => {
                if first != "0" {
                    self.settings
                        .extend(block("request_body", vec![format!("max_size {first}B")]));
                }
            }
            "addoutputfilterbytype" | "setoutputfilter"
                if own.to_string().to_ascii_lowercase().contains("deflate")
                    || own.to_string().to_ascii_lowercase().contains("brotli") =>
            {
                self.encode();
            }
            "expiresdefault" => match seconds(&own.arguments) {
                Some(seconds) => {
                    let lines = self.with(
                        scope,
                        "header",
                        &format!("?Cache-Control max-age={seconds}"),
                    );
                    self.settings.extend(lines);
                }
                None => self.note(own, ""),
            },
            "expiresbytype" => self.expires(own),
            "include" | "includeoptional" if first.contains("letsencrypt") => {}
            _ => self.note(own, ""),
        }
    }

    fn encode(&mut self) {
        let line = "encode zstd br gzip".to_owned();
        if !self.settings.contains(&line) {
            self.settings.push(line);
        }
    }

    fn sets_handler(&mut self, own: &Directive, scope: &Scope) {
        let handler = own.argument(0).to_ascii_lowercase();
        if handler.contains("php") || handler.contains("fcgi") || handler.contains("proxy:unix") {
            self.upstream(own.argument(0));
        } else if ["none", "default-handler", "cgi-script"].contains(&handler.as_str())
            && matches!(scope, Scope::Matcher(_))
        {
            // Scripts of this folder are not run.
            let Scope::Matcher(matcher) = scope.clone() else {
                return;
            };
            let both = vec![matcher, "path_regexp \\.(php|phtml|phar)".to_owned()];
            let name = self.names.next("scripts");
            self.guards.extend(block(&format!("@{name}"), both));
            self.guards.push(format!("error @{name} 403"));
        } else {
            self.note(own, "");
        }
    }

    fn redirect(&mut self, own: &Directive) {
        let name = own.name.to_ascii_lowercase();
        let (code, rest) = match own.argument(0) {
            _ if name == "redirectpermanent" => (301, &own.arguments[..]),
            "permanent" => (301, &own.arguments[1..]),
            "temp" => (302, &own.arguments[1..]),
            "seeother" => (303, &own.arguments[1..]),
            "gone" => (410, &own.arguments[1..]),
            text => match text.parse() {
                Ok(code) => (code, &own.arguments[1..]),
                Err(_) => (302, &own.arguments[..]),
            },
        };
        let Some(path) = rest.first() else {
            return self.note(own, "");
        };
        let path = path.trim_end_matches('/');
        if path.is_empty() {
            self.ordered.push(match rest.get(1) {
                Some(to) => format!("redir * {}{{uri}} {code}", word(to.trim_end_matches('/'))),
                None => format!("error {code}"),
            });
            return;
        }
        let name = self.names.next("redirect");
        let to = rest.get(1).map(|to| to.trim_end_matches('/'));
        // The location of the path itself must not be empty if the target is `/`.
        let (slash, more) = match to {
            Some("") => ("/", "(?:/(.*)|$)"),
            _ => ("", "(/.*|$)"),
        };
        self.ordered.push(format!(
            "@{name} path_regexp {name} {}",
            word(&format!("^{}{more}", regex_escape(path)))
        ));
        match to {
            Some(to) => {
                let to = format!("{to}{slash}{{re.{name}.1}}{{?query}}");
                self.ordered
                    .push(format!("redir @{name} {} {code}", word(&to)));
            }
            None => self.ordered.push(format!("error @{name} {code}")),
        }
    }

    fn redirect_match(&mut self, own: &Directive) {
        let (code, rest) = match own.argument(0) {
            "permanent" => (301, &own.arguments[1..]),
            "temp" => (302, &own.arguments[1..]),
            text => match text.parse() {
                Ok(code) => (code, &own.arguments[1..]),
                Err(_) => (302, &own.arguments[..]),
            },
        };
        let name = self.names.next("redirect");
        let Some(regex) = rest.first().and_then(|regex| rust_regex(regex)) else {
            return self.note(own, "write it with a matcher");
        };
        self.ordered
            .push(format!("@{name} path_regexp {name} {}", word(&regex)));
        match rest.get(1) {
            Some(to) => {
                let to = (0..=9).fold(to.clone(), |to, n| {
                    to.replace(&format!("${n}"), &format!("{{re.{name}.{n}}}"))
                });
                self.ordered.push(format!(
                    "redir @{name} {} {code}",
                    word(&format!("{to}{{?query}}"))
                ));
            }
            None => self.ordered.push(format!("error @{name} {code}")),
        }
    }

    fn header(&mut self, own: &Directive, scope: &Scope) {
        let words: Vec<_> = own
            .arguments
            .iter()
            .filter(|word| *word != "always")
            .cloned()
            .collect();
        let (action, name) = (
            words
                .first()
                .map_or("", String::as_str)
                .to_ascii_lowercase(),
            words.get(1).cloned().unwrap_or_default(),
        );
        let value = words.get(2).cloned().unwrap_or_default();
        let conditional = words
            .get(3)
            .is_some_and(|word| word.starts_with("env=") || word.starts_with("expr="));
        if conditional || value.contains("%{") || value.contains("expr=") {
            return self.note(own, "");
        }
        let change = match action.as_str() {
            "set" => format!(">{name} {}", word(&value)),
            "append" | "add" | "merge" => format!("+{name} {}", word(&value)),
            "setifempty" => format!("?{name} {}", word(&value)),
            "unset" => format!("-{name}"),
            _ => return self.note(own, ""),
        };
        let lines = self.with(scope, "header", &change);
        self.settings.extend(lines);
    }

    fn request_header(&mut self, own: &Directive, scope: &Scope) {
        let (action, name, value) = (
            own.argument(0).to_ascii_lowercase(),
            own.argument(1),
            own.argument(2),
        );
        if value.contains("%{") || own.arguments.len() > 3 {
            return self.note(own, "");
        }
        let change = match action.as_str() {
            "set" => format!("{name} {}", word(value)),
            "append" | "add" | "merge" => format!("+{name} {}", word(value)),
            "unset" => format!("-{name}"),
            _ => return self.note(own, ""),
        };
        let lines = self.with(scope, "request_header", &change);
        self.settings.extend(lines);
    }

    fn options(&mut self, own: &Directive, scope: &Scope) {
        for option in &own.arguments {
            match option.trim_start_matches('+').to_ascii_lowercase().as_str() {
                "indexes" | "all" if *scope == Scope::Site => self.php.browse = true,
                "indexes" => self.note(own, "`file_server browse` in a `handle` lists a folder"),
                "execcgi" | "includes" | "includesnoexec" => self.note(own, ""),
                _ => {}
            }
        }
    }

    fn proxy(&mut self, path: &str, to: &str, own: &Directive, scope: &Scope) {
        // In a `Location` the path is that of the section.
        let (path, to) = match scope {
            Scope::Matcher(matcher) => (
                matcher.trim_start_matches("path ").trim_end_matches('*'),
                path,
            ),
            _ => (path, to),
        };
        if to == "!" {
            let lines = block("handle", self.php.lines());
            let mut lines = lines;
            lines[0] = format!("handle {path}* {{");
            self.ordered.extend(lines);
            return;
        }
        if to.starts_with("fcgi:") || to.contains("|fcgi:") {
            return self.upstream(to);
        }
        let Some((scheme, rest)) = to.split_once("://") else {
            return self.note(own, "");
        };
        let (host, uri) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let mut inner = Lines::new();
        let strips = uri.trim_end_matches('/') != path.trim_end_matches('/');
        let prefix = uri.trim_end_matches('/');
        if strips && !prefix.is_empty() {
            inner.push(format!("rewrite * {prefix}{{uri}}"));
        }
        match scheme {
            "http" | "ws" => inner.push(format!(
                "reverse_proxy {}",
                if host.contains(':') {
                    host.to_owned()
                } else {
                    format!("{host}:80")
                }
            )),
            "https" | "wss" => inner.push(format!("reverse_proxy https://{host}")),
            _ => return self.note(own, ""),
        }
        let head = match path {
            "/" => "handle".to_owned(),
            _ if strips => format!("handle_path {}*", path.trim_end_matches('/')),
            _ => format!("handle {path}*"),
        };
        self.ordered.extend(block(&head, inner));
    }

    fn php_value(&mut self, own: &Directive, is_final: bool) {
        self.php.runs = true;
        let value = match own.argument(1).to_ascii_lowercase().as_str() {
            "on" => "1".to_owned(),
            "off" => "0".to_owned(),
            _ => own.argument(1).to_owned(),
        };
        let line = format!("{}={value}", own.argument(0));
        if is_final {
            self.php.admin_values.push(line);
        } else {
            self.php.values.push(line);
        }
    }

    fn error_document(&mut self, own: &Directive) {
        let (code, to) = (own.argument(0), own.arguments[1..].join(" "));
        let body = if to.starts_with("http") {
            vec![format!("redir {} 302", word(&to))]
        } else if to.starts_with('/') && to.contains(".php") {
            let mut lines = vec![format!("rewrite * {}", word(&to))];
            lines.push("php_server".to_owned());
            lines
        } else if to.starts_with('/') {
            vec![format!("rewrite * {}", word(&to)), "file_server".to_owned()]
        } else if to.eq_ignore_ascii_case("default") {
            return;
        } else {
            vec![format!("respond {}", word(&to))]
        };
        self.errors
            .extend(block(&format!("handle_errors {code}"), body));
    }

    fn log(&mut self, own: &Directive) {
        let file = own.argument(0);
        if file.starts_with('|') || own.arguments.len() > 2 {
            return self.note(own, "");
        }
        let file = file.replace("${APACHE_LOG_DIR}", "/var/log/apache2");
        self.settings.push("# Entries are JSON.".to_owned());
        self.settings
            .extend(block("log", vec![format!("output file {}", word(&file))]));
    }

    /// `ExpiresByType image/png "access plus 1 year"`
    fn expires(&mut self, own: &Directive) {
        let Some(endings) = endings(own.argument(0)) else {
            return self.note(own, "");
        };
        let Some(seconds) = seconds(&own.arguments[1..]) else {
            return self.note(own, "");
        };
        let name = self.names.next("type");
        self.settings.push(format!("@{name} path {endings}"));
        self.settings
            .push(format!("header @{name} Cache-Control max-age={seconds}"));
    }

    /// All lines of the site.
    pub(super) fn lines(self) -> Lines {
        let mut lines = Lines::new();
        if !self.bind.is_empty() {
            lines.push(format!("bind {}", self.bind.join(" ")));
        }
        if let [Some(certificate), Some(key)] = &self.certificate {
            lines.push(format!("tls {} {}", word(certificate), word(key)));
        }
        lines.extend(self.settings);
        let mut last = Lines::new();
        if self.php.runs || self.root.is_some() {
            // A module of Apache runs PHP in all sites, without a directive in any of them: only sending files would
            // reveal its source.
            if !self.php.runs {
                last.push(
                    "# `file_server` in place of this serves files alone, scripts as text."
                        .to_owned(),
                );
            }
            last.extend(self.php.lines());
        }
        let mut ordered = self.guards;
        ordered.extend(self.ordered);
        if ordered.is_empty() {
            lines.append(&mut last);
        } else if ordered.len() == 1 && is_terminal(&ordered[0]) {
            lines.append(&mut ordered);
        } else {
            // `handle` takes all requests that the previous ones have not taken.
            if ordered.iter().any(|line| line.starts_with("handle")) {
                if !ordered.iter().any(|line| line == "handle {") {
                    ordered.extend(block("handle", last));
                }
            } else {
                ordered.append(&mut last);
            }
            lines.extend(block("route", ordered));
        }
        lines.extend(self.errors);
        lines
    }
}

/// A section whose directives count if the server has a module, a version or a definition.
pub(super) fn is_condition(directive: &Directive) -> bool {
    let names = ["IfModule", "IfVersion", "IfDefine"];
    names
        .iter()
        .any(|name| directive.name.eq_ignore_ascii_case(name))
        && !directive.argument(0).starts_with('!')
}

/// `path` and `path_regexp` as functions of an expression.
fn call(matcher: &str) -> String {
    let (name, rest) = matcher.split_once(' ').unwrap_or((matcher, ""));
    format!(
        "{name}('{}')",
        rest.trim_matches(['"', '`'])
            .replace('\\', "\\\\")
            .replace('\'', "\\'")
    )
}

fn regex_escape(text: &str) -> String {
    let mut result = String::new();
    for c in text.chars() {
        if ".+*?()|[]{}^$\\".contains(c) {
            result.push('\\');
        }
        result.push(c);
    }
    result
}
