#!/usr/bin/env bash
# Builds Helm from its Go module into a cache folder outside the tree, once per version, and prints the program's path.
set -euo pipefail
cd "$(dirname "$0")"
version=$(sed -n 's/^\thelm.sh\/helm\/v3 \(v[0-9.]*\).*/\1/p' go.mod)
# What Helm takes for the cluster when it has none to ask: that of the other suites.
minor=$(sed -n 's/^\tk8s.io\/kubernetes v1\.\([0-9]*\).*/\1/p' ../../cluster/controlplane/go.mod | head -n 1)
key="$version-$(cat go.mod go.sum build.sh - <<<"$minor" | sha256sum | cut -c1-12)"
cache="${PLIMSOLL_HELM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/helm}/$key"
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
if [ ! -x "$cache/helm" ]; then
    echo "building helm $version (minutes when cold, once per machine)" >&2
    # But for the linker's, the same flags as for every Go program of this repository.
    names="-X helm.sh/helm/v3/internal/version.version=$version"
    for package in chartutil lint/rules; do
        names+=" -X helm.sh/helm/v3/pkg/$package.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/$package.k8sVersionMinor=$minor"
    done
    CGO_ENABLED=0 go build -trimpath -ldflags "-s -w $names" -o "$cache/.helm.partial" helm.sh/helm/v3/cmd/helm >&2
    mv "$cache/.helm.partial" "$cache/helm"
fi
echo "$cache/helm"
