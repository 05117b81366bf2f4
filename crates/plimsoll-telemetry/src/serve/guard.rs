use http::StatusCode;
use tokio_util::sync::CancellationToken;

use crate::api_status::ApiStatus;
use crate::authentication::Credentials;
use crate::authorization::Decision;
use crate::logs::V4;
use crate::page::{Page, error};
use crate::{Access, Asked, Authenticator, Authorizer};

/// Who may ask for what.
#[derive(Debug)]
pub struct Guard {
    /// Tells who asks.
    pub authenticator: Authenticator,
    /// Tells whether they may.
    pub authorizer: Authorizer,
}

impl Guard {
    /// What those are told who may not; nothing, if they may. The texts are kube-scheduler's.
    pub(super) async fn refusal(&self, credentials: Credentials<'_>, asked: &Asked) -> Option<Page> {
        let user = match self.authenticator.authenticate(credentials).await {
            Ok(user) => user,
            Err(why) => {
                tracing::error!(error = why, "Unable to authenticate the request");
                return Some(unauthorized(asked));
            }
        };
        let access = Access {
            user,
            verb: asked.method.as_str().to_lowercase(),
            path: asked.path.clone(),
        };
        match self.authorizer.decide(&access).await {
            Decision::Allowed => None,
            Decision::Forbidden { reason } => {
                tracing::debug!(name: V4, URI = asked.path, reason, "Forbidden");
                Some(forbidden(&access, &reason, asked))
            }
            Decision::Unknown(why) => {
                let told = sanitized(&format!("Internal Server Error: {:?}: {why}", asked.path));
                Some(error(StatusCode::INTERNAL_SERVER_ERROR, &told))
            }
        }
    }

    pub(super) async fn refresh(&self) {
        self.authenticator.refresh().await;
    }

    pub(super) async fn follow(&self, stop: &CancellationToken) {
        self.authenticator.follow(stop).await;
    }
}

fn unauthorized(asked: &Asked) -> Page {
    let status = ApiStatus {
        code: StatusCode::UNAUTHORIZED,
        reason: "Unauthorized",
        message: "Unauthorized".to_owned(),
        details: false,
    };
    status.page(&asked.headers, &asked.query)
}

fn forbidden(access: &Access, reason: &str, asked: &Asked) -> Page {
    let Access { user, verb, path } = access;
    let mut message = sanitized(&format!("User {:?} cannot {verb} path {path:?}", user.name));
    if !reason.is_empty() {
        message = format!("{message}: {reason}");
    }
    let status = ApiStatus {
        code: StatusCode::FORBIDDEN,
        reason: "Forbidden",
        message: format!("forbidden: {message}"),
        details: true,
    };
    status.page(&asked.headers, &asked.query)
}

/// A browser must not take what a sender chose for HTML.
fn sanitized(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
