//! The directives of a site.

use std::path::Path;

use howdah_config::Files;

use super::expiry::{by_type, seconds};
use super::header::{request_change, response_change};
use super::php::Php;
use super::proxy::{remote_fcgi, reverse_proxy};
use super::redirect::{redirect, redirect_match};
use super::rewrite::Rules;
use super::section::{Access, Alias, Scope};
use super::syntax::{parse, quoted};
use crate::directive::Directive;
use crate::output::{FORBIDDEN, Lines, MatcherNames, Notes, block, is_terminal, word};

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
    /// Numbers, or environment variables.
    ports: Vec<String>,
    bind: Vec<String>,
    hosts: Vec<String>,
    is_tls: bool,
    certificate: [Option<String>; 2],
    root: Option<String>,
    aliases: Vec<Alias>,
    php: Php,
    rules: Rules,
    /// Directives whose order does not count.
    settings: Lines,
    /// Those that may end a request, in their order.
    ordered: Lines,
    /// Access rules, before all of them.
    guards: Lines,
    /// Those of the document root, and the depth of their folder.
    root_guards: (usize, Lines),
    /// Line of `SSLVerifyClient`, and the mode.
    client_auth: Option<(usize, &'static str)>,
    /// File of the authorities of client certificates.
    authority: Option<String>,
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
            root_guards: (0, Lines::new()),
            client_auth: None,
            authority: None,
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
            let is_port = port.parse::<u16>().is_ok() || port.starts_with("{$");
            self.ports
                .push(if is_port { port } else { "80" }.to_owned());
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
        for port in &self.ports {
            let tls = self.is_tls || port == "443";
            if self.hosts.is_empty() {
                all.push(format!("{}://:{port}", if tls { "https" } else { "http" }));
            }
            for host in &self.hosts {
                all.push(match (tls, port.as_str()) {
                    (true, "443") => host.clone(),
                    (false, "80") => format!("http://{host}"),
                    (true, _) => format!("https://{host}:{port}"),
                    (false, _) => format!("http://{host}:{port}"),
                });
            }
        }
        all.dedup();
        all.join(", ")
    }

    pub(super) fn read(&mut self, directives: &[Directive]) {
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
    pub(super) fn roots(&mut self, directives: &[Directive]) {
        for own in directives {
            match own.name.to_ascii_lowercase().as_str() {
                "documentroot" => self.root = Some(own.argument(0).to_owned()),
                "alias" => self.aliases.push(Alias {
                    path: own.argument(0).to_owned(),
                    target: own.argument(1).to_owned(),
                }),
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
                "ifmodule" if own.argument(0).starts_with('!') => {}
                "requireall" | "requireany" => self.block(own.children(), scope, access),
                _ if is_condition(own) => self.block(own.children(), scope, access),
                "directory" | "directorymatch" | "location" | "locationmatch" | "files"
                | "filesmatch" | "limit" | "limitexcept" => self.section(own, scope),
                "if" | "elseif" | "else" | "proxy" | "proxymatch" => self.unknown(own, scope),
                "requirenone" | "sslrequire" => access.refuse(own),
                "order" => access.order(own),
                "require" | "deny" | "allow" => access.rule(own),
                "authname" => access.realm = Some(own.argument(0).to_owned()),
                "authuserfile" => access.file = Some(own.argument(0).to_owned()),
                "sslrequiressl" => {
                    if !self.is_encrypted() {
                        access.refuse(own);
                    }
                }
                "sslverifyclient" => self.client_certificate(own, scope, access),
                "sslcacertificatefile" => self.authority = Some(own.argument(0).to_owned()),
                _ => self.directive(own, scope),
            }
        }
    }

    fn is_encrypted(&self) -> bool {
        self.is_tls || self.ports.iter().any(|port| port == "443")
    }

    /// `SSLVerifyClient`
    fn client_certificate(&mut self, own: &Directive, scope: &Scope, access: &mut Access) {
        match own.argument(0).to_ascii_lowercase().as_str() {
            "none" => {}
            "require" if *scope != Scope::Site || self.below => access.refuse(own),
            "require" => self.client_auth = Some((own.line, "require_and_verify")),
            "optional" if *scope == Scope::Site => {
                self.client_auth = Some((own.line, "verify_if_given"));
            }
            _ => self.note(own, ""),
        }
    }

    /// A section whose requests no matcher describes. If it restricts access, all requests around it are denied.
    fn unknown(&mut self, section: &Directive, around: &Scope) {
        if Access::of(section.children()).restricts() {
            let mut access = Access::default();
            access.refuse(section);
            let lines = access.lines(around, &mut self.names, self.files, self.notes);
            self.guards.extend(lines);
        } else if !section.name.to_ascii_lowercase().starts_with("proxy") {
            self.note(section, "write it with a matcher");
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
            Scope::Unknown => self.unknown(section, around),
            Scope::Above(depth) => {
                let mut access = Access::default();
                // Its other settings are for the whole server.
                let own = section.children().iter().filter(|own| is_access(own));
                let own: Vec<_> = own.cloned().collect();
                self.block(&own, &Scope::Site, &mut access);
                self.guard_root(depth, access);
            }
            scope => {
                let mut access = Access::default();
                let is_folder = section.name.eq_ignore_ascii_case("Directory");
                let around = self.below;
                self.below |= is_folder;
                self.block(section.children(), &scope, &mut access);
                self.below = around;
                if is_folder && scope == Scope::Site {
                    return self.guard_root(usize::MAX, access);
                }
                let lines = access.lines(&scope, &mut self.names, self.files, self.notes);
                self.guards.extend(lines);
            }
        }
    }

    /// The access rules of a folder that is or contains the document root; those of the innermost count.
    fn guard_root(&mut self, depth: usize, access: Access) {
        if access.is_given() && self.root_guards.0 <= depth {
            let lines = access.lines(&Scope::Site, &mut self.names, self.files, self.notes);
            self.root_guards = (depth, lines);
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
        if let Some(host) = remote_fcgi(text) {
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
            "servername" => self.hosts.insert(0, host_of(first).to_owned()),
            "serveralias" => self.hosts.extend(own.arguments.iter().cloned()),
            "documentroot" => self.settings.push(format!("root * {}", word(first))),
            "allowoverride" if *scope == Scope::Site => {
                self.overrides = (!first.eq_ignore_ascii_case("none")).then_some(own.line);
            }
            "dav" if first.eq_ignore_ascii_case("off") => {}
            "fallbackresource" if first == "disabled" => self.no_front(scope),
            "directoryindex" if first == "disabled" => {}
            "directoryindex" => self.php.index.clone_from(&own.arguments),
            "fallbackresource" => {
                self.php.front = Some(first.trim_start_matches('/').to_owned());
                self.php.runs = true;
            }
            "rewritecond" => self.rules.condition(own),
            "rewriterule" => self.rewrite_rule(own, scope),
            "redirect" | "redirectpermanent" | "redirecttemp" => {
                let lines = redirect(own, &mut self.names);
                self.order(own, lines.ok_or(""));
            }
            "redirectmatch" => {
                let lines = redirect_match(own, &mut self.names);
                self.order(own, lines);
            }
            "alias" => self.ordered.extend(alias(first, second)),
            "header" => self.set(own, scope, "header", response_change(own)),
            "requestheader" => self.set(own, scope, "request_header", request_change(own)),
            "options" => self.options(own, scope),
            "sethandler" | "addhandler" => self.sets_handler(own, scope),
            "action" | "fcgidwrapper" => self.php.runs = true,
            "proxypass" => self.proxy(first, second, own, scope),
            "proxypassmatch" if second.starts_with("fcgi:") || second.starts_with("unix:") => {
                self.upstream(second);
            }
            "allowoverride" | "proxypreservehost" => {}
            "php_value" | "php_flag" | "php_admin_value" | "php_admin_flag" => {
                self.php_setting(own, scope);
            }
            "setenv" => self.php.env.push(format!("env {first} {}", word(second))),
            "setenvif" | "setenvifnocase" | "cgipassauth" | "passenv"
                if own.to_string().contains("uthorization") || name == "cgipassauth" => {}
            "errordocument" => self.error_document(own),
            "sslengine" => self.is_tls |= first.eq_ignore_ascii_case("on"),
            "sslcertificatefile" => self.certificate[0] = Some(first.to_owned()),
            "sslcertificatekeyfile" => self.certificate[1] = Some(first.to_owned()),
            "sslcertificatechainfile" => self.note(own, "append it to the certificate's file"),
            "customlog" | "transferlog" => self.log(own),
            "limitrequestbody" if first == "0" => {}
            "limitrequestbody" => {
                let lines = block("request_body", vec![format!("max_size {first}B")]);
                self.settings.extend(lines);
            }
            "addoutputfilterbytype" | "setoutputfilter"
                if own.to_string().to_ascii_lowercase().contains("deflate")
                    || own.to_string().to_ascii_lowercase().contains("brotli") =>
            {
                self.encode();
            }
            "expiresdefault" => {
                let change = seconds(&own.arguments);
                let change = change.map(|seconds| format!("?Cache-Control max-age={seconds}"));
                self.set(own, scope, "header", change);
            }
            "expiresbytype" => match by_type(own, &mut self.names) {
                Some(lines) => self.settings.extend(lines),
                None => self.note(own, ""),
            },
            "include" | "includeoptional" if first.contains("letsencrypt") => {}
            _ => self.note(own, ""),
        }
    }

    /// A setting of headers; without a change the directive has no counterpart.
    fn set(&mut self, own: &Directive, scope: &Scope, name: &str, change: Option<String>) {
        match change {
            Some(change) => {
                let lines = self.with(scope, name, &change);
                self.settings.extend(lines);
            }
            None => self.note(own, ""),
        }
    }

    /// Lines that may end a request, or the reason for a note.
    fn order(&mut self, own: &Directive, lines: Result<Lines, &str>) {
        match lines {
            Ok(lines) => self.ordered.extend(lines),
            Err(why) => self.note(own, why),
        }
    }

    /// `FallbackResource disabled`
    fn no_front(&mut self, scope: &Scope) {
        if let Scope::Matcher(_) = scope {
            let mut lines = self.with(scope, "php_server", "{");
            lines.push("try_files {path} =404".to_owned());
            lines.push("}".to_owned());
            self.ordered.extend(lines);
        }
    }

    fn rewrite_rule(&mut self, own: &Directive, scope: &Scope) {
        let below = self.below || *scope != Scope::Site;
        self.rules
            .rule(own, below, &mut self.php, &mut self.names, self.notes);
        let lines = std::mem::take(&mut self.rules.lines);
        self.ordered.extend(lines);
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
            && let Scope::Matcher(matcher) = scope
        {
            self.runs_no_scripts(matcher);
        } else {
            self.note(own, "");
        }
    }

    /// Scripts with this matcher are not run, nor sent as text.
    fn runs_no_scripts(&mut self, matcher: &str) {
        let both = vec![
            matcher.to_owned(),
            "path_regexp \\.(php|phtml|phar)".to_owned(),
        ];
        let name = self.names.next("scripts");
        self.guards.extend(block(&format!("@{name}"), both));
        self.guards.push(format!("error @{name} 403"));
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
            let mut lines = block("handle", self.php.lines());
            lines[0] = format!("handle {path}* {{");
            self.ordered.extend(lines);
            return;
        }
        if to.starts_with("fcgi:") || to.contains("|fcgi:") {
            if !path.trim_end_matches('/').is_empty() && !path.contains("php") {
                self.note(
                    own,
                    "PHP runs scripts by their paths; write a `rewrite` for this one",
                );
            }
            return self.upstream(to);
        }
        match reverse_proxy(path, to) {
            Some(lines) => self.ordered.extend(lines),
            None => self.note(own, ""),
        }
    }

    fn php_setting(&mut self, own: &Directive, scope: &Scope) {
        let value = match own.argument(1).to_ascii_lowercase().as_str() {
            "on" => "1".to_owned(),
            "off" => "0".to_owned(),
            _ => own.argument(1).to_owned(),
        };
        let is_engine = own.argument(0).eq_ignore_ascii_case("engine");
        match scope {
            Scope::Matcher(matcher) if is_engine && value == "0" => self.runs_no_scripts(matcher),
            Scope::Matcher(_) if is_engine => self.php.runs = true,
            Scope::Matcher(_) => self.note(
                own,
                "settings of PHP are for a whole site; set it in the script",
            ),
            _ => {
                self.php.runs = true;
                let line = format!("{}={value}", own.argument(0));
                if own.name.to_ascii_lowercase().starts_with("php_admin_") {
                    self.php.admin_values.push(line);
                } else {
                    self.php.values.push(line);
                }
            }
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
        self.settings.push("# Entries are JSON.".to_owned());
        self.settings
            .extend(block("log", vec![format!("output file {}", word(file))]));
    }

    /// `tls`, with what clients have to prove.
    fn tls(&mut self) -> Lines {
        let mut head = "tls".to_owned();
        if let [Some(certificate), Some(key)] = &self.certificate {
            head = format!("tls {} {}", word(certificate), word(key));
        }
        let client_auth = self.client_auth.filter(|_| self.is_encrypted());
        match (client_auth, &self.authority) {
            (Some((_, mode)), Some(file)) => {
                let trust_pool = format!("trust_pool file {}", word(file));
                block(
                    &head,
                    block("client_auth", vec![format!("mode {mode}"), trust_pool]),
                )
            }
            (Some((line, _)), None) => {
                let why = "SSLCACertificateFile is missing; the response is 403 until `tls` has `client_auth`";
                let note = self.notes.add(line, "SSLVerifyClient", why);
                self.guards.extend([note, FORBIDDEN.to_owned()]);
                Lines::from_iter((head != "tls").then_some(head))
            }
            (None, _) => Lines::from_iter((head != "tls").then_some(head)),
        }
    }

    pub(super) fn lines(mut self) -> Lines {
        let mut lines = Lines::new();
        if !self.bind.is_empty() {
            lines.push(format!("bind {}", self.bind.join(" ")));
        }
        lines.extend(self.tls());
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
        let mut ordered = self.root_guards.1;
        ordered.extend(self.guards);
        ordered.extend(handles_last(self.ordered));
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

/// Rules come before `handle`, which ends them: Apache applies them before it chooses an upstream or a folder.
fn handles_last(lines: Lines) -> Lines {
    let (mut rules, mut handles) = (Lines::new(), Lines::new());
    let (mut depth, mut in_handle) = (0, false);
    for line in lines {
        if depth == 0 {
            in_handle = line.starts_with("handle");
        }
        if line == "}" {
            depth -= 1;
        } else if line.ends_with('{') {
            depth += 1;
        }
        if in_handle { &mut handles } else { &mut rules }.push(line);
    }
    rules.extend(handles);
    rules
}

/// A section whose directives count if the server has a module, a version or a definition.
pub(super) fn is_condition(directive: &Directive) -> bool {
    let names = ["IfModule", "IfVersion", "IfDefine"];
    names
        .iter()
        .any(|name| directive.name.eq_ignore_ascii_case(name))
        && !directive.argument(0).starts_with('!')
}

/// Whether a directive is about access, or a section that may have such ones.
fn is_access(directive: &Directive) -> bool {
    let name = directive.name.to_ascii_lowercase();
    let starts = [
        "require",
        "auth",
        "files",
        "limit",
        "ssl",
        "ifmodule",
        "ifversion",
        "ifdefine",
    ];
    ["order", "allow", "deny"].contains(&name.as_str())
        || starts.iter().any(|start| name.starts_with(start)) && name != "limitrequestbody"
}

/// The host of a `ServerName`.
fn host_of(name: &str) -> &str {
    let host = name
        .trim_start_matches("https://")
        .trim_start_matches("http://");
    host.split(':').next().unwrap_or_default()
}

/// `Alias`
fn alias(path: &str, folder: &str) -> Lines {
    let path = format!("{}*", path.trim_end_matches('/'));
    let lines = vec![
        format!("root * {}", word(folder.trim_end_matches('/'))),
        "php_server".to_owned(),
    ];
    block(&format!("handle_path {}", word(&path)), lines)
}

/// `path`, `path_regexp`, `method` and what is made of them as functions of an expression.
fn call(matcher: &str) -> String {
    if let Some(inner) = matcher.strip_prefix("not ") {
        return format!("!{}", call(inner));
    }
    if let Some(methods) = matcher.strip_prefix("method ") {
        let methods: Vec<_> = methods
            .split(' ')
            .map(|method| format!("'{method}'"))
            .collect();
        return format!("method({})", methods.join(", "));
    }
    if let Some(inner) = matcher.strip_prefix("expression ") {
        return format!("({})", inner.trim_matches(['"', '`']));
    }
    let (name, rest) = matcher.split_once(' ').unwrap_or((matcher, ""));
    format!(
        "{name}('{}')",
        rest.trim_matches(['"', '`'])
            .replace('\\', "\\\\")
            .replace('\'', "\\'")
    )
}
