# The entry points of the project. Each installs its dependencies first (scripts/setup.sh lists them).
#   PHP_CONFIG=php-config8.x   picks another PHP than the distribution's default

SHELL := /bin/bash
export PATH := $(HOME)/.cargo/bin:$(PATH)
CARGO ?= cargo
LISTEN ?= :8080
# The PHP process: a hundred files in C.
WORKER := $(MAKE) -j$(shell nproc) -C worker

.DEFAULT_GOAL := help
.PHONY: help serve build quick debug deb dist sbom reproducible packages image-check docs test check lint deny fmt bench bench-quick h2spec conformance soak fuzz miri matrix reference extensions pgo analyze sanitize clean

help: ## Show the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

serve: quick ## Build without optimisation, then serve the demo application at http://localhost:8080
	./target/quick/howdah php-server --root examples/demo/public --listen $(LISTEN) --access-log

build: ## Build target/release/howdah and target/release/howdah-php
	@scripts/setup.sh build
	CARGO=$(CARGO) scripts/release.sh
	$(WORKER) OUT=$(CURDIR)/target/release

# Compiled without optimisation, in two minutes.
quick:
	@scripts/setup.sh build
	$(CARGO) build --locked --profile quick -p howdah
	$(WORKER) OUT=$(CURDIR)/target/quick

debug:
	$(CARGO) build --locked -p howdah
	$(WORKER) OUT=$(CURDIR)/target/debug

check: ## The everyday checks, in two minutes after a first build: formats, lints, unit tests, the PHP process
	scripts/check.sh

test: ## Install the dependencies of the tests and run them all
	@scripts/setup.sh test
	scripts/test.sh

lint: ## Check formatting, lints, shell and PHP, and licences of dependencies if `make deny` was run once
	@scripts/setup.sh test
	scripts/lint.sh

deny: ## Check licences, sources and advisories of dependencies with cargo-deny, which takes minutes to build
	@test -x target/bin/cargo-deny || $(CARGO) install --locked --quiet --version 0.20.2 --root target cargo-deny
	target/bin/cargo-deny --locked check licenses bans sources
	@if timeout 30 git ls-remote --quiet https://github.com/RustSec/advisory-db HEAD >/dev/null 2>&1; \
	then target/bin/cargo-deny --locked check advisories; \
	else echo 'deny: advisories were not checked, since github.com/RustSec/advisory-db cannot be reached'; fi

fmt: ## Format Rust, C and Python
	$(CARGO) fmt --all
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml
	find worker/src worker/tests -name '*.[ch]' ! -name '*_arginfo.h' -exec clang-format -i {} +
	$(MAKE) -C bench fmt

deb: build sbom ## Build Debian packages in target/deb: the server, and one for each PHP that is installed
	@scripts/setup.sh package
	scripts/deb.sh

dist: build sbom ## Build an archive of the server in target/dist, with debug symbols apart; ARCH=aarch64 for that processor
	ARCH=$(ARCH) scripts/dist.sh

sbom: ## Write the list of all crates in the server, with licences, to target/sbom.cdx.json (CycloneDX)
	CARGO=$(CARGO) scripts/sbom.sh

reproducible: ## Build the server a second time in another folder, and compare
	CARGO=$(CARGO) scripts/reproducible.sh

packages: build sbom ## Test the packages on Debian 12, Debian 13 and Ubuntu 24.04, each in clean roots: needs root
	for name in debian12 debian13 ubuntu24.04; do scripts/packages.sh $$name || exit 1; done

image-check: deb ## Run the image's Dockerfile in a root of Debian, without Docker, as root
	@scripts/setup.sh matrix
	tests/image/run.py

docs: ## Build the documentation as a site in target/docs/site, with mdBook, which takes minutes to build once
	@test -x target/bin/mdbook || $(CARGO) install --locked --quiet --version 0.5.4 --root target \
		--no-default-features --features search mdbook
	scripts/docs.py target/bin/mdbook

bench: build ## Measure against the peers that are installed, in 23 minutes; report in bench/out
	@scripts/setup.sh bench
	$(MAKE) -C bench all

bench-quick: build ## The same in six minutes, with less certainty
	@scripts/setup.sh bench
	$(MAKE) -C bench quick

h2spec: debug ## Install h2spec, for which Go is needed, and run it
	@test -x target/bin/h2spec || GOBIN=$(CURDIR)/target/bin go install github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible
	HOWDAH_H2SPEC=$(CURDIR)/target/bin/h2spec $(CARGO) test --locked -p howdah-tests --test http http2_h2spec

conformance: h2spec ## Run h2spec, and get certificates from Pebble, an ACME server; both are installed with Go
	@test -x target/bin/pebble || GOBIN=$(CURDIR)/target/bin go install \
		github.com/letsencrypt/pebble/v2/cmd/pebble@v2.10.1 \
		github.com/letsencrypt/pebble/v2/cmd/pebble-challtestsrv@v2.10.1
	HOWDAH_TEST_PEBBLE=$(CURDIR)/target/bin/pebble $(CARGO) test --locked -p howdah-tests --test tls pebble

soak: debug ## Have requests of every kind run in one process, with databases: SOAK of them (default 100000)
	@scripts/setup.sh bench
	python3 -m bench soak --requests $${SOAK:-100000}

analyze: ## Run clang's analyzer and cppcheck over the PHP process, in five minutes
	scripts/analyze.sh

sanitize: debug ## Run the end-to-end tests with the PHP process of ASan and UBSan, in half an hour
	@scripts/setup.sh test
	scripts/sanitize.sh

fuzz: ## Fuzz each target for FUZZ_SECONDS (default 600), as many at a time as there are processors
	@scripts/setup.sh test
	fuzz/run.sh all $${FUZZ_SECONDS:-600}

miri: ## Check the queue's unit tests with Miri, in some minutes; installs a nightly toolchain by rustup
	@$(CARGO) +nightly miri --version >/dev/null 2>&1 || \
		rustup toolchain install nightly --profile minimal --component miri --component rust-src
	PROPTEST_CASES=4 MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-permissive-provenance" \
		$(CARGO) +nightly miri test --locked --target-dir target/miri -p howdah-shm --lib

matrix: ## Run the tests of the PHP process on the PHP of Debian 12, Debian 13 and Ubuntu 24.04, each in a separate root
	scripts/matrix.sh

extensions: build ## Try all PHP extensions that the distribution packages, and write docs/reference/extensions.md
	python3 -m scripts.extensions

pgo: ## Measure the profile that optimises the release again, in ten minutes
	@scripts/setup.sh test
	@scripts/setup.sh bench
	pgo/measure.sh

reference: ## Generate the reference pages from the code
	$(CARGO) run -q --locked -p howdah-config --example reference > docs/reference/caddyfile.md
	HOWDAH_BLESS=1 $(CARGO) test -q --locked -p howdah reference

clean: ## Remove everything that was built
	$(CARGO) clean
