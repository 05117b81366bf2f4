//! What `kubectl get` asks for.

use super::PODS;
use crate::step::{Request, Script};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";

pub(super) fn add(script: &mut Script) {
    script.send(
        "a table of one pod",
        Request::get(format!("{PODS}/write-gated")).accept(TABLE),
    );
    script.send(
        "a table of pods",
        Request::get(format!("{PODS}?fieldSelector=metadata.name%3Dwrite-a")).accept(TABLE),
    );
    script.send(
        "a table without objects",
        Request::get(format!("{PODS}/write-a?includeObject=None")).accept(TABLE),
    );
    script.send(
        "a table with whole objects",
        Request::get(format!("{PODS}/write-a?includeObject=Object")).accept(TABLE),
    );
    script.send(
        "a table of nodes",
        Request::get("/api/v1/nodes?labelSelector=parity%3Dpatched").accept(TABLE),
    );
    script.send(
        "a table of namespaces",
        Request::get("/api/v1/namespaces/parity").accept(TABLE),
    );
    script.send(
        "a table of events",
        Request::get("/api/v1/namespaces/parity/events/event.new").accept(TABLE),
    );
    script.send(
        "a table of leases",
        Request::get("/apis/coordination.k8s.io/v1/namespaces/parity/leases/update-lease").accept(TABLE),
    );
    script.send(
        "a table of replica sets",
        Request::get("/apis/apps/v1/namespaces/parity/replicasets").accept(TABLE),
    );
    script.send(
        "a table of config maps",
        Request::get("/api/v1/namespaces/parity/configmaps/update-a").accept(TABLE),
    );
    script.send(
        "a pod's metadata",
        Request::get(format!("{PODS}/write-a")).accept(METADATA),
    );
    script.send(
        "the metadata of pods",
        Request::get(format!("{PODS}?fieldSelector=metadata.name%3Dwrite-a")).accept(METADATA_LIST),
    );
}
