# The two commands of the README are `make demo` and `make test`.
.PHONY: demo run test e2e pictures lint bench
demo:
	cargo run --release -p deja-server -- demo
run:
	cargo run --release -p deja-server -- serve
test:
	cargo test --workspace --all-features
	$(MAKE) e2e
# The web console in a real browser; installs Chromium and Node.js where they are missing.
e2e:
	cargo build -p deja-server
	e2e/run
# The same, and takes the pictures of docs/images anew.
pictures:
	E2E_PICTURES=$(CURDIR)/docs/images $(MAKE) e2e
lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features -- -D warnings
bench:
	cargo build --release -p deja-server -p deja-bench
	target/release/deja-bench all
