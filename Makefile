# `make` lists the targets. README's two commands need Go alone: `go run ./cmd/gateway demo` and `make test`.
.DEFAULT_GOAL := help
SHELL := /bin/bash
GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
TIME ?= 10s
SEED ?= 0
CASES ?= testdata/cases/changelog-cases.yaml
TOOLS := $(CURDIR)/bin/tools
BUF_VERSION := v1.75.0
GOFUMPT_VERSION := v0.9.2
STATICCHECK_VERSION := v0.7.0

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
	$(GO) test -race $$($(GO) list ./... | grep -vE '/(interop|bench)/')

.PHONY: vet
vet:
	$(GO) vet ./...

.PHONY: lint
lint: vet $(TOOLS)/gofumpt $(TOOLS)/staticcheck ## vet, gofumpt, staticcheck, the wall of imports
	@out=$$(git ls-files -co --exclude-standard '*.go' | grep -v '\.pb\.go$$' | grep -v '^bench/limits/' | xargs $(TOOLS)/gofumpt -l); \
	  if [ -n "$$out" ]; then echo "not formatted (run make fmt):"; echo "$$out"; exit 1; fi
	$(TOOLS)/staticcheck -checks 'SA*,-SA1019' ./...
	$(GO) test ./internal/lint

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
	@git diff --exit-code --stat -- proto || (echo 'generated code differs: run make generate and commit'; exit 1)

.PHONY: golden
golden: ## run data-driven tests and rewrite their expected output
	$(GO) test ./... -rewrite

.PHONY: fuzz
fuzz: ## each fuzz target in turn for TIME (10s)
	@set -e; for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	    echo "== $$p $$f"; $(GO) test $$p -run '^$$' -fuzz "^$$f$$" -fuzztime $(TIME); done; done

.PHONY: crash
crash: ## kill -9 loops of writer, gateway and publisher; KILLS=200 SEED=n
	SLUICE_KILLS=$(or $(KILLS),200) SLUICE_SEED=$(SEED) $(GO) test -count=1 -timeout 40m -run 'TestCrash' -v ./interop/crash

.PHONY: cases
cases: ## run a case file: make cases CASES=FILE…
	$(GO) run ./interop/cases $(CASES)

.PHONY: interop
interop: ## Paimon Java verifies, reads, appends to and compacts our tables, and we theirs (needs Java 17 and Maven)
	$(GO) test -count=1 -timeout 30m -tags interop ./interop/...

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
