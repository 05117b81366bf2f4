#!/usr/bin/env bash
# Builds Jaeger from its Go module into a cache folder outside the tree, once per version, and prints the program's path.
set -euo pipefail
cd "$(dirname "$0")"
version=$(sed -n 's/^\tgithub.com\/jaegertracing\/jaeger \(v[0-9.]*\).*/\1/p' go.mod)
key="$version-$(cat go.mod go.sum build.sh | sha256sum | cut -c1-12)"
cache="${PLIMSOLL_JAEGER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/jaeger}/$key"
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
if [ ! -x "$cache/jaeger" ]; then
    echo "building jaeger $version (minutes when cold, once per machine)" >&2
    # The same flags as for every Go program of this repository.
    CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$cache/.jaeger.partial" github.com/jaegertracing/jaeger/cmd/all-in-one >&2
    mv "$cache/.jaeger.partial" "$cache/jaeger"
fi
echo "$cache/jaeger"
