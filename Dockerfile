# The image of scheduler and workers: one static program, the certificates of
# authorities, and nothing else. `docker run evalfarm scheduler …` and
# `docker run evalfarm worker …` are evalfarm's own commands; cmd/scheduler and
# cmd/worker are the same program under other names.
#
# Workers start the commands of suites, so what those need must be in the image
# too: docs/operations.md#servers-that-need-more shows how to build on this one.
FROM --platform=$BUILDPLATFORM golang:1.26.7-bookworm AS build
ARG TARGETOS TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
# -buildvcs=true fails where .git is missing: the version would be "devel" then, and
# any two of those take each other for the same.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -buildvcs=true -trimpath -ldflags='-s -w' -o /out/usr/local/bin/evalfarm ./cmd/evalfarm
# A volume takes its owner and mode from the folder that it is put over.
RUN mkdir -p /out/etc/ssl/certs /out/tmp /state/evalfarm && chmod 1777 /out/tmp && chmod 700 /state/evalfarm && \
    cp /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/ && \
    echo 'evalfarm:x:65532:65532::/var/lib/evalfarm:/sbin/nologin' >/out/etc/passwd && \
    echo 'evalfarm:x:65532:' >/out/etc/group

FROM scratch
COPY --from=build /out/ /
COPY --from=build --chown=65532:65532 /state/ /var/lib/
ENV PATH=/usr/local/bin EVALFARM_HOME=/var/lib/evalfarm
# All that is ever written: the store, if it is SQLite, and a worker's spool.
VOLUME ["/var/lib/evalfarm"]
# In numbers, so that Kubernetes can tell that it is not root.
USER 65532:65532
ENTRYPOINT ["evalfarm"]
CMD ["--help"]
