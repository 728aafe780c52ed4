# SPDX-License-Identifier: Apache-2.0
# What a newcomer types. Each target installs what it misses (scripts/bootstrap.sh), then calls one
# script; CMake and its presets do the work, and may as well be used alone.
# Environment: JOBS (parallel jobs), BUDGET (of the demo, such as 2m).
.PHONY: help demo check check-long portable docs format tidy
.DEFAULT_GOAL := help

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## build, tune the demo problems for about five minutes, print the table
	@scripts/bootstrap.sh build
	@scripts/build.sh release tilewright tilewright-runner
	@scripts/demo.sh

check: ## build and test: release, then ASan and UBSan
	@scripts/bootstrap.sh build test
	@scripts/check.sh

check-long: ## the same, a minute per fuzzer, ThreadSanitizer and the portable binary
	@scripts/bootstrap.sh build test fuzz
	@scripts/check.sh --long

portable: ## build/portable/bin: binaries that need only glibc 2.36 or newer
	@scripts/bootstrap.sh build test
	@scripts/portable.sh

docs: ## build/docs/html: the reference of the runtime library
	@scripts/bootstrap.sh docs
	@mkdir -p build/docs && doxygen docs/Doxyfile
	@echo build/docs/html/index.html

format: ## clang-format-19 over all C++ files
	@scripts/bootstrap.sh style
	@scripts/format.sh

tidy: ## clang-tidy-19 over src/
	@scripts/bootstrap.sh build test style
	@scripts/tidy.sh
