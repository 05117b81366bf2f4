//! A way to the API servers that can be cut: TCP connections are passed on, bytes are not looked at.
//!
//! ```text
//!              ┌── link 0 ──► kube-apiserver
//!  client ──► Proxy                            a link is open, silent or reset, each by itself
//!              └── link 1 ──► kube-apiserver-2
//! ```

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::Context;
use futures::future::{Either, select};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Which API server a new connection goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// One after the other, whatever their state is, as a virtual address without health checks does.
    RoundRobin,
    /// The next one that is not cut and takes the connection.
    Working,
}

/// How a link is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Nothing passes and nobody is told. What was sent meanwhile passes once the link is mended, as TCP sends it again,
    /// unless the sender has reset its connection.
    Silent,
    /// Connections end with a reset, new ones too.
    Reset,
}

/// A running proxy on a port of 127.0.0.1. Dropping it ends every connection. It must be made inside a Tokio runtime.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    routes: Arc<Routes>,
    _task: JoinSet<()>,
}

#[derive(Debug)]
struct Routes {
    links: Vec<Link>,
    next: AtomicUsize,
    looks: AtomicBool,
}

#[derive(Debug)]
struct Link {
    port: u16,
    cut: watch::Sender<Option<Cut>>,
}

/// The connection is to be reset.
struct Broken;

impl Proxy {
    /// Starts one in front of these ports of 127.0.0.1.
    pub async fn start(targets: impl IntoIterator<Item = u16>, balance: Balance) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let link = |port| Link {
            port,
            cut: watch::Sender::new(None),
        };
        let routes = Arc::new(Routes {
            links: targets.into_iter().map(link).collect(),
            next: AtomicUsize::new(0),
            looks: AtomicBool::new(balance == Balance::Working),
        });
        let mut task = JoinSet::new();
        task.spawn(serve(listener, Arc::clone(&routes)));
        Ok(Self {
            port,
            routes,
            _task: task,
        })
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How new connections find their API server from now on.
    pub fn balance(&self, balance: Balance) {
        self.routes.looks.store(balance == Balance::Working, Ordering::Relaxed);
    }

    /// Cuts the link to the API server at that place.
    pub fn cut(&self, place: usize, how: Cut) -> anyhow::Result<()> {
        let link = self.routes.links.get(place).context("no such link")?;
        link.cut.send_replace(Some(how));
        Ok(())
    }

    /// Mends every link.
    pub fn mend(&self) {
        for link in &self.routes.links {
            link.cut.send_replace(None);
        }
    }
}

async fn serve(listener: TcpListener, routes: Arc<Routes>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        if let Ok((client, _)) = listener.accept().await {
            let routes = Arc::clone(&routes);
            connections.spawn(async move {
                let _ = client.set_nodelay(true);
                match routes.connect().await {
                    Some((server, cut)) => pass_on(client, server, cut).await,
                    None => drop(client.set_zero_linger()),
                }
            });
        }
    }
}

impl Routes {
    /// A connection to one of the API servers; none when it is refused, or cut off loudly.
    async fn connect(&self) -> Option<(TcpStream, watch::Receiver<Option<Cut>>)> {
        let looks = self.looks.load(Ordering::Relaxed);
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let tries = if looks { self.links.len() } else { 1 };
        for place in first..first + tries {
            let link = &self.links[place % self.links.len()];
            let mut cut = link.cut.subscribe();
            if looks && cut.borrow().is_some() {
                continue;
            }
            if passable(&mut cut).await.is_err() {
                return None;
            }
            if let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, link.port)).await {
                let _ = server.set_nodelay(true);
                return Some((server, cut));
            }
        }
        None
    }
}

async fn pass_on(client: TcpStream, server: TcpStream, cut: watch::Receiver<Option<Cut>>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let there = Box::pin(pump(&mut from_client, &mut to_server, cut.clone()));
    let back = Box::pin(pump(&mut from_server, &mut to_client, cut));
    let outcome = match select(there, back).await {
        Either::Left((Ok(()), rest)) | Either::Right((Ok(()), rest)) => rest.await,
        Either::Left((broken, _)) | Either::Right((broken, _)) => broken,
    };
    if outcome.is_err() {
        let _ = from_client.as_ref().set_zero_linger();
        let _ = from_server.as_ref().set_zero_linger();
    }
}

/// Passes bytes on in one direction until its end.
async fn pump(
    from: &mut OwnedReadHalf,
    to: &mut OwnedWriteHalf,
    mut cut: watch::Receiver<Option<Cut>>,
) -> Result<(), Broken> {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let read = unless_reset(from.read(&mut bytes), &mut cut).await?;
        passable(&mut cut).await?;
        // A sender that has reset its connection meanwhile does not send again what was held up.
        if !matches!(from.as_ref().take_error(), Ok(None)) {
            return Err(Broken);
        }
        if read == 0 {
            return to.shutdown().await.map_err(|_| Broken);
        }
        unless_reset(to.write_all(&bytes[..read]), &mut cut).await?;
    }
}

/// Waits while the link is silent.
async fn passable(cut: &mut watch::Receiver<Option<Cut>>) -> Result<(), Broken> {
    match cut.wait_for(|cut| *cut != Some(Cut::Silent)).await.as_deref() {
        Ok(None) => Ok(()),
        Ok(Some(_)) | Err(_) => Err(Broken),
    }
}

async fn unless_reset<T>(
    work: impl Future<Output = std::io::Result<T>>,
    cut: &mut watch::Receiver<Option<Cut>>,
) -> Result<T, Broken> {
    let reset = Box::pin(cut.wait_for(|cut| *cut == Some(Cut::Reset)));
    match select(Box::pin(work), reset).await {
        Either::Left((outcome, _)) => outcome.map_err(|_| Broken),
        Either::Right(_) => Err(Broken),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A server that answers each byte with its name, for as long as it lives.
    async fn named(name: u8) -> (u16, JoinSet<()>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut client, _)) = listener.accept().await {
                connections.spawn(async move {
                    while client.read_u8().await.is_ok() && client.write_u8(name).await.is_ok() {}
                });
            }
        });
        (port, task)
    }

    async fn connect(proxy: &Proxy) -> TcpStream {
        TcpStream::connect((Ipv4Addr::LOCALHOST, proxy.port())).await.unwrap()
    }

    /// What the other side answers within a moment; `None` when nothing came.
    async fn ask(stream: &mut TcpStream) -> Option<std::io::Result<u8>> {
        stream.write_u8(0).await.ok()?;
        tokio::time::timeout(Duration::from_millis(300), stream.read_u8())
            .await
            .ok()
    }

    #[tokio::test]
    async fn connections_go_round_and_a_cut_one_is_avoided_where_that_is_known() {
        let ((a, _a), (b, _b)) = (named(b'a').await, named(b'b').await);
        let proxy = Proxy::start([a, b], Balance::RoundRobin).await.unwrap();
        let mut first = connect(&proxy).await;
        assert_eq!(ask(&mut first).await.unwrap().unwrap(), b'a');
        assert_eq!(ask(&mut connect(&proxy).await).await.unwrap().unwrap(), b'b');
        proxy.cut(0, Cut::Reset).unwrap();
        assert!(ask(&mut first).await.is_none_or(|answer| answer.is_err()));
        assert!(
            ask(&mut connect(&proxy).await)
                .await
                .is_none_or(|answer| answer.is_err())
        );
        proxy.balance(Balance::Working);
        for _ in 0..4 {
            assert_eq!(ask(&mut connect(&proxy).await).await.unwrap().unwrap(), b'b');
        }
    }

    #[tokio::test]
    async fn what_was_sent_into_silence_arrives_late_unless_the_sender_has_reset() {
        let (port, _server) = named(b'a').await;
        let proxy = Proxy::start([port], Balance::RoundRobin).await.unwrap();
        let (mut patient, mut gone) = (connect(&proxy).await, connect(&proxy).await);
        for stream in [&mut patient, &mut gone] {
            assert_eq!(ask(stream).await.unwrap().unwrap(), b'a');
        }
        proxy.cut(0, Cut::Silent).unwrap();
        assert!(ask(&mut patient).await.is_none());
        assert!(ask(&mut gone).await.is_none());
        gone.set_zero_linger().unwrap();
        drop(gone);
        proxy.mend();
        assert_eq!(patient.read_u8().await.unwrap(), b'a');
    }
}
