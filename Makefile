# LightMem. `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash
STACK := go run ./deploy/stack
DEVSERVER_TAGS := -tags=release,disable_grpc_modules
TOOL := go tool -modfile=internal/tools/go.mod

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z][a-z/-]*:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

.PHONY: demo
demo: ## Set everything up, start the worker, and play a conversation of several months
	@$(STACK) up & up=$$!; $(MAKE) --no-print-directory build || { kill $$up; exit 1; }; wait $$up
	@bin/lightmem migrate up
	@$(STACK) work bin/lightmem-worker
	@bin/lightmem demo

.PHONY: build
build: ## Build bin/lightmem and bin/lightmem-worker
	@mkdir -p bin
	@echo "build lightmem and lightmem-worker (a minute the first time)"
	@go build -o bin/lightmem ./starter && go build -o bin/lightmem-worker ./worker

.PHONY: up
up: ## Fetch, build and start Postgres, Temporal and the model server
	@$(STACK) up

.PHONY: down
down: ## Stop what `make up` and `make demo` started
	@$(STACK) down

.PHONY: status
status: ## Show what runs, where and since when
	@$(STACK) status

.PHONY: ollama
ollama: ## Fetch or build Ollama and start it with both models
	@$(STACK) up ollama

.PHONY: test
test: ## Run every test, on the real parts, with the race detector
	@$(STACK) up postgres temporal openai ollama
	@$(MAKE) --no-print-directory check
	go test -race -timeout 40m ./...
	@# With the flags of its build, so that nothing is compiled a second time.
	cd deploy/devserver && export CGO_ENABLED=0 && go vet -trimpath $(DEVSERVER_TAGS) ./... && go test -trimpath $(DEVSERVER_TAGS) ./...

.PHONY: check
check: ## Format, vet, staticcheck, workflowcheck, dependency direction, generated code
	@echo "check: format"; files=$$(git ls-files '*.go' | grep -v 'internal/postgres/query/' | xargs $(TOOL) gofumpt -l); test -z "$$files" || { echo "not formatted (run make format):"; echo "$$files"; exit 1; }
	@echo "check: vet"; go vet ./...
	@echo "check: staticcheck"; $(TOOL) staticcheck ./...
	@echo "check: workflowcheck"; $(TOOL) workflowcheck -config workflowcheck.config.yaml -show-pos ./workflows/...
	@echo "check: dependency direction"; $(TOOL) depguard ./...
	@echo "check: generated code"; $(MAKE) --no-print-directory generate/check

.PHONY: generate/check
generate/check:
	@cd internal/postgres && go run github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1 diff

.PHONY: format
format: ## Format all Go files
	@git ls-files '*.go' | grep -v 'internal/postgres/query/' | xargs $(TOOL) gofumpt -w

.PHONY: bench
bench: ## Measure turns, retrieval and throughput (see docs/performance.md)
	@$(STACK) up postgres temporal
	@go run ./internal/bench

.PHONY: fuzz
fuzz: ## Fuzz every decoder for ten seconds each
	@for pkg in $$(go list ./...); do for f in $$(go test -list '^Fuzz' $$pkg | grep ^Fuzz); do echo "$$pkg $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime 10s $$pkg || exit 1; done; done
