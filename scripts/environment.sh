# Sourced by the other scripts: a virtual environment in .venv with this project in it, made or brought up to date.
# Needs Python 3.11 or later and a C++ compiler; on Debian it installs what those two lack, where it may.

set -eu
cd "$(dirname "$0")/.."

say() { printf '\033[2m%s\033[0m\n' "$*" >&2; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# install_debian PACKAGE...: with apt, as root or by sudo without a password; false where neither is possible.
install_debian() {
    command -v apt-get >/dev/null 2>&1 || return 1
    if [ "$(id -u)" = 0 ]; then as_root=""; elif sudo -n true 2>/dev/null; then as_root="sudo"; else return 1; fi
    say "installing $* with apt"
    $as_root apt-get update -qq >/dev/null 2>&1 || true
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1
}

find_python() {
    for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
        if [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    fail "Python 3.11 or later is needed; PYTHON=/path/to/python names one"
}

# prepare EXTRAS: .venv with the project and these extras, e.g. prepare "[full,dev]".
prepare() {
    python=$(find_python)
    if [ ! -x .venv/bin/python ]; then
        say "making a virtual environment in .venv"
        "$python" -m venv .venv >/dev/null 2>&1 || {
            rm -rf .venv
            install_debian python3-venv || fail "python3-venv is missing: apt-get install python3-venv"
            "$python" -m venv .venv
        }
    fi
    if ! .venv/bin/python -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))'; then
        install_debian python3-dev || say "the Python headers are missing (apt-get install python3-dev): the matching kernel will be the slower one in NumPy"
    fi
    state=$({ printf '%s\n' "$1"; cat pyproject.toml setup.py constraints.txt; find src/tertulia -name '*.cpp' -o -name '*.h' -o -name '*.hpp' | sort | xargs cat; } 2>/dev/null | cksum)
    if [ "$(cat .venv/.tertulia 2>/dev/null)" != "$state" ]; then
        say "installing tertulia$1 (once; a minute or two)"
        .venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".$1"
        printf '%s\n' "$state" >.venv/.tertulia
    fi
}
