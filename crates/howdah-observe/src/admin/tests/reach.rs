//! Who can reach the admin API, and which requests are permitted from where.

use super::*;

#[test]
fn unix_sockets() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("admin.sock");
    let address = format!("unix/{}", path.display());
    let mut server = Server::start(&address);
    assert_eq!(server.request("GET", "/health").status, 200);
    let mode = std::fs::metadata(&path)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    {
        let runtime = server.runtime.as_ref().expect("it runs");
        let _inside = runtime.enter();
        let error = Admin::bind(&server.address).expect_err("taken");
        assert!(matches!(error, BindError::InUse(_)), "{error}");
    }
    server.end();
    assert!(!path.exists(), "left behind");

    // What a killed server leaves.
    drop(std::os::unix::net::UnixListener::bind(&path).expect("bound"));
    assert!(path.exists());
    let server = Server::start(&address);
    assert_eq!(server.request("GET", "/health").status, 200);
    drop(server);

    std::fs::write(&path, "precious").expect("written");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let _inside = runtime.enter();
    let error = Admin::bind(&address.parse().expect("valid")).expect_err("not a socket");
    assert!(error.to_string().contains("is not a socket"), "{error}");
    assert_eq!(std::fs::read(&path).expect("still there"), b"precious");
}

#[test]
fn reports_that_no_server_responds() {
    // Bound, so that the port is reserved, and not listened on.
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
    let closed = socket.expect("a socket");
    let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    closed.bind(&any.into()).expect("a port");
    let address = closed.local_addr().expect("bound").as_socket();
    let port = address.expect("an address of IPv4").port();
    let client = Client::new(format!("127.0.0.1:{port}").parse().expect("valid"));
    let error = client.request("GET", "/status", None).expect_err("refused");
    let expected =
        format!("no server answers at 127.0.0.1:{port}; is it running, and is `admin` on?");
    assert!(error.to_string().starts_with(&expected), "{error}");
}

#[test]
fn reports_that_something_else_responds() {
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address: AdminAddress = other
        .local_addr()
        .expect("bound")
        .to_string()
        .parse()
        .expect("valid");
    for (answer, what) in [
        ("220 mail\r\n", "not an admin API"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx",
            "did not respond",
        ),
    ] {
        let other = other.try_clone().expect("cloned");
        let served = std::thread::spawn(move || {
            let (mut stream, _) = other.accept().expect("accepted");
            let mut head = [0; 1024];
            let _ = stream.read(&mut head).expect("a request");
            stream.write_all(answer.as_bytes()).expect("sent");
        });
        let error = Client::new(address.clone())
            .request("GET", "/status", None)
            .expect_err("no answer");
        served.join().expect("no panic");
        assert!(error.to_string().contains(what), "{error}");
    }
}

#[test]
fn configurations() {
    let server = Server::start("localhost:0");
    let load = |kind: &str, text: &str| {
        let length = text.len();
        server.raw(&format!(
            "POST /load HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{text}"
        ))
    };
    let status = |answer: &str| answer.get(9..12).map(str::to_owned);
    assert_eq!(
        status(&load("text/caddyfile", ":80")).as_deref(),
        Some("200")
    );
    let with_charset = load("Text/Caddyfile; charset=utf-8", "nonsense");
    assert_eq!(status(&with_charset).as_deref(), Some("400"));
    assert!(with_charset.contains("Caddyfile:1:1"), "{with_charset}");
    assert_eq!(
        status(&load("application/json", "{}")).as_deref(),
        Some("415")
    );
    let named = server.request("POST", "/reload?config=%2Fsrv%2FCaddyfile");
    assert_eq!(named.status, 200);
    let expected = [
        Configuration::Text(":80".into()),
        Configuration::Text("nonsense".into()),
        Configuration::File("/srv/Caddyfile".into()),
    ];
    let configured = server.fake.configured.lock().expect("no panic").clone();
    assert_eq!(configured, expected);
}

#[test]
fn orders_that_php_may_not_give_over_tcp() {
    let dir = tempfile::tempdir().expect("a directory");
    let socket = format!("unix/{}", dir.path().join("admin.sock").display());
    for (address, is_php_restricted, load, other) in [
        ("localhost:0", false, 200, 403),
        ("localhost:0", true, 403, 403),
        (socket.as_str(), true, 200, 200),
    ] {
        let server = Server::start(address);
        server
            .fake
            .is_php_restricted
            .store(is_php_restricted, Ordering::Relaxed);
        let status = |method, target| server.request(method, target).status;
        let loaded = server.client().load(":80").expect("a response");
        assert_eq!(loaded.status, load, "{address}");
        assert_eq!(
            loaded.status == 403,
            loaded.error().contains("admin unix//PATH")
        );
        assert_eq!(status("GET", "/config"), load, "{address}");
        assert_eq!(
            status("POST", "/reload?config=/etc/shadow"),
            other,
            "{address}"
        );
        let taken = server.fake.configured.lock().expect("no panic").len();
        assert_eq!(taken, usize::from(load == 200) + usize::from(other == 200));
        // What Octane and `howdah reload` need.
        assert_eq!(status("POST", "/reload?config=/srv/Caddyfile"), 200);
        assert_eq!(status("POST", "/reload"), 200);
        assert_eq!(status("GET", "/config/apps/frankenphp"), 200);
        assert_eq!(status("PATCH", "/config/apps/frankenphp"), 200);
        assert_eq!(status("POST", "/stop"), 200);
    }
}

#[test]
fn addresses_that_other_machines_reach() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let _inside = runtime.enter();
    for (address, local) in [
        ("localhost:0", true),
        ("127.0.0.1:0", true),
        ("0.0.0.0:0", false),
    ] {
        let admin = Admin::bind(&address.parse().expect("valid")).expect("a free port");
        assert_eq!(admin.is_local(), local, "{address}");
    }
}

/// Twice as many connections as allowed send half a request and no more.
#[test]
fn silent_connections_do_not_block_others() {
    let server = Server::start("127.0.0.1:0");
    let mut silent: Vec<_> = (0..128)
        .map(|_| {
            let mut stream =
                TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("accepted");
            // Fails for connections that are already dropped.
            let _ = stream.write_all(
                b"POST /reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n",
            );
            stream
        })
        .collect();
    let began = std::time::Instant::now();
    assert_eq!(server.request("GET", "/status").status, 200);
    assert!(
        began.elapsed() < Duration::from_secs(8),
        "{:?}",
        began.elapsed()
    );
    // The first one was dropped.
    silent[0]
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("set");
    assert!(matches!(silent[0].read(&mut [0]), Ok(0) | Err(_)));
    assert!(server.reloads().is_empty());
}
