#!/usr/bin/env bash
# Builds an OpenTelemetry collector of a few components into a cache folder outside the tree, once per version, and prints the
# program's path.
set -euo pipefail
cd "$(dirname "$0")"
version=$(sed -n 's/^\tgo.opentelemetry.io\/collector\/otelcol \(v[0-9.]*\)$/\1/p' go.mod)
key="$version-$(cat go.mod go.sum main.go build.sh | sha256sum | cut -c1-12)"
cache="${PLIMSOLL_OPENTELEMETRY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/opentelemetry}/$key"
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
if [ ! -x "$cache/collector" ]; then
    echo "building the OpenTelemetry collector $version (minutes when cold, once per machine)" >&2
    # The same flags as for every Go program of this repository.
    CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$cache/.collector.partial" . >&2
    mv "$cache/.collector.partial" "$cache/collector"
fi
echo "$cache/collector"
