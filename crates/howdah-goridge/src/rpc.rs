//! Calls of RoadRunner's plugins: key-value stores, jobs, metrics, locks. None of them is supported, so each call is
//! refused with an error that names the plugin, and the first call of each is logged.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::frame::{HEADER_SIZE, Header, failed_call};

/// Connections at a time.
const CONNECTIONS_MAX: usize = 64;
/// Bytes of a call's payload.
const PAYLOAD_MAX: u32 = 16 << 20;
/// Bytes of the name of a method.
const METHOD_MAX: u32 = 256;
/// Options of a call: its number, and the size of the method's name.
const OPTIONS: u8 = 2;
/// Plugins that are remembered.
const PLUGINS_MAX: usize = 100;

/// Refuses calls until it is dropped.
#[derive(Debug)]
pub(crate) struct Rpc {
    /// The address in the format of `RR_RPC`.
    pub(crate) address: String,
    task: JoinHandle<()>,
}

impl Drop for Rpc {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Rpc {
    /// Listens on a free port of the loopback interface, for the workers of a pool.
    pub(crate) async fn start(pool: String) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = format!("tcp://{}", listener.local_addr()?);
        let task = tokio::spawn(listen(listener, Arc::new(Plugins::new(pool))));
        Ok(Self { address, task })
    }
}

async fn listen(listener: TcpListener, plugins: Arc<Plugins>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    // It is never closed.
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            // A shortage of descriptors may end soon.
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            continue;
        };
        let plugins = Arc::clone(&plugins);
        tokio::spawn(async move {
            // A client that sends something else is disconnected.
            let _ = refuse(stream, &plugins).await;
            drop(place);
        });
    }
}

/// The plugins that were called.
#[derive(Debug)]
struct Plugins {
    pool: String,
    called: Mutex<HashSet<String>>,
}

impl Plugins {
    fn new(pool: String) -> Self {
        let called = Mutex::default();
        Self { pool, called }
    }

    /// The error for a call of a method.
    fn error(&self, method: &str) -> String {
        let plugin = method.split('.').next().unwrap_or(method);
        let mut called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
        if called.len() < PLUGINS_MAX && called.insert(plugin.to_owned()) {
            tracing::warn!(target: "howdah::php", pool = self.pool, plugin, method, "the application calls a plugin \
                of RoadRunner that Howdah does not have: the call fails, and so do further ones");
        }
        format!(
            "plugin `{plugin}` is missing: Howdah runs RoadRunner's HTTP workers without its other plugins"
        )
    }
}

/// Refuses the calls of one connection until it is closed.
async fn refuse(mut stream: TcpStream, plugins: &Plugins) -> io::Result<()> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    loop {
        let mut header = [0; HEADER_SIZE];
        stream.read_exact(&mut header).await?;
        let header = Header::decode(&header).map_err(|_| invalid())?;
        if header.options != OPTIONS || header.payload > PAYLOAD_MAX {
            return Err(invalid());
        }
        let options = [stream.read_u32_le().await?, stream.read_u32_le().await?];
        let size = options[1];
        if size > METHOD_MAX.min(header.payload) {
            return Err(invalid());
        }
        let mut method = vec![0; size as usize];
        stream.read_exact(&mut method).await?;
        let mut arguments = (&mut stream).take(u64::from(header.payload - size));
        tokio::io::copy(&mut arguments, &mut tokio::io::sink()).await?;
        let error = plugins.error(&String::from_utf8_lossy(&method));
        let reply = failed_call(header.flags, options, &method, &error);
        stream.write_all(&reply).await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(method: &str, arguments: &str) -> Vec<u8> {
        let header = Header {
            flags: crate::frame::JSON,
            marks: 0,
            options: OPTIONS,
            payload: u32::try_from(method.len() + arguments.len()).expect("short"),
        };
        let size = u32::try_from(method.len()).expect("short").to_le_bytes();
        let parts = [
            &header.encode()[..],
            &7_u32.to_le_bytes(),
            &size,
            method.as_bytes(),
        ];
        [&parts.concat()[..], arguments.as_bytes()].concat()
    }

    #[tokio::test]
    async fn calls_are_refused_by_the_name_of_the_plugin() {
        let rpc = Rpc::start("app".into()).await.expect("listens");
        let address = rpc.address.strip_prefix("tcp://").expect("a URL");
        let mut stream = TcpStream::connect(address).await.expect("connects");
        for (method, plugin) in [("kv.Has", "kv"), ("jobs.Push", "jobs"), ("kv.Set", "kv")] {
            stream
                .write_all(&call(method, "{\"a\":1}"))
                .await
                .expect("sent");
            let mut header = [0; HEADER_SIZE];
            stream.read_exact(&mut header).await.expect("a reply");
            let header = Header::decode(&header).expect("valid");
            assert_eq!(header.flags, crate::frame::JSON | crate::frame::ERROR);
            let mut rest = vec![0; 8 + header.payload as usize];
            stream.read_exact(&mut rest).await.expect("all of it");
            assert_eq!(rest[..4], 7_u32.to_le_bytes());
            let text = String::from_utf8_lossy(&rest[8..]);
            let expected = format!("{method}plugin `{plugin}` is missing");
            assert!(text.starts_with(&expected), "{text}");
        }
        // A client with a different protocol is disconnected.
        let mut other = TcpStream::connect(address).await.expect("connects");
        other
            .write_all(b"GET / HTTP/1.1\r\n\r\n")
            .await
            .expect("sent");
        assert_eq!(other.read(&mut [0; 10]).await.unwrap_or_default(), 0);
    }
}
