#!/bin/sh
# Make sure that there is a browser for the tests of the page: sh install_browser.sh PYTHON
# Where none can be had, one line says so; that is no error, and the tests in the browser are skipped.
set -u

there() {
    command -v chromium || command -v chromium-browser || command -v google-chrome
} >/dev/null 2>&1

# The system's own, if a package manager is there and may be used: by root, or by sudo without a password.
from_system() {
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo && sudo -n true || return 1
        as_root='sudo -n'
    fi
    if command -v apt-get; then
        $as_root apt-get update -qq && $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium
    elif command -v dnf; then
        $as_root dnf install -y -q chromium
    elif command -v apk; then
        $as_root apk add --quiet chromium
    else
        return 1
    fi
} >/dev/null 2>&1

fetched() {
    timeout 600 "$1" -m playwright install chromium
} >/dev/null 2>&1

there && exit 0
echo 'Installing a browser for the tests of the page (once)'
from_system && there && exit 0
fetched "$1" && exit 0
echo 'No Chromium here, and none to be had: the tests in the browser are skipped'
