# One set of flags for every Go program of this repository, or Go's build cache is of no use between them. Sourced by the
# build scripts, in the folder of a go.mod; leaves the version of Kubernetes in `version`.
version=$(sed -n 's/^require k8s.io\/kubernetes \(v[0-9.]*\).*/\1/p; s/^\tk8s.io\/kubernetes \(v[0-9.]*\).*/\1/p' go.mod | head -n 1)
minor=$(echo "$version" | cut -d. -f2)
export CGO_ENABLED=0
flags=(-trimpath -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$minor")
