#!/bin/sh
# Links as the C compiler would, by rust-lld: takes the arguments that rustc gives to `cc`.
# LLD is set by the line that Onrush puts in front of the last one.
here=${0%/*}
start=$here/crt1.o
set -f
count=$#
while [ "$count" -gt 0 ]; do
    argument=$1
    shift
    count=$((count - 1))
    case $argument in
        -Wl,*)
            words=${argument#-Wl,},
            while [ -n "$words" ]; do
                set -- "$@" "${words%%,*}"
                words=${words#*,}
            done ;;
        -shared) start='' && set -- "$@" -shared ;;
        -nostartfiles | -nostdlib) start='' ;;
        -rdynamic) set -- "$@" --export-dynamic ;;
        # A folder of programs, and options for code, which is compiled already.
        -B* | -f* | -g* | -m* | -nodefaultlibs | -no-canonical-prefixes | -static-libgcc | -Xlinker) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
set -- -dynamic-linker /lib64/ld-linux-x86-64.so.2 ${start:+"$start"} -L "$here" "$@"
exec "$LLD" -flavor gnu -m elf_x86_64 --eh-frame-hdr -z noexecstack -z relro -z now "$@"
