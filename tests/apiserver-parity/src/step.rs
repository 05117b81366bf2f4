//! What a script is made of.

use serde_json::Value;

/// The body of a request.
#[derive(Clone, Debug)]
pub enum Body {
    /// None.
    Empty,
    /// JSON; `${name}` in its strings stands for a captured value.
    Json(Value),
    /// Text as it is, with `${name}` replaced.
    Text(&'static str),
}

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    /// HTTP method.
    pub method: &'static str,
    /// Path and query; `${name}` stands for a captured value.
    pub path: String,
    /// `Content-Type`.
    pub content_type: &'static str,
    /// `Accept`, `application/json` unless told.
    pub accept: &'static str,
    /// What is sent.
    pub body: Body,
    /// Variables to take from the answer: name and JSON pointer.
    pub captures: Vec<(&'static str, &'static str)>,
    /// The embedded server's answer need only be contained in the real one's.
    pub contained: bool,
}

impl Request {
    fn new(method: &'static str, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            content_type: "application/json",
            accept: "application/json",
            body: Body::Empty,
            captures: Vec::new(),
            contained: false,
        }
    }

    /// GET.
    pub fn get(path: impl Into<String>) -> Self {
        Self::new("GET", path)
    }

    /// POST of an object.
    pub fn post(path: impl Into<String>, body: Value) -> Self {
        Self::new("POST", path).json(body)
    }

    /// PUT of an object.
    pub fn put(path: impl Into<String>, body: Value) -> Self {
        Self::new("PUT", path).json(body)
    }

    /// DELETE.
    pub fn delete(path: impl Into<String>) -> Self {
        Self::new("DELETE", path)
    }

    /// Another method.
    pub fn method(method: &'static str, path: impl Into<String>) -> Self {
        Self::new(method, path)
    }

    /// PATCH with a merge patch.
    pub fn merge(path: impl Into<String>, body: Value) -> Self {
        Self::new("PATCH", path)
            .json(body)
            .content_type("application/merge-patch+json")
    }

    /// PATCH with a strategic merge patch.
    pub fn strategic(path: impl Into<String>, body: Value) -> Self {
        Self::new("PATCH", path)
            .json(body)
            .content_type("application/strategic-merge-patch+json")
    }

    /// PATCH with a JSON patch.
    pub fn json_patch(path: impl Into<String>, body: Value) -> Self {
        Self::new("PATCH", path)
            .json(body)
            .content_type("application/json-patch+json")
    }

    /// PATCH that applies a configuration.
    pub fn apply(path: impl Into<String>, body: Value) -> Self {
        Self::new("PATCH", path)
            .json(body)
            .content_type("application/apply-patch+yaml")
    }

    /// Sends this JSON.
    #[must_use]
    pub fn json(mut self, body: Value) -> Self {
        self.body = Body::Json(body);
        self
    }

    /// Sends this text.
    #[must_use]
    pub fn text(mut self, body: &'static str) -> Self {
        self.body = Body::Text(body);
        self
    }

    /// Sets `Content-Type`.
    #[must_use]
    pub fn content_type(mut self, content_type: &'static str) -> Self {
        self.content_type = content_type;
        self
    }

    /// Sets `Accept`.
    #[must_use]
    pub fn accept(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }

    /// Takes a variable from the answer.
    #[must_use]
    pub fn capture(mut self, name: &'static str, pointer: &'static str) -> Self {
        self.captures.push((name, pointer));
        self
    }

    /// The real server may answer more than the embedded one.
    #[must_use]
    pub fn contained(mut self) -> Self {
        self.contained = true;
        self
    }
}

/// One step of a script.
#[derive(Clone, Debug)]
pub enum Step {
    /// A request and its answer.
    Request(Request),
    /// Opens a watch and leaves it open.
    OpenWatch {
        /// Its name in the script.
        watch: &'static str,
        /// Path and query.
        path: String,
    },
    /// Reads events of an open watch.
    ReadWatch {
        /// Its name in the script.
        watch: &'static str,
        /// How many; `None` reads to the end and closes it.
        events: Option<usize>,
    },
    /// Makes the server forget all history up to now.
    Compact,
}

/// Named steps in order.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Name and step; names are unique.
    pub steps: Vec<(String, Step)>,
}

impl Script {
    /// Adds a request.
    pub fn send(&mut self, name: impl Into<String>, request: Request) {
        self.push(name.into(), Step::Request(request));
    }

    /// Opens a watch.
    pub fn open(&mut self, watch: &'static str, path: impl Into<String>) {
        let path = path.into();
        self.push(format!("open watch {watch}"), Step::OpenWatch { watch, path });
    }

    /// Reads so many events of an open watch.
    pub fn read(&mut self, watch: &'static str, events: usize) {
        let name = format!("read {events} events of watch {watch}");
        self.push(
            name,
            Step::ReadWatch {
                watch,
                events: Some(events),
            },
        );
    }

    /// Reads an open watch to its end.
    pub fn drain(&mut self, watch: &'static str) {
        self.push(format!("drain watch {watch}"), Step::ReadWatch { watch, events: None });
    }

    /// Opens a watch and reads it to its end, which the server's time-out in `path` brings.
    pub fn watch(&mut self, watch: &'static str, path: impl Into<String>) {
        self.open(watch, path);
        self.drain(watch);
    }

    /// Makes the server forget its history.
    pub fn compact(&mut self, name: &str) {
        self.push(name.to_owned(), Step::Compact);
    }

    /// How many requests the script sends, watches included.
    pub fn requests(&self) -> usize {
        let is_request = |step: &Step| matches!(step, Step::Request(_) | Step::OpenWatch { .. });
        self.steps.iter().filter(|(_, step)| is_request(step)).count()
    }

    fn push(&mut self, name: String, step: Step) {
        let times = self
            .steps
            .iter()
            .filter(|(n, _)| *n == name || n.starts_with(&format!("{name} #")))
            .count();
        let name = if times == 0 {
            name
        } else {
            format!("{name} #{}", times + 1)
        };
        self.steps.push((name, step));
    }
}
