# The two commands of the README are `make demo` and `make test`.
.PHONY: demo run test lint bench
demo:
	cargo run --release -p deja-server -- demo
run:
	cargo run --release -p deja-server -- serve
test:
	scripts/postgres.py run -- cargo test --workspace --all-features
lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features -- -D warnings
bench:
	cargo build --release -p deja-server -p deja-bench
	target/release/deja-bench all
