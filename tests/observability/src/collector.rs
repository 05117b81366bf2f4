//! A collector that does not do what it is there for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Takes connections, and no spans. Dropping it ends it.
#[derive(Debug)]
pub struct Collector {
    address: String,
    asked: Arc<AtomicUsize>,
    task: JoinSet<()>,
}

impl Collector {
    /// Takes connections and never answers.
    pub async fn hanging() -> anyhow::Result<Self> {
        Self::start(None).await
    }

    /// Answers every request over HTTP with 400.
    pub async fn refusing() -> anyhow::Result<Self> {
        Self::start(Some(
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        ))
        .await
    }

    /// An address at which nobody listens.
    pub fn down() -> anyhow::Result<String> {
        Ok(format!("http://127.0.0.1:{}", plimsoll_controlplane::free_port()?))
    }

    async fn start(answer: Option<&'static str>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut held = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                match answer {
                    // Kept open: the other side must not be told that nobody will answer.
                    None => held.push(stream),
                    Some(answer) => respond(stream, answer).await,
                }
            }
        });
        Ok(Self { address, asked, task })
    }

    /// Where it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// How many connections it has taken.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

/// Answers without waiting for the end of the request, as a proxy in front of a collector does.
async fn respond(mut stream: TcpStream, answer: &str) {
    let mut beginning = [0; 1024];
    if stream.read(&mut beginning).await.is_ok() {
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = stream.shutdown().await;
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.task.abort_all();
    }
}
