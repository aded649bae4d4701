# simrun with a Redis in it, so that -world redis and soak need nothing else:
#
#   docker run --rm -v "$PWD:/work" ghcr.io/holdfast-sim/holdfast -scenario watchdog-death -world redis
#
# A release puts the binary beside this file, in a folder for each platform (.goreleaser.yaml). From a checkout:
#
#   CGO_ENABLED=0 go build -trimpath -o linux/amd64/simrun ./cmd/simrun && docker build .
FROM redis:7.4-alpine
ARG TARGETPLATFORM=linux/amd64
COPY ${TARGETPLATFORM}/simrun /usr/local/bin/simrun
WORKDIR /work
ENTRYPOINT ["/usr/local/bin/simrun"]
CMD ["help"]
