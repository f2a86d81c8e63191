#!/usr/bin/env bash
# Make .venv: the Python environment that every make target works in.
#
# The lock files in requirements/ say what goes in, down to the hash of each package. Called again,
# this compares one fingerprint and leaves at once; after a change of the locks it installs the
# difference; after an interruption it starts over (what was downloaded is kept in uv's cache).
#
# PYTHON=/path/to/python picks the interpreter. By default it is the first of python3, python3.13,
# python3.12, python3.11 and python3.14 that will do.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
venv=$root/.venv
stamp=$venv/.bootstrap # the fingerprint of what is installed, or "unfinished"
needed_gib=7           # 5.2 GiB installed (torch brings CUDA's libraries) and room to unpack
export UV_SYSTEM_CERTS=${UV_SYSTEM_CERTS:-1} # trust the machine's own certificate authorities
export PIP_DISABLE_PIP_VERSION_CHECK=1

say() { printf 'bootstrap: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 1
}

# Everything that decides what .venv holds. $PYTHON counts only where it is set.
fingerprint() {
    {
        echo "$root"
        cat scripts/bootstrap.sh pyproject.toml requirements/{uv,dev}.txt
        "${PYTHON:-$venv/bin/python}" -V 2>&1 || echo "no python"
    } | sha256sum | cut -d ' ' -f 1
}

is_current() { [[ -f $stamp && $(<"$stamp") == "$(fingerprint)" ]]; }

# Finished once, still at this path, still running, and of the version that was asked for.
is_reusable() {
    local version
    [[ -f $stamp && $(<"$stamp") != unfinished ]] &&
        grep -q -- "-m venv $venv\$" "$venv/pyvenv.cfg" &&
        "$venv/bin/python" -m pip --version >/dev/null 2>&1 &&
        version=$("$venv/bin/python" -V) &&
        [[ $("${PYTHON:-$venv/bin/python}" -V 2>&1) == "$version" ]]
}

# Our own code needs 3.11; torch 2.11.0 comes for 3.10 to 3.14.
is_supported() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))'; }

find_python() {
    local candidate found=
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.14}; do
        command -v "$candidate" >/dev/null || continue
        if is_supported "$candidate" 2>/dev/null; then
            echo "$candidate"
            return
        fi
        found=${found:-$candidate is $("$candidate" -V 2>&1 | tail -n 1)}
    done
    die "gpubench needs Python 3.11 to 3.14, and ${found:-there is no ${PYTHON:-python3} here};" \
        "name another one with PYTHON=/path/to/python"
}

# Debian and Ubuntu keep the modules that make an environment in a package of their own.
ensure_venv_module() {
    local python=$1 package
    ! "$python" -c 'import ensurepip, venv' 2>/dev/null || return 0
    package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    { ((EUID == 0)) && command -v apt-get >/dev/null; } ||
        die "$python lacks its venv module; on Debian or Ubuntu run: sudo apt-get install $package"
    say "installing Debian's $package"
    { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y "$package"; } \
        >/dev/null || die "$python lacks its venv module, and installing $package failed, see above"
}

# The place with the least room of those that are written to: here, uv's cache, temporary files.
free_gib() {
    df -Pk "$root" "$HOME" "${TMPDIR:-/tmp}" |
        awk 'NR > 1 { gib = int($4 / 2 ^ 20); if (NR == 2 || gib < least) least = gib }
             END { print least }'
}

can_reach_index() {
    "$venv/bin/python" -m pip -q --no-cache-dir --retries 0 download --no-deps --require-hashes \
        -d "$venv/probe" -r requirements/uv.txt >/dev/null 2>&1
}

# Run one step; where it fails, end with one line that says what to do.
step() {
    say "$1"
    ! "${@:2}" || return 0
    (($(free_gib) >= 3)) ||
        die "the disk is full: $(free_gib) GiB are free, and a first installation needs $needed_gib"
    can_reach_index ||
        die "no package index can be reached: look at the network, and at pip's index and proxy"
    die "failed, see above; run it again, or start over with: rm -rf .venv"
}

create() {
    local python
    python=$(find_python)
    ensure_venv_module "$python"
    rm -rf "$venv"
    mkdir "$venv"
    echo unfinished >"$stamp"
    step "creating .venv with $("$python" -V)" "$python" -m venv "$venv"
}

install() {
    local python=$venv/bin/python index
    echo unfinished >"$stamp"
    step "installing uv" "$python" -m pip -q install --require-hashes -r requirements/uv.txt
    # uv does not read pip's settings: hand on the index that is set there.
    index=${PIP_INDEX_URL:-$("$python" -m pip config get global.index-url 2>/dev/null || true)}
    [[ -z $index ]] || export UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX:-$index}
    step "installing requirements/dev.txt (the first time a download of about 3 GB, mostly torch)" \
        "$venv/bin/uv" pip sync --python "$python" --require-hashes requirements/{uv,dev}.txt
    step "installing gpubench, editable" \
        "$venv/bin/uv" pip install -q --python "$python" --no-deps --no-build-isolation -e .
    fingerprint >"$stamp"
    say "ready"
}

! is_current || exit 0

trap 'echo >&2; say "interrupted; run it again to go on"; exit 130' INT TERM
exec 9<"${BASH_SOURCE[0]}" # one at a time: this file is the lock
if command -v flock >/dev/null && ! flock -n 9; then
    say "waiting for another bootstrap of this checkout"
    flock 9
    ! is_current || exit 0
fi
[[ ! -e $venv || -f $stamp ]] ||
    die ".venv is there, but this script did not make it; move it away and run this again"
is_reusable || create
install
