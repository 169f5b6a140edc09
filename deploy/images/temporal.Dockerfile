# Temporal's server and web UI in one process, with SQLite: for development and
# small installations. See deploy/devserver.
FROM docker.io/library/golang:1.26-trixie AS build
WORKDIR /src
COPY deploy/devserver/ ./
ARG GOPROXY
ENV CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-buildvcs=false
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    go build -trimpath -tags=release,disable_grpc_modules "-ldflags=-s -w" -o /out/temporal .

FROM docker.io/library/debian:trixie-slim
RUN useradd --uid 10001 --create-home --home-dir /var/lib/temporal temporal
COPY --from=build /out/temporal /usr/local/bin/temporal
COPY deploy/dynamicconfig.yaml /etc/temporal/dynamicconfig.yaml
USER temporal
VOLUME /var/lib/temporal
EXPOSE 7233 8233
ENTRYPOINT ["/usr/local/bin/temporal", "server", "start-dev", \
  "--ip", "0.0.0.0", "--db-filename", "/var/lib/temporal/temporal.db", "--log-level", "error", "--log-format", "json", \
  "--dynamic-config-file", "/etc/temporal/dynamicconfig.yaml", \
  "--search-attribute", "MemBatch=Keyword", "--search-attribute", "MemConversation=Keyword", \
  "--search-attribute", "MemItems=Int", "--search-attribute", "MemOutcome=Keyword", \
  "--search-attribute", "MemPhase=Keyword", "--search-attribute", "MemRejected=Int", \
  "--search-attribute", "MemTenant=Keyword", "--search-attribute", "MemUser=Keyword"]
