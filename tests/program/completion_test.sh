#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What bash and zsh offer for hvdrun's command line. bash is asked as readline asks it: with the line, and with the words
# that it is cut into, also at "=" and ":".
. "$srcdir/tests/tap.sh"

# offered PATTERN WORD...: what bash offers for the last word; the words make the line, "=" and ":" without blanks around.
offered() {
    bash --norc -c '
        cd "$1" && source ./script || exit 1
        shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE= glue=
        for word in "$@"; do
            case $word in = | :) glue= ;; esac
            COMP_LINE+=$glue$word glue=" "
            case $word in = | :) glue= ;; esac
        done
        COMP_POINT=${#COMP_LINE}
        _hvdrun 2>&1
        printf "%s\n" "${COMPREPLY[@]}"' bash "$tmp" "$@" 2>&1
}

# offers SENTENCE EXPECTED WORD...: with blanks between what is offered, in any order.
offers() {
    _sentence=$1 _expected=$2
    shift 2
    is "$_sentence" "$_expected" "$(offered "$@" | sort -u | tr '\n' ' ' | sed 's/ $//')"
}

for shell in bash zsh; do
    run "$HVDRUN" --completion $shell
    is "hvdrun --completion $shell ends well" 0 "$status"
    cp "$tmp/out" "$tmp/$shell"
    if command -v $shell >/dev/null; then
        run $shell -n "$tmp/$shell"
        is "$shell understands it" 0 "$status"
    else
        skip "$shell understands it" "no $shell"
    fi
done
run "$HVDRUN" --help
sed -n 's/^  \(-.*\)/\1/p' "$tmp/out" | tr -s ', ' '\n' | grep '^-' >"$tmp/options"
for shell in bash zsh; do
    missing=$(while read -r name; do
        grep -qF -e "$name" "$tmp/$shell" || echo "$name"
    done <"$tmp/options")
    is "every option is in the completion of $shell" '' "$missing"
done
ok "both are installed" \
    [ -s "$STAGE$PREFIX/share/bash-completion/completions/hvdrun" -a -s "$STAGE$PREFIX/share/zsh/site-functions/_hvdrun" ]

if ! command -v bash >/dev/null; then
    skip "what bash offers" "no bash"
    finish
    exit
fi
cp "$tmp/bash" "$tmp/script"
: >"$tmp/some.yaml" && mkdir "$tmp/some.directory" && printf '#!/bin/sh\n' >"$tmp/program"
export HVD_TEST_VARIABLE=1

offers "the beginning of one option is completed" --dry-run hvdrun --dry
offers "of several, they are offered" "--network-interface --network-interfaces" hvdrun -np 2 --netw
offers "names with one dash are options too" "-hostfile" hvdrun -hos
offers "options go on behind a value" --verbose hvdrun -H a : 2,b : 2 --verb
offers "a value that looks like a command is none" --verbose hvdrun --hostfile program --verb
offers "a value behind = is a value" --verbose hvdrun --hostfile = program --verb
offers "a value has a list of words" "bash zsh" hvdrun --completion ''
offers "of which the beginning counts" info hvdrun --log-level i
offers "also behind =" zsh hvdrun --completion = z
offers "and directly behind it" "bash zsh" hvdrun --completion =
offers "a file is a file" some.directory\ some.yaml hvdrun --config-file som
offers "a directory is a directory" some.directory hvdrun --output-filename som
offers "a number is nothing" '' hvdrun -np ''
offers "a variable is one of ours" HVD_TEST_VARIABLE hvdrun -x HVD_TEST_VARI
offers "an interface is one of this machine" lo hvdrun --network-interfaces lo
offers "behind a comma, too" eth7,lo hvdrun --network-interfaces eth7,lo
offers "and for one host" lo hvdrun --network-interfaces node1 = lo
offers "a command is a file where it has a slash" ./program hvdrun -np 2 ./prog
offers "behind it there are no options of hvdrun" '' hvdrun -np 2 ./program --dry
offers "nor behind --" '' hvdrun -np 2 -- --dry
offers "the command's arguments are files" some.yaml hvdrun -np 2 ./program -v some.y
finish
