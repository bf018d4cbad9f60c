# Two commands matter: `make run` sets everything up and starts the service, `make test` runs every test.
# The rest is parts of those. VARIANT=asan builds with the address and undefined-behaviour sanitizers into
# a folder of its own. New files are found by themselves; no list here needs an edit. A warning is an error
# but in what `make run` builds: that must not depend on which compiler the machine has.

VARIANT ?= release
CC      := gcc
CLANG   ?= clang
WERROR  ?= -Werror
B       := build/$(VARIANT)

# Quiet unless asked: V=1 shows the commands.
Q := $(if $(V),,@)

WARN := -Wall -Wextra -Wshadow -Wvla -Wundef -Wformat=2 -Wwrite-strings -Wpointer-arith \
        -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wimplicit-fallthrough $(WERROR)
# =1, so that a file which says `#define _GNU_SOURCE 1` itself says the same.
DIALECT := -std=gnu17 -D_GNU_SOURCE
HARDEN  := -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection -fPIE

CFLAGS_release  := -O2 -g $(HARDEN)
LDFLAGS_release := -pie -Wl,-z,relro,-z,now,-z,noexecstack
CFLAGS_asan     := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer \
                   -DBELLJAR_ASAN=1
LDFLAGS_asan    := -fsanitize=address,undefined
ifeq ($(CFLAGS_$(VARIANT)),)
$(error VARIANT is "$(VARIANT)": it must be release or asan)
endif

MODULES  := json-c libcurl libseccomp libarchive nettle
# Debian's fcgi and libmagic have no pkg-config file in every release.
LIBS      = -lfcgi -lmagic -lm $(shell pkg-config --libs $(MODULES))
INCLUDES  = $(shell pkg-config --cflags $(MODULES))
CPPFLAGS  = $(DIALECT) -Isrc $(INCLUDES)
CFLAGS    = $(WARN) $(CFLAGS_$(VARIANT))
LDFLAGS   = $(LDFLAGS_$(VARIANT))

FOLDERS := base wire web store docker box api proc
SRC     := $(wildcard src/*.c $(FOLDERS:%=src/%/*.c))
OBJ     := $(SRC:%.c=$(B)/obj/%.o)
LIBOBJ  := $(filter-out $(B)/obj/src/main.o,$(OBJ))
SUPPORT := $(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/support/*.c))
UNIT    := $(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/unit/*.c tests/unit/*/*.c))
SYSTEM  := $(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/system/*.c))
# What the programs of make bench share is none itself; they read /proc as the system tests do.
BENCH_SHARED := client floor series
BENCH_OBJ    := $(BENCH_SHARED:%=$(B)/obj/tests/bench/%.o)
BENCH        := $(patsubst tests/bench/%.c,$(B)/bench/%, \
                  $(filter-out $(BENCH_SHARED:%=tests/bench/%.c),$(wildcard tests/bench/*.c)))
FUZZ    := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
REPLAY  := $(FUZZ:%=$(B)/replay/%)

# The guest runs in images of any origin: static, musl, small, and the same in every variant.
GUEST_SRC    := $(wildcard src/guest/*.c) src/wire/frame.c
GUEST_OBJ    := $(GUEST_SRC:%.c=$(B)/guest-obj/%.o)
GUEST_CFLAGS := $(DIALECT) -Isrc $(WARN) -static -Os -fstack-protector-strong
DRIVERS      := $(wildcard src/guest/drivers/*)

.PHONY: all unit system fuzz fuzz-deps fuzz-replay bench layers lint format check deps images run stop test \
        clean install programs
.DELETE_ON_ERROR:
# Objects are kept, those of chained rules too.
.SECONDARY:

all: $(B)/belljar $(B)/guest $(DRIVERS:src/guest/drivers/%=$(B)/drivers/%)

# Everything that compiles, without running any of it.
programs: all $(B)/unit $(B)/system $(REPLAY) $(BENCH)

$(B)/belljar: $(OBJ)
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/obj/src/%.o: src/%.c Makefile
	@echo "  CC    $<"
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/obj/tests/%.o: tests/%.c Makefile
	@echo "  CC    $<"
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -Itests $(CFLAGS) -MMD -MP -c -o $@ $<

# musl-gcc sees no kernel headers (linux/seccomp.h and the like); these three folders are all it may see.
$(B)/guest-include:
	@mkdir -p $@
	$(Q)ln -sfn /usr/include/linux $@/linux
	$(Q)ln -sfn /usr/include/asm-generic $@/asm-generic
	$(Q)ln -sfn /usr/include/$(shell $(CC) -print-multiarch)/asm $@/asm

$(B)/guest-obj/%.o: %.c Makefile | $(B)/guest-include
	@echo "  MUSL  $<"
	@mkdir -p $(@D)
	$(Q)musl-gcc $(GUEST_CFLAGS) -isystem $(B)/guest-include -MMD -MP -c -o $@ $<

$(B)/guest: $(GUEST_OBJ)
	@echo "  LD    $@"
	$(Q)musl-gcc -static -s -Wl,-z,noexecstack -o $@ $^

$(B)/drivers/%: src/guest/drivers/%
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(B)/unit: $(UNIT) $(SUPPORT) $(LIBOBJ)
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(shell pkg-config --libs check) $(LIBS)

$(B)/system: $(SYSTEM) $(SUPPORT) $(LIBOBJ)
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(shell pkg-config --libs check) $(LIBS)

$(B)/bench/%: $(B)/obj/tests/bench/%.o $(BENCH_OBJ) $(SUPPORT) $(LIBOBJ)
	@echo "  LD    $@"
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(shell pkg-config --libs check) $(LIBS)

$(B)/replay/%: $(B)/obj/tests/fuzz/fuzz_%.o $(B)/obj/tests/fuzz/replay.o $(LIBOBJ)
	@echo "  LD    $@"
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# clang compiles the sources once more: coverage counters must be in all of them.
build/fuzz/%: tests/fuzz/fuzz_%.c $(filter-out src/main.c,$(SRC)) Makefile
	@echo "  FUZZ  $@"
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(CPPFLAGS) -Itests -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		-o $@ $(filter %.c,$^) $(LIBS)

unit: $(B)/unit
	$(B)/unit

# The suites start the built programs, so those come first.
system: all $(B)/system
	$(B)/system

# T=frame fuzzes one target only; SECONDS (60) is for each.
T       ?= $(FUZZ)
fuzz: fuzz-deps $(T:%=build/fuzz/%)
	$(Q)set -e; for t in $(T); do \
		mkdir -p build/fuzz/corpus/$$t tests/corpus/$$t; echo "== fuzzing $$t for $(or $(SECONDS),60) s"; \
		build/fuzz/$$t -max_total_time=$(or $(SECONDS),60) -max_len=65536 -print_final_stats=1 \
			-artifact_prefix=build/fuzz/$$t- build/fuzz/corpus/$$t tests/corpus/$$t; done

fuzz-deps:
	$(Q)src/ops/deps.sh fuzz

fuzz-replay: $(REPLAY)
	$(Q)set -e; for t in $(FUZZ); do \
		files=$$(find tests/corpus/$$t -type f 2>/dev/null | sort); \
		[ -n "$$files" ] || { echo "tests/corpus/$$t is empty"; exit 1; }; \
		$(B)/replay/$$t $$files >$(B)/replay/$$t.log 2>&1 || { cat $(B)/replay/$$t.log; exit 1; }; \
		echo "  $$t: $$(echo "$$files" | wc -l) inputs replayed"; done

# Measures, never asserts: ours and the bare engine side by side in one run. ROUNDS of each kind; SECONDS (10) of load for
# each side at each concurrency.
ROUNDS ?= 15
bench: all $(BENCH)
	$(Q)src/ops/bench.sh $(ROUNDS) $(or $(SECONDS),10)

layers:
	$(Q)src/ops/layers.sh

lint:
	$(Q)src/ops/lint.sh

format:
	$(Q)clang-format -i -style=file $$(find src tests -name '*.[ch]')

deps:
	$(Q)src/ops/deps.sh test

images:
	$(Q)src/ops/engine.sh start
	$(Q)src/ops/images.sh python service nginx

run:
	$(Q)src/ops/run.sh start

stop:
	$(Q)src/ops/run.sh stop

test:
	$(Q)src/ops/test.sh

check: test

PREFIX ?= /usr/local
install: all
	install -D -m 755 $(B)/belljar $(DESTDIR)$(PREFIX)/bin/belljar
	install -D -m 755 $(B)/guest $(DESTDIR)$(PREFIX)/lib/belljar/guest
	install -d $(DESTDIR)$(PREFIX)/lib/belljar/drivers $(DESTDIR)$(PREFIX)/share/belljar/nginx
	install -m 644 $(B)/drivers/* $(DESTDIR)$(PREFIX)/lib/belljar/drivers/
	install -m 644 nginx/*.conf $(DESTDIR)$(PREFIX)/share/belljar/nginx/
	@echo 'Start it with GUEST_DIR=$(PREFIX)/lib/belljar in its environment.'

clean:
	rm -rf build

-include $(OBJ:.o=.d) $(GUEST_OBJ:.o=.d) $(SUPPORT:.o=.d) $(UNIT:.o=.d) $(SYSTEM:.o=.d) \
         $(FUZZ:%=$(B)/obj/tests/fuzz/fuzz_%.d) $(BENCH:$(B)/bench/%=$(B)/obj/tests/bench/%.d) $(BENCH_OBJ:.o=.d)
