# LightMem. `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash
STACK := go run ./deploy/stack

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z][a-z/-]*:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

.PHONY: up
up: ## Fetch, build and start Postgres, Temporal and the model server
	@$(STACK) up

.PHONY: down
down: ## Stop what `make up` started
	@$(STACK) down

.PHONY: status
status: ## Show what runs, where and since when
	@$(STACK) status

.PHONY: ollama
ollama: ## Fetch or build Ollama and start it with both models
	@$(STACK) up ollama

.PHONY: test
test: ## Run every test on the real parts
	@$(STACK) up postgres temporal openai ollama
	go test -race ./...
