#!/usr/bin/env bash
# Build the images of gpubench, and say how large each is and what is in it.
#
#   images/build.sh [image-recognition] [llm-tuning] [operator]      (all by default)
#
# llm-tuning stands on image-recognition of the same PREFIX and TAG, which must be there.
#
# Each Dockerfile also builds by itself: `docker build -f images/operator/Dockerfile .`. This adds
# the labels' values, the machine's own package index and authorities, and uv's download cache.
#
#   ENGINE       buildah (default), podman or docker, with flags where it needs some
#   BASE_IMAGE   what the images stand on; debian:12-slim by default
#   TAG          dev by default
#   PREFIX       localhost/gpubench by default: localhost/gpubench-operator:dev
#   BUILD_FLAGS  further flags, such as "--build-arg TRIM=cpu" (image-recognition without what only
#                GPUs need)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

read -ra engine <<<"${ENGINE:-buildah}"
prefix=${PREFIX:-localhost/gpubench}
tag=${TAG:-dev}
read -ra more <<<"${BUILD_FLAGS:-}"

die() {
    echo "images: $*" >&2
    exit 1
}

command -v "${engine[0]}" >/dev/null ||
    die "there is no ${engine[0]} here; install it, or name another with ENGINE=docker or ENGINE=podman"

# The version of the wheel, and the commit; a tree with changes says so.
version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
revision=$(git describe --always --abbrev=40 --dirty --exclude '*' 2>/dev/null || echo unknown)
source=$(git remote get-url origin 2>/dev/null | grep -E '^https?://' || echo unknown)

flags=(--build-arg "VERSION=$version" --build-arg "REVISION=$revision"
    --build-arg "SOURCE=$source" "${more[@]}")
[[ -z ${UV_DEFAULT_INDEX:-} ]] || flags+=(--build-arg "UV_DEFAULT_INDEX=$UV_DEFAULT_INDEX")
if [[ ${engine[0]} != docker ]]; then
    # Layers are kept, so that a change of our own code builds in seconds. chroot needs no
    # privileges of a container runtime. What RUN steps may see of this machine comes with -v.
    flags+=(--layers --isolation chroot)
    [[ ${BASE_IMAGE:-} != localhost/* ]] || flags+=(--pull-never)
    cache=${UV_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/uv}
    mkdir -p "$cache"
    flags+=(-v "$cache:/var/cache/uv")
    authorities=/etc/ssl/certs/ca-certificates.crt
    [[ ! -f $authorities ]] ||
        flags+=(-v "$authorities:/run/authorities.crt:ro"
            --build-arg SSL_CERT_FILE=/run/authorities.crt
            --build-arg PIP_CERT=/run/authorities.crt)
    [[ ! -f /etc/pip.conf ]] || flags+=(-v /etc/pip.conf:/etc/pip.conf:ro)
fi

build() {
    local image=$prefix-$1:$tag
    [[ -f images/$1/Dockerfile ]] || die "no image is called $1; there are: $(names)"
    local stands_on=()
    if [[ $1 == llm-tuning ]]; then
        stands_on=(--build-arg "WORKLOAD_IMAGE=$prefix-image-recognition:$tag")
        [[ ${engine[0]} == docker ]] || stands_on+=(--pull-never)
    elif [[ -n ${BASE_IMAGE:-} ]]; then
        stands_on=(--build-arg "BASE_IMAGE=$BASE_IMAGE")
    fi
    echo "images: building $image ($version, $revision)" >&2
    "${engine[@]}" build "${flags[@]}" "${stands_on[@]}" -f "images/$1/Dockerfile" -t "$image" .
    report "$image"
}

# Size of the image and of its base, then what is in it.
report() {
    "${engine[@]}" images "$1"
    [[ -z ${BASE_IMAGE:-} ]] || "${engine[@]}" images "$BASE_IMAGE"
    if [[ ${engine[0]} == buildah ]]; then
        local container
        container=$("${engine[@]}" from --pull-never "$1")
        "${engine[@]}" run --isolation chroot "$container" -- python - <images/contents.py
        "${engine[@]}" rm "$container" >/dev/null
    else
        "${engine[@]}" run --rm -i --entrypoint python "$1" - <images/contents.py
    fi
}

names() { for file in images/*/Dockerfile; do basename "$(dirname "$file")"; done | xargs; }

if (($# == 0)); then
    read -ra wanted <<<"$(names)"
else
    wanted=("$@")
fi
for name in "${wanted[@]}"; do
    build "$name"
done
