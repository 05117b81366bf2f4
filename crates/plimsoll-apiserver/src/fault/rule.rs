//! The rules, as tests and the control endpoint write them.

use http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::{request::Request, status::ApiError};

/// A fault and the requests it befalls.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// Which requests.
    #[serde(default, rename = "match")]
    pub matching: Match,
    /// What goes wrong.
    pub action: Action,
    /// Matching requests to let pass first.
    #[serde(default)]
    pub skip: u64,
    /// How often to fire; forever when absent.
    #[serde(default)]
    pub times: Option<u64>,
    /// Chance of firing, 0 to 1; always when absent.
    #[serde(default)]
    pub probability: Option<f64>,
}

impl Rule {
    /// A rule that always fires on what matches.
    pub fn new(matching: Match, action: Action) -> Self {
        Self {
            matching,
            action,
            skip: 0,
            times: None,
            probability: None,
        }
    }

    /// The same rule, firing this often at most.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }
}

/// Which requests a rule befalls: those for which every part that is given holds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Match {
    /// Verbs: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`. Empty: all.
    pub verbs: Vec<String>,
    /// Plural name, with the group behind a dot outside the core group (`leases.coordination.k8s.io`).
    pub resource: Option<String>,
    /// Subresource; the empty string is the object itself.
    pub subresource: Option<String>,
    /// Namespace.
    pub namespace: Option<String>,
    /// Name of the object.
    pub name: Option<String>,
    /// A part of the `User-Agent`.
    pub user_agent: Option<String>,
}

impl Match {
    /// Requests with one of these verbs.
    pub fn verbs(verbs: &[&str]) -> Self {
        Self {
            verbs: verbs.iter().map(|v| (*v).to_owned()).collect(),
            ..Self::default()
        }
    }

    /// Narrows to a kind.
    #[must_use]
    pub fn resource(mut self, group_resource: &str) -> Self {
        self.resource = Some(group_resource.to_owned());
        self
    }

    /// Narrows to a subresource.
    #[must_use]
    pub fn subresource(mut self, subresource: &str) -> Self {
        self.subresource = Some(subresource.to_owned());
        self
    }

    /// Narrows to a name.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Narrows to clients whose `User-Agent` contains this.
    #[must_use]
    pub fn user_agent(mut self, part: &str) -> Self {
        self.user_agent = Some(part.to_owned());
        self
    }

    pub(crate) fn matches(&self, request: &Request) -> bool {
        let same = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|w| w == is);
        let agent = self
            .user_agent
            .as_deref()
            .is_none_or(|part| request.user_agent.contains(part));
        let verb = self.verbs.is_empty() || self.verbs.iter().any(|v| v == request.verb());
        let target = if let Some(target) = &request.target {
            self.resource
                .as_deref()
                .is_none_or(|wanted| wanted == target.resource.group_resource())
                && same(&self.subresource, &target.subresource)
                && same(&self.namespace, &target.namespace)
                && same(&self.name, &target.name)
        } else {
            let parts = [&self.resource, &self.subresource, &self.namespace, &self.name];
            parts.iter().all(|part| part.is_none())
        };
        agent && verb && target
    }
}

/// What goes wrong.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Action {
    /// The request waits this long before anything else happens.
    Latency {
        /// Milliseconds.
        millis: u64,
    },
    /// The request waits until the gate is released.
    Hold {
        /// Name of the gate.
        gate: String,
    },
    /// The request is refused; nothing is applied.
    Fail {
        /// The answer.
        #[serde(flatten)]
        failure: Failure,
    },
    /// The request is applied, and yet answered with a failure.
    FailAfter {
        /// The answer.
        #[serde(flatten)]
        failure: Failure,
    },
    /// The request is applied and its connection closed without an answer.
    LoseReply,
    /// The request is applied this long after it arrived, even when its client has given up by then, but never later
    /// than its `timeout` parameter allows. A client that still waits at that time-out is answered 504.
    ApplyLate {
        /// Milliseconds.
        millis: u64,
    },
    /// The watch breaks off in the middle of the line after so many events.
    CutWatch {
        /// Whole events before the cut; bookmarks count.
        after_events: u64,
    },
    /// Lists and watches at `resourceVersion=0` start from so many versions ago.
    StaleRead {
        /// Versions to go back, as far as the log reaches.
        versions: u64,
    },
    /// The watch opens with 200 and has an `ERROR` event as its only one.
    WatchError {
        /// The `Status` in the event.
        #[serde(flatten)]
        failure: Failure,
    },
    /// Bookmarks come at this period, instead of once a minute and before the end.
    BookmarkEvery {
        /// Milliseconds.
        millis: u64,
    },
}

/// A failure to answer with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// HTTP code; 410 reads `Expired`, 409 `Conflict`, 429 `TooManyRequests` and so on.
    pub code: u16,
    /// The message.
    #[serde(default = "injected")]
    pub message: String,
    /// Seconds for `Retry-After`.
    #[serde(default)]
    pub retry_after: Option<u32>,
}

fn injected() -> String {
    "injected fault".to_owned()
}

impl Failure {
    /// A failure with this code.
    pub fn code(code: u16) -> Self {
        Self {
            code,
            message: injected(),
            retry_after: None,
        }
    }

    /// The same failure with a `Retry-After` header.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    pub(super) fn to_error(&self) -> ApiError {
        let code = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let error = ApiError::with_code(code, self.message.clone());
        match self.retry_after {
            Some(seconds) => error.detail("retryAfterSeconds", seconds),
            None => error,
        }
    }
}
