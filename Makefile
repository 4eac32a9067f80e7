# `make` lists the targets. README's two commands need Go alone: `go run ./cmd/gateway demo` and `make test`.
.DEFAULT_GOAL := help
SHELL := /bin/bash
GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
TIME ?= 10s
SEED ?= 0
CASES ?= testdata/cases/*.yaml
TOOLS := $(CURDIR)/bin/tools
# Packages with tests that need Java.
INTEROP = $$(grep -rlE '^//go:build interop$$' --include='*_test.go' . | xargs -n1 dirname | sort -u)
BUF_VERSION := v1.75.0
GOFUMPT_VERSION := v0.9.2
STATICCHECK_VERSION := v0.7.0
GOVULNCHECK_VERSION := v1.9.0
# All checks of staticcheck but for: use of what is deprecated, form of error texts, error as the last result, form of
# comments on variables, what nothing uses.
CHECKS := all,-SA1019,-ST1005,-ST1008,-ST1022,-U1000

.PHONY: help
help: ## print this list
	@grep -hE '^[a-z][a-z-]*:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

.PHONY: build
build: ## bin/gateway, version stamped
	$(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/gateway ./cmd/gateway

.PHONY: test
test: ## all tests (Go only, no network but modules)
	$(GO) test ./...

.PHONY: race
race: ## all tests under the race detector, but for the long suites in interop/ and bench/
	$(GO) test -race -timeout 20m $$($(GO) list ./... | grep -vE '/(interop|bench)/')

.PHONY: vet
vet:
	$(GO) vet ./...

.PHONY: lint
lint: vet $(TOOLS)/gofumpt $(TOOLS)/staticcheck ## vet, gofumpt, staticcheck, the wall of imports
	@out=$$(git ls-files -co --exclude-standard '*.go' | grep -v '\.pb\.go$$' | grep -v '^bench/limits/' | xargs $(TOOLS)/gofumpt -l); \
	  if [ -n "$$out" ]; then echo "not formatted (run make fmt):"; echo "$$out"; exit 1; fi
	$(TOOLS)/staticcheck -checks '$(CHECKS)' ./...
	$(TOOLS)/staticcheck -checks '$(CHECKS)' -tags interop,engines ./interop/...
	$(GO) test ./internal/lint

.PHONY: vuln
vuln: ## known vulnerabilities of the modules (needs https://vuln.go.dev)
	$(GO) run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) ./...

.PHONY: fmt
fmt: $(TOOLS)/gofumpt ## format all Go files
	git ls-files -co --exclude-standard '*.go' | grep -v '\.pb\.go$$' | grep -v '^bench/limits/' | xargs $(TOOLS)/gofumpt -w

$(TOOLS)/gofumpt:
	GOBIN=$(TOOLS) $(GO) install mvdan.cc/gofumpt@$(GOFUMPT_VERSION)

$(TOOLS)/staticcheck:
	GOBIN=$(TOOLS) $(GO) install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION)

$(TOOLS)/buf:
	GOBIN=$(TOOLS) $(GO) install github.com/bufbuild/buf/cmd/buf@$(BUF_VERSION)

.PHONY: generate
generate: $(TOOLS)/buf ## generated code from proto/
	cd proto && PATH=$(TOOLS):$$PATH buf generate

.PHONY: proto-check
proto-check: $(TOOLS)/buf ## lint the protocol and refuse breaking changes against the accepted image
	cd proto && $(TOOLS)/buf lint && $(TOOLS)/buf breaking --against accepted.binpb

.PHONY: check-clean
check-clean: generate ## fails if generated code is not what is committed
	@git diff --exit-code --stat -- proto && [ -z "$$(git ls-files -o --exclude-standard -- proto)" ] || \
	  (echo 'generated code differs: run make generate and commit'; exit 1)

.PHONY: golden
golden: ## run data-driven tests and rewrite their expected output
	$(GO) test ./... -rewrite

.PHONY: fuzz
fuzz: ## each fuzz target in turn for TIME (10s)
	GO=$(GO) .ci/fuzz $(TIME)

.PHONY: fuzz-short
fuzz-short: ## each fuzz target for 5 s, and no more than 4 minutes in all
	GO=$(GO) .ci/fuzz 5s 240

.PHONY: crash
crash: ## kill -9 loops of writer, gateway and publisher; KILLS=200 SEED=n
	SLUICE_KILLS=$(or $(KILLS),200) SLUICE_SEED=$(SEED) $(GO) test -count=1 -timeout 40m -run 'TestCrash' -v ./interop/crash

.PHONY: crash-lookup
crash-lookup: ## kill -9 at failpoints of writers with lookup, harm to their indexes: RUNS=1000 SEED=n
	SLUICE_KILLS=$(or $(RUNS),1000) SLUICE_SEED=$(SEED) $(GO) test -count=1 -timeout 40m -run 'TestCrashLookup' -v ./interop/crash

.PHONY: cases
cases: ## run case files, writing level 0 first and straight above it: make cases CASES=FILE…
	$(GO) run ./interop/cases $(CASES)
	$(GO) run ./interop/cases -straight $(CASES)

.PHONY: histories
histories: ## compare with Java's answers to random histories: make histories FILES=… ONLY=REGEXP
	$(GO) run ./interop/histories $(if $(ONLY),-only '$(ONLY)') $(or $(FILES),testdata/histories/*.zst)
	$(GO) run ./interop/histories -straight $(if $(ONLY),-only '$(ONLY)') $(or $(FILES),testdata/histories/*.zst)

.PHONY: oracle-fuzz
oracle-fuzz: ## fresh histories against Java (17, Maven): SEED=n COUNT=n FROM=n ENGINE=… PRODUCER=…
	$(GO) run ./interop/histories -fuzz -seed $(SEED) -from $(or $(FROM),0) -count $(or $(COUNT),1000) $(if $(ENGINE),-engine $(ENGINE)) $(if $(PRODUCER),-producer $(PRODUCER))

.PHONY: interop
interop: ## Paimon Java verifies, reads, appends to and compacts our tables, and we theirs (needs Java 17 and Maven)
	$(GO) test -count=1 -timeout 20m -tags interop $(INTEROP)

.PHONY: interop-full
interop-full: ## the same with more conditions, and reads after every step instead of some
	SLUICE_INTEROP=full $(GO) test -count=1 -timeout 40m -tags interop $(INTEROP)

.PHONY: interop-engines
interop-engines: ## Flink, pypaimon and pypaimon-rust against our tables, and ours against theirs (needs Java, Maven, Python)
	$(GO) test -count=1 -timeout 60m -tags engines -v ./interop/engines/...

.PHONY: bench
bench: ## our work and the limits of the machine in one run, as ratios
	bench/run.sh

.PHONY: bench-peer
bench-peer: ## our work and Paimon Java's by turns: make bench-peer WORK='ingest-none tail'
	bench/peer.sh $(or $(WORK),ingest-none ingest-input tail scan-runs scan-compacted)

.PHONY: clean
clean: ## remove what was built
	rm -rf bin out
