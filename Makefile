# What people and CI do with this repository. `make help` lists it.
#
# Targets that run tests install what the tests need first, when it is missing
# (scripts/setup.sh); nothing else touches the machine.

# Go's archive goes to /usr/local/go and leaves the PATH to the person.
GO ?= $(or $(shell command -v go),/usr/local/go/bin/go)
# The tools have a module of their own, so that the product does not require
# what its linters require.
TOOL := $(GO) tool -modfile=tools/go.mod
# Further flags for go test, such as TESTFLAGS='-count=1 -run TestFoo'.
TESTFLAGS ?=
# Tests of real processes wait most of their time, so more of them run at once than
# there are processors on a small machine.
PARALLEL := -parallel $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n < 4 ? 4 : n)))

.DEFAULT_GOAL := help
.PHONY: help build test race check lint fmt bench soak update setup

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build the commands into bin/
	$(GO) build -o bin/ ./cmd/...

test: setup ## run every test; on Debian as root it installs what they need
	$(GO) test $(PARALLEL) -timeout 20m $(TESTFLAGS) ./...
	cd deploy && $(GO) test -timeout 20m $(TESTFLAGS) ./...

# SQLite is Go code here, so the race detector slows every test with a store. It finds
# no more in the hundredth round of a property than in the twentieth.
race: ## run every test under the race detector
	@scripts/setup.sh test race
	RAPID_CHECKS=20 $(GO) test -race $(PARALLEL) -timeout 40m $(TESTFLAGS) ./...

check: setup ## what to run before a commit: format, vet, staticcheck, tests
	@unformatted="$$($(TOOL) gofumpt -l .)" || exit 1; \
	if [ -n "$$unformatted" ]; then echo "run make fmt; it would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(TOOL) staticcheck ./...
	$(GO) test -timeout 20m $(TESTFLAGS) ./...
	cd deploy && $(GO) vet ./... && $(GO) test -timeout 20m $(TESTFLAGS) ./...

lint: ## run golangci-lint; its first build takes minutes
	$(TOOL) golangci-lint run ./...

fmt: ## format the Go files
	$(TOOL) gofumpt -l -w .

bench: setup ## run the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem $(TESTFLAGS) ./...

# The long tests have the build tag soak and Soak in their names.
soak: setup ## run the long tests, two hours: every fault on a large farm, a million trials
	$(GO) test -tags soak -run Soak -count=1 -timeout 150m $(TESTFLAGS) ./...
	cd deploy && $(GO) test -tags soak -run Soak -count=1 -timeout 60m $(TESTFLAGS) ./...

# Only test packages that declare the flag know it; the others would refuse it.
update: setup ## rewrite the golden files; read the diff before you commit it
	$(GO) test $$(grep -rl --include='*_test.go' --exclude-dir=node_modules 'flag.Bool("update"' . | xargs -n 1 dirname | sort -u) -update $(TESTFLAGS)

setup:
	@scripts/setup.sh test
