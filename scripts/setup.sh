#!/usr/bin/env bash
# Installs what the tests need and the machine lacks. It is quiet and quick when
# there is nothing to do, so every make target that tests calls it first.
#
# usage: scripts/setup.sh test [race]
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*" >&2; }
# Debian keeps PostgreSQL's programs in a folder for each version.
have() { command -v "$1" >/dev/null 2>&1 || compgen -G "/usr/lib/postgresql/*/bin/$1" >/dev/null; }

# missing holds the Debian packages to install, and why.
missing=()
reasons=()
log=
need() { # COMMAND PACKAGES REASON
	have "$1" && return
	read -ra packages <<<"$2"
	missing+=("${packages[@]}")
	reasons+=("$1 ($3)")
}

servers=suites/reference-servers
s3=
prometheus=
for what in "${@:-test}"; do
	case "$what" in
	test)
		need redis-server redis-server "the queue's tests run on a real Redis"
		# Its package may start a server of its own: the tests do not use that.
		need initdb postgresql "the PostgreSQL store's tests run on a real server"
		need python3 python3 "docs/operations.md has a receiver of webhooks written in Python"
		need ssh-keygen openssh-client "waivers are signed with it, and our verification is held to its own"
		if [[ -f $servers/package.json ]]; then
			need node nodejs "$servers holds MCP servers written for Node.js"
			need npm npm "it installs $servers"
		fi
		s3=github.com/versity/versitygw/cmd/versitygw@v1.8.0
		prometheus=1
		;;
	race)
		need "${CC:-gcc}" "gcc libc6-dev" "the race detector links with a C compiler"
		;;
	*)
		say "what is $what? usage: scripts/setup.sh test [race]"
		exit 2
		;;
	esac
done

if ((${#missing[@]})); then
	list=$(printf '%s, ' "${reasons[@]}")
	if ! have apt-get; then
		say "missing: ${list%, }. This machine has no apt-get: install them with its own package manager and try again."
		exit 1
	fi
	if [[ $(id -u) != 0 ]]; then
		say "missing: ${list%, }. Run: sudo apt-get install ${missing[*]}"
		exit 1
	fi
	say "installing ${missing[*]} with apt-get"
	export DEBIAN_FRONTEND=noninteractive
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	if ! { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
		tail -n 20 "$log" >&2
		say "apt-get could not install ${missing[*]}; its last lines are above"
		exit 1
	fi
fi

# A real S3 server for the tests of the blob stores. Its build takes minutes, once.
go=$(command -v go || echo /usr/local/go/bin/go)
if [[ -n $s3 ]] && ! have versitygw && [[ ! -x $("$go" env GOPATH)/bin/versitygw ]]; then
	say "building $s3"
	# Built elsewhere: flags of this build are not meant for it.
	(cd / && env -u GOFLAGS GOBIN="$("$go" env GOPATH)/bin" "$go" install -ldflags='-s -w' "$s3" </dev/null) || {
		say "go install $s3 failed"
		exit 1
	}
fi

# A real Prometheus for the tests of deploy/. Its package is unpacked, not installed:
# installing it starts a server that scrapes this machine and answers everybody.
bin=$("$go" env GOPATH)/bin
if [[ -n $prometheus ]] && ! { have prometheus && have promtool; } && [[ ! -x $bin/prometheus || ! -x $bin/promtool ]]; then
	if ! have apt-get; then
		say "missing: prometheus and promtool (alert rules are tested with them). Install them with this machine's own package manager and try again."
		exit 1
	fi
	say "unpacking prometheus of Debian into $bin"
	unpacked=$(mktemp -d)
	trap 'rm -rf "$log" "$unpacked"' EXIT
	# Root's apt-get reads the lists first if they lack the package.
	if ! (cd "$unpacked" && { apt-get download prometheus || { [[ $(id -u) == 0 ]] && apt-get update && apt-get download prometheus; }; }) >"$unpacked/log" 2>&1 </dev/null ||
		! dpkg-deb --extract "$unpacked"/prometheus_*.deb "$unpacked" >>"$unpacked/log" 2>&1 ||
		! { mkdir -p "$bin" && install "$unpacked/usr/bin/prometheus" "$unpacked/usr/bin/promtool" "$bin"; } >>"$unpacked/log" 2>&1; then
		tail -n 20 "$unpacked/log" >&2
		say "apt-get could not download prometheus; its last lines are above"
		exit 1
	fi
fi

# npm writes node_modules/.package-lock.json last, so it tells whether the
# folder is whole and as new as the lock file.
if [[ -f $servers/package-lock.json && ! $servers/node_modules/.package-lock.json -nt $servers/package-lock.json ]]; then
	say "installing the MCP servers of $servers with npm ci"
	(cd "$servers" && npm ci --loglevel=error --no-audit --no-fund --no-update-notifier --ignore-scripts </dev/null) || {
		say "npm ci failed in $servers"
		exit 1
	}
fi
