# `make tune`, `make test` and `make bench` set up everything they need and say what they install.

CARGO ?= cargo
export CARGO
SERVER ?= mariadb-10.11
BUDGET ?= 10m
FUZZ_SECONDS ?= 600
# What results name beside the version: the commit that the program was built from.
NIAGARA_COMMIT ?= $(shell git describe --always --dirty --exclude='*' --abbrev=10 2>/dev/null)
NIAGARA = $(or $(CARGO_TARGET_DIR),target)/quick/niagara
PACKAGED = $(or $(CARGO_TARGET_DIR),target)/release/niagara

BENCH_SECONDS ?= 600
BENCH_JSON ?= bench.json
BENCH_TPCC_SECONDS ?= 240
BENCH_SCRIPTS_JSON ?= bench-scripts.json
BENCH_REPLAY_JSON ?= bench-replay.json

NAMES ?= mariadb-10.11 mariadb-11.8 mysql-9.7

.PHONY: deb dist docs docs-levers docs-results docs-schemas release tune test test-check test-servers test-upgrades test-fleet test-queries test-builds test-handed-over test-faults test-recommendations build-server bench bench-build bench-tpcc bench-scripts bench-replay aa-capture bench-capture bench-tuners bench-fleet demo setup setup-test setup-bench setup-builds setup-fleet lint unit unit-a-to-g unit-h-to-o unit-p-to-r unit-s-to-z end-to-end test-page fuzz corpus build build-release clean

# One after the other, whatever -j says: what is set up is needed by what follows. But for the parts of the tests.
ifndef PARTS
.NOTPARALLEL:
endif

tune: setup build ## Tune a private MariaDB 10.11 for 10 minutes; prints where the report is
	$(NIAGARA) tune $(SERVER) --budget $(BUDGET)

test: setup-test lint unit end-to-end ## Everything that continuous integration checks

bench: setup-bench ## What the load generator costs, beside sysbench and a bare loop: a table, and $(BENCH_JSON)
	$(CARGO) run --release --locked -p niagara-bench -- --seconds $(BENCH_SECONDS) --json $(BENCH_JSON)

bench-tpcc: setup-bench ## TPC-C next to our own script for sysbench: five warehouses loaded, then run; two tables
	$(CARGO) run --release --locked -p niagara-bench -- --tpcc load --seconds $(BENCH_TPCC_SECONDS)
	$(CARGO) run --release --locked -p niagara-bench -- --tpcc run --slice 8 --seconds $(BENCH_TPCC_SECONDS)

bench-scripts: setup-bench ## What a script of sysbench's costs the client, beside sysbench running the same script: a table, and $(BENCH_SCRIPTS_JSON)
	$(CARGO) run --release --locked -p niagara-bench -- --scripts --seconds $(BENCH_SECONDS) --json $(BENCH_SCRIPTS_JSON)

bench-replay: setup-bench ## What a replayed capture costs the client, beside sysbench sending the same statements; the memory of 500 sessions and a million statements
	$(CARGO) run --release --locked -p niagara-bench -- --replay --seconds $(BENCH_SECONDS) --json $(BENCH_REPLAY_JSON)

aa-capture: build setup-bench ## Twenty comparisons of a server with itself by a captured workload that writes: an hour and a half
	mkdir -p target/aa-capture
	$(CARGO) run --release --locked -p niagara-bench -- --capture-writes target/aa-capture/rw.capture --seconds 15
	scripts/series aa $(NIAGARA) 20 target/aa-capture --workload target/aa-capture/rw.capture --tables-of oltp_read_write --table-size 100000 --budget 160s

bench-tuners: build ## Niagara beside SMAC3, Optuna, random search and MySQLTuner, judged blindly: hours; make bench-tuners TUNERS='--minutes 15 --seeds 3'
	@scripts/setup tuners
	@test -x target/tools/tuners/bin/pip || python3 -m venv --clear target/tools/tuners
	target/tools/tuners/bin/pip install --quiet --requirement scripts/tuners/requirements.txt
	target/tools/tuners/bin/python scripts/tuners/bench_tuners.py --niagara $(NIAGARA) --out target/tuners $(TUNERS) >target/tuners.md
	cat target/tuners.md

bench-fleet: setup-fleet build ## What studies on nodes lose of their time, on a Slurm cluster on this machine: half an hour, then an hour that needs the machine to itself
	scripts/bench-fleet $(NIAGARA) replay
	scripts/bench-fleet $(NIAGARA) real

bench-capture: ## How fast logs are read and imported, on one core, from made-up logs of 200 MB
	$(CARGO) run --release --locked -p niagara-capture --example throughput

demo: build ## A real application made faster, pages per second before and after: a shop on WordPress that lacks an index, or make demo DEMO='--story settings', MediaWiki's server tuned
	@scripts/setup demo
	python3 scripts/demo/demo.py --niagara $(NIAGARA) --out target/demo --again $(DEMO)

setup:
	@scripts/setup

setup-test:
	@scripts/setup test

setup-bench:
	@scripts/setup bench

setup-fleet:
	@scripts/setup fleet

setup-builds:
	@scripts/setup builds

build-server: setup-builds build ## Builds a server from source: make build-server RECIPE='--lto thin --pgo oltp_read_only'
	$(NIAGARA) server build $(SERVER) $(RECIPE)

test-builds: setup-builds ## Builds real servers in every way, starts them, and what is handed over of one elsewhere: about three hours on two CPUs; make test-builds SERVER=mysql-9.7
	$(CARGO) test --release --locked -p niagara-build --test builds -- --ignored
	NIAGARA_TEST_BUILDS_OF=$(SERVER) $(CARGO) test --release --locked -p niagara-lab --test builds -- --ignored --nocapture --test-threads 1
	$(MAKE) test-handed-over

test-handed-over: setup-builds ## Builds a server as a tuning does first, hands it over, and runs what was handed over on another path: half an hour on two CPUs, MySQL an hour and a half; make test-handed-over SERVER=mysql-9.7
	NIAGARA_TEST_BUILDS_OF=$(SERVER) $(CARGO) test --release --locked -p niagara --test handed_over -- --ignored --nocapture

bench-build: setup-builds build ## What a build costs beside cmake and ninja by hand, both at once: an hour on two CPUs; make bench-build SERVER=mariadb-11.8
	scripts/bench-build $(NIAGARA) $(SERVER)

build: setup
	NIAGARA_COMMIT=$(NIAGARA_COMMIT) $(CARGO) build --profile quick --locked

build-release: setup ## Compiles the program as it is packaged, everything optimised: target/release/niagara
	NIAGARA_COMMIT=$(NIAGARA_COMMIT) $(CARGO) build --release --locked

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	scripts/check-prose

# Unit tests and the integration tests against real servers: both are `cargo test`. Four parts at once, by the names of the tests' files, each with as
# many tests as there are CPUs: loads run for their time, however many share the machine. All are compiled before, so that no part waits for another's compiler.
unit:
	$(CARGO) test --workspace --locked --no-run
	@echo "tests in four parts at once; each is shown when it has ended, some ten minutes from now"
	RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$(nproc)} $(MAKE) --no-print-directory --jobs 4 --output-sync=target PARTS=yes unit-a-to-g unit-h-to-o unit-p-to-r unit-s-to-z

unit-a-to-g:
	$(CARGO) test --workspace --locked --no-fail-fast --test '[a-g]*'

unit-h-to-o:
	$(CARGO) test --workspace --locked --no-fail-fast --test '[h-o]*'

unit-p-to-r:
	$(CARGO) test --workspace --locked --no-fail-fast --lib --bins --examples --test '[p-r]*'
	$(CARGO) test --workspace --locked --doc

unit-s-to-z:
	$(CARGO) test --workspace --locked --no-fail-fast --test '[!a-r]*'

# The main job, small: tune a real server for a minute and check what it hands over. By the program that the tests have compiled: another
# profile would compile everything once more.
end-to-end:
	$(CARGO) test --workspace --locked --no-run
	scripts/end-to-end $(or $(CARGO_TARGET_DIR),target)/debug/niagara

test-fleet: setup-fleet ## Studies on a Slurm cluster that is started on this machine for them, and ended: about twenty-five minutes; workers, daemons and the head are killed
	$(CARGO) test --locked -p niagara-fleet --test kills -- --include-ignored
	$(CARGO) test --locked -p niagara --test fleet --no-run
	scripts/test-cluster $(CARGO) test --locked -p niagara --test fleet -- --ignored --nocapture --test-threads 1

test-queries: ## Each index of a schema taken away alone and proposed again, on both families; 2,000 digests on 300 tables: some minutes
	scripts/fetch-test-servers mariadb-10.5 mysql-5.7.22
	$(CARGO) test --locked -p niagara-queries --test planted --test scale --test old_servers -- --include-ignored --nocapture --test-threads 1
	$(CARGO) test --locked -p niagara --test advise -- --ignored

test-check: build ## Checks packaged servers wholly, beside themselves (some minutes each): make test-check NAMES=mariadb-10.11
	for name in $(NAMES); do $(NIAGARA) server check $$name || exit 1; done

test-servers: build ## Fetches servers of other releases, runs every job on each and writes docs/servers.md (an hour): make test-servers SERVERS=mysql-8.0.31
	scripts/test-servers $(NIAGARA) $(SERVERS)
	$(CARGO) test --locked -p niagara-origin --test old_servers -- --ignored
	$(CARGO) test --locked -p niagara-lab --lib -- --ignored each_release
	$(MAKE) test-upgrades

test-upgrades: ## Upgrades from release to release with an incompatibility of each kind planted (fetches servers; ten minutes)
	scripts/fetch-test-servers mariadb-10.5 mysql-5.7.22 mysql-8.0.31
	$(CARGO) test --locked -p niagara --test upgrades -- --ignored --nocapture --test-threads 1

test-faults: build ## Kills each mode 500 times at random, then hard conditions: an hour; make test-faults FAULTS='--kills 40 --only capture'
	scripts/faults/faults.py $(NIAGARA) $(FAULTS)

test-recommendations: build ## Tunes for ten loads and ten captures, judges what is handed over, writes docs/results/recommendations.json (three hours, on a quiet machine): make test-recommendations RECOMMENDATIONS='--only 1,2'
	@scripts/setup demo
	scripts/recommendations/evaluate.py $(NIAGARA) --record docs/results/recommendations.json $(RECOMMENDATIONS)

test-page: ## Pages in headless Chromium, judged by axe-core (installs chromium and npm): make test-page [REPORT=…/report.html]
	scripts/test-page $(REPORT)

deb: build-release ## Packs target/niagara_VERSION_ARCH.deb with man pages, completions, documentation and licences
	@mkdir -p target
	scripts/deb $(PACKAGED) target

docs: build ## The documentation as a site with search, target/book (installs mdbook into target/tools where there is none)
	scripts/docs $(NIAGARA)

dist: setup ## Packs what installs without a compiler into dist/: programs that run from glibc 2.17 on, as tarballs and a package
	NIAGARA_COMMIT=$(NIAGARA_COMMIT) scripts/dist

release: ## Tests, commits, tags, packs: make release VERSION=0.2.0
	scripts/release $(VERSION)

docs-levers: ## Writes the list of levers in docs/levers.md again, from the files
	NIAGARA_WRITE_DOCS=1 $(CARGO) test --locked -p niagara-lab --lib the_list_in_the_documentation

docs-schemas: ## Writes the JSON Schemas in docs/schemas again, from the types that commands print
	NIAGARA_WRITE_DOCS=1 $(CARGO) test --locked -p niagara --bin niagara the_schemas_in_the_documentation

docs-results: ## Writes the pages of docs/results again, from their records
	NIAGARA_WRITE_DOCS=1 $(CARGO) test --locked -p niagara --test results_pages

fuzz: ## Fuzzes the protocol's decoders and the readers of logs for 10 minutes (installs cargo-fuzz): make fuzz FUZZ_SECONDS=60
	FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz

corpus: ## Records again what the fuzzer starts from, from real servers
	rm -rf fuzz/corpus/decode
	$(CARGO) test --locked -p niagara-load --test corpus -- --ignored --nocapture

clean:
	$(CARGO) clean
