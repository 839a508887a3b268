# What a clone needs, with nothing but Python >= 3.11 (venv, pip), make and git.
# Paths are relative, so that the folder's name may hold spaces; tools run as modules of .venv/bin/python, so that neither
# an activated environment nor a moved .venv (its scripts name their old place) can put another one in their stead.

.DEFAULT_GOAL := help

# Unless it is given: the first of these that is new enough, else python3, whose version is then named in the complaint.
# Looked for only when it is needed, and once.
PYTHON ?= $(eval PYTHON := $$(or $$(shell $$(FIND_PYTHON)),python3))$(PYTHON)
FIND_PYTHON = for python in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$python -c '$(OLD_ENOUGH)' >/dev/null 2>&1 && echo $$python && break; done
OLD_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))

PACKAGES := core langchain_memreader llamaindex_memreader
DEMO_EXTRAS := documents,cli
DEV_EXTRAS := dev
PYTEST_ARGS ?=
# As many tests at once as there are cores, unless arguments are given.
AT_ONCE := -n auto
LAWS := chunking windows normalize_laws memory_histories user_index postings identity context recall_terms
PEER ?=
MODEL ?=
BASE_URL ?=
LLM_ARGS ?=

# Peers of the benchmarks, each in an environment of its own. The last two come with [bench] too, and need none then.
PEER_memos := MemoryOS==2.0.33 langchain-text-splitters tiktoken
PEER_mem0 := mem0ai numpy
PEER_chroma := chromadb numpy
PEER_qdrant := qdrant-client numpy
PEER_lance := lancedb numpy
PEER_sqlite-vec := sqlite-vec apsw numpy
PEER_langchain := langchain-community faiss-cpu numpy
PEER_llamaindex := llama-index-core numpy
PEERS := memos mem0 chroma qdrant lance sqlite-vec langchain llamaindex

# Settings of the caller's shell that say where packages come from stay; those that say where they go, or what Python
# imports, would reach into .venv.
PIP_KEPT := PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_FIND_LINKS PIP_NO_INDEX PIP_CONFIG_FILE PIP_CONSTRAINT \
	PIP_BUILD_CONSTRAINT PIP_CERT PIP_CLIENT_CERT PIP_PROXY PIP_TRUSTED_HOST PIP_KEYRING_PROVIDER PIP_TIMEOUT \
	PIP_DEFAULT_TIMEOUT PIP_RETRIES PIP_CACHE_DIR PIP_NO_CACHE_DIR
PYTHON_KEPT := PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONPYCACHEPREFIX
unexport $(filter-out $(PIP_KEPT),$(filter PIP_%,$(.VARIABLES)))
unexport $(filter-out $(PYTHON_KEPT),$(filter PYTHON%,$(.VARIABLES)))
unexport VIRTUAL_ENV CONDA_PREFIX __PYVENV_LAUNCHER__

# $(call make_venv,FOLDER): a working virtual environment in FOLDER; one that was made half, or by a Python that is gone
# or too old, is made anew. FOLDER/.installing stands while pip runs: what it leaves when killed isn't trusted.
define make_venv
	@usable() { "$(1)/bin/python" -c '$(OLD_ENOUGH)' && { "$(1)/bin/python" -m pip --version || \
		"$(1)/bin/python" -m ensurepip; }; }; \
	if [ -e "$(1)/.installing" ] || ! usable >/dev/null 2>&1 </dev/null; then \
		version=$$("$(PYTHON)" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || { \
			echo "memreader: no Python found as '$(PYTHON)'; install Python 3.11 or newer, or name yours: make PYTHON=/path/to/python3" >&2; \
			exit 1; }; \
		"$(PYTHON)" -c '$(OLD_ENOUGH)' || { \
			echo "memreader: needs Python 3.11 or newer, '$(PYTHON)' is $$version; name another: make PYTHON=/path/to/python3" >&2; \
			exit 1; }; \
		"$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null || { \
			echo "memreader: '$(PYTHON)' has no venv module; install it: apt install python$$version-venv" >&2; \
			exit 1; }; \
		echo "Making $(1) with Python $$version"; \
		rm -rf "$(1)"; \
		"$(PYTHON)" -m venv "$(1)" || { rm -rf "$(1)"; exit 1; }; \
	fi
endef

# $(call install,EXTRAS,STAMP,OTHER STAMPS THAT WILL DO): memreader with EXTRAS in .venv, unless a stamp says that this
# was done for this pyproject.toml in this folder.
define install
	@state="$$(cksum < pyproject.toml) $$(pwd -P)"; \
	for stamp in $(2) $(3); do \
		if [ "$$(cat ".venv/.installed-$$stamp" 2>/dev/null)" = "$$state" ]; then exit 0; fi; \
	done; \
	echo "Installing memreader with [$(1)] into .venv (the first time this downloads its dependencies and may take a minute or two)"; \
	touch .venv/.installing; \
	.venv/bin/python -m pip install --quiet --no-input --no-user --disable-pip-version-check -e '.[$(1)]' </dev/null; \
	result=$$?; \
	rm -f .venv/.installing; \
	[ $$result -eq 0 ] || exit $$result; \
	printf '%s\n' "$$state" > ".venv/.installed-$(2)"
endef

.PHONY: help
help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

.PHONY: venv
venv:
	$(call make_venv,.venv)

.PHONY: installed-demo installed-dev
installed-demo: venv
	$(call install,$(DEMO_EXTRAS),demo,dev)
installed-dev: venv
	$(call install,$(DEV_EXTRAS),dev,)

.PHONY: demo
demo: installed-demo  ## read the example chats and documents into ./demo-memory/ and ask six questions
	@PYTHONUTF8=1 .venv/bin/python -m examples.demo

.PHONY: lint
lint: installed-dev  ## check style, types and import directions
	.venv/bin/python -m ruff check .
	.venv/bin/python -m ruff format --check .
	.venv/bin/python -m mypy --strict
	.venv/bin/python .venv/bin/lint-imports

.PHONY: test
test: lint  ## check everything: lint, then all tests, doctests, README and examples
	.venv/bin/python -m pytest $(or $(PYTEST_ARGS),$(AT_ONCE))

.PHONY: test-long
test-long: installed-dev  ## run the stress, crash and fuzz tests that `test` leaves out
	.venv/bin/python -m pytest -m long $(PYTEST_ARGS)
	.venv/bin/python -m pytest --hypothesis-profile=long $(addprefix tests/core/test_,$(LAWS:=.py)) $(PYTEST_ARGS)

.PHONY: test-llm
test-llm: installed-dev  ## let a language model read the example chats: make test-llm BASE_URL=http://... MODEL=name
	@[ -n "$(MODEL)" ] || { echo "memreader: name a model: make test-llm MODEL=<name> BASE_URL=<OpenAI-compatible endpoint>" >&2; exit 1; }
	@PYTHONUTF8=1 .venv/bin/python -m benchmarks llm --model "$(MODEL)" $(if $(BASE_URL),--base-url "$(BASE_URL)") $(LLM_ARGS)

.PHONY: bench-env
bench-env:  ## make an environment for one peer of the benchmarks: make bench-env PEER=memos
	@[ -n "$(filter $(PEER),$(PEERS))" ] || { echo "memreader: name a peer: make bench-env PEER=<one of: $(PEERS)>" >&2; exit 1; }
	@mkdir -p .bench
	$(call make_venv,.bench/$(PEER))
	@echo "Installing $(PEER_$(PEER)) into .bench/$(PEER)"
	@.bench/$(PEER)/bin/python -m pip install --quiet --no-input --no-user --disable-pip-version-check $(PEER_$(PEER)) </dev/null

.PHONY: clean
clean:  ## remove what was made here: caches, builds, ./demo-memory/, environments of peers (.venv stays)
	rm -rf demo-memory dist build .bench .benchmarks .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find $(PACKAGES) tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
