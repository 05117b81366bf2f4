//! What the server says about itself.

use crate::step::{Request, Script};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

pub(super) fn add(script: &mut Script) {
    for path in ["/version", "/api", "/apis", "/api/v1"] {
        script.send(format!("discover {path}"), Request::get(path).contained());
    }
    for group in [
        "apps/v1",
        "batch/v1",
        "coordination.k8s.io/v1",
        "events.k8s.io/v1",
        "policy/v1",
        "storage.k8s.io/v1",
        "scheduling.k8s.io/v1",
        "resource.k8s.io/v1",
        "authentication.k8s.io/v1",
        "authorization.k8s.io/v1",
        "rbac.authorization.k8s.io/v1",
    ] {
        script.send(
            format!("discover {group}"),
            Request::get(format!("/apis/{group}")).contained(),
        );
    }
    script.send("discover a group", Request::get("/apis/apps").contained());
    script.send(
        "discover aggregated core",
        Request::get("/api").accept(AGGREGATED).contained(),
    );
    script.send(
        "discover aggregated groups",
        Request::get("/apis").accept(AGGREGATED).contained(),
    );
    for path in ["/apis/no.such.group", "/apis/apps/v9", "/api/v9", "/nothing/here"] {
        script.send(format!("discover nothing at {path}"), Request::get(path));
    }
    for path in ["/healthz", "/livez", "/readyz"] {
        script.send(format!("health {path}"), Request::get(path).accept("*/*"));
    }
    script.send("OpenAPI index", Request::get("/openapi/v3").contained());
}
