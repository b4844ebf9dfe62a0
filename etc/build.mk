# SPDX-License-Identifier: ISC
# How Tern is built; GNUmakefile says what. The macros are expanded once for
# each variant, daemon, test and fuzzer. `make -p` prints the results, and each
# macro has one example.

comma := ,
space := $() $()
Q := $(if $(V),,@)
say = @printf '%s $@\n'
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
PKG_CONFIG ?= pkg-config
ifneq (,$(filter check,$(MAKECMDGOALS))$(filter-out false 0,$(CI)))
WERROR ?= 1
export WERROR # for tests that call make
endif

# The packages of a goal are installed before the rest of this file is read.
# The lines below ask pkg-config, and rules without a prerequisite run at once.
setup := $(firstword $(filter check,$(MAKECMDGOALS)) \
	$(filter serve,$(MAKECMDGOALS)))
dry_run := $(findstring n,$(filter-out -%,$(firstword $(MAKEFLAGS))))
ifneq (,$(if $(dry_run),,$(setup)))
$(shell etc/packages $(setup) >&2)
ifneq (0,$(.SHELLSTATUS))
$(error etc/packages $(setup) has failed)
endif
endif

# Flags.
lib_names := $(foreach l,$(LIBS),$(word 1,$(subst :, ,$l)))
LIB_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(lib_names) 2>/dev/null)
LIB_LIBS := $(shell $(PKG_CONFIG) --libs $(lib_names) 2>/dev/null)
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Wcast-qual \
	-Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wformat=2 \
	-Wundef -Wpointer-arith $(if $(WERROR),-Werror)
# What the machine protects follows the target, not the builder.
target := $(shell $(CC) -dumpmachine 2>/dev/null)
guards := $(if $(filter x86_64-%,$(target)),-fcf-protection) \
	$(if $(filter aarch64-%,$(target)),-mbranch-protection=standard)
HARD := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 $(guards) \
	-fstack-protector-strong -fstack-clash-protection
# Sizes and times have 64 bits on 32-bit machines too, in all files but one.
bytes := $(shell echo __SIZEOF_LONG__ | $(CC) -E -P -x c - 2>/dev/null)
wide := $(if $(filter 4,$(bytes)),-D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 \
	-include common/machine/narrow.h)
CFLAGS ?= -O2 -g
base_cflags = -std=c17 -D_GNU_SOURCE $(wide) -DTERN_VERSION='"$(VERSION)"' $(WARN) \
	-fPIE -pthread -MMD -MP -Icommon -I. $(LIB_CFLAGS)
base_ldflags := -pie -pthread -Wl,-z,relro,-z,now,-z,noexecstack \
	-Wl,--as-needed
link = $(base_ldflags) $(LINK) $(LDFLAGS) -o $@ -Wl,--start-group $^ \
	-Wl,--end-group $(LIB_LIBS) $(LDLIBS)

# TAP: an installed libtap, else tests/tap.c.
TAP_INC := $(shell $(PKG_CONFIG) --variable=includedir tap 2>/dev/null)
TAP_CFLAGS := -Itests $(if $(TAP_INC),-DTAP_INSTALLED='"$(TAP_INC)/tap.h"')
TAP_LIBS := $(if $(TAP_INC),$(shell $(PKG_CONFIG) --libs tap))
TAP_SRC := $(if $(TAP_INC),,tests/tap.c)

# The tools of each variant.
SAN := -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all -fsanitize=
CC_plain = $(CC)
FLAGS_plain = $(HARD) $(CFLAGS)
CC_clang = $(CLANG)
FLAGS_clang = $(HARD) $(CFLAGS)
CC_asan = $(CC) $(SAN)address,undefined
# gcc warns that TSan does not know fences. They order memory that processes
# share, where TSan does not look.
CC_tsan = $(CC) $(SAN)thread $(if $(findstring clang,$(CC)),,-Wno-tsan)
CC_fuzz = $(CLANG) $(SAN)fuzzer-no-link,address,undefined
# Children of tests write their counters themselves (tests/cover.c), and the
# daemons have no filter, which would prevent that.
CC_cover = $(CC) -O0 -g --coverage
link_cover := $(foreach f,open _exit execv kill seccomp_load,-Wl,--wrap=$f)
link_daemon_cover = $(wrap_unfiltered:%=-Wl,--wrap=%)
more_cover = $1/tests/cover.o
more_daemon_cover = $1/tests/cover.o $1/tests/unfiltered/unfiltered.o

# The programs to build. A C file under tests/ that has a main() is a program.
# The others of its folder, and those of tests/wire and tests/lib, are linked
# into it.
have := $(foreach d,$(DAEMONS),$(if $(wildcard $d/$d.c),$d))
dirs_of_tests := $(filter-out tests/fuzz,$(patsubst %/,%,$(wildcard tests/*/)))
with_main := $(filter-out tests/fuzz/%, \
	$(shell grep -lsw '^main' $(wildcard tests/*/*.c)))
fuzzers := $(wildcard tests/fuzz/fuzz_*.c)
shared_helpers = $(if $(wildcard tests/lib/*.c),$1/tests/lib/helpers.a) \
	$1/tests/wire/helpers.a

# links FILE: the daemon whose objects a test needs. A comment in the test says
# it, or the test is named after a module of the daemon:
#     tests/unit/test_cache_janitor.c  ->  nfsd, since there is nfsd/cache/janitor.c
#     /* Links: mountd */              ->  mountd
links = $(or $(shell sed -n 's,.*Links: *\([a-z]*\).*,\1,p' $1 | head -n 1), \
	$(foreach d,$(DAEMONS),$(if $(wildcard $(foreach m, \
	$(patsubst test_%,%,$(basename $(notdir $1))), \
	$d/$m.c $d/*/$m.c $d/$(call in_room,$m).c)),$d)))
in_room = $(firstword $(subst _, ,$1))/$(subst $(space),_,$(wordlist 2,9, \
	$(subst _, ,$1)))

# variant NAME, DIR, PROGRAM DIR: all rules of one compiler.
#     $(call variant,asan,build/asan,build/asan)
#     ->  build/asan/%.o: %.c build/asan/flags
#             gcc ... -fsanitize=address,undefined -c -o $@ $<
# Objects are rebuilt when the flags change, since they need DIR/flags.
define variant
progs_$1 := $(foreach d,$(have),$3/$d/$d)
tests_$1 := $(foreach t,$(with_main),$2/$(t:.c=))
fuzz_$1 := $(fuzzers:%.c=$2/%)

$2/flags: FORCE | ready
	@mkdir -p $$(@D)
	@echo '$$(subst ','\'',$$(CC_$1) $$(base_cflags) $$(FLAGS_$1))' \
	| cmp -s - $$@ || \
	echo '$$(subst ','\'',$$(CC_$1) $$(base_cflags) $$(FLAGS_$1))' >$$@
$2/%.o: %.c $2/flags
	@mkdir -p $$(@D)
	$$(say) CC
	$$(Q)$$(CC_$1) $$(CPPFLAGS) $$(base_cflags) $$(FLAGS_$1) $$(EXTRA) \
	-c -o $$@ $$<
$2/tests/%.o: EXTRA += $(TAP_CFLAGS)
$2/common/machine/narrow.o: wide :=
$2/libcommon.a: $(patsubst %.c,$2/%.o,$(wildcard common/*/*.c))
$2/libtap.a: $(TAP_SRC:%.c=$2/%.o)
$(foreach d,$(DAEMONS),$(call daemon,$1,$2,$3,$d))
$(foreach d,$(dirs_of_tests),$(call helpers,$2,$d))
$(foreach t,$(with_main),$(call test,$1,$2,$t,$(strip $(call links,$t))))
$(foreach t,$(fuzzers),$(call fuzzer,$1,$2,$t,$(strip $(call links,$t))))
$2/%.a: | ready
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^
endef

# daemon VARIANT, DIR, PROGRAM DIR, NAME: its main file and an archive of the
# rest, which tests link too.
#     $(call daemon,plain,build,.,nfsd)
#     ->  ./nfsd/nfsd: build/nfsd/nfsd.o build/nfsd/nfsd.a build/libcommon.a
define daemon
$2/$4/$4.a: $(patsubst %.c,$2/%.o,$(filter-out $4/$4.c, \
	$(wildcard $4/*.c $4/*/*.c)))
$3/$4/$4: $2/$4/$4.o $2/$4/$4.a $2/libcommon.a $(call more_daemon_$1,$2)
	@mkdir -p $$(@D)
	$$(say) LINK
	$$(Q)$$(CC_$1) $$(link_$1) $$(link_daemon_$1) $$(link)

endef

# helpers DIR, FOLDER: the C files of a folder of tests that have no main().
#     $(call helpers,build,tests/wire)  ->  build/tests/wire/helpers.a: ...
define helpers
$1/$2/helpers.a: $(patsubst %.c,$1/%.o, \
	$(filter-out $(with_main),$(wildcard $2/*.c)))

endef

# test VARIANT, DIR, FILE, DAEMON: a test program.
#     $(call test,plain,build,tests/unit/test_seal.c,mountd)
#     ->  build/tests/unit/test_seal: build/tests/unit/test_seal.o
#             ... build/mountd/mountd.a build/libcommon.a build/libtap.a
define test
$2/$(3:.c=.o): EXTRA += -I$(dir $3) -Itests/wire -Itests/lib
$2/$(3:.c=): $2/$(3:.c=.o) $2/$(dir $3)helpers.a $(call shared_helpers,$2) \
    $(if $4,$2/$4/$4.a) $2/libcommon.a $2/libtap.a $(call more_$1,$2)
	$$(say) LINK
	$$(Q)$$(CC_$1) $$(link_$1) $$(link) $(TAP_LIBS) \
	$(LIBS_$(basename $(notdir $3)))

endef

# fuzzer VARIANT, DIR, FILE, DAEMON: libFuzzer in the variant fuzz. In the
# others tests/fuzz/main.c replays the corpus.
#     $(call fuzzer,fuzz,build/fuzz,tests/fuzz/fuzz_ipc.c,)
#     ->  build/fuzz/tests/fuzz/fuzz_ipc: build/fuzz/tests/fuzz/fuzz_ipc.o ...
define fuzzer
$2/$(3:.c=): $2/$(3:.c=.o) $(if $(filter fuzz,$1),,$2/tests/fuzz/main.o) \
    $(if $4,$2/$4/$4.a) $(call shared_helpers,$2) $2/libcommon.a $2/libtap.a
	$$(say) LINK
	$$(Q)$$(CC_$1) $$(link) $(if $(filter fuzz,$1),-fsanitize=fuzzer)

endef

# wrapped NAME, DAEMON: a shipped daemon with the files of tests/NAME in
# between; wrap_NAME lists the functions they replace.
#     $(call wrapped,owned,nfsd)
#     ->  build/owned/nfsd/nfsd: build/nfsd/nfsd.o build/nfsd/nfsd.a ...
#             gcc -Wl,--wrap=log_init ...
wrap_owned := log_init sandbox_seal setrlimit
wrap_unfiltered := sandbox_seccomp_seal
define wrapped
progs_$1 += $B/$1/$2/$2
$B/$1/$2/$2: $B/$2/$2.o $B/$2/$2.a $B/libcommon.a \
    $(patsubst %.c,$B/%.o,$(wildcard tests/$1/*.c))
	@mkdir -p $$(@D)
	$$(say) LINK
	$$(Q)$$(CC_plain) $(wrap_$1:%=-Wl,--wrap=%) $$(link)

endef

# Not in a Debian tree that tests made.
-include $(shell find $B -name tree -prune -o -type f -name '*.d' -print 2>/dev/null)

# Before anything is compiled: are the libraries installed?
.PHONY: FORCE ready
FORCE:
ready:
	@command -v $(PKG_CONFIG) >/dev/null || \
	{ echo '$(PKG_CONFIG) is missing: apt-get install pkg-config' >&2; exit 1; }
	@for l in $(LIBS); do $(PKG_CONFIG) --exists $${l%:*} || \
	{ echo "$${l%:*} is missing: apt-get install $${l#*:}" >&2; bad=1; }; \
	done; test -z "$$bad"
