//! An embedded Kubernetes API server in memory.
