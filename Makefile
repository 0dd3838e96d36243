# A front for CMake: every target does the set-up that it needs. `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help setup build own aarch64 test-aarch64 cuda train test bench check format docs asan tsan clean

help:
	@echo "make train    set up, build, draw the shapes data set, train AlexNet on it and evaluate"
	@echo "make test     set up, build, run every test"
	@echo "make build    set up and build the program: build/ridgeline"
	@echo "make own      set up and build without oneDNN, our kernels alone: build-own/ridgeline"
	@echo "make aarch64  set up and build for 64-bit Arm, cross-compiled: build-aarch64/ridgeline; make test-aarch64: its tests"
	@echo "make cuda     set up and build with the CUDA device (no card needed): build-cuda/ridgeline, libridgeline_cuda.so"
	@echo "make bench    time the compiled training step against this machine's limit"
	@echo "make check    clang-format and clang-tidy (pinned, in .venv); make format rewrites the files"
	@echo "make docs     the site of docs/ in build/site (MkDocs, pinned, in build/docs-venv)"
	@echo "make asan     the tests again under the address and undefined-behaviour sanitizers"
	@echo "make tsan     data engine, queues, ranks, executor and trainer again under the thread sanitizer"
	@echo "make clean    remove the build folders (not .deps, .venv, runs)"

setup:
	@scripts/setup.sh

build: setup
	@scripts/build.sh release ridgeline

own:
	@scripts/setup.sh --no-onednn
	@scripts/build.sh own ridgeline

aarch64:
	@scripts/setup.sh --cross aarch64
	@scripts/build.sh aarch64 ridgeline

test-aarch64: aarch64
	@scripts/test_aarch64.sh

cuda:
	@scripts/setup.sh --cuda
	@scripts/build.sh cuda ridgeline
	@scripts/build.sh cuda ridgeline_cuda
	@scripts/build.sh cuda ridgeline_cuda_check

train:
	@STEP="[1/4] " scripts/setup.sh
	@STEP="[2/4] " scripts/build.sh release ridgeline
	@STEP="[3/4] " scripts/shapes.sh
	@STEP="[4/4] " scripts/train_shapes.sh

test:
	@STEP="[1/3] " scripts/setup.sh --tests
	@STEP="[2/3] " scripts/build.sh release
	@STEP="[3/3] " scripts/test.sh release

asan tsan:
	@STEP="[1/3] " scripts/setup.sh --tests
	@STEP="[2/3] " scripts/build.sh $@
	@STEP="[3/3] " scripts/test.sh $@

bench: build
	@scripts/bench.sh

check: setup
	@scripts/check.sh

format:
	@scripts/check.sh --fix

docs:
	@scripts/docs.sh

clean:
	rm -rf build build-own build-aarch64 build-java build-cuda build-debug build-asan build-tsan
