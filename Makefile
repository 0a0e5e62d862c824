# Every command that you need to build and test Shopfleet. Run make without a target for a list.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --warn-undefined-variables

MODULE := github.com/shopfleet/shopfleet

# The version that binaries report. It has a default for trees without git.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo v0.0.0-dev)
LDFLAGS = -s -w -X main.version=$(VERSION)

# Flags of go test, for example make test GOTEST_FLAGS='-race -run Failover'.
GOTEST_FLAGS ?=
# How many packages are tested at a time: more than two or three cores, because suites with
# control planes often wait; one of them starts at a time. A control plane takes about 0.6 GB, and the largest suite has ten.
PARALLEL ?= $(shell cores=$$(nproc 2>/dev/null || echo 4); echo $$((cores > 4 ? cores : 4)))
# The packages that make test begins with, so that none of them runs alone at the end.
LONGEST := ./e2e/hub ./e2e/spoke ./e2e/members ./e2e/cloud ./hub/data/restore
# The limit for the tests of one package. A test that hangs ends with a stack trace.
GOTEST_TIMEOUT ?= 40m
# Nothing needs cgo but the race detector. With it, package plugin, which kubectl has through
# kustomize, keeps each exported method in a program: a test of 90 MB took 3.9 s of CPU time to link,
# and without it one of 69 MB takes 2.3 s.
export CGO_ENABLED := $(if $(findstring -race,$(GOTEST_FLAGS)),1,0)
# The packages that make test-unit tests, and those whose operators make mutate changes; then the least percentage of the
# changes that their tests must notice, and how many sites of each package are changed: 0 for all, or a sample by its seed.
PACKAGES ?= ./...
MARK ?= 95
SAMPLE ?= 0
SEED ?= 1
# The figures that make bench measures, as a regular expression of their names (empty for all), the number of
# interleaved pairs of those that have some, the number of shops in a burst, and the number of members.
BENCH ?=
PAIRS ?= 10
SHOPS ?= 50
MEMBERS ?= 3
# The points that make crashpoints runs: all, names of workloads with commas, or the key of one.
CRASHPOINTS ?= all
# The faults that make isolation injects, as a regular expression of their names, empty for all; and the least number of
# measurements in a phase, of which fewer than 300 are shown and not judged.
ISOLATION ?=
SAMPLES ?= 300
# The vulnerability database that make vulncheck reads; empty for that of Go.
GOVULNDB ?=
# The IDs of the mutants that make mutants applies, with spaces; empty for all.
MUTANTS ?=
# The cases that make faults runs: all, or the name of one.
FAULTS ?= all
# Where make push and make shop-push push images to, for example registry.example.com/shop.
REGISTRY ?=
# The version of the storefront that make shop-images builds: v2.0.0, or v2.1.0 to update to.
SHOP_VERSION ?= v2.0.0
# KIND=1: make demo uses kind. KEEP=1: make e2e-kind does not delete its clusters.
KIND ?=
KEEP ?=

# Tools are built from the versions in config/tools into a folder that is named after
# these versions and the version of Go, so that a change of either builds them again.
TOOLS_KEY := $(shell (go env GOVERSION GOOS GOARCH; cat config/tools/go.mod config/tools/go.sum) | git hash-object --stdin | cut -c1-12)
TOOLS := $(CURDIR)/.bin/$(TOOLS_KEY)
CONTROLLER_GEN := $(TOOLS)/controller-gen
GOLANGCI_LINT := $(TOOLS)/golangci-lint
KUSTOMIZE := $(TOOLS)/kustomize
GOTESTSUM := $(TOOLS)/gotestsum

# Helm, promtool, cyclonedx-gomod, opm, gremlins and govulncheck have modules of their own, because their dependencies conflict with
# those of the other tools.
moduleKey = $(shell (go env GOVERSION GOOS GOARCH; cat config/tools/$(1)/go.mod config/tools/$(1)/go.sum) | git hash-object --stdin | cut -c1-12)
HELM := $(CURDIR)/.bin/helm-$(call moduleKey,helm)/helm
PROMTOOL := $(CURDIR)/.bin/promtool-$(call moduleKey,promtool)/promtool
CYCLONEDX := $(CURDIR)/.bin/cyclonedx-gomod-$(call moduleKey,cyclonedx-gomod)/cyclonedx-gomod
OPM := $(CURDIR)/.bin/opm-$(call moduleKey,opm)/opm
GREMLINS := $(CURDIR)/.bin/gremlins-$(call moduleKey,gremlins)/gremlins
GOVULNCHECK := $(CURDIR)/.bin/govulncheck-$(call moduleKey,govulncheck)/govulncheck

# The storefront is a separate module, because the product does not need its database drivers.
SHOP := e2e/shop
# The modules with code of this repository. Those of tools are not tidied: they lack the checksums of what only the
# tests of their dependencies need, which would be downloaded for nothing.
MODULES := . $(SHOP) e2e/release
# Modules that have the versions of programs; that of the Prometheus operator has definitions alone.
TOOL_MODULES := $(filter-out %/prometheus-operator,$(patsubst %/go.mod,%,$(wildcard config/tools/go.mod config/tools/*/go.mod)))

# gotestsum runs go test and keeps its exit code. It prints a line for each package and
# each failure as it happens, and ends with the skipped tests and their reasons. The
# outcome of every test is in a JSON file under RESULTS, where .ci/run reads the skips.
#
# GOGC=400 trades memory for CPU time, which limits make test on few cores: a kube-apiserver
# that starts and gets the CRDs took 2.7 s instead of 3.7 s of it, and 370 MB instead of 320 MB.
# Vet is left out because make verify runs it.
#
# A selection that names nothing is an error: the last argument of goTest is the end of the command, and after it
# at least one package must have run a test. Go says of a package whose tests have no such name, and also of a test
# whose subtests have none, that there are no tests to run.
# Targets that compile programs call goTest instead of runTests: GOGC would hold for the compiler too.
RESULTS := $(CURDIR)/.results
PROFILES := $(RESULTS)/profiles
runTests = export GOGC=400 && $(call goTest,$(1),$(2),$(3))
goTest = mkdir -p $(RESULTS) && SHOPFLEET_NO_DOWNLOAD=1 $(GOTESTSUM) --format $(2) --format-hide-empty-pkg --format-icons text --jsonfile $(RESULTS)/$(1).json -- -vet=off $(3) && \
	awk -F '"Package":"' '{ split($$2, name, "\"") } /"Action":"run"/ { ran[name[1]] } /"Output":"testing: warning: no tests to run/ { delete ran[name[1]] } END { for (one in ran) exit; print "$@: the selection names no test"; exit 1 }' $(RESULTS)/$(1).json

# What takes too long for each change runs whole on demand, and by a sample in continuous integration. A run of the whole
# that passes is recorded here, with its day and commit.
INSTRUMENTS := e2e/instruments.txt
recordRun = @sed -i.old "s|^$@ .*|$@ $$(date +%F) $$(git rev-parse --short=8 HEAD)|" $(INSTRUMENTS) && rm $(INSTRUMENTS).old

FLEET := go run ./e2e/fleet/cmd/fleet
DEMO := go run ./e2e/demo

# Files that make generate writes and make verify compares.
CRDS := config/crd/bases
CHARTS := config/charts
PAGES := hub/RUNBOOK.md hub/REASONS.md cmd/kubectl-shopfleet/README.md $(CHARTS)/shopfleet-hub/README.md $(CHARTS)/shopfleet-hub/values.schema.json
GENERATED := $(CRDS) 'api/**/zz_generated.*.go' $(CHARTS)/shopfleet-hub/files $(CHARTS)/shopfleet-spoke $(PAGES)

##@ Start here

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN { FS = ":.*##"; printf "Usage: make \033[36m<target>\033[0m\n" } \
	  /^[a-zA-Z0-9_-]+:.*?##/ { printf "  \033[36m%-12s\033[0m %s\n", $$1, $$2 } \
	  /^##@/ { printf "\n\033[1m%s\033[0m\n", substr($$0, 5) }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Start a hub and three members on this machine and run a shop; KIND=1 uses kind.
	$(DEMO) up --compiling-since "$$(date +%s)" $(if $(KIND),--kind)

.PHONY: demo-restore
demo-restore: ## Restore the backup of make demo in another region and run the shop there.
	$(DEMO) restore

.PHONY: demo-rollout
demo-rollout: ## Roll a bad image out in the demo, region by region, and see it taken back.
	$(DEMO) rollout

.PHONY: demo-down
demo-down: ## Stop the demo and delete its data; KIND=1 deletes its kind clusters.
	$(DEMO) down $(if $(KIND),--kind)

##@ Develop

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Generate deepcopy functions and CRDs from api/, the files of the charts from config/, and pages.
	@rm -rf .bin/crd
	$(CONTROLLER_GEN) object crd paths=./api/... output:crd:dir=.bin/crd
	@mkdir -p $(CRDS)
	@rm -f $(CRDS)/*.yaml # Removes the CRDs of removed kinds.
	@mv .bin/crd/*.yaml $(CRDS)/
	@$(MAKE) --no-print-directory charts
	@UPDATE_GOLDEN=1 go test -vet=off -count=1 -run '^TestPage$$|^TestChartsDescribeTheirValues$$' ./hub/runbook ./cmd/kubectl-shopfleet/commands ./config >/dev/null # Writes pages and schemas from the tables and values.

# What the page of kubectl shopfleet ui has of others. The lock has the checksums; a test compares what is committed with it.
PAGE := cmd/kubectl-shopfleet/ui/page/assets
.PHONY: page-assets
page-assets: ## Bring htmx and Pico from npm for the page of kubectl shopfleet ui, as its lock says.
	@rm -rf .bin/page; mkdir -p .bin/page; cp $(PAGE)/package.json $(PAGE)/package-lock.json .bin/page/
	cd .bin/page && npm ci --omit=dev --ignore-scripts --no-audit --no-fund
	cp .bin/page/node_modules/htmx.org/dist/htmx.min.js .bin/page/node_modules/htmx.org/dist/ext/hx-sse.min.js $(PAGE)/
	cp .bin/page/node_modules/@picocss/pico/css/pico.classless.min.css $(PAGE)/
	cp .bin/page/node_modules/htmx.org/LICENSE $(PAGE)/htmx.LICENSE
	cp .bin/page/node_modules/@picocss/pico/LICENSE.md $(PAGE)/pico.LICENSE

.PHONY: charts
charts: ## Copy the manifests of config/ into the Helm charts.
	@for process in hub spoke; do \
	  files=$(CHARTS)/shopfleet-$$process/files; \
	  rm -rf $$files; mkdir -p $$files/crds $$files/objects; \
	  cp config/rbac/$$process/*.yaml config/manager/$$process/*.yaml config/monitoring/$$process/*.yaml $$files/objects/; \
	  rm $$files/objects/namespace.yaml; \
	  for policy in config/admission/$$process/*.yaml; do [ ! -e "$$policy" ] || cp "$$policy" "$$files/objects/admission-$${policy##*/}"; done; \
	  cp config/monitoring/shopfleet.json $$files/; \
	done
	@cp $(CRDS)/ecommerce.io_*.yaml $(CHARTS)/shopfleet-hub/files/crds/
	@cp $(CRDS)/ecommerce.io_ecommerceapps.yaml $(CRDS)/example.com_*.yaml $(CRDS)/mysql.example.com_*.yaml $(CHARTS)/shopfleet-spoke/files/crds/
	@rm -rf $(CHARTS)/shopfleet-spoke/templates # Both charts use the same templates.
	@cp -r $(CHARTS)/shopfleet-hub/templates $(CHARTS)/shopfleet-hub/values.schema.json $(CHARTS)/shopfleet-spoke/

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Format the code and sort the imports.
	$(GOLANGCI_LINT) fmt

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run the linters of .golangci.yml.
	$(GOLANGCI_LINT) run
	cd $(SHOP) && $(GOLANGCI_LINT) run -c $(CURDIR)/.golangci.yml
	cd e2e/release && $(GOLANGCI_LINT) run -c $(CURDIR)/.golangci.yml

.PHONY: lint-fix
lint-fix: $(GOLANGCI_LINT) ## Run the linters and apply their fixes.
	$(GOLANGCI_LINT) run --fix

.PHONY: verify
verify: generate $(GOLANGCI_LINT) ## Generate and lint; fails if generated files or go.mod are out of date.
	@dirty="$$(git status --porcelain --untracked-files=all -- $(GENERATED))"; \
	if [ -n "$$dirty" ]; then \
	  echo "verify: generated files differ from what is committed (M changed, D gone, ?? new):"; \
	  echo "$$dirty"; \
	  git --no-pager diff --no-color HEAD -- $(GENERATED); \
	  echo "verify: the files are generated again; review and commit them."; \
	  exit 1; \
	fi
	@for module in $(MODULES); do \
	  go -C $$module mod tidy -diff || { echo "verify: go.mod or go.sum of $$module is not tidy, see above; run go -C $$module mod tidy and commit."; exit 1; }; \
	done
	$(GOLANGCI_LINT) run
	cd $(SHOP) && $(GOLANGCI_LINT) run -c $(CURDIR)/.golangci.yml
	cd e2e/release && $(GOLANGCI_LINT) run -c $(CURDIR)/.golangci.yml
	@echo "verify: generated files and go.mod are up to date, lint is clean."

# The program says when its database was updated if it can read that. GOVULNDB names another database,
# for example a copy of it in a folder.
.PHONY: vulncheck
vulncheck: $(GOVULNCHECK) ## Search the modules and tools for known vulnerabilities; says so where the database of Go is not reached.
	@if ! $(GOVULNCHECK) $(if $(GOVULNDB),-db $(GOVULNDB)) -version | grep '^DB updated'; then \
	  echo "vulncheck: NOT CHECKED: the vulnerability database $(or $(GOVULNDB),https://vuln.go.dev) cannot be reached from here."; \
	  exit 0; \
	fi; \
	found=0; \
	for checked in $(MODULES:%='% ./...') 'e2e/kind/oauth2proxy github.com/oauth2-proxy/oauth2-proxy/v7' $(TOOL_MODULES:%='% tool'); do \
	  set -- $$checked; \
	  echo "vulncheck: $$2 in $$1"; \
	  $(GOVULNCHECK) $(if $(GOVULNDB),-db $(GOVULNDB)) -C $$1 $$2 || found=1; \
	done; \
	exit $$found

##@ Test

.PHONY: test
test: binaries-csi $(GOTESTSUM) ## Run all tests, on real control planes and databases.
	@$(call runTests,test,pkgname-and-test-fails,-p $(PARALLEL) $(GOTEST_FLAGS) -timeout $(GOTEST_TIMEOUT) $(LONGEST) ./...)
	@cd $(SHOP) && $(call runTests,shop,pkgname-and-test-fails,$(GOTEST_FLAGS) -timeout $(GOTEST_TIMEOUT) ./...)

# The tests of a package need a fleet if they link the package that builds control planes.
.PHONY: test-unit
test-unit: $(GOTESTSUM) ## Run the tests that need no control plane; PACKAGES=<patterns> selects some.
	@for pattern in $(PACKAGES); do \
	  [ -n "$$(go list $$pattern 2>/dev/null)" ] || { echo "$@: PACKAGES: no package is $$pattern"; exit 1; }; \
	done; \
	packages="$$(go list -test -f '{{.ImportPath}}{{range .Deps}} {{.}}{{end}}' $(PACKAGES) | awk ' \
	  $$1 !~ /\.test$$/ { next } \
	  { for (i = 2; i <= NF; i++) if ($$i == "$(MODULE)/e2e/fleet/binaries") next } \
	  { sub(/\.test$$/, "", $$1); print $$1 }')"; \
	[ -n "$$packages" ] || { echo "$@: PACKAGES: no test of $(PACKAGES) does without a control plane"; exit 1; }; \
	$(call runTests,unit,pkgname-and-test-fails,$(GOTEST_FLAGS) -timeout $(GOTEST_TIMEOUT) $$packages)

# The trap deletes the clusters also after a failure or an interruption.
.PHONY: e2e-kind
e2e-kind: binaries-csi $(GOTESTSUM) ## Run the end-to-end tests on kind clusters; needs docker. KEEP=1 keeps the clusters.
	cd e2e/kind/oauth2proxy && go test -count=1 -timeout 30m .
	@trap '[ -n "$(KEEP)" ] || go run ./e2e/kind/cmd/testenv down' EXIT; \
	export SHOPFLEET_KIND=1 KEEP=$(KEEP); \
	$(call runTests,kind,standard-verbose,-count=1 -timeout 60m $(GOTEST_FLAGS) ./e2e/kind)

.PHONY: skew
skew: binaries $(GOTESTSUM) ## Run hub, agents and plugins of this tree and of the release before in one fleet, in both directions.
	@export SHOPFLEET_SKEW=1; \
	$(call runTests,skew,standard-verbose,-count=1 -timeout $(GOTEST_TIMEOUT) $(GOTEST_FLAGS) ./e2e/skew)

.PHONY: crashpoints
crashpoints: binaries-csi $(GOTESTSUM) ## Kill the hub at each of its writes; CRASHPOINTS=<workloads or key> selects some.
	@export SHOPFLEET_CRASHPOINTS='$(CRASHPOINTS)'; \
	$(call runTests,crashpoints,standard-verbose,-count=1 -timeout 2h $(GOTEST_FLAGS) ./e2e/crashpoints)
	$(if $(filter all,$(CRASHPOINTS)),@export SHOPFLEET_CRASHPOINTS=all; \
	$(call runTests,crashes,pkgname-and-test-fails,-count=1 -timeout $(GOTEST_TIMEOUT) $(GOTEST_FLAGS) ./hub/data/backup ./hub/data/restore))
	$(if $(filter all,$(CRASHPOINTS)),$(recordRun))

.PHONY: faults
faults: binaries $(GOTESTSUM) ## Run all fault cases of e2e/faults, of which make test has a third; FAULTS=<name> selects one.
	@export SHOPFLEET_FAULTS='$(FAULTS)'; \
	$(call runTests,faults,standard-verbose,-count=1 -run TestFaults -timeout $(GOTEST_TIMEOUT) $(GOTEST_FLAGS) ./e2e/faults)

.PHONY: cloud-contract
cloud-contract: ## Run the contract tests of every cloud provider and print a table of the results.
	go test -count=1 -json -run '^TestContract' ./cloud/... | go run ./cloud/cloudtest/cmd/matrix

runBench = SHOPFLEET_NO_DOWNLOAD=1 SHOPFLEET_BENCH='$(1)' SHOPFLEET_BENCH_PAIRS=$(PAIRS) SHOPFLEET_BENCH_SHOPS=$(SHOPS) SHOPFLEET_BENCH_MEMBERS=$(MEMBERS) go test -vet=off -run '^$$' -bench '^BenchmarkHub$$' -benchtime 1x -timeout 2h $(GOTEST_FLAGS) ./e2e/bench

.PHONY: bench
bench: binaries ## Measure the hub beside a bare writer; BENCH=<regexp> selects figures, PAIRS=<n>, SHOPS=<n> and MEMBERS=<n> their size.
	$(call runBench,$(BENCH))
	$(if $(BENCH),,$(recordRun))

.PHONY: screenshots
screenshots: binaries $(GOTESTSUM) ## Take the pictures of the page of kubectl shopfleet ui anew, of a fleet with a region that does not answer.
	@mkdir -p e2e/ui/screenshots; export SHOPFLEET_SCREENSHOTS=$(CURDIR)/e2e/ui/screenshots; \
	$(call runTests,screenshots,standard-verbose,-count=1 -run TestUI $(GOTEST_FLAGS) ./e2e/ui)

.PHONY: bench-page
bench-page: binaries ## Measure the page of kubectl shopfleet ui with 500 members and 2,000 shops: reading, rendering, first paint, longest task.
	@mkdir -p $(RESULTS)
	go test -vet=off -p 1 -v -run '^$$' -bench '^Benchmark(Document|Caches|Paint)$$' -benchtime 3x -timeout $(GOTEST_TIMEOUT) $(GOTEST_FLAGS) ./cmd/kubectl-shopfleet/ui/page ./e2e/ui | tee $(RESULTS)/bench-page.txt
	@grep -q '^Benchmark' $(RESULTS)/bench-page.txt || { echo "$@: the selection names no test"; exit 1; }

.PHONY: profile
profile: binaries ## Profile the hub in a burst of SHOPS=<n> shops, and show what costs most.
	@rm -rf $(PROFILES); mkdir -p $(PROFILES)
	SHOPFLEET_BENCH_PROFILES=$(PROFILES) $(call runBench,burst)
	go tool pprof -top -cum -nodecount 60 $(PROFILES)/cpu.pprof
	go tool pprof -top -sample_index inuse_space -nodecount 40 $(PROFILES)/heap.pprof

.PHONY: mutants
mutants: binaries ## Break the product in the ways of e2e/mutants, one by one, and show which test notices; MUTANTS=<IDs> selects some.
	SHOPFLEET_NO_DOWNLOAD=1 go run ./e2e/mutants/cmd/mutants $(MUTANTS)
	$(if $(MUTANTS),,$(recordRun))

.PHONY: mutate
mutate: $(GREMLINS) ## Change each operator of PACKAGES=<patterns>, and show which changes their own tests do not notice; fails below MARK=<percent>.
	@[ '$(PACKAGES)' != ./... ] || { echo "$@: set PACKAGES, as in: make $@ PACKAGES=./hub/app/overrides"; exit 1; }
	go run ./e2e/mutants/cmd/mutate -gremlins $(GREMLINS) -mark $(MARK) -sample $(SAMPLE) -seed $(SEED) -test-flags '$(GOTEST_FLAGS)' $(PACKAGES)

.PHONY: isolation
isolation: binaries ## Measure seven members while an eighth is frozen, tar-pitted, slow, forbidden or flapping, or the hub is slow, and half while half is frozen; ISOLATION=<regexp> selects some.
	SHOPFLEET_NO_DOWNLOAD=1 SHOPFLEET_ISOLATION='$(ISOLATION)' SHOPFLEET_ISOLATION_SAMPLES=$(SAMPLES) go test -vet=off -run '^$$' -bench '^BenchmarkIsolation$$' -benchtime 1x -timeout 20m $(GOTEST_FLAGS) ./e2e/bench
	$(if $(ISOLATION)$(filter-out 300,$(SAMPLES)),,$(recordRun))

# The sample of crash points is a part of make test.
.PHONY: instruments
instruments: ## Run two mutants and short samples of bench and isolation, and show when the whole of each instrument last ran.
	@$(MAKE) --no-print-directory mutants MUTANTS='exchanged-unasked counts-at-once'
	@$(MAKE) --no-print-directory bench BENCH=create PAIRS=1
	@$(MAKE) --no-print-directory isolation ISOLATION='frozen|slow-hub' SAMPLES=35
	@echo "the last run of the whole:"; cat $(INSTRUMENTS)

# KUBEBUILDER_ASSETS names a folder with programs to use; SHOPFLEET_NO_DOWNLOAD=1 disables downloads.
.PHONY: binaries
binaries: ## Download or build the control plane for the tests and the demo, once.
	$(FLEET) binaries

.PHONY: binaries-csi
binaries-csi: ## The same, and the controllers of a storage driver, which are built once.
	$(FLEET) binaries --csi

.PHONY: fleet
fleet: binaries ## Start a hub and members as control planes on this machine, without Shopfleet.
	$(FLEET) up

.PHONY: fleet-down
fleet-down: ## Stop the fleet.
	$(FLEET) down

##@ Build

.PHONY: build
build: ## Build static binaries: bin/hub, bin/spoke and bin/kubectl-shopfleet.
	@mkdir -p bin
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/hub ./cmd/spoke ./cmd/kubectl-shopfleet

# The images contain only a static binary: building them needs no registry, and either
# builder of docker works. Their programs are for Linux, on this machine's architecture, also where
# make runs on another system.
.PHONY: images
images: ## Build the images shopfleet-hub and shopfleet-spoke with docker.
	@mkdir -p bin/images
	GOOS=linux CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/images/ ./cmd/hub ./cmd/spoke
	@for process in hub spoke; do \
	  echo "building shopfleet-$$process:$(VERSION)"; \
	  docker build --quiet --file cmd/Dockerfile --build-arg BINARY=$$process --build-arg VERSION=$(VERSION) \
	    --tag shopfleet-$$process:$(VERSION) bin/images; \
	done

.PHONY: shop-images
shop-images: ## Build the images of the storefront, ecommerce-frontend and ecommerce-backend, with docker.
	@mkdir -p bin/shop
	GOOS=linux CGO_ENABLED=0 go build -C $(SHOP) -trimpath -ldflags '-s -w -X main.version=$(SHOP_VERSION)' -o $(CURDIR)/bin/shop/ ./cmd/frontend ./cmd/backend
	@for program in frontend backend; do \
	  echo "building ecommerce-$$program:$(SHOP_VERSION)"; \
	  docker build --quiet --file $(SHOP)/Dockerfile --build-arg BINARY=$$program --build-arg VERSION=$(SHOP_VERSION) \
	    --tag ecommerce-$$program:$(SHOP_VERSION) bin/shop; \
	done

# pushImages tags images for REGISTRY and pushes them.
pushImages = @[ -n "$(REGISTRY)" ] || { echo "$@: set REGISTRY, as in: make $@ REGISTRY=registry.example.com/shop"; exit 1; }; \
	for image in $(1); do docker tag "$$image" "$(REGISTRY)/$$image"; docker push "$(REGISTRY)/$$image"; done

.PHONY: push
push: ## Push the images of make images to REGISTRY=<registry/folder>.
	$(call pushImages,shopfleet-hub:$(VERSION) shopfleet-spoke:$(VERSION))

# Where make release writes, and the platforms that it builds, with commas; empty for all.
RELEASE := $(CURDIR)/bin/release
# The private key that signs a release: a PEM file of openssl or cosign, the latter with its COSIGN_PASSWORD; empty for none.
COSIGN_KEY ?=
PLATFORMS ?=

.PHONY: release
release: $(HELM) $(CYCLONEDX) $(OPM) ## Make everything that a release of VERSION has, for images and charts in REGISTRY, up to the push.
	go -C e2e/release run . build --version '$(VERSION)' --registry '$(REGISTRY)' $(if $(PLATFORMS),--platforms $(PLATFORMS)) $(if $(COSIGN_KEY),--key '$(abspath $(COSIGN_KEY))') \
	  --output $(RELEASE) --helm $(HELM) --cyclonedx-gomod $(CYCLONEDX) --opm $(OPM)
	$(if $(PLATFORMS),,$(recordRun))

.PHONY: release-push
release-push: $(HELM) ## Push the images and charts that make release made to REGISTRY.
	go -C e2e/release run . push --from $(RELEASE) --to '$(REGISTRY)' --helm $(HELM) $(if $(COSIGN_KEY),--key '$(abspath $(COSIGN_KEY))')

# CATALOG=1: make release-check also makes the catalogue for OLM, for which opm is compiled.
CATALOG ?=
.PHONY: release-check
release-check: $(GOTESTSUM) $(if $(CATALOG),$(OPM)) ## Make a release for this machine, push it to a registry of the test, and take everything from there again; CATALOG=1 with a catalogue for OLM.
	@cd e2e/release && export SHOPFLEET_OPM=$(if $(CATALOG),$(OPM)) && $(call goTest,release-check,pkgname-and-test-fails,-count=1 $(GOTEST_FLAGS) ./...)

.PHONY: stranger
stranger: $(GOTESTSUM) $(HELM) $(CYCLONEDX) ## Go from two releases in a registry to a shop on kind and back, with a time for each step; needs docker and chromium-headless-shell.
	@export SHOPFLEET_STRANGER=1; \
	$(call goTest,stranger,standard-verbose,-count=1 -timeout 40m $(GOTEST_FLAGS) ./e2e/stranger)
	$(if $(GOTEST_FLAGS),,$(recordRun))

.PHONY: shop-push
shop-push: ## Push the images of make shop-images to REGISTRY=<registry/folder>.
	$(call pushImages,ecommerce-frontend:$(SHOP_VERSION) ecommerce-backend:$(SHOP_VERSION))

.PHONY: tools
tools: $(CONTROLLER_GEN) $(GOLANGCI_LINT) $(GOTESTSUM) $(KUSTOMIZE) $(HELM) $(PROMTOOL) ## Build the pinned tools into .bin/.

.PHONY: clean
clean: ## Delete binaries, tools and test results.
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
$(GREMLINS): TOOL = github.com/go-gremlins/gremlins/cmd/gremlins
$(CYCLONEDX): TOOL = github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod
$(OPM): TOOL = github.com/operator-framework/operator-registry/cmd/opm
$(GOVULNCHECK): TOOL = golang.org/x/vuln/cmd/govulncheck

TOOLFLAGS :=
# The Kubernetes version that helm assumes without a cluster; the default of go build is 1.20.
$(HELM): TOOLFLAGS = -ldflags '$(foreach v,lint/rules chartutil,-X helm.sh/helm/v3/pkg/$(v).k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/$(v).k8sVersionMinor=36)'
# Only rules are checked, so promtool is built without service discovery and its cloud SDKs.
$(PROMTOOL): TOOLFLAGS = -tags remove_all_sd
# Without cgo, opm has neither GnuPG nor SQLite: a catalogue is files, and nothing is pulled.
$(OPM): TOOLFLAGS = -tags json1,containers_image_openpgp

.PHONY: helm promtool cyclonedx-gomod kustomize
helm: $(HELM)
promtool: $(PROMTOOL)
cyclonedx-gomod: $(CYCLONEDX)
kustomize: $(KUSTOMIZE)
helm promtool cyclonedx-gomod kustomize: # Build the program and print its path, for tests.
	@echo $<

$(HELM) $(PROMTOOL) $(CYCLONEDX) $(OPM) $(GREMLINS) $(GOVULNCHECK):
	@echo "building $(@F) (once for each change in config/tools/$(@F))"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 go -C config/tools/$(@F) build -trimpath $(TOOLFLAGS) -o $@ $(TOOL)
