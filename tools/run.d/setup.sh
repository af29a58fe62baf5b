# Part of ./run: installs what is missing and says what it does; a second time it only looks.
# shellcheck shell=bash

# install_packages LIST...: the Debian packages of these lists that dpkg does not have.
install_packages() {
    command -v dpkg-query >/dev/null || die "this needs Debian 12 (no dpkg here); the packages are in: $*"
    local wanted missing=() name
    mapfile -t wanted < <(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$@")
    local installed
    installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null || true)
    for name in "${wanted[@]}"; do
        grep -qxF "$name installed" <<<"$installed" || missing+=("$name")
    done
    if [ ${#missing[@]} -eq 0 ]; then
        note "all ${#wanted[@]} packages are there"
        return
    fi
    note "installing ${#missing[@]} of ${#wanted[@]} packages: ${missing[*]}"
    note "(a first install fetches some hundred MB and may take several minutes)"
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
            as_root=(sudo -n)
        else
            printf '\nThis user may not install packages. Have an administrator run this, then start again:\n\n'
            printf '    apt-get update && apt-get install -y --no-install-recommends %s\n' "${missing[*]}"
            die "packages are missing: ${missing[*]}"
        fi
    fi
    apt_get "${as_root[@]}" update || die "apt-get update failed; its log: build/logs/apt.log"
    apt_get "${as_root[@]}" install -y --no-install-recommends "${missing[@]}" ||
        die "apt-get install failed; its log: build/logs/apt.log"
}

# apt_get [sudo -n] ARGUMENTS: quiet, with a sign of life every 10 seconds; on failure the log's end.
apt_get() {
    local before=()
    if [ "$1" = sudo ]; then
        before=(sudo -n)
        shift 2
    fi
    local from=$SECONDS status=0
    "${before[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 "$@" \
        >"$LOGS/apt.log" 2>&1 </dev/null &
    local pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        sleep 1
        if (((SECONDS - from) % 10 == 9)); then
            note "apt-get $1: $((SECONDS - from)) s: $(tail -n 1 "$LOGS/apt.log" | cut -c1-80)"
        fi
    done
    wait "$pid" || status=$?
    [ $status = 0 ] || tail -n 15 "$LOGS/apt.log"
    return $status
}

# The Python environment of the end-to-end tests; made anew when the pinned list or the Python changes.
install_python() {
    local mark wanted
    mark=.venv/.made-from
    wanted=$({
        cat tools/requirements.txt
        python3 --version
        pwd
    } | sha256sum | cut -d' ' -f1)
    if [ -x .venv/bin/python ] && [ "$(cat $mark 2>/dev/null)" = "$wanted" ]; then
        note ".venv is up to date"
        return
    fi
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "python3 is older than 3.11"
    note "making .venv and installing $(grep -c '==' tools/requirements.txt) pinned packages"
    rm -rf .venv
    python3 -m venv .venv || die "python3 -m venv failed: is the package python3-venv installed?"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input \
        -r tools/requirements.txt >"$LOGS/pip.log" 2>&1 || {
        tail -n 15 "$LOGS/pip.log"
        die "pip could not install tools/requirements.txt (is a package index within reach?)"
    }
    echo "$wanted" >$mark
}
