#!/usr/bin/env bash
# Unpack Nsight Systems from Debian's packages into a cache outside the checkout; print its path.
# Nothing of the system is changed. Needs apt, dpkg, patience for 0.4 GB and 1.2 GB of disk.
#
# usage: fetch_nsys.sh [FOLDER]    (default: ~/.cache/gpubench/nsys)
#
# NVIDIA's own package (nsight-systems-cli) is newer and what clusters should use; Debian's is here
# because a test machine reaches Debian's mirror and has no GPU to trace anyway.
set -euo pipefail

version=2024.2.3
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/gpubench/nsys}
nsys=$folder/$version/usr/lib/nsight-systems/bin/nsys

say() { printf 'nsys: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 1
}

debian_mirror() {
    local found
    found=$(grep -rhoE '^[^#]*https?://[^ ]*/debian/?( |$)' /etc/apt/sources.list{,.d} 2>/dev/null |
        grep -oE 'https?://[^ ]*') || true
    head -n 1 <<<"$found"
}

# Packages of several releases of Debian beside each other: their libraries go beside nsys only.
download() { # FOLDER
    local apt=$1/apt mirror options found
    mirror=$(debian_mirror)
    [[ -n $mirror ]] || die "no mirror of Debian in /etc/apt/sources.list*"
    mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$1/debs"
    printf "deb $mirror %s\n" "experimental main contrib non-free" "sid main" "bookworm main" \
        >"$apt/sources.list"
    options=(-qq -o APT::Sandbox::User=root -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=-
        -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt")
    apt-get "${options[@]}" update
    found=$(apt-cache "${options[@]}" madison nsight-systems | awk -v v="$version" 'index($3, v) {print $3; exit}')
    [[ -n $found ]] || die "Debian has no nsight-systems $version any more"
    (cd "$1/debs" && apt-get "${options[@]}" download "nsight-systems=$found" \
        "nsight-systems-target=$found" libarrow500 libparquet500 libssh-4/bookworm)
    for deb in "$1"/debs/*.deb; do dpkg -x "$deb" "$1"; done
    rm -rf "$apt" "$1/debs"
}

# What Debian's packages leave undone: without it nsys finds no importer, and `nsys stats` ends
# with exit code 0 and no numbers.
complete() { # FOLDER
    local lib=$1/usr/lib host library
    host=$lib/nsight-systems/host-linux-x64
    ln -sfn ../../nsight-systems/host-linux-x64 \
        "$lib/x86_64-linux-gnu/nsight-systems/host-linux-x64"
    for library in libarrow.so.500 libparquet.so.500; do
        ln -sfn "../../x86_64-linux-gnu/$library" "$host/$library"
    done
    mkdir -p "$host/python/lib"
    cp "$lib"/python3/dist-packages/{nsysstats,gpustats}.py "$host/python/lib/"
}

if [[ ! -x $nsys ]]; then
    say "downloading Nsight Systems $version (once)"
    mkdir -p "$folder"
    unfinished=$(mktemp -d "$folder/unfinished.XXXXXX")
    trap 'rm -rf "$unfinished"' EXIT
    download "$unfinished"
    complete "$unfinished"
    rm -rf "${folder:?}/$version"
    mv "$unfinished" "$folder/$version"
fi
echo "$nsys"
