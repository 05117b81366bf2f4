//! How the tests call an extender.

use std::sync::Arc;

use plimsoll_config::{ExtenderConfig, GoDuration};
use plimsoll_extender::HttpExtenders;
use plimsoll_extender_tests::{Options, PythonExtender};
use plimsoll_framework::{Extender, ExtenderAnswer, ExtenderCall, ExtenderNodes, ExtenderRequest};
use plimsoll_model::{Pod, Raw, testing};
use serde_json::json;

/// A running extender that keeps its last requests; none on a machine without Python.
pub(crate) fn started() -> Option<PythonExtender> {
    let options = Options {
        record: 20,
        ..Options::default()
    };
    PythonExtender::start(&options).unwrap()
}

/// All verbs of an extender that knows the nodes.
pub(crate) fn config(url: &str) -> ExtenderConfig {
    ExtenderConfig {
        url_prefix: url.to_owned(),
        filter_verb: "filter".to_owned(),
        prioritize_verb: "prioritize".to_owned(),
        bind_verb: "bind".to_owned(),
        preempt_verb: "preempt".to_owned(),
        weight: 1,
        http_timeout: GoDuration::from_secs(10),
        node_cache_capable: true,
        ..ExtenderConfig::default()
    }
}

pub(crate) fn extender(url: &str) -> Arc<Extender> {
    Arc::new(Extender::new(config(url)))
}

pub(crate) fn pod(name: &str) -> Arc<Pod> {
    let json = json!({ "metadata": { "name": name, "uid": format!("uid-{name}") }, "spec": { "unknown": "field" } });
    Arc::new(Pod {
        raw: Some(Raw::of_object(json.to_string().as_bytes()).unwrap()),
        ..testing::pod(name).build()
    })
}

pub(crate) fn filter(names: &[&str]) -> ExtenderCall {
    let names = names.iter().map(|name| (*name).into()).collect();
    ExtenderCall::Filter {
        pod: pod("p"),
        nodes: ExtenderNodes::Names(names),
    }
}

/// One call.
pub(crate) async fn ask(
    extenders: &HttpExtenders,
    extender: &Arc<Extender>,
    call: ExtenderCall,
) -> Result<ExtenderAnswer, String> {
    let request = ExtenderRequest {
        extender: Arc::clone(extender),
        call,
    };
    let mut answers = extenders.perform(vec![request]).await;
    assert_eq!(answers.len(), 1);
    answers.remove(0)
}
