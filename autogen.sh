#!/bin/sh
# autogen.sh - from a fresh checkout to ./configure, to a running proxy, to a green test suite.
#
#   ./autogen.sh                 make ./configure, nothing else
#   ./autogen.sh run             install what is missing, build in ./out, run on 127.0.0.1:3128
#   ./autogen.sh check [SAN=1]   the same, then the tests; SAN=1: with sanitizers, in ./out-san
#   ./autogen.sh sources         list the tree into sources.mk (make does it when a folder changes)
#   ./autogen.sh new NAME        copy modules/hello and its test (make new MODULE=NAME calls it)
#
# CC, CFLAGS and the like are handed on to configure.
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu
LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export LC_ALL PATH
cd "$(dirname "$0")"
top=$(pwd)

say() { echo "autogen.sh: $*" >&2; }
die() { say "$*"; exit 1; }

# --- what lies in the tree -> sources.mk ------------------------------------------------------

# Prints the arguments that exist as files, in one order on every machine.
files() {
    for file in "$@"; do
        [ -f "$file" ] && printf ' %s' "$file"
    done
    return 0
}

# name.c -> name_c as automake spells it in variables.
canon() { printf '%s' "$1" | sed 's/[^A-Za-z0-9_]/_/g'; }

floor_rows() {
    for floor in base stat conf http net plug flow proc; do
        echo "libbt_${floor}_a_SOURCES =$(files server/$floor/*.c server/$floor/*.h)"
        echo "OBJECTS_OF_ALL += \$(libbt_${floor}_a_OBJECTS)"
    done
    echo "btinclude_HEADERS =$(files server/api/*.h)"
}

program_rows() {
    for program in bobtail bobtailctl; do
        case $program in
        bobtail) sources=$(files server/main.c) ;;
        *) sources=$(files server/bobtailctl.c server/ctl/*.c server/ctl/*.h) ;;
        esac
        [ -n "$sources" ] || continue
        echo "sbin_PROGRAMS += $program"
        echo "${program}_SOURCES =$sources"
        echo "OBJECTS_OF_ALL += \$(${program}_OBJECTS)"
    done
    [ -f modules/tls/ca/ca.c ] || return 0
    # What bobtailctl runs for `ca`, so that it needs no OpenSSL itself.
    echo "if HAVE_OPENSSL"
    echo "sbin_PROGRAMS += bobtail-ca"
    echo "bobtail_ca_SOURCES =$(files modules/tls/ca/*.c) modules/tls/pem.c modules/tls/pem.h"
    echo "OBJECTS_OF_ALL += \$(bobtail_ca_OBJECTS)"
    echo endif
}

# What configure must have found for a module to be built; nothing for most.
needs_of() {
    case $1 in
    acl_geoip) echo HAVE_MAXMINDDB ;;
    tls) echo HAVE_OPENSSL ;;
    lua) echo HAVE_LUA ;;
    esac
}

# module_rows NAME FOLDER SOURCE...
module_rows() {
    name=$1 folder=$2 needs=$(needs_of "$1")
    shift 2
    [ -z "$needs" ] || echo "if $needs"
    la=$(canon "modules/$folder/$name.la")
    echo "MODULE_NAMES += $name"
    echo "noinst_LTLIBRARIES += modules/$folder/$name.la"
    echo "${la}_SOURCES = $*"
    echo "${la}_CPPFLAGS = \$(MODULE_CPPFLAGS) -I\$(srcdir)/modules/$folder \$(CPPFLAGS_$name)"
    echo "${la}_LDFLAGS = \$(MODULE_LDFLAGS)"
    echo "${la}_LIBADD = \$(LIBS_$name)"
    echo "OBJECTS_OF_ALL += \$(${la}_OBJECTS)"
    [ -z "$needs" ] || echo endif
}

# A folder is one module when it has a source of its own name (modules/cache/cache.c) or is one of
# those that the design names; otherwise each of its sources is a module.
modules() {
    for path in modules/*/; do
        folder=$(basename "$path")
        set -- $(files "$path"*.c)
        [ $# -gt 0 ] || continue
        case $folder in
        auth | cache | page | tls | peer | lua | rewrite | shape)
            module_rows "$folder" "$folder" $(files "$path"*.c "$path"*.h) ;;
        *)
            headers=$(files "$path"*.h)
            for source; do
                module_rows "$(basename "$source" .c)" "$folder" $source $headers
            done ;;
        esac
    done
}

test_rows() {
    for source in $(files t/unit/test_*.c); do
        unit=$(canon "${source%.c}") needs= libs=
        case $source in
        t/unit/test_tls_*.c) needs=HAVE_OPENSSL libs=' $(OPENSSL_LIBS)' ;; # takes in modules/tls
        t/unit/test_lua_*.c) needs=HAVE_LUA libs=' $(LUA_LIBS)' ;; # takes in modules/lua
        esac
        [ -z "$needs" ] || echo "if $needs"
        echo "UNITS += ${source%.c}"
        echo "${unit}_SOURCES = $source"
        echo "${unit}_CPPFLAGS = \$(UNIT_CPPFLAGS)"
        echo "${unit}_LINK = \$(PLAIN_LINK)"
        echo "${unit}_LDADD = \$(GROUP) \$(FLOORS) \$(END_GROUP) \$(CMOCKA_LIBS) \$(SERVER_LIBS)$libs"
        echo "${unit}_DEPENDENCIES = \$(FLOORS)"
        echo "OBJECTS_OF_UNIT += \$(${unit}_OBJECTS)"
        [ -z "$needs" ] || echo endif
    done
    for source in $(files t/bench/bench_*.c); do
        bench=$(canon "${source%.c}")
        echo "BENCHES += ${source%.c}"
        echo "${bench}_SOURCES = $source"
        case $source in
        t/bench/bench_rules.c) # loads modules
            echo "${bench}_LINK = \$(bobtail_LINK)"
            echo "${bench}_LDADD = \$(KEEP_ALL) libbt_plug.a libbt_net.a libbt_conf.a libbt_stat.a" \
                "libbt_base.a \$(KEEP_USED) \$(SERVER_LIBS)" ;;
        *)
            echo "${bench}_LINK = \$(PLAIN_LINK)"
            echo "${bench}_LDADD = \$(GROUP) \$(FLOORS) \$(END_GROUP) \$(SERVER_LIBS)" ;;
        esac
        echo "${bench}_DEPENDENCIES = \$(FLOORS)"
        echo "OBJECTS_OF_ALL += \$(${bench}_OBJECTS)"
    done
    for source in $(files t/fuzz/fuzz_*.c); do
        fuzz=$(canon "${source%.c}") needs= more=
        case $source in
        t/fuzz/fuzz_forge.c | t/fuzz/fuzz_verify.c) needs=HAVE_OPENSSL knows='libbt_base.a $(PURE_LIBS) $(OPENSSL_LIBS)' ;;
        t/fuzz/fuzz_conf*.c) knows='libbt_conf.a libbt_stat.a libbt_base.a $(PURE_LIBS)' ;;
        t/fuzz/fuzz_exchange*.c) knows='$(FLOORS) $(SERVER_LIBS)' ;;
        t/fuzz/fuzz_lua.c)
            needs=HAVE_LUA knows='$(GROUP) $(FLOORS) $(END_GROUP) $(SERVER_LIBS) $(LUA_LIBS)' more=$(files modules/lua/*.c) ;;
        t/fuzz/fuzz_helper.c) knows='libbt_net.a libbt_base.a $(PURE_LIBS)' ;;
        *) knows='libbt_http.a libbt_base.a $(PURE_LIBS)' ;;
        esac
        [ -z "$needs" ] || echo "if $needs"
        echo "FUZZERS += ${source%.c}"
        echo "${fuzz}_SOURCES = $source t/fuzz/replay.c$more"
        [ -z "$more" ] || echo "${fuzz}_CPPFLAGS = \$(AM_CPPFLAGS) -Dbt_log_tag=bt_log_tag_of_module"
        echo "${fuzz}_LINK = \$(PLAIN_LINK)"
        echo "${fuzz}_LDADD = $knows"
        echo "OBJECTS_OF_ALL += \$(${fuzz}_OBJECTS)"
        [ -z "$needs" ] || echo endif
    done
}

# Everything that no program is made of, and must be in the tarball.
extra_rows() {
    find etc lua modules server t -type f \
        ! -name '*.o' ! -name '*.lo' ! -name '*.la' ! -name '.*' ! -name '*~' \
        ! -path '*/.libs/*' ! -path '*/.deps/*' ! -path 'modules/built/*' \
        ! -path 't/fuzz/corpus/*' 2>/dev/null | sort | while read -r file; do
        case $file in
        t/unit/test_*.[ch] | t/fuzz/fuzz_*.[ch] | t/bench/bench_*.[ch]) ;;
        t/unit/test_* | t/fuzz/fuzz_* | t/bench/bench_*) continue ;;
        esac
        echo "EXTRA_DIST += $file"
    done
    for folder in t/fuzz/corpus/*/; do
        [ -d "$folder" ] && echo "EXTRA_DIST += ${folder%/}"
    done
    echo "POLICIES =$(files lua/*.lua)"
    echo "ERROR_PAGES =$(files etc/error/BASE etc/error/ERR_* etc/error/*.css)"
    echo "EXAMPLE_POLICIES =$(files lua/policy/*.lua)"
    # A file that comes or goes changes its folder's time: make then lists the tree again.
    echo "FOLDERS = $(find server modules t/unit t/fuzz t/bench lua etc -type d ! -empty ! -name .libs \
        ! -name .deps ! -path modules/built ! -path 't/fuzz/corpus/*' 2>/dev/null |
        sort | sed 's,^,$(srcdir)/,' | tr '\n' ' ')"
}

sources() {
    new=$(
        echo "# sources.mk - what lies in the tree, listed by autogen.sh; git does not keep it."
        echo "sbin_PROGRAMS ="
        echo "noinst_LTLIBRARIES ="
        echo "MODULE_NAMES ="
        echo "UNITS ="
        echo "FUZZERS ="
        echo "BENCHES ="
        echo "OBJECTS_OF_ALL ="
        echo "OBJECTS_OF_UNIT ="
        floor_rows
        program_rows
        modules
        test_rows
        extra_rows
    )
    # Left alone when nothing changed: it sits in a read-only tree during distcheck, and a newer
    # date would make everything again.
    [ -f sources.mk ] && [ "$new" = "$(cat sources.mk)" ] || printf '%s\n' "$new" > sources.mk
}

# --- ./configure ------------------------------------------------------------------------------

generate() {
    for tool in autoreconf automake libtoolize; do
        command -v $tool > /dev/null ||
            die "$tool is missing; on Debian: apt-get install autoconf automake libtool"
    done
    sources
    mkdir -p m4 build-aux
    log=$(mktemp)
    if ! autoreconf -i > "$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        die "autoreconf failed; its messages are above"
    fi
    rm -f "$log"
}

# --- packages ---------------------------------------------------------------------------------

have_command() { (PATH="$PATH:/usr/sbin:/sbin" && command -v "$1") > /dev/null; }

have_header() {
    for where in /usr/include /usr/local/include /usr/include/*-linux-gnu; do
        [ -f "$where/$1" ] && return 0
    done
    return 1
}

have_perl() { perl "-M$1" -e 1 2> /dev/null; }

# PACKAGE PROBE WHAT: the probe tells whether what the package is for is there, however it came.
build_packages='
gcc command gcc
libc6-dev header stdio.h
make command make
autoconf command autoconf
automake command automake
libtool command libtoolize
libevent-dev header event2/event.h
libc-ares-dev header ares.h
libpcre2-dev header pcre2.h
libcrypt-dev header crypt.h
'
# Some module is left out when one of these is not there.
optional_packages='
libmaxminddb-dev header maxminddb.h
libssl-dev header openssl/core.h
liblua5.4-dev header lua5.4/lua.h
'
test_packages='
perl command prove
libio-socket-ssl-perl perl IO::Socket::SSL
libcmocka-dev header cmocka.h
nginx-light command nginx
dnsmasq-base command dnsmasq
curl command curl
openssl command openssl
clang-format command clang-format
zsh command zsh
mandoc command mandoc
man-db command man
chromium command chromium
rsyslog command rsyslogd
nftables command nft
iproute2 command ip
'

missing_of() {
    echo "$1" | while read -r package probe what; do
        [ -z "$package" ] || "have_$probe" "$what" || printf ' %s' "$package"
    done
}

# install_missing LIST: installs through apt-get where that is allowed, else names the one command.
install_missing() {
    missing=$(missing_of "$1")
    [ -n "$missing" ] || return 0
    command="apt-get update && apt-get install -y --no-install-recommends$missing"
    have_command apt-get ||
        die "these are missing (by their Debian names); install them and come again:$missing"
    as=
    if [ "$(id -u)" != 0 ]; then
        have_command sudo && sudo -n true 2> /dev/null ||
            die "packages are missing; run this as root and come again: $command"
        as=sudo
    fi
    say "installing$missing"
    log=$(mktemp)
    # RUNLEVEL=1: a test needs the nginx program, not a web server that starts with the machine.
    if ! { $as apt-get -q update &&
        $as env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
            apt-get -q install -y --no-install-recommends $missing; } > "$log" 2>&1 < /dev/null; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        die "installing failed (apt-get's messages are above); run this as root and come again: $command"
    fi
    rm -f "$log"
    missing=$(missing_of "$1")
    [ -z "$missing" ] || die "installed, and yet not found:$missing"
}

# The same, but the build goes on without what is not to be had.
install_optional() {
    missing=$(missing_of "$1")
    [ -n "$missing" ] || return 0
    (install_missing "$1") || say "going on without:$missing"
}

# --- build, run, check ------------------------------------------------------------------------

# build DIR MAKE-ARGUMENTS...: configures DIR once (it re-configures itself later) and makes it.
build() {
    dir=$1
    shift
    [ ! -f config.status ] ||
        die "this tree is configured in place, which hides $dir; run 'make distclean' here first"
    [ -x configure ] && [ -f Makefile.in ] || generate
    sources
    mkdir -p "$dir"
    if [ ! -f "$dir/config.status" ]; then
        say "configuring in $dir (log: $dir/config.log)"
        (cd "$dir" && ../configure -q --prefix="$top/$dir/root") ||
            die "configure failed; the reason is above, the details are in $dir/config.log"
    fi
    say "building in $dir"
    make -C "$dir" --no-print-directory -s -j"$(jobs_here)" "$@" >&2 ||
        die "the build in $dir failed; the reason is above"
}

jobs_here() { nproc 2> /dev/null || echo 2; }

run() {
    install_missing "$build_packages"
    install_optional "$optional_packages"
    build out all
    # The build's own prefix: what the configuration leaves to the defaults lands below ./out.
    make -C out --no-print-directory -s run-folders
    say "running out/bobtail with etc/bobtail.conf; stop it with Ctrl-C; try it with"
    say "    curl -x http://127.0.0.1:3128 http://example.com/"
    exec out/bobtail --foreground -f etc/bobtail.conf
}

check() {
    dir=out
    for word; do
        case $word in
        SAN=1) dir=out-san ;;
        *) die "check takes SAN=1 or nothing, not '$word'" ;;
        esac
    done
    install_missing "$build_packages"
    install_optional "$optional_packages"
    install_missing "$test_packages"
    build "$dir" all test-programs "$@"
    exec t/run-tests "$dir" "$@"
}

# --- a new module from the sample -------------------------------------------------------------

new() {
    name=${1:-}
    case $name in
    '') die "name it: make new MODULE=acl_weekday" ;;
    [!a-z]* | *[!a-z0-9_]* | *__* | *_)
        die "'$name' is no module name: small letters, digits and single underscores, a letter first" ;;
    hello) die "hello is the sample itself; choose another name" ;;
    esac
    folder=${name%%_*}
    case $folder in
    acl | auth | log) ;;
    cache | page | tls | peer | lua | rewrite | shape) die "modules/$folder is one module of many files; add a file there" ;;
    *) folder=$name ;;
    esac
    taken=$(find modules -name "$name.c"; find t -name "*-module-$name.t")
    [ -z "$taken" ] && [ ! -e "modules/$name/" ] || die "there is already $(echo $taken)"
    sample=modules/hello/hello.c
    sample_test=$(files t/*-module-hello.t | sed 's/^ //')
    [ -f $sample ] && [ -f "$sample_test" ] || die "the sample is missing: $sample, t/NN-module-hello.t"
    number=13
    case $folder in acl) number=39 ;; auth) number=38 ;; log) number=79 ;; page) number=78 ;; esac
    mkdir -p "modules/$folder"
    sed "s/hello/$name/g" $sample > "modules/$folder/$name.c"
    sed "s/hello/$name/g" "$sample_test" > "t/$number-module-$name.t"
    sources
    echo "modules/$folder/$name.c"
    echo "t/$number-module-$name.t"
}

what=${1:-generate}
[ $# -eq 0 ] || shift
case $what in
generate | run | sources | new | check) "$what" "$@" ;;
*) die "knows run, check, sources, new or nothing, not '$what'; see the top of this file" ;;
esac
