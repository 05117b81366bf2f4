#!/usr/bin/env bash
# Builds kustomize as ../helm/build.sh builds Helm.
set -euo pipefail
cd "$(dirname "$0")"
version=$(sed -n 's/^\tsigs.k8s.io\/kustomize\/kustomize\/v5 \(v[0-9.]*\).*/\1/p' go.mod)
key="$version-$(cat go.mod go.sum build.sh | sha256sum | cut -c1-12)"
cache="${PLIMSOLL_KUSTOMIZE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/kustomize}/$key"
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
if [ ! -x "$cache/kustomize" ]; then
    echo "building kustomize $version (a minute when cold, once per machine)" >&2
    CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$cache/.kustomize.partial" sigs.k8s.io/kustomize/kustomize/v5 >&2
    mv "$cache/.kustomize.partial" "$cache/kustomize"
fi
echo "$cache/kustomize"
