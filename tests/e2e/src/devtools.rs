//! An open page in headless Chromium. Tests click in it, read it and take screenshots through the
//! browser's `DevTools` protocol, whose messages are JSON with a zero byte at the end.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use howdah_testkit::{PATIENCE, process};
use serde_json::{Value, json};

use crate::browser::{Browser, Running, quiet_flags};

/// The browser reads from descriptor 3 and writes to descriptor 4, which are ends of the pipes to
/// the test.
const PIPES: &str = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";

/// An open page.
#[derive(Debug)]
pub struct Page {
    input: ChildStdin,
    messages: Receiver<Value>,
    session: Option<String>,
    last_id: u64,
    /// Errors and warnings of the console, of the page's code and of the browser's policies.
    complaints: Vec<String>,
    _browser: Running,
}

impl Page {
    /// Opens an empty page.
    ///
    /// # Panics
    /// If the browser does not start.
    #[track_caller]
    pub fn open(browser: &Browser) -> Self {
        let scratch = tempfile::tempdir().expect("a directory");
        let mut command = Command::new("sh");
        command
            .args(["-c", PIPES])
            .arg(&browser.program)
            .args(quiet_flags(scratch.path()))
            .args(["--remote-debugging-pipe", "--hide-scrollbars"])
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut running = Running::spawn(command, scratch);
        let input = running.child.stdin.take().expect("a pipe");
        let output = running.child.stdout.take().expect("a pipe");
        let mut page = Self {
            input,
            messages: read(output),
            session: None,
            last_id: 0,
            complaints: Vec::new(),
            _browser: running,
        };
        let target = json!({"url": "about:blank"});
        let target = page.call("Target.createTarget", &target)["targetId"].clone();
        page.attach(&target);
        page
    }

    /// Waits for a window whose URL contains this text, and continues in it.
    ///
    /// # Panics
    /// Panics if no such window is opened in time.
    #[track_caller]
    pub fn switch_to(&mut self, part: &str) {
        self.session = None;
        let mut targets = Value::Null;
        let opened = process::wait_until(PATIENCE, || {
            targets = self.call("Target.getTargets", &json!({}))["targetInfos"].clone();
            find_window(&targets, part).is_some()
        });
        assert!(opened, "no window of {part}: {targets:#}");
        let target = find_window(&targets, part).expect("it is there");
        self.attach(&target["targetId"]);
        // A window has its URL before its document.
        let loaded = process::wait_until(PATIENCE, || {
            let tree = self.call("Page.getFrameTree", &json!({}));
            let url = tree["frameTree"]["frame"]["url"].as_str();
            url.is_some_and(|url| url.contains(part))
        });
        assert!(loaded, "{part} is not loaded");
    }

    #[track_caller]
    fn attach(&mut self, target: &Value) {
        let attach = json!({"targetId": target, "flatten": true});
        let session = self.call("Target.attachToTarget", &attach)["sessionId"].clone();
        self.session = session.as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Audits"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
    }

    /// Sets the size of the screen, and light or dark colors.
    pub fn set_screen(&mut self, width: u32, height: u32, is_dark: bool) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    /// Loads a URL.
    pub fn load(&mut self, url: &str) {
        self.call("Page.navigate", &json!({"url": url}));
    }

    /// Evaluates an expression. If it is a promise, returns its result.
    ///
    /// # Panics
    /// Panics if the expression throws.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({
            "expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true,
        });
        let result = self.call("Runtime.evaluate", &asked);
        let thrown = &result["exceptionDetails"];
        assert!(thrown.is_null(), "{expression}: {thrown}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    ///
    /// # Panics
    /// Panics if it does not become true in time.
    #[track_caller]
    pub fn wait(&mut self, what: &str, expression: &str) {
        let limit = PATIENCE.as_millis();
        let is_true = self.value(&format!(
            "new Promise(resolve => {{
                const end = Date.now() + {limit};
                const look = () => {{
                    let is = false;
                    try {{ is = Boolean({expression}); }} catch {{ }}
                    is || Date.now() > end ? resolve(is) : setTimeout(look, 50);
                }};
                look();
            }})"
        ));
        if is_true != true {
            let text =
                self.value("document.body?.innerText ?? document.documentElement.textContent");
            panic!("{what}: {expression}: {:?}\n{text}", self.complaints);
        }
    }

    /// Saves a screenshot.
    ///
    /// # Panics
    /// Panics if the file cannot be written.
    pub fn photograph(&mut self, file: &Path) {
        let picture = self.call("Page.captureScreenshot", &json!({"format": "png"}));
        let picture = picture["data"].as_str().expect("base64");
        let picture = STANDARD.decode(picture).expect("base64");
        fs::write(file, picture).expect("written");
    }

    /// Errors of the console and of scripts, and violations of the page's policy, so far.
    pub fn complaints(&mut self) -> &[String] {
        // Messages that the browser sent before this response have been received with it.
        self.value("1");
        &self.complaints
    }

    #[track_caller]
    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).expect("the browser listens");
        loop {
            let heard = self.messages.recv_timeout(PATIENCE * 2);
            let heard = heard.unwrap_or_else(|error| panic!("{method}: no answer: {error}"));
            if heard["id"] == id {
                assert!(heard["error"].is_null(), "{method}: {}", heard["error"]);
                return heard["result"].clone();
            }
            self.hear(&heard);
        }
    }

    fn hear(&mut self, event: &Value) {
        let params = &event["params"];
        let complaint = match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" | "Audits.issueAdded" => Some(params.to_string()),
            "Runtime.consoleAPICalled" if params["type"] != "log" => Some(params.to_string()),
            "Log.entryAdded" if params["entry"]["level"] == "error" => {
                Some(params["entry"].to_string())
            }
            _ => None,
        };
        self.complaints.extend(complaint);
    }
}

fn find_window<'a>(targets: &'a Value, part: &str) -> Option<&'a Value> {
    let mut targets = targets.as_array()?.iter();
    targets.find(|own| {
        own["type"] == "page" && own["url"].as_str().is_some_and(|url| url.contains(part))
    })
}

/// Receives messages until the pipe is closed.
fn read(output: ChildStdout) -> Receiver<Value> {
    let (sender, messages) = mpsc::channel();
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut message = Vec::new();
        while output
            .read_until(0, &mut message)
            .is_ok_and(|read| read > 0)
        {
            message.pop();
            let parsed = serde_json::from_slice(&message).unwrap_or_default();
            if sender.send(parsed).is_err() {
                break;
            }
            message.clear();
        }
    });
    messages
}
