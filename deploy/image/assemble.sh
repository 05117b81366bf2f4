#!/usr/bin/env bash
# Makes the image's layers without a container engine: FOLDER/rootfs, as a container would see it, and FOLDER/oci, an OCI image
# layout that `skopeo copy oci:FOLDER/oci docker://…` and its like take. User, entry point, port and labels are read from
# deploy/Dockerfile; the libraries are those of this machine, so build the program on the Debian that the Dockerfile names if it is
# to run elsewhere. The same program on the same machine gives the same bytes.
set -euo pipefail
if [ $# -ne 2 ]; then
    echo "usage: $0 PROGRAM FOLDER" >&2
    exit 2
fi
program=$(realpath "$1")
folder=$(realpath -m "$2")
deploy=$(realpath "$(dirname "$0")/..")
dockerfile="$deploy/Dockerfile"

of() { sed -n "s/^$1 //p" "$dockerfile" | tail -n 1; }
default() { sed -n "s/^ARG $1=//p" "$dockerfile" | tail -n 1; }
: "${SOURCE_DATE_EPOCH:=$(git -C "$deploy" log -1 --format=%ct 2>/dev/null || echo 0)}"
export SOURCE_DATE_EPOCH
VERSION=${VERSION:-$(default VERSION)}
REVISION=${REVISION:-$(git -C "$deploy" rev-parse HEAD 2>/dev/null || default REVISION)}
CREATED=$(date --utc --date "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
case $(uname -m) in
    x86_64) architecture=amd64 ;;
    aarch64) architecture=arm64 ;;
    *) architecture=$(uname -m) ;;
esac

rm -rf "$folder/rootfs" "$folder/oci" "$folder/layers"
mkdir -p "$folder/rootfs" "$folder/oci/blobs/sha256"
layers=()
digests=()
histories=()

layer() { # what it is; its files are in $folder/layers/NUMBER
    local tree="$folder/layers/${#layers[@]}" tar="$folder/layers/${#layers[@]}.tar"
    tar --create --file "$tar" --directory "$tree" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
        --numeric-owner --format=gnu .
    cp -a "$tree/." "$folder/rootfs/"
    digests+=("$(sha256sum "$tar" | cut -d' ' -f1)")
    gzip --no-name --fast "$tar"
    layers+=("$(blob "$tar.gz")")
    histories+=("{\"created\":\"$CREATED\",\"created_by\":\"$1\"}")
}

blob() { # file; moves it among the blobs and prints its digest
    local digest
    digest=$(sha256sum "$1" | cut -d' ' -f1)
    mv "$1" "$folder/oci/blobs/sha256/$digest"
    echo "$digest"
}

size() { stat --format %s "$folder/oci/blobs/sha256/$1"; }
joined() { local IFS=,; echo "$*"; }

# What a distroless base has of it: folders, users, authorities, and the libraries that the program asks for.
base="$folder/layers/0"
mkdir -p "$base"/{dev,etc/ssl/certs,home/nonroot,proc,sys,tmp,var/run}
chmod 1777 "$base/tmp"
chmod 0755 "$base/home/nonroot"
printf 'root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n' >"$base/etc/passwd"
printf 'root:x:0:\nnonroot:x:65532:\n' >"$base/etc/group"
printf 'hosts: files dns\n' >"$base/etc/nsswitch.conf"
if [ -r /etc/ssl/certs/ca-certificates.crt ]; then
    cp /etc/ssl/certs/ca-certificates.crt "$base/etc/ssl/certs/"
fi
ldd "$program" | sed -n 's/^\t\(.* => \)\?\(\/[^ ]*\) (0x.*/\2/p' | while read -r library; do
    mkdir -p "$base$(dirname "$library")"
    cp --dereference "$library" "$base$library"
done
chmod -R go-w "$base/etc"
layer "libraries, users and authorities"

mkdir -p "$folder/layers/1"
cp "$program" "$folder/layers/1/plimsoll"
cp "$deploy/../LICENSE" "$folder/layers/1/LICENSE"
mkdir -p "$folder/layers/1/usr/local/bin"
ln -s /plimsoll "$folder/layers/1/usr/local/bin/kube-scheduler"
chmod 0755 "$folder/layers/1/plimsoll"
chmod 0644 "$folder/layers/1/LICENSE"
layer "the program"

labels=()
while IFS='=' read -r name value; do
    value=${value//'${VERSION}'/$VERSION}
    value=${value//'${REVISION}'/$REVISION}
    value=${value//'${CREATED}'/$CREATED}
    labels+=("\"$name\":$value")
done < <(sed -n 's/^LABEL //p' "$dockerfile")
config="{\"created\":\"$CREATED\",\"architecture\":\"$architecture\",\"os\":\"linux\",\"config\":{"
config+="\"User\":\"$(of USER)\",\"ExposedPorts\":{\"$(of EXPOSE)/tcp\":{}},"
config+="\"Env\":[\"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\",\"SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt\"],"
config+="\"Entrypoint\":$(of ENTRYPOINT),\"WorkingDir\":\"$(of WORKDIR)\",\"Labels\":{$(joined "${labels[@]}")}},"
config+="\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[$(joined "${digests[@]/#/\"sha256:}" | sed 's/,/",/g')\"]},"
config+="\"history\":[$(joined "${histories[@]}")]}"
printf '%s' "$config" >"$folder/layers/config"
config=$(blob "$folder/layers/config")

descriptor() { # kind, digest
    printf '{"mediaType":"application/vnd.oci.image.%s","digest":"sha256:%s","size":%s' "$1" "$2" "$(size "$2")"
}
of_layers=()
for digest in "${layers[@]}"; do
    of_layers+=("$(descriptor layer.v1.tar+gzip "$digest")}")
done
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":%s},"layers":[%s]}' \
    "$(descriptor config.v1+json "$config")" "$(joined "${of_layers[@]}")" >"$folder/layers/manifest"
manifest=$(blob "$folder/layers/manifest")
printf '{"imageLayoutVersion":"1.0.0"}' >"$folder/oci/oci-layout"
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s,%s,%s}]}' \
    "$(descriptor manifest.v1+json "$manifest")" "\"platform\":{\"architecture\":\"$architecture\",\"os\":\"linux\"}" \
    "\"annotations\":{\"org.opencontainers.image.ref.name\":\"$VERSION\"}" >"$folder/oci/index.json"
rm -rf "$folder/layers"
echo "sha256:$manifest"
