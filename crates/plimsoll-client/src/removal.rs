use std::sync::Arc;
use std::time::Duration;

use plimsoll_model::{ObjectName, Pod};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::api_client::{NotSent, Reply, SendError, delete, post};
use crate::write::{Class, pod_path, status_text, timeout_query, wait_asked};
use crate::{ApiClient, TermToken};

/// The cause that the API server names when a disruption budget forbids an eviction; any other 429 is about load.
const BUDGET: &str = "DisruptionBudget";

/// The outcome of one request that a pod go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemovalReply {
    /// The pod is gone, or on its way with the time that it gives itself.
    Accepted,
    /// 404: there is no pod of this name.
    NotFound,
    /// 409: the pod of this name is most likely another one. Read it to tell.
    Conflict {
        /// The server's words.
        message: String,
    },
    /// A disruption budget forbids the eviction at present; certainly not removed.
    Forbidden {
        /// The server's words, the budget's among them.
        message: String,
    },
    /// Any other refusal; certainly not removed.
    Refused {
        /// HTTP status.
        code: u16,
        /// The server's words.
        message: String,
    },
    /// 429: certainly not removed, try again no sooner than this.
    Throttled {
        /// How long to wait.
        retry_after: Duration,
    },
    /// No answer or a server error: the pod may go, now or until the write's time-out. Asking again does no harm.
    Unknown {
        /// For the log.
        error: String,
    },
    /// The request certainly never reached the server.
    NotSent(NotSent),
}

impl ApiClient {
    /// Deletes the pod with this UID and no other of its name, with the grace that it asks for. Nothing is repeated here,
    /// and nothing is sent when it is withdrawn before its turn has come.
    pub async fn delete_pod(&self, token: &Arc<TermToken>, withdrawn: &CancellationToken, pod: &Pod) -> RemovalReply {
        let options = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": { "uid": pod.uid.as_str() },
        });
        let path = format!("{}{}", pod_path(&pod.name), timeout_query(token.server_timeout()));
        let request = delete(&path, options.to_string().into_bytes());
        removal_reply(self.send_wanted(token, withdrawn, request).await)
    }

    /// Asks for the eviction of the pod with this UID, which the API server grants only while its disruption budget allows
    /// it. Otherwise as [`Self::delete_pod`].
    pub async fn evict_pod(&self, token: &Arc<TermToken>, withdrawn: &CancellationToken, pod: &Pod) -> RemovalReply {
        let ObjectName { namespace, name } = &pod.name;
        let eviction = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": { "namespace": namespace.as_str(), "name": name.as_str() },
            "deleteOptions": { "preconditions": { "uid": pod.uid.as_str() } },
        });
        let path = format!(
            "{}/eviction{}",
            pod_path(&pod.name),
            timeout_query(token.server_timeout())
        );
        let request = post(&path, eviction.to_string().into_bytes());
        removal_reply(self.send_wanted(token, withdrawn, request).await)
    }
}

fn removal_reply(outcome: Result<Reply, SendError>) -> RemovalReply {
    let reply = match outcome {
        Ok(reply) => reply,
        Err(SendError::NotSent(reason)) => return RemovalReply::NotSent(reason),
        Err(SendError::Unknown(error)) => return RemovalReply::Unknown { error },
    };
    match Class::of(&reply) {
        Class::Done => RemovalReply::Accepted,
        Class::NotFound => RemovalReply::NotFound,
        Class::Conflict => RemovalReply::Conflict {
            message: reply.refusal().message,
        },
        Class::Throttled => throttled(&reply),
        Class::Refused => RemovalReply::Refused {
            code: reply.status.as_u16(),
            message: reply.refusal().message,
        },
        Class::Unknown => RemovalReply::Unknown {
            error: status_text(&reply),
        },
    }
}

fn throttled(reply: &Reply) -> RemovalReply {
    let refusal = reply.refusal();
    match refusal.cause(BUDGET) {
        Some(budget) => RemovalReply::Forbidden {
            message: format!("{} {budget}", refusal.message).trim_end().to_owned(),
        },
        None => RemovalReply::Throttled {
            retry_after: wait_asked(reply),
        },
    }
}

#[cfg(test)]
mod tests {
    use http::Method;
    use plimsoll_config::ClientConnection;
    use plimsoll_model::{Moment, decode_pod};

    use super::*;
    use crate::scripted::{Script, Step, pod};

    const REFUSED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

    fn token() -> Arc<TermToken> {
        TermToken::new(3, Moment::ZERO, Duration::from_secs(10), Duration::from_secs(5))
    }

    fn a_pod() -> Pod {
        decode_pod(pod("a", 9).to_string().as_bytes()).unwrap()
    }

    /// What deletion and eviction make of one answer, and whether the term may end at once.
    async fn removed_against(step: &Step) -> (RemovalReply, bool) {
        let mut replies = Vec::new();
        for evict in [false, true] {
            let script = Script::new([step.clone()]);
            let client = script.client();
            let (token, wanted) = (token(), CancellationToken::new());
            let reply = if evict {
                client.evict_pod(&token, &wanted, &a_pod()).await
            } else {
                client.delete_pod(&token, &wanted, &a_pod()).await
            };
            assert_eq!(script.seen().len(), 1, "nothing is repeated here");
            replies.push((reply, token.is_decided(client.clock().now())));
        }
        assert_eq!(replies[0], replies[1], "{step:?}");
        replies.remove(0)
    }

    #[tokio::test(start_paused = true)]
    async fn every_answer_to_a_removal_has_one_meaning() {
        let text = |text: &str| text.to_owned();
        let cases = [
            (Step::refusal(200, "", ""), RemovalReply::Accepted, true),
            (Step::refusal(201, "", ""), RemovalReply::Accepted, true),
            (Step::refusal(404, "NotFound", "gone"), RemovalReply::NotFound, true),
            (
                Step::refusal(409, "Conflict", "uid"),
                RemovalReply::Conflict { message: text("uid") },
                true,
            ),
            (
                Step::refusal(403, "Forbidden", "no"),
                RemovalReply::Refused {
                    code: 403,
                    message: text("no"),
                },
                true,
            ),
            (
                Step::refusal(429, "", "slow").retry_after(4),
                RemovalReply::Throttled {
                    retry_after: Duration::from_secs(4),
                },
                true,
            ),
            (
                Step::refusal(500, "InternalError", "etcd"),
                RemovalReply::Unknown {
                    error: text("500: etcd"),
                },
                false,
            ),
            (
                Step::lost(),
                RemovalReply::Unknown {
                    error: text("ServiceError: connection reset by peer"),
                },
                false,
            ),
        ];
        for (step, reply, decided) in cases {
            assert_eq!(removed_against(&step).await, (reply, decided), "{step:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_budget_that_says_no_is_told_from_a_server_that_is_busy() {
        let status = json!({
            "kind": "Status", "code": 429, "reason": "TooManyRequests", "message": REFUSED,
            "details": { "causes": [{
                "reason": "DisruptionBudget", "message": "The disruption budget web needs 2 healthy pods and has 2 currently",
            }] },
        });
        let step = Step::answer(429, status.to_string()).retry_after(10);
        let message = format!("{REFUSED} The disruption budget web needs 2 healthy pods and has 2 currently");
        assert_eq!(
            removed_against(&step).await,
            (RemovalReply::Forbidden { message }, true)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_removal_names_the_pod_by_uid_and_bounds_the_server() {
        let script = Script::new([Step::refusal(200, "", ""), Step::refusal(201, "", "")]);
        let client = script.client();
        let (token, wanted) = (token(), CancellationToken::new());
        client.delete_pod(&token, &wanted, &a_pod()).await;
        client.evict_pod(&token, &wanted, &a_pod()).await;
        let [deleted, evicted] = &script.seen()[..] else {
            panic!("two requests");
        };
        assert_eq!(
            (&deleted.method, deleted.path.as_str()),
            (&Method::DELETE, "/api/v1/namespaces/ns/pods/a?timeout=4s")
        );
        let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": "uid-a" } });
        assert_eq!(
            (&deleted.body, deleted.content_type.as_str()),
            (&options, "application/json")
        );
        assert_eq!(
            (&evicted.method, evicted.path.as_str()),
            (&Method::POST, "/api/v1/namespaces/ns/pods/a/eviction?timeout=4s")
        );
        let eviction = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": { "namespace": "ns", "name": "a" },
            "deleteOptions": { "preconditions": { "uid": "uid-a" } },
        });
        assert_eq!(evicted.body, eviction);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_sent_when_the_term_is_over_or_nobody_wants_it_any_more() {
        let script = Script::new([Step::refusal(200, "", "")]);
        let client = script.client().with_rate_limit(&ClientConnection {
            qps: 0.5,
            burst: 1,
            ..ClientConnection::default()
        });
        let (token, wanted) = (token(), CancellationToken::new());
        assert_eq!(
            client.delete_pod(&token, &wanted, &a_pod()).await,
            RemovalReply::Accepted
        );
        // The next one waits for its turn, and is taken back meanwhile.
        let pod = a_pod();
        let waiting = client.delete_pod(&token, &wanted, &pod);
        let taking_back = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            wanted.cancel();
        };
        let (reply, ()) = tokio::join!(biased; waiting, taking_back);
        assert_eq!(reply, RemovalReply::NotSent(NotSent::Withdrawn));
        token.cancel();
        let wanted = CancellationToken::new();
        let reply = client.evict_pod(&token, &wanted, &pod).await;
        assert_eq!(reply, RemovalReply::NotSent(NotSent::TermOver));
        assert_eq!(script.seen().len(), 1);
        assert!(token.is_decided(client.clock().now()));
    }
}
