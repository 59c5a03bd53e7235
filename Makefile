# Everything a contributor or a newcomer types. `make` alone lists it.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON3 ?= python3
VENV ?= .venv
PYTHON ?= $(VENV)/bin/python
BIN := $(dir $(PYTHON))
CORES := $(shell nproc 2>/dev/null || echo 2)
ROOT_DIR ?= /var/lib/troupelet-demo
PREFIX ?= /opt/troupelet
DESTDIR ?=
DIST ?= dist
DURATION ?= 300
VERSION_FILE := actors/shared/config/version.py
SEED ?= 1
# What is built has the time of the sources, so that it is the same whenever it is built.
DATED = SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || echo 1577836800)}

# A start must not compile its imports each time.
unexport PYTHONDONTWRITEBYTECODE
export PATH := $(PATH):/usr/sbin:/sbin
export DEBIAN_FRONTEND := noninteractive
APT_INSTALL := apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=120

##@ First steps

.PHONY: help
help:  ## list what can be made
	@awk 'BEGIN { FS = ":[^#]*## " }
	  /^##@/ { printf "\n%s\n", substr($$0, 5) }
	  /^[a-z-]+:[^#]*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: deps $(VENV)/.installed  ## a node of its own on this machine, with a sample pod; Ctrl-C removes it (ROOT_DIR=)
	@exec $(BIN)supervise demo --root-dir=$(ROOT_DIR) $(RUN_FLAGS)

.PHONY: venv
venv: $(VENV)/.installed-dev  ## .venv with all of pyproject.toml; again only after that, or the version, changed
	@:

.PHONY: deps
deps:  ## the Debian packages that real containers need; installs only what is missing
	@missing=
	need() { command -v "$$1" >/dev/null || [ -e "$$1" ] || missing="$$missing $$2"; }
	need containerd containerd; need runc runc; need iptables iptables; need ip iproute2
	need /bin/busybox busybox-static
	[ -z "$(TESTING)" ] || need dbus-daemon dbus
	[ -e /opt/cni/bin/bridge ] || [ -e /usr/libexec/cni/bridge ] || need /usr/lib/cni/bridge containernetworking-plugins
	[ -n "$$missing" ] || exit 0
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	  echo "missing:$$missing" >&2
	  echo "These are names of Debian packages. Install what they hold, or run make as root where there is apt-get." >&2
	  exit 1
	fi
	echo "installing:$$missing"
	log=$$(mktemp); trap 'rm -f "$$log"' EXIT
	$(APT_INSTALL) $$missing >"$$log" 2>&1 || { apt-get update -qq && $(APT_INSTALL) $$missing; } >"$$log" 2>&1 || {
	  tail -5 "$$log" >&2; echo "apt-get could not install:$$missing" >&2; exit 1; }

##@ Tests

.PHONY: test
test: venv try-deps  ## every test, those with real containers too (as root)
	@exec $(PYTHON) -m tests.run --cores $(CORES) $(TEST_FLAGS)

.PHONY: test-quick
test-quick: venv  ## in two minutes, those of units and single actors that are not slow; TEST_FLAGS= chooses some
	@$(if $(TEST_FLAGS),,TROUPELET_TEST_QUICK=1) exec $(PYTHON) -m pytest -n $$(($(CORES) + 2)) --dist loadfile \
	  -m "not tree and not node and not packages and not host $(if $(TEST_FLAGS),,and not slow)" \
	  $(or $(TEST_FLAGS),tests/unit tests/actors)

.PHONY: test-packages
test-packages: deps venv  ## build package and image, install and start them: as root, ten minutes, with a mirror of Debian
	@$(APT_INSTALL) debootstrap lintian dpkg-dev skopeo >/dev/null || echo "going on without: what is missing is said" >&2
	exec $(PYTHON) -m pytest -m packages tests/packages -rs $(TEST_FLAGS)

.PHONY: test-host
test-host: deps venv  ## the agent on Debian 13 with systemd and cgroup v2, emulated: as root, a quarter of an hour, with a mirror of Debian
	@command -v qemu-system-x86_64 >/dev/null && command -v debootstrap >/dev/null || $(APT_INSTALL) qemu-system-x86 debootstrap e2fsprogs >/dev/null
	exec $(PYTHON) -m pytest -m host tests/host -rs -s $(TEST_FLAGS)

.PHONY: try-deps
try-deps:
	@$(MAKE) deps TESTING=1 || echo "going on without: the tests with real containers cannot run" >&2
	$(MAKE) browser || echo "going on without: the tests with a browser cannot run" >&2

.PHONY: browser
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || {
	  $(APT_INSTALL) chromium fonts-dejavu-core >/dev/null 2>&1 || { apt-get update -qq && $(APT_INSTALL) chromium fonts-dejavu-core >/dev/null; }; }

.PHONY: check
check: venv  ## format, lint, types, layers, shape: in seconds
	@$(MAKE) -k -j$(CORES) --output-sync=target check-types check-layers check-shape check-lint check-format

.PHONY: check-format check-lint check-types check-layers check-shape
check-format:
	@$(BIN)ruff format --check --quiet . || { echo "not in the one format: make format"; exit 1; }
check-lint:
	@$(BIN)ruff check --quiet .
check-types:
	@$(BIN)mypy
check-layers:
	@$(BIN)lint-imports --no-logo | grep -vE '^(|-+|Contracts|Analyzed.*)$$'
check-shape:
	@$(PYTHON) -m tests.shape

.PHONY: format
format: venv  ## put the code in its one format, and mend what lint can mend
	@unmended=0; $(BIN)ruff check --quiet --fix . || unmended=$$?
	$(BIN)ruff format --quiet .; exit $$unmended

.PHONY: bench
bench: deps venv  ## measure against a bare CRI client on the same runtime; writes bench.json
	@exec $(PYTHON) -m tests.bench $(BENCH_FLAGS)

.PHONY: memory-profile
memory-profile: deps venv  ## record what the actors run, for actors/agent/memory_profile (after larger changes)
	@exec $(PYTHON) -m tests.bench.memory_profile

.PHONY: chaos
chaos: deps venv  ## random faults while pods come and go (DURATION= seconds, SEED=, CHAOS_FLAGS=--joined)
	@exec $(PYTHON) -m tests.chaos --duration $(DURATION) --seed $(SEED) $(CHAOS_FLAGS)

##@ The rest

.PHONY: proto
proto: venv  ## generate the Python modules of proto/*.proto
	$(PYTHON) -m grpc_tools.protoc -I. --python_out=. --grpc_python_out=. \
	  --plugin=protoc-gen-mypy=$(BIN)protoc-gen-mypy --mypy_out=quiet:. \
	  --plugin=protoc-gen-mypy_grpc=$(BIN)protoc-gen-mypy_grpc --mypy_grpc_out=quiet:. proto/*.proto

.PHONY: wheel
wheel: $(VENV)/.installed  ## dist/troupelet-*.whl, with manual pages and completion of shells
	@rm -f $(DIST)/troupelet-*.whl
	$(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir $(DIST) .
	ls $(DIST)/troupelet-*.whl

.PHONY: screenshots
screenshots: venv browser  ## docs/images: `supervise observe`, light and dark, by a headless browser
	@exec $(PYTHON) -m tests.screenshots docs/images

.PHONY: transcript
transcript: deps venv  ## rewrite the answers in docs/transcript.md, with real containers (as root)
	@exec $(PYTHON) -m tests.transcript

.PHONY: man
man: $(VENV)/.installed  ## the manual pages, in dist/man
	@exec $(BIN)supervise man dist/man

.PHONY: deb
deb: $(VENV)/.installed  ## dist/troupelet_*.deb, for this distribution's python3; needs dpkg-dev
	@command -v dpkg-shlibdeps >/dev/null && command -v strip >/dev/null || { echo "missing: dpkg-dev, with binutils" >&2; exit 1; }
	rm -f $(DIST)/troupelet_*.deb
	stage=$$(mktemp -d); trap 'rm -rf "$$stage"' EXIT
	make install DESTDIR="$$stage" PREFIX=/usr/lib/troupelet PIP_FLAGS=--no-compile >/dev/null
	$(DATED) etc/debian/build.sh "$$stage" /usr/lib/troupelet "$(DIST)"

.PHONY: image
image: deb  ## dist/troupelet-*.oci.tar, the Debian package in a small Debian; as root, takes minutes, needs debootstrap
	@command -v debootstrap >/dev/null || { echo "missing: debootstrap" >&2; exit 1; }
	$(DATED) etc/image/build.sh "$$(echo $(DIST)/troupelet_*.deb)" "$(PYTHON)" "$(DIST)"

.PHONY: install
install: wheel  ## a virtual environment of its own at DESTDIR/PREFIX, with `supervise` in its bin
	@$(PYTHON3) -m venv "$(DESTDIR)$(PREFIX)"
	"$(DESTDIR)$(PREFIX)/bin/python" -m pip install --quiet --force-reinstall $(PIP_FLAGS) "$$(echo $(DIST)/troupelet-*.whl)[top,completion]"
	[ -z "$(DESTDIR)" ] || grep -rlI -- "$(DESTDIR)$(PREFIX)" "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/pyvenv.cfg" \
	  | xargs -r sed -i "s#$(DESTDIR)$(PREFIX)#$(PREFIX)#g"
	sed -i "s#/opt/troupelet/#$(PREFIX)/#" "$(DESTDIR)$(PREFIX)/share/troupelet/etc/systemd/troupelet.service"
	echo "installed: $(DESTDIR)$(PREFIX)/bin/supervise; samples: $(DESTDIR)$(PREFIX)/share/troupelet/etc"

.PHONY: uninstall
uninstall:  ## remove what `make install` made at DESTDIR/PREFIX; an agent's pods and files go by `supervise reset`
	@place="$(DESTDIR)$(PREFIX)"
	[ -e "$$place" ] || { echo "nothing is installed in $$place"; exit 0; }
	[ -f "$$place/pyvenv.cfg" ] && [ -x "$$place/bin/supervise" ] && [ -d "$$place/share/troupelet" ] || {
	  echo "$$place was not made by make install: it stays" >&2; exit 1; }
	# grep fails as soon as it may not read one of them
	running=$$({ grep -lsF "$(PREFIX)/lib/python" /proc/[0-9]*/maps || true; } | cut -d/ -f3)
	[ -z "$$running" ] || { echo "something runs from $$place (pids $$(echo $$running)): stop it first" >&2; exit 1; }
	rm -rf -- "$$place"
	echo "removed: $$place"

.PHONY: clean
clean:  ## remove what was made here, but not .venv
	@rm -rf dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache bench.json
	find supervision actors proto tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.installed: EXTRAS := top,completion
$(VENV)/.installed-dev: EXTRAS := top,completion,dev
$(VENV)/.installed $(VENV)/.installed-dev: pyproject.toml $(VERSION_FILE)
	@exec 9<pyproject.toml; flock 9
	[ "$@" -nt pyproject.toml ] && [ "$@" -nt $(VERSION_FILE) ] && exit 0
	$(PYTHON3) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
	  echo "Python 3.11 or newer is needed, $(PYTHON3) is $$($(PYTHON3) -V 2>&1): make PYTHON3=/path/to/python3" >&2; exit 1; }
	if ! $(PYTHON3) -c 'import ensurepip, venv' 2>/dev/null; then
	  if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	    echo "$(PYTHON3) cannot make virtual environments: install python3-venv, or run make as root" >&2; exit 1
	  fi
	  echo "installing: python3-venv"
	  $(APT_INSTALL) python3-venv >/dev/null 2>&1 || { apt-get update -qq && $(APT_INSTALL) python3-venv; } >/dev/null
	fi
	[ -x $(VENV)/bin/pip ] || { echo "making $(VENV)"; $(PYTHON3) -m venv --clear $(VENV); }
	echo "installing what pyproject.toml names into $(VENV): this takes a minute or two"
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --use-pep517 --editable '.[$(EXTRAS)]'
	touch $@
