//! The program, the embedded API server and an extender in Python, each over real connections: what an extender says is what
//! happens, and when it fails no pod is lost.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

mod http_extender {
    mod chaos;
    mod verbs;
    mod world;
}
