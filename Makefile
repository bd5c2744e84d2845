# What a person types is what CI runs. `make help` lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

FUZZTIME ?= 5m
SOAK ?= 30m
TOUR ?= tour
E2EFLAGS ?=
BATTERYFLAGS ?=
BENCHFLAGS ?=
BEFORE ?= HEAD
BENCH ?= .
PARTS ?= ./ca ./har ./netlog ./proxy/...
IMAGEFLAGS ?=
DOCKER ?= docker
IMAGE ?= agentenv-netlog
TOOL := go tool -modfile=tools/go.mod
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

.PHONY: help build image fmt lint test race docs fuzz e2e e2e-setup soak tour bench performance benchmarks battery vuln

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

build: ## the static binary, bin/agentenv-netlog
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/agentenv-netlog ./cmd/agentenv-netlog

image: export GOOS := linux
image: build ## the image IMAGE (agentenv-netlog), by DOCKER (docker) and IMAGEFLAGS
	$(DOCKER) build $(IMAGEFLAGS) --label org.opencontainers.image.version=$(VERSION) --tag $(IMAGE) .

fmt: ## format every Go file
	gofmt -w $$(git ls-files --cached --others --exclude-standard '*.go')

lint: ## gofmt, vet, staticcheck, and go.mod files that are tidy
	@unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted (make fmt):"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	$(TOOL) staticcheck ./...
	go mod tidy -diff
	cd tools && go mod tidy -diff

test: ## what needs nothing but Go
	go test ./...

race: ## the same with the race detector (wants a C compiler)
	go test -race ./...

docs: ## docs/commands.md, of what the commands say of themselves
	go test ./cmd/agentenv-netlog -run '^TestTheReferenceIsCurrent$$' -update

# A target fails that has met a fault, and not when the end of its own time is taken
# for one (golang/go#75804, mended in Go 1.27).
fuzz: ## every fuzz target for FUZZTIME (5m) each
	@listed=$$(go test -list '^Fuzz' ./...); \
	targets=$$(awk '/^Fuzz/ { f[n++] = $$1 } /^ok/ { for (i = 0; i < n; i++) print $$2 "=" f[i]; n = 0 }' <<< "$$listed"); \
	said=$$(mktemp); trap 'rm -f "$$said"' EXIT; \
	for target in $$targets; do \
		echo "fuzz $${target#*=} of $${target%=*} for $(FUZZTIME)"; \
		go test -run '^$$' -fuzz "^$${target#*=}\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$${target%=*}" 2>&1 | \
			tee "$$said" | awk '/^--- FAIL/ { over = 1 } !over { print; fflush() }' && continue; \
		if [ "$$(grep -A1 '^ *--- FAIL: ' "$$said" | tail -n +2)" != '    context deadline exceeded' ]; then \
			sed -n '/^--- FAIL/,$$p' "$$said"; exit 1; \
		fi; \
		echo "its time was over within an input"; \
	done

e2e-setup: ## install what the end-to-end tests run beside the binary (root)
	e2e/setup

e2e: e2e-setup ## the binary among real parties; nothing is skipped
	NETLOG_E2E=all go test -count=1 -timeout 60m $(E2EFLAGS) ./e2e/...

soak: ## 2,000 clients of every kind for SOAK (30m), and what the proxy has of them then
	NETLOG_SOAK=$(SOAK) go test -count=1 -timeout 0 -v -run '^TestMixedTraffic$$' ./e2e

tour: ## the whole product on one machine, to watch (root); its files go to TOUR (./tour)
	go test -c -o bin/e2e.test ./e2e
	cd e2e && NETLOG_E2E=all NETLOG_TOUR='$(abspath $(TOUR))' ../bin/e2e.test -test.run '^TestTheTour$$'

bench: ## the proxy beside its peers and the floor, one table (BENCHFLAGS="-only json")
	go run ./bench $(BENCHFLAGS)

performance: ## bench, how cost grows, and both in docs/performance.md with its plots
	go run ./bench -plots docs/performance -page docs/performance.md $(BENCHFLAGS)

# In turns, since a machine's speed drifts; without the benchmarks that check a GiB.
benchmarks: ## the parts' benchmarks (BENCH=regexp, PARTS=packages) at the commit BEFORE (HEAD) and now, six times each, by benchstat
	@dir=$$(mktemp -d); \
	trap 'git worktree remove --force "$$dir/before"; rm -r "$$dir"' EXIT; \
	git worktree add --quiet --detach "$$dir/before" '$(BEFORE)'; \
	for round in 1 2 3 4 5 6; do \
		for when in before now; do \
			folder=.; if [ $$when = before ]; then folder="$$dir/before"; fi; \
			go test -C "$$folder" -run '^$$' -bench '$(BENCH)' -skip '^BenchmarkCheck' $(PARTS) >> "$$dir/$$when.txt"; \
		done; \
	done; \
	$(TOOL) benchstat before="$$dir/before.txt" now="$$dir/now.txt"

battery: ## the wire battery through the proxy, goproxy and martian: who passes what
	go run ./e2e/battery/versus $(BATTERYFLAGS)

vuln: ## known vulnerabilities in what is called (asks the Go vulnerability database)
	$(TOOL) govulncheck ./...
