//! The way between one machine and the API server: it can be cut, in one direction or both, and takes its time.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http::header::{HeaderValue, USER_AGENT};
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use plimsoll_apiserver::{ApiBody, BodyCut};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use tokio::sync::Notify;
use tower::Service;

/// Open or cut. While it is cut nothing passes and nobody is told: requests wait before they are handed to the
/// connection, answers and watch events after they were sent. Clones share one state.
#[derive(Debug, Clone)]
pub struct Link(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Wakes who waits in the order in which they came: a `watch` does so in an order of chance, and no run would replay.
    mended: Notify,
}

#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fault of its own, and any may go with any"
)]
struct State {
    cut: bool,
    answers_cut: bool,
    pods_held: bool,
    volumes_held: bool,
    stopped: bool,
    delays: Delays,
    random: ChaCha8Rng,
    /// The kind, by its plural, whose next watch event kills who reads it.
    deadly: Option<String>,
}

/// How long requests and answers take, at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delays {
    /// From the client to the connection; the fence looks after that.
    pub before_sending: Duration,
    /// From the connection to the server: no longer than writes allow for.
    pub on_the_wire: Duration,
    /// From the server to the client.
    pub of_answers: Duration,
    /// Of so many requests and answers one takes a hundred times as long, but on the wire; none when zero.
    pub one_is_slow_of: u64,
}

/// Which stretch of the way.
#[derive(Clone, Copy)]
enum Stretch {
    BeforeSending,
    Wire,
    Answer,
    /// What a watch of pods says.
    PodEvents,
    /// What a watch of volumes, of claims or of what drivers say of nodes says.
    VolumeEvents,
}

impl Default for Link {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Link {
    /// An open way without delays; what they will be is drawn from the seed.
    pub fn new(seed: u64) -> Self {
        let state = State {
            cut: false,
            answers_cut: false,
            pods_held: false,
            volumes_held: false,
            stopped: false,
            delays: Delays::default(),
            random: ChaCha8Rng::seed_from_u64(seed),
            deadly: None,
        };
        Self(Arc::new(Shared {
            state: Mutex::new(state),
            mended: Notify::new(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets nothing pass.
    pub fn cut(&self) {
        self.lock().cut = true;
    }

    /// Lets requests reach the server and nothing come back.
    pub fn cut_answers(&self) {
        self.lock().answers_cut = true;
    }

    /// The connections that carry watches of pods stand still: what they say arrives once the link is mended.
    pub fn hold_pods(&self) {
        self.lock().pods_held = true;
    }

    /// The connections that carry watches of volumes and claims stand still, in the same way.
    pub fn hold_volumes(&self) {
        self.lock().volumes_held = true;
    }

    /// What watches of volumes and claims had to say arrives.
    pub fn release_volumes(&self) {
        self.lock().volumes_held = false;
        self.0.mended.notify_waiters();
    }

    /// The task that reads the next piece of a watch of this kind (its plural) panics over it.
    pub fn kill_reader_of(&self, plural: &str) {
        self.lock().deadly = Some(plural.to_owned());
    }

    /// What a reader goes through of what a watch of this kind says.
    fn strike(&self, watched: Option<&str>) {
        let mut state = self.lock();
        let struck = state.deadly.take_if(|plural| watched == Some(plural.as_str()));
        drop(state);
        assert!(struck.is_none(), "a fault of the test: this event kills who reads it");
    }

    /// Lets everything pass, what has waited first.
    pub fn mend(&self) {
        let mut state = self.lock();
        (state.cut, state.answers_cut) = (false, false);
        (state.pods_held, state.volumes_held) = (false, false);
        state.deadly = None;
        drop(state);
        self.0.mended.notify_waiters();
    }

    /// The process at this end stands still: it takes nothing and sends nothing.
    pub fn stop(&self) {
        self.lock().stopped = true;
    }

    /// The process goes on.
    pub fn resume(&self) {
        self.lock().stopped = false;
        self.0.mended.notify_waiters();
    }

    /// Whether it is cut in no direction.
    pub fn is_open(&self) -> bool {
        let state = self.lock();
        !state.cut && !state.answers_cut && !state.pods_held && !state.volumes_held
    }

    /// From now on requests and answers take so long.
    pub fn set_delays(&self, delays: Delays) {
        self.lock().delays = delays;
    }

    fn passes(&self, stretch: Stretch) -> bool {
        let state = self.lock();
        let back = matches!(stretch, Stretch::Answer | Stretch::PodEvents | Stretch::VolumeEvents);
        let held = match stretch {
            Stretch::PodEvents => state.pods_held,
            Stretch::VolumeEvents => state.volumes_held,
            Stretch::BeforeSending | Stretch::Wire | Stretch::Answer => false,
        };
        let cut = state.cut || (state.answers_cut && back);
        !cut && !held && !state.stopped
    }

    fn delay(&self, stretch: Stretch) -> Duration {
        let mut state = self.lock();
        let State { delays, random, .. } = &mut *state;
        let most = match stretch {
            Stretch::BeforeSending => delays.before_sending,
            Stretch::Wire => delays.on_the_wire,
            Stretch::Answer | Stretch::PodEvents | Stretch::VolumeEvents => delays.of_answers,
        };
        if most.is_zero() {
            return most;
        }
        let millis = u64::try_from(most.as_millis()).unwrap_or(0).max(1);
        let slow = !matches!(stretch, Stretch::Wire)
            && delays.one_is_slow_of > 0
            && random.next_u64().is_multiple_of(delays.one_is_slow_of);
        let most = if slow { 100 * millis } else { millis };
        Duration::from_millis(random.next_u64() % (most + 1))
    }

    async fn pass(&self, stretch: Stretch) {
        let delay = self.delay(stretch);
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        loop {
            // Made before the look, so that no mending falls between the two.
            let mended = self.0.mended.notified();
            if self.passes(stretch) {
                return;
            }
            mended.await;
        }
    }

    /// A request leaves the machine, when it can.
    pub(crate) async fn leave(&self) {
        self.pass(Stretch::BeforeSending).await;
    }

    /// Its answer comes in, when it can.
    pub(crate) async fn come_in(&self) {
        self.pass(Stretch::Answer).await;
    }

    /// How long this request takes from the connection to the server.
    pub(crate) fn wire_delay(&self) -> Duration {
        self.delay(Stretch::Wire)
    }
}

/// A service behind a link. It signs requests with the machine's name.
#[derive(Clone)]
pub struct Linked<S> {
    inner: S,
    link: Link,
    name: Arc<str>,
}

impl<S> Linked<S> {
    /// Puts `link` in front of `inner`.
    pub fn new(inner: S, link: Link, name: &str) -> Self {
        Self {
            inner,
            link,
            name: Arc::from(name),
        }
    }

    fn sign<B>(&self, request: &mut Request<B>) {
        let agent = request.headers().get(USER_AGENT);
        let agent = agent.and_then(|agent| agent.to_str().ok()).unwrap_or_default();
        if let Ok(signed) = HeaderValue::from_str(&format!("{agent} {}", self.name)) {
            request.headers_mut().insert(USER_AGENT, signed);
        }
    }
}

type Answer<E> = Pin<Box<dyn Future<Output = Result<Response<LinkedBody>, E>> + Send>>;

/// A body that comes through a link.
pub type LinkedBody = UnsyncBoxBody<Bytes, BodyCut>;

impl<S, B> Service<Request<B>> for Linked<S>
where
    S: Service<Request<B>, Response = Response<ApiBody>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    B: Send + 'static,
{
    type Response = Response<LinkedBody>;
    type Error = S::Error;
    type Future = Answer<S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Answer<S::Error> {
        self.sign(&mut request);
        let watched = watched_kind(&request);
        let mut inner = self.inner.clone();
        let link = self.link.clone();
        Box::pin(async move {
            link.pass(Stretch::BeforeSending).await;
            let answer = inner.call(request).await;
            link.pass(Stretch::Answer).await;
            answer.map(|response| response.map(|body| through(body, link, watched)))
        })
    }
}

/// The plural of what is watched.
fn watched_kind<B>(request: &Request<B>) -> Option<Arc<str>> {
    let uri = request.uri();
    let watches = uri.query().is_some_and(|query| query.contains("watch="));
    uri.path().rsplit('/').next().filter(|_| watches).map(Arc::from)
}

fn through(body: ApiBody, link: Link, watched: Option<Arc<str>>) -> LinkedBody {
    let stretch = match watched.as_deref() {
        Some("pods") => Stretch::PodEvents,
        Some("persistentvolumes" | "persistentvolumeclaims" | "csinodes") => Stretch::VolumeEvents,
        _ => Stretch::Answer,
    };
    let frames = stream::unfold((body, link, watched), move |(mut body, link, watched)| async move {
        let frame = body.frame().await;
        link.pass(stretch).await;
        if frame.is_some() {
            link.strike(watched.as_deref());
        }
        frame.map(|frame| (frame, (body, link, watched)))
    });
    StreamBody::new(frames).boxed_unsync()
}
