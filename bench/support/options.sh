# SPDX-License-Identifier: Apache-2.0
# The command line of bench/run: what is measured, how often, beside whom.
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154  # the variables are for bench/run

all_ops='allreduce broadcast allgather alltoall reducescatter resnet50 vgg16 launch init idle join ssh'
all_transports='tcp unix shm'
all_peers='openmpi mpich gloo torch bound'
all_congestions='default reno'
few_ranks=4 # beyond: only what the table of aims has, unless options name more

usage() {
    cat <<'END'
Usage: [BUILD=build] bench/run [OPTION...]
       bench/run --table FILE

Measures libhvd beside Open MPI, MPICH, Gloo, torch.distributed and what the hardware and the kernel allow, in turn for several
rounds. Prints medians and ratios, and writes them as a TSV.

  --aims               what bench/report has a row for, in short samples: 5 rounds in about 20 minutes
  --quick              what can be told in some minutes: of that, fewer operations, sizes, ranks and rounds
  --rounds N           how often everything is run (5; quick: 3)
  --ops LIST           of allreduce, broadcast, allgather, alltoall, reducescatter, resnet50, vgg16, launch, init, idle, join
                       and ssh (all but ssh, which needs root; quick: allreduce, resnet50, launch, init)
  --sizes LIST         bytes (8,4096,65536,262144,1048576,16777216,67108864 of allreduce; the other operations without 4096
                       and 67108864; beyond 4 ranks 8,65536; quick: 8,65536,1048576,67108864)
  --ranks LIST         of the collectives (2,4,8,16,32; quick: 2,4); beyond 4 allreduce only, unless --ops and --ranks say else
  --transports LIST    of tcp, unix, shm (all; beyond 4 ranks tcp and shm)
  --congestion LIST    of default, reno (both): reno measures TCP once more in a network namespace that begins with reno
  --peers LIST         of openmpi, mpich, gloo, torch, bound (all that are installed; beyond 4 ranks openmpi and gloo), or none
  --out FILE           the TSV (bench.tsv)
  --quiet SECONDS      wait so long at most, before each turn, for the machine to have nothing else to do (0)
  --limit SECONDS      end a turn that takes longer (120; aims: 30; quick: 15)
  --table FILE         no measuring: the table of aims from a TSV, as bench/report prints it
  --help

BUILD is where "make" was run, from the top of the source; empty means the installed hvdrun, with the programs of ./build.
END
}

refuse() {
    echo "bench/run: error: $*" >&2
    exit 2
}

# is_one_of WORD LIST
is_one_of() {
    case " $2 " in
    *" $1 "*) return 0 ;;
    esac
    return 1
}

# words OPTION VALUE ALLOWED: the value's words, separated by spaces.
words() {
    _words=$(echo "$2" | tr , ' ')
    [ -n "${_words# }" ] || refuse "option '$1' '$2': expected a list of: $3"
    for _word in $_words; do
        is_one_of "$_word" "$3" || refuse "option '$1': '$_word' is none of: $3"
    done
}

# numbers OPTION VALUE LOW HIGH: likewise.
numbers() {
    _words=$(echo "$2" | tr , ' ')
    [ -n "${_words# }" ] || refuse "option '$1' '$2': expected numbers from $3 to $4"
    for _word in $_words; do
        case $_word in
        *[!0-9]* | ???????????*) refuse "option '$1': '$_word' is not a number from $3 to $4" ;;
        esac
        { [ "$_word" -ge "$3" ] && [ "$_word" -le "$4" ]; } || refuse "option '$1': '$_word' is not a number from $3 to $4"
    done
}

number() {
    numbers "$@"
    case $_words in *' '*) refuse "option '$1': '$2' is not a number from $3 to $4" ;; esac
}

# A file's name means one where the user is.
from_here() {
    case $1 in /*) echo "$1" ;; *) echo "$here/$1" ;; esac
}

# options_defaults full|aims|quick
options_defaults() {
    preset=$1 rounds=5 samples=3 sample_ms=20 limit_s=30
    transports=$all_transports peers=$all_peers congestions=$all_congestions quiet_s=0 table=
    asked_for='' # options that were given
    out=$(from_here bench.tsv)
    ops=${all_ops% ssh} ranks='2 4 8 16 32' launch_ranks='2 16 64' init_ranks='2 16 64 128'
    sizes='8 4096 65536 262144 1048576 16777216 67108864'
    case $1 in
    full) samples=5 sample_ms=100 limit_s=120 init_ranks='2 4 8 16 32 64 128' ;;
    quick)
        rounds=3 limit_s=15 ops='allreduce resnet50 launch init' ranks='2 4' init_ranks='2 16'
        sizes='8 65536 1048576 67108864'
        ;;
    esac
}

options_parse() {
    options_defaults full
    for _word; do
        case $_word in --quick | --aims) options_defaults "${_word#--}" ;; esac
    done
    while [ $# -gt 0 ]; do
        case $1 in
        --quick | --aims) shift && continue ;;
        --help) usage && exit 0 ;;
        --rounds | --ops | --sizes | --ranks | --transports | --congestion | --peers | --out | --quiet | --limit | --table)
            [ $# -gt 1 ] || refuse "option '$1' needs a value" ;;
        *) refuse "'$1' is not an option; see bench/run --help" ;;
        esac
        asked_for="$asked_for $1"
        case $1 in
        --rounds) number "$1" "$2" 1 1000 && rounds=$2 ;;
        --ops) words "$1" "$2" "$all_ops" && ops=$_words ;;
        --sizes) numbers "$1" "$2" 0 4294967296 && sizes=$_words ;;
        --ranks) numbers "$1" "$2" 2 64 && ranks=$_words ;;
        --transports) words "$1" "$2" "$all_transports" && transports=$_words ;;
        --congestion) words "$1" "$2" "$all_congestions" && congestions=$_words ;;
        --peers) words "$1" "$2" "$all_peers none" && peers=${_words#none} ;;
        --out) out=$(from_here "$2") ;;
        --quiet) number "$1" "$2" 0 3600 && quiet_s=$2 ;;
        --limit) number "$1" "$2" 1 3600 && limit_s=$2 ;;
        --table) table=$(from_here "$2") ;;
        esac
        shift 2
    done
}
