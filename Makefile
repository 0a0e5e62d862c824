# Shopfleet: everything a contributor runs. `make` alone explains itself.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --warn-undefined-variables

MODULE := github.com/shopfleet/shopfleet

# The version that binaries report; a tree without git history still builds.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo v0.0.0-dev)
LDFLAGS = -s -w -X main.version=$(VERSION)

# Flags for go test, for example: make test GOTEST_FLAGS='-race -run Failover'.
GOTEST_FLAGS ?=
# A bound for each package's tests, so that a hang ends with a stack trace.
GOTEST_TIMEOUT ?= 20m
# What make bench measures.
BENCH ?= .

# Tools are built from config/tools into a folder named after the pins and the
# Go that built them: a change of either builds anew, anything else is free.
TOOLS_KEY := $(shell (go env GOVERSION GOOS GOARCH; cat config/tools/go.mod config/tools/go.sum) | git hash-object --stdin | cut -c1-12)
TOOLS := $(CURDIR)/.bin/$(TOOLS_KEY)
CONTROLLER_GEN := $(TOOLS)/controller-gen
GOLANGCI_LINT := $(TOOLS)/golangci-lint
KUSTOMIZE := $(TOOLS)/kustomize

# The storefront that fleets run is a module of its own: its drivers are not the product's.
SHOP := e2e/shop

FLEET := go run ./e2e/fleet/cmd/fleet
DEMO := go run ./e2e/demo

# What make generate writes, and what make verify therefore compares.
CRDS := config/crd/bases
GENERATED := $(CRDS) 'api/**/zz_generated.*.go'

##@ Start here

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN { FS = ":.*##"; printf "Usage: make \033[36m<target>\033[0m\n" } \
	  /^[a-zA-Z0-9_-]+:.*?##/ { printf "  \033[36m%-12s\033[0m %s\n", $$1, $$2 } \
	  /^##@/ { printf "\n\033[1m%s\033[0m\n", substr($$0, 5) }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Start a fleet on this machine with the hub in it, and run a shop on it.
	$(DEMO) up

.PHONY: demo-down
demo-down: ## Stop the demo and delete what it made.
	$(DEMO) down

##@ Develop

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Write deepcopy functions and CRDs from the types in api/.
	@rm -rf .bin/crd
	$(CONTROLLER_GEN) object crd paths=./api/... output:crd:dir=.bin/crd
	@mkdir -p $(CRDS)
	@rm -f $(CRDS)/*.yaml # A kind that is gone takes its CRD along.
	@mv .bin/crd/*.yaml $(CRDS)/

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Format the code and order the imports.
	$(GOLANGCI_LINT) fmt

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Lint: layers, sizes, errors, style. See .golangci.yml.
	$(GOLANGCI_LINT) run
	cd $(SHOP) && $(GOLANGCI_LINT) run -c $(CURDIR)/.golangci.yml

.PHONY: lint-fix
lint-fix: $(GOLANGCI_LINT) ## Lint, and mend what the linters can mend themselves.
	$(GOLANGCI_LINT) run --fix

.PHONY: verify
verify: generate $(GOLANGCI_LINT) ## Generate and lint; fails if generated files or go.mod are not committed as they should be.
	@dirty="$$(git status --porcelain --untracked-files=all -- $(GENERATED))"; \
	if [ -n "$$dirty" ]; then \
	  echo "verify: generated files differ from what is committed (M changed, D gone, ?? new):"; \
	  echo "$$dirty"; \
	  git --no-pager diff --no-color HEAD -- $(GENERATED); \
	  echo "verify: they now say what the types in api/ say; review and commit them."; \
	  exit 1; \
	fi
	@go mod tidy -diff || { echo "verify: go.mod or go.sum is not tidy, see above; run go mod tidy and commit."; exit 1; }
	$(GOLANGCI_LINT) run
	cd $(SHOP) && $(GOLANGCI_LINT) run -c $(CURDIR)/.golangci.yml
	@echo "verify: generated files and go.mod are up to date, lint is clean."

##@ Test

.PHONY: test
test: binaries ## Run every test, against real control planes and databases.
	go test $(GOTEST_FLAGS) -timeout $(GOTEST_TIMEOUT) ./...
	cd $(SHOP) && go test $(GOTEST_FLAGS) -timeout $(GOTEST_TIMEOUT) ./...

# A package needs a fleet when its tests link what builds the control plane.
.PHONY: test-unit
test-unit: ## Run the tests that need no fleet: seconds, not minutes.
	@packages="$$(go list -test -f '{{.ImportPath}}{{range .Deps}} {{.}}{{end}}' ./... | awk ' \
	  $$1 !~ /\.test$$/ { next } \
	  { for (i = 2; i <= NF; i++) if ($$i == "$(MODULE)/e2e/fleet/binaries") next } \
	  { sub(/\.test$$/, "", $$1); print $$1 }')"; \
	go test $(GOTEST_FLAGS) -timeout 5m $$packages

.PHONY: bench
bench: binaries ## Run the benchmarks; BENCH=<regexp> chooses.
	go test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 60m $(GOTEST_FLAGS) ./e2e/bench/...

.PHONY: binaries
binaries: ## Build the control plane that fleets run: once, then it is there.
	$(FLEET) binaries

.PHONY: fleet
fleet: binaries ## Start a fleet of real control planes on this machine.
	$(FLEET) up

.PHONY: fleet-down
fleet-down: ## Stop the fleet.
	$(FLEET) down

##@ Build

.PHONY: build
build: ## Build bin/hub, bin/spoke and bin/kubectl-shopfleet, static.
	@mkdir -p bin
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/hub ./cmd/spoke ./cmd/kubectl-shopfleet

.PHONY: tools
tools: $(CONTROLLER_GEN) $(GOLANGCI_LINT) $(KUSTOMIZE) ## Build the pinned tools into .bin/.

.PHONY: clean
clean: ## Delete what make built, tools included.
	rm -rf bin .bin

$(CONTROLLER_GEN): TOOL = sigs.k8s.io/controller-tools/cmd/controller-gen
$(GOLANGCI_LINT): TOOL = github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(KUSTOMIZE): TOOL = sigs.k8s.io/kustomize/kustomize/v5

$(CONTROLLER_GEN) $(GOLANGCI_LINT) $(KUSTOMIZE):
	@echo "building $(@F) (once for each change in config/tools)"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 go -C config/tools build -trimpath -o $@ $(TOOL)
