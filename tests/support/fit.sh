# SPDX-License-Identifier: Apache-2.0
# What the tests of function_approximation and pinn share, beside tap.sh. They set
#   program, name    the program, and what it calls itself
#   split, whole     --points of each of two ranks, and of one that has them all
# Reads HVDRUN and COMPARE_PARAMETERS.

# shellcheck shell=sh disable=SC2154 # what the test and tap.sh set

# fit RANKS OPTION...: 0 is without hvdrun. hvdrun's prefix is taken off what the program said, and what hvdrun itself
# says is left out.
fit() {
    ranks=$1
    shift
    set -- "$program" "$@"
    [ "$ranks" = 0 ] || set -- "$HVDRUN" -np "$ranks" "$@"
    run "$@"
    sed -i 's/^\[[0-9]*\]<std[a-z]*>://; /^hvdrun: /d' "$tmp/out" "$tmp/err"
}

# says RANKS PATTERN: the last run ended well, and its last line is the only result.
says() {
    [ "$status" -eq 0 ] && [ ! -s "$tmp/err" ] && [ "$(grep -c '^result ' "$tmp/out")" -eq 1 ] &&
        tail -n 1 "$tmp/out" | grep -Eqx "result ranks=$1 $2"
}

# below LIMIT: so are the errors of all ranks in the table, and the largest of them is that of the result line.
below() {
    awk -v limit="$1" -v ranks="$ranks" '
        $1 ~ /^[0-9]+$/ { for (i = 2; i <= NF; i++) if ($i ~ /^[0-9.]+e[-+][0-9]+$/) { errors++; if ($i > worst) worst = $i } }
        /^result / { sub(/.* error=/, ""); result = $1 }
        END { exit !(errors == (ranks ? ranks : 1) && worst + 0 < limit && result + 0 == worst + 0) }' "$tmp/out"
}

# refuses STATUS PATTERN: the last run ended so, and one line on stderr says why.
refuses() {
    [ "$status" -eq "$1" ] && ! grep -q '^result ' "$tmp/out" &&
        [ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -Eqx "$name: $2" "$tmp/err"
}

# same TOLERANCE A B; shows how far they are apart.
same() {
    "$COMPARE_PARAMETERS" --tolerance "$1" "$tmp/$2" "$tmp/$3" >"$tmp/difference"
    same=$?
    sed 's/^/# /' "$tmp/difference"
    return $same
}

# The whole training, with the default seed. Sanitizers make it slow, and have seen all of it with four ranks. There rank 1
# stands between ranks 0 and 3: it passes on, while it still trains, that rank 3 is done, which takes less than 1000 bytes.
check_training() {
    worlds='0 2 3 4'
    [ "$SANITIZERS" = no ] || worlds=4
    for ranks in $worlds; do
        size=${ranks#0} size=${size:-1}
        fit "$ranks"
        ok "data-parallel, $size ranks end with the same parameters" \
            says "$size" 'mode=data-parallel error=[0-9.]+e-[0-9]+ identical=yes bytes_sent=[0-9]+'
        ok "with which each is right in the whole interval" below 2e-2
        fit "$ranks" --mode ensemble
        nothing=0
        [ "$size" -lt 4 ] || nothing='[0-9]{1,3}'
        ok "an ensemble of $size sends nothing" says "$size" "mode=ensemble error=[0-9.]+e-[0-9]+ bytes_sent=$nothing"
        ok "and each is right in its domain" below 2e-2
    done
}

# n ranks make the steps of one that has all points.
check_equivalence() {
    rate="--learning-rate 0.01 --quiet"
    for steps in 1 20; do
        # shellcheck disable=SC2086 # words
        {
            fit 0 $rate --steps $steps --points "$whole" --checkpoint "$tmp/one"
            fit 2 $rate --steps $steps --points "$split" --checkpoint "$tmp/two"
        }
        ok "$steps steps of two ranks are those of one with all points, to rounding" same 1e-9 one two
    done
    # shellcheck disable=SC2086
    fit 2 $rate --steps 20 --points "$split" --checkpoint "$tmp/again"
    ok "the same command gives the same parameters to the bit" same 0 two again
    # shellcheck disable=SC2086
    fit 0 $rate --steps 20 --points "$split" --checkpoint "$tmp/half"
    ok "other points lead elsewhere" not same 1e-3 one half
    ok "--quiet leaves nothing but the result" [ "$(wc -l <"$tmp/out")" -eq 1 ]
}

check_files() {
    for mode in data-parallel ensemble; do
        mkdir "$tmp/$mode"
        fit 2 --mode $mode --steps 3 --plot "$tmp/$mode/plot.svg"
        ok "$mode, rank 0 writes the plot, and nothing beside it" [ "$(ls "$tmp/$mode")" = plot.svg ]
        ok "which is an SVG file" grep -q '</svg>' "$tmp/$mode/plot.svg"
    done
    for ranks in 0 3; do
        fit $ranks --steps 3 --plot "$tmp/nowhere/plot.svg"
        ok "a plot that cannot be written is told once, status 1 ($ranks)" refuses 1 '.*/nowhere/plot\.svg: .*No such file.*'
    done
    fit 2 --steps 3 --checkpoint "$tmp/nowhere/last"
    ok "so is a checkpoint" refuses 1 '.*/nowhere/last.*No such file.*'
}

check_usage() {
    while IFS='|' read -r options text; do
        for ranks in 0 3; do
            # shellcheck disable=SC2086
            fit $ranks $options
            ok "'$options' is told once, status 2 ($ranks)" refuses 2 "$text"
        done
    done <<'OPTIONS'
--mode alone|--mode wants data-parallel or ensemble, not 'alone'
--steps 0|--steps wants an integer from 1 to 10000000, not '0'
--points 1|--points wants an integer from 2 to 100000, not '1'
--learning-rate nan|--learning-rate wants a number .*, not 'nan'
--mode ensemble --checkpoint x|--checkpoint 'x' wants --mode data-parallel: .*
--frob|unknown option '--frob' .*
extra|unknown argument 'extra' .*
OPTIONS
    cat >"$tmp/differs" <<-SCRIPT
	#!/bin/sh
	[ "\$HOROVOD_RANK" = 1 ] && set -- "\$@" --steps 4
	exec "$program" "\$@"
	SCRIPT
    chmod +x "$tmp/differs"
    (program=$tmp/differs && fit 3 --steps 3 && refuses 2 '--steps is not the same on all ranks') && same=0 || same=1
    is "ranks with other options are told once, status 2" 0 "$same"
    fit 3 --help
    is "help is printed once" 1 "$(grep -c "^usage: $name" "$tmp/out")"
    is "and ends well" 0 "$status"
    status=0
    "$program" --steps 3 >/dev/full 2>"$tmp/err" || status=$?
    ok "output that cannot be written ends in status 1" refuses 1 'standard output cannot be written'
}
