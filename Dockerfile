# syntax=docker/dockerfile:1
# One binary on an image without a shell.
#   docker build -t deja .                               # in the repository: built from the source
#   docker build -t deja --build-arg BINARY=archive .    # in an unpacked archive (make dist): the published binary and its licences
# Run: docker run --read-only -v deja:/data -p 8080:8080 -e OPENAI_API_KEY deja

ARG BINARY=source

FROM rust:1.95-slim-trixie AS build
# For SQLite, the allocator and TLS, which bring their own C sources.
RUN apt-get update && apt-get install -y --no-install-recommends build-essential cmake \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target \
    cargo build --release --locked -p deja-server --bin deja \
    && strip --strip-all -o /usr/local/bin/deja target/release/deja

FROM scratch AS source
COPY --from=build /usr/local/bin/deja /usr/local/bin/deja
COPY LICENSE NOTICE /usr/local/share/doc/deja/

FROM scratch AS archive
COPY deja /usr/local/bin/deja
COPY LICENSE NOTICE sbom.cdx.json /usr/local/share/doc/deja/
COPY THIRD_PARTY /usr/local/share/doc/deja/THIRD_PARTY/

FROM ${BINARY} AS published

FROM debian:trixie-slim AS data
# A new volume takes owner and mode from the image. The folder above is what is copied: of a folder that is copied, its content
# keeps its mode, and it itself does not.
RUN install -d -m 0700 -o 65532 -g 65532 /volume/data

# glibc, certificates, and a user without rights; no shell, no package manager.
FROM gcr.io/distroless/cc-debian13:nonroot
COPY --from=published /usr/local /usr/local
COPY --from=data --chown=65532:65532 /volume /
# Inside a container deja listens on all interfaces: docker run -p says what others can reach.
ENV DEJA_LISTEN=0.0.0.0:8080 DEJA_DATA_DIR=/data DEJA_LOG_FORMAT=json
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 8080
# A stop takes 47 s at most: shutdown_timeout_s (30) and 17 s for what is left. docker stop kills after 10 s: docker stop -t 60.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s --retries=3 CMD ["/usr/local/bin/deja", "health"]
ENTRYPOINT ["/usr/local/bin/deja"]
CMD ["serve"]
