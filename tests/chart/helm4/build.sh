#!/usr/bin/env bash
# Builds Helm 4 as ../helm/build.sh builds Helm 3. It knows by itself which Kubernetes it was made with.
set -euo pipefail
cd "$(dirname "$0")"
version=$(sed -n 's/^\thelm.sh\/helm\/v4 \(v[0-9.]*\).*/\1/p' go.mod)
key="$version-$(cat go.mod go.sum build.sh | sha256sum | cut -c1-12)"
cache="${PLIMSOLL_HELM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/helm}/$key"
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
if [ ! -x "$cache/helm" ]; then
    echo "building helm $version (minutes when cold, once per machine)" >&2
    CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X helm.sh/helm/v4/internal/version.version=$version" -o "$cache/.helm.partial" helm.sh/helm/v4/cmd/helm >&2
    mv "$cache/.helm.partial" "$cache/helm"
fi
echo "$cache/helm"
