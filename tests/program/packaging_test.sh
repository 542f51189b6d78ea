#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What packages are made from agrees with the tree: versions, the files that each package wants, the symbols of libhvd, the unit
# of systemd, the release tarball. Nothing is built; packaging/debian/build and rpmbuild do that, by hand.
. "$srcdir/tests/tap.sh"

if [ "$SANITIZERS" != no ]; then
    skip "packages" "nothing of it depends on sanitizers"
    finish
    exit 0
fi
debian=$srcdir/packaging/debian spec=$srcdir/packaging/rpm/hvdrun.spec

# The version
version=$(sed -n 's/^#define HVD_VERSION_[A-Z]* //p' "$srcdir/lib/hvd.h" | paste -sd.)
"$HVDRUN" --version >"$tmp/out"
is "hvdrun has the version of hvd.h" "hvdrun $version" "$(cat "$tmp/out")"
like "and so has the manual" "^hvdrun v$version:" "$srcdir/man/hvdrun.1"
is "and Debian's changelog" "hvdrun ($version-1)" "$(sed -n '1s/) .*/)/p' "$debian/changelog")"
is "and the spec" "$version" "$(sed -n 's/^Version: *//p' "$spec")"
is "and NEWS" "hvdrun $version" "$(sed -n '1s/ (.*//p' "$srcdir/NEWS")"
is "and README" "This is version ${version%.*}." "$(grep '^This is version' "$srcdir/README.md")"

# Debian's packages: a path of a *.install file is looked for in the installation that is tested, at the place that configure
# gave it instead of Debian's.
place() {
    case $1 in
    lib/systemd/system/*) find "$STAGE" -path "*/systemd/system/${1##*/}" ;;
    usr/lib/\*/*) find "$STAGE$LIBDIR" -path "$STAGE$LIBDIR/${1#usr/lib/\*/}" ;;
    usr/lib/python3/dist-packages/*) find "$STAGE$PYDIR" -path "$STAGE$PYDIR/${1#usr/lib/python3/dist-packages/}" ;;
    usr/include) find "$STAGE$INCLUDEDIR" -name hvd.h ;;
    usr/share/man/*) find "$STAGE$MANDIR" -path "$STAGE$MANDIR/${1#usr/share/man/}" ;;
    usr/share/hvdrun/*) find "$STAGE$PKGDATADIR" -path "$STAGE$PKGDATADIR/${1#usr/share/hvdrun/}" ;;
    usr/*) find "$STAGE$PREFIX" -path "$STAGE$PREFIX/${1#usr/}" ;;
    esac
}
for file in "$debian"/*.install; do
    package=${file##*/}
    package=${package%.install}
    ok "$package is a package of debian/control" grep -qx "Package: $package" "$debian/control"
    while read -r path _; do
        case $path in
        usr/lib/python3/*) [ -d "$STAGE$PYDIR/hvd" ] || continue ;;
        */libhvd_fortran.a) [ "$FC" != no ] || continue ;;
        lib/systemd/*) [ -n "$(find "$STAGE" -name '*.service')" ] || continue ;;
        esac
        [ -n "$(place "$path")" ] || echo "# $path is not installed"
    done <"$file" >"$tmp/missing"
    cat "$tmp/missing"
    ok "what $package wants is installed" [ ! -s "$tmp/missing" ]
done
# The other way round, for libraries: dh_missing and rpm refuse a file that no package has.
cat "$debian"/*.install "$debian/not-installed" | while read -r path _; do
    case $path in usr/lib/\*/*) place "$path" ;; esac
done >"$tmp/packaged"
find "$STAGE$LIBDIR" -type d \( -name 'python3*' -o -name systemd \) -prune -o ! -type d -print | while read -r file; do
    grep -qxF -e "$file" -e "${file%/*}" "$tmp/packaged" || echo "# $file is in no package"
done >"$tmp/extra"
cat "$tmp/extra"
ok "what is installed in libdir is in a package, or in not-installed" [ ! -s "$tmp/extra" ]
is "the symbols of libhvd0 are those of lib/libhvd.abi" "$(sh "$debian/make-symbols")" "$(cat "$debian/libhvd0.symbols")"
for script in "$debian"/hvdrendezvousd.post* "$debian/build" "$debian/make-symbols"; do
    ok "${script##*/} is a script" sh -n "$script"
done
for name in $(sed -n 's/^Tests: //p' "$debian/tests/control"); do
    ok "autopkgtest finds $name" test -x "$debian/tests/$name"
done

# rpm
if command -v rpmspec >/dev/null; then
    run rpmspec -q --qf '%{name} ' "$spec"
    is "rpm parses the spec" "hvdrun hvdrendezvousd libhvd libhvd-devel python3-hvd " "$(cat "$tmp/out")"
else
    skip "rpm parses the spec" "no rpmspec"
fi

# The container: each of its instructions is one, and what it copies from here is here.
container=$srcdir/packaging/container/Containerfile
sed -e :a -e '/\\$/N; s/\\\n//; ta' "$container" | grep -vE '^(#|$)' >"$tmp/instructions"
grep -vE '^(ARG|FROM|COPY|RUN|USER|WORKDIR|CMD) ' "$tmp/instructions" >"$tmp/out"
ok "the Containerfile has instructions only" [ ! -s "$tmp/out" ]
for path in $(sed -n 's/^COPY --chmod=[0-7]* \([^ ]*\) .*/\1/p' "$tmp/instructions"); do
    ok "it copies $path" test -f "$srcdir/$path"
done
is "the last user of the container is not root" "USER hvd" "$(grep '^USER' "$tmp/instructions" | tail -n 1)"

# systemd
unit=$tmp/hvdrendezvousd.service
sed -e "s,@bindir@,$STAGE$PREFIX/bin,; s,@sysconfdir@,/etc,; /^Documentation/d" \
    "$srcdir/packaging/systemd/hvdrendezvousd.service.in" >"$unit"
if command -v systemd-analyze >/dev/null; then
    run systemd-analyze verify "$unit"
    is "systemd takes the unit" "0 0" "$status $(grep -c hvdrendezvousd "$tmp/err")"
    run systemd-analyze security --offline=true --threshold=15 "$unit"
    ok "its exposure is 1.5 or less" [ "$status" = 0 ]
else
    skip "systemd takes the unit" "no systemd-analyze"
fi

# The release
if [ -e "$srcdir/.git" ] && command -v git >/dev/null; then
    make -s -C "$builddir" Makefile >/dev/null 2>&1 # if it is out of date, what makes it writes to stdout
    make -s --no-print-directory -C "$builddir" print-distfiles >"$tmp/names"
    (cd "$srcdir" && xargs git -c safe.directory="$srcdir" ls-files -- <"$tmp/names") | sort -u >"$tmp/distributed"
    git -C "$srcdir" -c safe.directory="$srcdir" ls-files | grep -v '^\.gitignore$' | sort >"$tmp/kept"
    comm -23 "$tmp/kept" "$tmp/distributed" >"$tmp/out"
    ok "the tarball of a release has every file that git has" [ -s "$tmp/kept" -a ! -s "$tmp/out" ]
else
    skip "the tarball of a release has every file that git has" "no git"
fi

# Other machines: the compiler of this one says that it is another.
mkdir "$tmp/other"
while IFS='|' read -r flags problem; do
    run sh -c 'cd "$1" && "$2/configure" --quiet CC="$3" CPPFLAGS="$4"' sh "$tmp/other" "$srcdir" "$CC" "$flags"
    ok "configure refuses a machine that $problem" [ "$status" != 0 ]
    like "and says so" " $problem, and hvdrun needs a little-endian 64-bit machine\$" "$tmp/err"
done <<.
-U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__|is big-endian
-U__SIZEOF_POINTER__ -D__SIZEOF_POINTER__=4|has pointers or longs of 32 bits
.
finish
