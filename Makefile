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
# Set: make demo runs on kind. KEEP leaves the clusters of make e2e-kind.
KIND ?=
KEEP ?=

# Tools are built from config/tools into a folder named after the pins and the
# Go that built them: a change of either builds anew, anything else is free.
TOOLS_KEY := $(shell (go env GOVERSION GOOS GOARCH; cat config/tools/go.mod config/tools/go.sum) | git hash-object --stdin | cut -c1-12)
TOOLS := $(CURDIR)/.bin/$(TOOLS_KEY)
CONTROLLER_GEN := $(TOOLS)/controller-gen
GOLANGCI_LINT := $(TOOLS)/golangci-lint
KUSTOMIZE := $(TOOLS)/kustomize
GOTESTSUM := $(TOOLS)/gotestsum

# These two are modules of their own below config/tools: what they need does not go
# together with what the others need.
moduleKey = $(shell (go env GOVERSION GOOS GOARCH; cat config/tools/$(1)/go.mod config/tools/$(1)/go.sum) | git hash-object --stdin | cut -c1-12)
HELM := $(CURDIR)/.bin/helm-$(call moduleKey,helm)/helm
PROMTOOL := $(CURDIR)/.bin/promtool-$(call moduleKey,promtool)/promtool

# The storefront that fleets run is a module of its own: its drivers are not the product's.
SHOP := e2e/shop

# gotestsum runs go test and keeps its exit code. It prints a line for each package and
# each failure as it happens, and ends with the skipped tests and their reasons. The
# outcome of every test is in a JSON file under RESULTS, where .ci/run reads the skips.
RESULTS := $(CURDIR)/.results
runTests = mkdir -p $(RESULTS) && $(GOTESTSUM) --format $(2) --format-hide-empty-pkg --format-icons text --jsonfile-timing-events $(RESULTS)/$(1).json --

FLEET := go run ./e2e/fleet/cmd/fleet
DEMO := go run ./e2e/demo

# What make generate writes, and what make verify therefore compares.
CRDS := config/crd/bases
CHARTS := config/charts
GENERATED := $(CRDS) 'api/**/zz_generated.*.go' $(CHARTS)/shopfleet-hub/files $(CHARTS)/shopfleet-spoke

##@ Start here

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN { FS = ":.*##"; printf "Usage: make \033[36m<target>\033[0m\n" } \
	  /^[a-zA-Z0-9_-]+:.*?##/ { printf "  \033[36m%-12s\033[0m %s\n", $$1, $$2 } \
	  /^##@/ { printf "\n\033[1m%s\033[0m\n", substr($$0, 5) }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Start a fleet on this machine with the hub in it, and run a shop on it; KIND=1 with real containers.
	$(DEMO) up $(if $(KIND),--kind)

.PHONY: demo-restore
demo-restore: ## Restore the backup that make demo made in another region, and run the shop on it there.
	$(DEMO) restore

.PHONY: demo-down
demo-down: ## Stop the demo and delete what it made; KIND=1 as above.
	$(DEMO) down $(if $(KIND),--kind)

##@ Develop

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Write deepcopy functions and CRDs from the types in api/, and what charts have of config/.
	@rm -rf .bin/crd
	$(CONTROLLER_GEN) object crd paths=./api/... output:crd:dir=.bin/crd
	@mkdir -p $(CRDS)
	@rm -f $(CRDS)/*.yaml # A kind that is gone takes its CRD along.
	@mv .bin/crd/*.yaml $(CRDS)/
	@$(MAKE) --no-print-directory charts

.PHONY: charts
charts: ## Write what the Helm charts have of config/.
	@for process in hub spoke; do \
	  files=$(CHARTS)/shopfleet-$$process/files; \
	  rm -rf $$files; mkdir -p $$files/crds $$files/objects; \
	  cp config/rbac/$$process/*.yaml config/manager/$$process/*.yaml config/monitoring/$$process/*.yaml $$files/objects/; \
	  rm $$files/objects/namespace.yaml; \
	  cp config/monitoring/shopfleet.json $$files/; \
	done
	@cp $(CRDS)/ecommerce.io_*.yaml $(CHARTS)/shopfleet-hub/files/crds/
	@cp $(CRDS)/ecommerce.io_ecommerceapps.yaml $(CRDS)/example.com_*.yaml $(CRDS)/mysql.example.com_*.yaml $(CHARTS)/shopfleet-spoke/files/crds/
	@rm -rf $(CHARTS)/shopfleet-spoke/templates # Both charts have one set of templates.
	@cp -r $(CHARTS)/shopfleet-hub/templates $(CHARTS)/shopfleet-hub/values.schema.json $(CHARTS)/shopfleet-spoke/

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
test: binaries $(GOTESTSUM) ## Run every test, against real control planes and databases.
	@$(call runTests,test,pkgname-and-test-fails) $(GOTEST_FLAGS) -timeout $(GOTEST_TIMEOUT) ./...
	@cd $(SHOP) && $(call runTests,shop,pkgname-and-test-fails) $(GOTEST_FLAGS) -timeout $(GOTEST_TIMEOUT) ./...

# A package needs a fleet when its tests link what builds the control plane.
.PHONY: test-unit
test-unit: $(GOTESTSUM) ## Run the tests that need no fleet: seconds, not minutes.
	@packages="$$(go list -test -f '{{.ImportPath}}{{range .Deps}} {{.}}{{end}}' ./... | awk ' \
	  $$1 !~ /\.test$$/ { next } \
	  { for (i = 2; i <= NF; i++) if ($$i == "$(MODULE)/e2e/fleet/binaries") next } \
	  { sub(/\.test$$/, "", $$1); print $$1 }')"; \
	$(call runTests,unit,pkgname-and-test-fails) $(GOTEST_FLAGS) -timeout 5m $$packages

# kind ends with the shell, however that ends: an interruption leaves no clusters.
.PHONY: e2e-kind
e2e-kind: $(GOTESTSUM) ## Test the whole product with real containers on kind clusters; needs docker. KEEP=1 leaves them.
	@trap '[ -n "$(KEEP)" ] || go run ./e2e/kind/cmd/lab down' EXIT; \
	export SHOPFLEET_KIND=1 KEEP=$(KEEP); \
	$(call runTests,kind,standard-verbose) -count=1 -timeout 45m $(GOTEST_FLAGS) ./e2e/kind

.PHONY: cloud-contract
cloud-contract: ## Test every cloud provider against the contract, and print the matrix of cases and providers.
	go test -count=1 -json -run '^TestContract' ./cloud/... | go run ./cloud/cloudtest/cmd/matrix

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

# The images are made of nothing but a static binary: no registry is asked, and the old
# builder does as well as the new one. Push them to a registry of your own.
.PHONY: images
images: build ## Build the images shopfleet-hub and shopfleet-spoke with docker.
	@for process in hub spoke; do \
	  echo "building shopfleet-$$process:$(VERSION)"; \
	  docker build --quiet --file cmd/Dockerfile --build-arg BINARY=$$process --build-arg VERSION=$(VERSION) \
	    --tag shopfleet-$$process:$(VERSION) bin; \
	done

.PHONY: tools
tools: $(CONTROLLER_GEN) $(GOLANGCI_LINT) $(GOTESTSUM) $(KUSTOMIZE) $(HELM) $(PROMTOOL) ## Build the pinned tools into .bin/.

.PHONY: clean
clean: ## Delete what make built, tools included.
	rm -rf bin .bin .results

$(CONTROLLER_GEN): TOOL = sigs.k8s.io/controller-tools/cmd/controller-gen
$(GOLANGCI_LINT): TOOL = github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(GOTESTSUM): TOOL = gotest.tools/gotestsum
$(KUSTOMIZE): TOOL = sigs.k8s.io/kustomize/kustomize/v5

$(CONTROLLER_GEN) $(GOLANGCI_LINT) $(GOTESTSUM) $(KUSTOMIZE):
	@echo "building $(@F) (once for each change in config/tools)"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 go -C config/tools build -trimpath -o $@ $(TOOL)

$(HELM): TOOL = helm.sh/helm/v3/cmd/helm
$(PROMTOOL): TOOL = github.com/prometheus/prometheus/cmd/promtool

# Without a cluster, helm takes the Kubernetes that it was built for; plain go build says 1.20.
$(HELM): TOOLFLAGS = -ldflags '$(foreach v,lint/rules chartutil,-X helm.sh/helm/v3/pkg/$(v).k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/$(v).k8sVersionMinor=36)'
# Rules are checked with it, nothing is scraped: the clouds' libraries stay out.
$(PROMTOOL): TOOLFLAGS = -tags remove_all_sd

.PHONY: helm promtool
helm: $(HELM)
promtool: $(PROMTOOL)
helm promtool: # Print where the program is. Tests ask.
	@echo $(if $(filter helm,$@),$(HELM),$(PROMTOOL))

$(HELM) $(PROMTOOL):
	@echo "building $(@F) (once for each change in config/tools/$(@F))"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 go -C config/tools/$(@F) build -trimpath $(TOOLFLAGS) -o $@ $(TOOL)
