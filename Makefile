# The two commands of the README are `make demo` and `make test`; each sets up what it lacks first. `make help` lists all.

.DEFAULT_GOAL := help
SHELL := bash
PY := .venv/bin/python
# What `make test` leaves out: .ci/run runs these too, each after installing what it needs.
LEFT_OUT := not slow and not brokers and not cluster and not airflow
# Only these files are looked through for tests with Spark: all of them take a quarter of a minute a process.
SPARK_TESTS = $$(grep -rl 'mark\.spark' tests --include='test_*.py' | sort)
LAKE := demo-lake
REPORT := report.html

# Modules are compiled once, not in every process that the tests start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test lint docs site man bench growth score record dist kernels airflow clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Set up only: .venv, a Java runtime if none is found, Delta's JARs, kernels and the class-data archive
	@.ci/setup test

demo: setup ## Run the whole pipeline on the bundled captures of real brokers; ends with a summary
	@rm -rf $(LAKE)
	@.venv/bin/stompcap run 'data/*.pcap*' --lake $(LAKE)
	@.venv/bin/stompcap report --lake $(LAKE) -o $(REPORT)
	@printf '\nThe lake:    %s\nThe report:  %s\n' "$(CURDIR)/$(LAKE)" "$(CURDIR)/$(REPORT)"

test: setup ## Run the tests, two at a time: those without Spark, then those with it
	@failed=0; \
	$(PY) -m pytest -q -n 2 --dist worksteal -m "not spark and $(LEFT_OUT)" || failed=1; \
	$(PY) -m pytest -q -n 2 --dist loadfile -m "spark and $(LEFT_OUT)" $(SPARK_TESTS) || failed=1; \
	exit $$failed

lint: ## Check style and types
	@.ci/setup dev
	@failed=0; \
	.venv/bin/ruff check . || failed=1; \
	.venv/bin/mypy || failed=1; \
	exit $$failed

docs: setup ## Write the generated pages of docs/ anew, from declarations and recordings; RECORDED=demo-lake has these from `make demo`
	@for name in tables rules; do \
		text=$$($(PY) -m stompcap.$$name.$${name}_page) && printf '%s\n' "$$text" >docs/$$name.md || exit 1; \
	done
	@$(PY) -m stompcap.quality.catalogue >docs/quality.md && $(PY) -m pipelines.incidents.kinds_page >docs/incidents.md
	@$(PY) -m stompcap.cli.commands_page >docs/commands.md && $(PY) -m tests.site.python_page >docs/python.md
	@$(PY) -m tests.e2e.documents docs && $(PY) -m tests.e2e.matrix_page >docs/matrix.md
	@.venv/bin/stompcap rules compare 'data/*_library.pcap*' --by client_product --product stomp.py --stomp 1.2 \
		--badge docs/stomp.py.svg >/dev/null
	@$(PY) -m tests.sql.diagram >docs/tables.svg
	@lakes=$$(mktemp -d) && lake=$(RECORDED) && if [ -z "$$lake" ]; then \
			lake=$$lakes/data && .venv/bin/stompcap run 'data/*.pcap*' --lake $$lake --quiet; fi && \
		.venv/bin/stompcap run data/transports --keylog 'data/transports/*.keys.txt' --lake $$lakes/carried --quiet && \
		$(PY) -m tests.sql.document $$lake $$lakes/carried >docs/sql.md; rm -rf $$lakes

site: ## Build the documentation as a web site, into build/site; broken links are errors
	@.ci/site

man: setup ## Write the manual page, build/stompcap.1, from the help of the commands
	@mkdir -p build && .venv/bin/stompcap manual >build/stompcap.1
	@echo build/stompcap.1

bench: setup ## Measure against tshark, tcpflow, scapy and Spark's own floor; BENCH="--sizes 100,350" are its options
	@$(PY) -m benchmarks.bench $(BENCH)

growth: setup ## Measure what a run costs as a lake grows; GROWTH="--sizes 1,10,100" are its options
	@$(PY) -m benchmarks.growth $(GROWTH)

score: setup ## Print how many stream sides of public traces are put together as others do; STOMPCAP_TRACES is their folder
	@$(PY) -m benchmarks.score

record: setup ## Record the bundled captures anew from real brokers on this machine (needs root)
	$(PY) -m data.recorder data
	$(PY) -m data.recorder.transports data/transports
	$(PY) -m data.recorder.incidents data/incidents

dist: setup ## Build the wheel and an environment for the workers of a cluster, into dist/
	@.ci/dist

kernels: setup ## Write the list of kernels to compile ahead anew, from what tests call (takes minutes)
	@$(PY) -m tests.prepare.observed

airflow: setup ## Set up Airflow in an environment of its own, .venv-airflow
	@.ci/airflow

clean: ## Remove what the demo made; caches and environments stay
	rm -rf $(LAKE) $(REPORT) spark-warehouse
