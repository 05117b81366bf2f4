# Everything a person or CI runs. `make` alone lists it.

# Set KEEP=1 to leave the demo's cluster running.
KEEP ?=
# How many random runs `make simulate` tries, and from which seed on; a file that keeps what came of each, to go on from,
# and one for a report in JSON.
SEEDS ?= 300
START ?= 0
STATE ?=
REPORT ?=
# The profile without link-time optimisation: quick to build, near the released speed.
PROFILE := release-lite
TARGET := $(or $(CARGO_TARGET_DIR),target)
# The suite is told where it is: building it from within a test would compile half of it anew, for cargo's own variables.
BINARY := $(TARGET)/$(PROFILE)/plimsoll
ASKED := $(TARGET)/asked-of-the-api-server
ORACLE := $(TARGET)/$(PROFILE)/oracle
BENCH_BINARY := $(TARGET)/$(PROFILE)/bench
comma := ,
# How many random cases `make oracle` compares with kube-scheduler's own plugins, of which seed, how many processes at a time.
CASES ?= 20000
# How many large clusters `make oracle-searches` looks at.
SEARCHES ?= 1000
SEED ?= 0
JOBS ?= 1
# Sizes of the clusters in which `make bench-preemption` and `make bench-volumes` measure, how many pods need room made or have
# volumes, how often each is measured, and whether on the embedded API server instead of the real one.
NODES ?= 500 5000
PREEMPTORS ?= 500
PODS ?= 1000
ROUNDS ?= 1
EMBEDDED ?=
# The arguments of `bench run`; see docs/benchmarks.md.
BENCH ?=
# How spans go out in `make bench-traces`.
PROTOCOL ?= http/protobuf
# Of how many pods `make bench-traces` has told: all, some (one in a hundred) or both, one after the other.
TOLD ?= both
# More arguments of `make bench-scale`; see docs/benchmarks.md.
SCALE ?=
# What `make bench-hand-over` measures; see tests/cluster/src/bin/bench-hand-over.rs.
HAND_OVER ?=
# Where `make chaos` keeps its state and its reports; a folder of the seed unless set.
DIR ?=
# Where `make image` and `make sbom` put what they make.
IMAGE ?= $(TARGET)/image
SBOM ?= $(TARGET)/plimsoll.cdx.json
# Named one by one: `--package` instead of `--workspace` would compile everything again with other features.
SIMULATIONS := $(basename $(notdir $(wildcard tests/simulation/tests/*.rs)))

.DEFAULT_GOAL := help

.PHONY: help
help: ## List these targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: binary ## Show three replicas at work, the leader killed on stage (KEEP=1 leaves them running)
	$(BINARY) demo $(if $(KEEP),--keep)

.PHONY: build
build: ## Build everything, unoptimised
	cargo build --workspace --all-targets

.PHONY: binary
binary: ## Build the plimsoll binary, optimised but quick to link
	cargo build --package plimsoll --bin plimsoll --profile $(PROFILE)

.PHONY: release
release: ## Build the plimsoll binary as released
	cargo build --package plimsoll --bin plimsoll --release

.PHONY: image
image: release ## Assemble the image's layers of the released program without a container engine, and run it in them (IMAGE=target/image)
	deploy/image/assemble.sh "$(TARGET)/release/plimsoll" "$(IMAGE)"
	deploy/image/run.sh "$(IMAGE)" --version

.PHONY: sbom
sbom: ## Write what the program is made of as CycloneDX (SBOM=target/plimsoll.cdx.json)
	cargo run --quiet --package plimsoll-image --bin sbom -- "$(SBOM)"

.PHONY: documents
documents: controlplane helm kubectl binary ## Run the commands of the documentation on a real control plane, and check the rest of it
	PLIMSOLL_BIN="$(abspath $(BINARY))" cargo test --workspace --test documents -- --nocapture

.PHONY: test
test: controlplane upstream helm kubectl jaeger prometheus binary oracle-binary ## Run all tests, the real control plane's suite included
	PLIMSOLL_BIN="$(abspath $(BINARY))" PLIMSOLL_ORACLE="$(abspath $(ORACLE))" cargo test --workspace --no-fail-fast

# What replicas ask the API server for is noted, so that no permission stays that none needs.
.PHONY: cluster
cluster: controlplane binary ## Run the suite on a real control plane alone, with its output
	rm -f "$(abspath $(ASKED))"
	PLIMSOLL_ASKED="$(abspath $(ASKED))" PLIMSOLL_BIN="$(abspath $(BINARY))" \
		cargo test --workspace --test suite -- --nocapture --test-threads=1
	cargo build --quiet --workspace --bin unused-permissions
	$(TARGET)/debug/unused-permissions "$(abspath $(ASKED))"

.PHONY: cluster-peer
cluster-peer: controlplane ## Run the same suite on kube-scheduler itself: what it expects is what the original does
	PLIMSOLL_CLUSTER_SCHEDULER=kube-scheduler cargo test --workspace --test suite -- --nocapture --test-threads=1

.PHONY: extender
extender: ## Call an extender in Python with faults, directly and from whole schedulers
	cargo test --workspace --test direct --test chaos --test http_extender

.PHONY: parity
parity: controlplane ## Compare the embedded API server with the real kube-apiserver, request by request
	cargo test --workspace --test parity -- --nocapture

.PHONY: chart
chart: controlplane helm binary ## Check the Helm chart: values, renderings, guards, a release on a real API server
	PLIMSOLL_BIN="$(abspath $(BINARY))" cargo test --workspace --test chart

.PHONY: chart-helm4
chart-helm4: controlplane binary ## Check the chart with Helm 4 instead of Helm 3
	PLIMSOLL_BIN="$(abspath $(BINARY))" PLIMSOLL_HELM=4 cargo test --workspace --test chart

.PHONY: traces
traces: controlplane jaeger binary ## Let Jaeger receive the traces of a scheduler on a real control plane, with its output
	PLIMSOLL_BIN="$(abspath $(BINARY))" cargo test --workspace --test collectors -- --nocapture --test-threads=1

.PHONY: simulate
simulate: ## Run whole schedulers with random faults on virtual time (SEEDS=300 START=0 JOBS=1 STATE=file REPORT=file)
	cargo run --package plimsoll-simulation --bin simulate --profile $(PROFILE) -- --seeds $(SEEDS) --start $(START) \
		--jobs $(JOBS) $(if $(STATE),--state $(STATE)) $(if $(REPORT),--json $(REPORT))

.PHONY: simulation-tests
simulation-tests: ## Run the tests on virtual time against the embedded API server, 300 random runs and the guards' proofs among them
	cargo test --workspace $(addprefix --test ,$(SIMULATIONS))

# The bin is built as the tests are, next to them; what matters runs as the program under test.
.PHONY: chaos
chaos: controlplane binary ## Kill, pause and cut off three replicas, API servers and etcd (ROUNDS=30 SEED=0, goes on where it was; DIR=target/chaos/seed-0)
	PLIMSOLL_BIN="$(abspath $(BINARY))" cargo run --package plimsoll-chaos --bin chaos -- \
		--rounds $(if $(filter file,$(origin ROUNDS)),30,$(ROUNDS)) --seed $(SEED) $(if $(DIR),--dir "$(DIR)")

.PHONY: oracle
oracle: upstream oracle-binary ## Compare random cases with kube-scheduler's own plugins (CASES=20000 SEED=0 JOBS=1)
	$(ORACLE) --cases $(CASES) --seed $(SEED) --jobs $(JOBS)

.PHONY: oracle-volumes
oracle-volumes: upstream oracle-binary ## The same for clusters with storage alone (CASES=20000 SEED=0 JOBS=1)
	$(ORACLE) --step 3 --cases $(CASES) --seed $(SEED) --jobs $(JOBS)

.PHONY: oracle-hints
oracle-hints: upstream oracle-binary ## The same for what changes of pods and nodes mean to waiting pods (CASES=20000 SEED=0 JOBS=1)
	$(ORACLE) --ask hints --cases $(CASES) --seed $(SEED) --jobs $(JOBS)

.PHONY: oracle-searches
oracle-searches: upstream oracle-binary ## The same for searches for a share of the nodes of large clusters (SEARCHES=1000 SEED=0 JOBS=1)
	$(ORACLE) --ask searches --cases $(SEARCHES) --seed $(SEED) --jobs $(JOBS)

.PHONY: oracle-preemption
oracle-preemption: upstream oracle-binary ## The same for whom to evict in crowded clusters (CASES=20000 SEED=0 JOBS=1)
	$(ORACLE) --ask preemptions --cases $(CASES) --seed $(SEED) --jobs $(JOBS)

.PHONY: bench
bench: controlplane bench-binary ## Measure against kube-scheduler, about ten minutes (BENCH="arguments of bench run", docs/benchmarks.md)
	PLIMSOLL_BIN="$(abspath $(BINARY))" $(BENCH_BINARY) run $(or $(BENCH),--labels short --modes null$(comma)drain)

.PHONY: bench-full
bench-full: controlplane bench-binary ## Measure all workloads against kube-scheduler, hours (ROUNDS=5; writes target/bench.json)
	PLIMSOLL_BIN="$(abspath $(BINARY))" $(BENCH_BINARY) run --labels -smoke,-scale --modes null,drain,open,rate \
		--rounds $(if $(filter file,$(origin ROUNDS)),5,$(ROUNDS)) --limit 1800 --json $(TARGET)/bench.json
	PLIMSOLL_BIN="$(abspath $(BINARY))" $(BENCH_BINARY) run --labels scale --modes null --limit 3600 \
		--json $(TARGET)/bench-scale.json

.PHONY: bench-list
bench-list: bench-binary ## List the workloads that can be measured (BENCH="--upstream")
	$(BENCH_BINARY) list $(BENCH)

# With the scheduler's own features, so that what both are made of is compiled once.
.PHONY: bench-binary
bench-binary:
	cargo build --package plimsoll --bin plimsoll --package plimsoll-bench --bin bench --profile $(PROFILE)

.PHONY: bench-decode
bench-decode: ## Measure reading pods and nodes, with and without keeping the whole of them (docs/extenders.md)
	cargo bench --package plimsoll-model --bench decode --profile $(PROFILE)

.PHONY: bench-cycle
bench-cycle: ## Measure placing one pod by profile and by plugin, with 1,000 to 100,000 nodes (docs/benchmarks.md)
	cargo bench --package plimsoll-engine --bench cycle --profile $(PROFILE)

# With the scheduler's own features, so that what both are made of is compiled once. NODES and PODS have other defaults here.
.PHONY: bench-scale
bench-scale: upstream ## Measure decisions in one process beside kube-scheduler's (NODES=100000 PODS=1000000 SEED=0 SCALE="--at-once 8")
	cargo build --package plimsoll --bin plimsoll --package plimsoll-scale --bin scale --profile $(PROFILE)
	$(TARGET)/$(PROFILE)/scale --nodes $(if $(filter file,$(origin NODES)),100000,$(NODES)) \
		--pods $(if $(filter file,$(origin PODS)),1000000,$(PODS)) --seed $(SEED) $(SCALE)

.PHONY: bench-queue
bench-queue: ## Measure push, pop and move with up to a million waiting pods (docs/performance.md)
	cargo bench --package plimsoll-queue --bench waiting_pods --profile $(PROFILE)

.PHONY: bench-preemption
bench-preemption: controlplane binary ## Measure preemption against kube-scheduler (NODES="500 5000" PREEMPTORS=500 ROUNDS=1 EMBEDDED=1)
	PLIMSOLL_BIN="$(abspath $(BINARY))" cargo run --package plimsoll-cluster --bin bench-preemption -- \
		--preemptors $(PREEMPTORS) --rounds $(ROUNDS) $(if $(EMBEDDED),--embedded) $(NODES)

.PHONY: bench-volumes
bench-volumes: controlplane binary ## Measure pods with volumes against kube-scheduler (NODES="500 5000" PODS=1000 ROUNDS=1 EMBEDDED=1)
	PLIMSOLL_BIN="$(abspath $(BINARY))" cargo run --package plimsoll-cluster --bin bench-volumes -- \
		--pods $(PODS) --rounds $(ROUNDS) $(if $(EMBEDDED),--embedded) $(NODES)

.PHONY: bench-hand-over
bench-hand-over: controlplane binary ## Measure passing the lead on (HAND_OVER="--embedded --nodes 5000 --pods 50000 --rounds 1 --lease 15 --json FILE")
	PLIMSOLL_BIN="$(abspath $(BINARY))" cargo run --package plimsoll-cluster --bin bench-hand-over -- $(HAND_OVER)

.PHONY: bench-traces
bench-traces: controlplane ## Measure what traces cost when their collector is well and when it is not (PODS=20000 NODES=1000 ROUNDS=1 PROTOCOL=grpc TOLD=some)
	cargo build --package plimsoll --bin plimsoll --package plimsoll-observability --bin bench-traces --profile $(PROFILE)
	PLIMSOLL_BIN="$(abspath $(BINARY))" $(TARGET)/$(PROFILE)/bench-traces --rounds $(ROUNDS) --protocol $(PROTOCOL) --told $(TOLD) \
		--pods $(if $(filter file,$(origin PODS)),20000,$(PODS)) --nodes $(if $(filter file,$(origin NODES)),1000,$(NODES))

# With the scheduler's own features, so that what both are made of is compiled once.
.PHONY: oracle-binary
oracle-binary:
	cargo build --package plimsoll --bin plimsoll --package plimsoll-oracle --bin oracle --profile $(PROFILE)

.PHONY: upstream
upstream: ## Build the program that asks kube-scheduler's own plugins into a cache outside the tree (once per machine)
	@if command -v go >/dev/null; then tests/oracle/upstream/build.sh; \
	else echo "no Go toolchain: the tests decide what to do without kube-scheduler's plugins" >&2; fi

.PHONY: helm
helm: ## Build Helm and kustomize, and fetch what others define, into a cache outside the tree (once per machine)
	@if command -v go >/dev/null; then tests/chart/helm/build.sh && tests/chart/kustomize/build.sh && tests/chart/crds/find.sh; \
	else echo "no Go toolchain: the tests decide what to do without Helm" >&2; fi

.PHONY: kubectl
kubectl: ## Build kubectl into a cache outside the tree (once per machine)
	@if command -v go >/dev/null; then tests/documents/kubectl/build.sh; \
	else echo "no Go toolchain: the tests decide what to do without kubectl" >&2; fi

.PHONY: jaeger
jaeger: ## Build Jaeger and an OpenTelemetry collector into a cache outside the tree (once per machine)
	@if command -v go >/dev/null; then tests/observability/jaeger/build.sh && tests/observability/opentelemetry/build.sh; \
	else echo "no Go toolchain: the tests decide what to do without Jaeger" >&2; fi

.PHONY: prometheus
prometheus: ## Build Prometheus and promtool into a cache outside the tree (once per machine)
	@if command -v go >/dev/null; then tests/prometheus/program/build.sh; \
	else echo "no Go toolchain: the tests decide what to do without Prometheus" >&2; fi

.PHONY: prometheus-queries
prometheus-queries: controlplane prometheus binary ## Ask a real Prometheus the queries of the dashboard and the rules
	PLIMSOLL_BIN="$(abspath $(BINARY))" cargo test --package plimsoll-prometheus -- --nocapture

.PHONY: controlplane
controlplane: ## Build etcd, kube-apiserver and kube-scheduler into a cache outside the tree (once per machine)
	@if command -v go >/dev/null; then tests/cluster/controlplane/build.sh; \
	else echo "no Go toolchain: the tests decide what to do without a control plane" >&2; fi

.PHONY: fmt
fmt: ## Format the sources
	cargo fmt --all

.PHONY: lint
lint: ## Check formatting, lints, documentation and dependencies as CI does
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
	cargo deny check bans licenses sources

.PHONY: advisories
advisories: ## Look the dependencies up in the advisory database, or say plainly that it cannot be reached
	@cargo deny --version
	@cargo deny fetch db || { echo "NOT CHECKED: the advisory database cannot be reached from here" >&2; exit 1; }
	cargo deny check advisories
