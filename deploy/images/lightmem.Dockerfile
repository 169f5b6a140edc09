# LightMem's two programs: lightmem-worker, and lightmem with the gateway.
FROM docker.io/library/golang:1.26-trixie AS build
WORKDIR /src
COPY . ./
ARG GOPROXY
ENV CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-buildvcs=false
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    go build -trimpath "-ldflags=-s -w" -o /out/lightmem-worker ./worker \
 && go build -trimpath "-ldflags=-s -w" -o /out/lightmem ./starter

FROM docker.io/library/debian:trixie-slim
# /state holds the master key, which worker and gateway share.
RUN useradd --uid 10001 --create-home lightmem && install -d -o lightmem -g lightmem -m 700 /state
COPY --from=build /out/ /usr/local/bin/
USER lightmem
ENV LIGHTMEM_STATE=/state
VOLUME /state
EXPOSE 8080
CMD ["lightmem", "--help"]
