# The two commands of the README are `make demo` and `make test`. All that it needs is installed by itself: CONTRIBUTING.md.
.PHONY: demo run test clients e2e trust fuzz mutants pictures lint dist bench accuracy
demo:
	cargo run --release -p deja-server -- demo
run:
	cargo run --release -p deja-server -- serve
# These look at the files of the data directory, which holds no database with PostgreSQL.
SQLITE_ONLY = --skip no_secret_and_no_text_is_ever_written_down \
    --skip what_stands_in_the_way_of_a_start_is_told_in_one_line \
    --skip moving::a_copy_has_sealed_secrets_and_all_else \
    --skip moving::a_backup_of_a_running_server_can_be_restored
test:
	scripts/postgres.py run -- sh -ec 'cargo test --workspace --all-features; \
	    black_box=$$(scripts/test-binary deja-server it); DEJA_TEST_BACKEND=postgres "$$black_box" $(SQLITE_ONLY)'
	$(MAKE) clients
	$(MAKE) e2e
# The client libraries of applications, directly and through deja (ADR 59); installs them below target/clients, and Node.js
# where it is missing.
clients:
	cargo test --workspace --all-features --no-run --quiet
	clients/run
# The web console in a real browser; installs Chromium and Node.js where they are missing. The binary is the one that
# the tests were built with: asking for deja-server alone would build its dependencies with other features.
e2e:
	cargo test --workspace --all-features --no-run --quiet
	e2e/run
# Trials that do one thing again and again (docs/topics/trust.md): about ten minutes; with LONG=1 hours, and it goes on
# where it was cut short. The report is target/trust/report.md.
trust:
	scripts/postgres.py run -- sh -ec '"$$(scripts/test-binary deja-server trust)" $(if $(LONG),--long,--short)'
# Each parser of foreign bytes, for a minute or so many SECONDS (docs/topics/trust.md).
SECONDS = 60
fuzz:
	set -e; for target in $$(cargo +nightly fuzz list); do \
		mkdir -p fuzz/corpus/$$target; \
		cargo +nightly fuzz run $$target fuzz/corpus/$$target fuzz/seeds/$$target -- -max_total_time=$(SECONDS); \
	done
# Changes the code that decides who is let in and what is answered, and asks whether its tests notice (docs/topics/trust.md):
# an hour and more, and it goes on where it was cut short. Some MODULES alone: MODULES="judge.rs admit.rs"; after a new test, what
# survived before: KEEP=1.
MODULES =
mutants:
	scripts/mutants $(if $(KEEP),--keep) $(MODULES)
# The same as e2e, and takes the picture of the README anew.
pictures:
	E2E_PICTURES=$(CURDIR)/docs/images $(MAKE) e2e
# Format, lints, whether the fuzz targets compile, the documentation's links, what may be linked in, and the manifests of Kubernetes.
lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features -- -D warnings
	cargo check --manifest-path fuzz/Cargo.toml --locked --target-dir target
	RUSTDOCFLAGS='-D warnings -A rustdoc::private_intra_doc_links' cargo doc --workspace --all-features --no-deps --document-private-items
	scripts/deny
	scripts/kubernetes
# What is published, in target/dist, and tried: CONTRIBUTING.md.
dist:
	scripts/dist
bench:
	cargo build --release -p deja-server -p deja-bench
	target/release/deja-bench all
# The first tables and the picture of docs/topics/accuracy.md, from the data in this repository.
accuracy:
	cargo build --release -p deja-server
	target/release/deja eval crates/deja-guard/data/pairs.jsonl --svg docs/images/accuracy.svg
	target/release/deja eval crates/deja-guard/data/pairs.jsonl --threshold 0.85 --guard standard --by-kind
