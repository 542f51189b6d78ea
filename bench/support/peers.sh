# SPDX-License-Identifier: Apache-2.0
# The peers of bench/run: building those that are installed, and starting any of them.
#
# peer_build NAME builds it, or says why it is left out and fails. peer_run NAME TRANSPORT RANKS ITEM... runs it once and prints
# its lines; TRANSPORT is tcp, unix, shm, or tcp-reno, which is tcp in a network namespace that begins with reno. peer_launch and peer_init NAME RANKS print the command whose time is taken. A peer's name is a column of the table:
# "hvd", "hvd+alloc" (libhvd with buffers from hvd_alloc), "openmpi" ...
# shellcheck shell=sh
# shellcheck disable=SC2154  # the variables are bench/run's

OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe

leave_out() {
    echo "left out: $*" | tee -a "$tmp/left_out" >&2
    return 1
}

# ---- building ----

# What every peer links: compiled once.
build_support() {
    [ -z "${support_objects-}" ] || return 0
    command -v cc >/dev/null || return
    for _source in peer verify gradient_set sample world; do
        cc -std=gnu11 -D_GNU_SOURCE -O2 -I. -c bench/support/$_source.c -o "$tmp/$_source.o" || return
    done
    for _source in examples/models/*.c; do
        cc -std=gnu11 -D_GNU_SOURCE -O2 -I. -c "$_source" -o "$tmp/model_$(basename "$_source" .c).o" || return
    done
    support_objects=$(echo "$tmp"/*.o)
}

build_mpi() {
    command -v "mpicc.$1" >/dev/null || leave_out "$1, there is no mpicc.$1" || return
    build_support || leave_out "$1, bench/support does not compile" || return
    # shellcheck disable=SC2086  # a list of files
    "mpicc.$1" -std=gnu11 -D_GNU_SOURCE -O2 -I. bench/peer_mpi.c $support_objects -lm -o "$tmp/$1" ||
        leave_out "$1, bench/peer_mpi.c does not compile"
}

build_gloo() {
    command -v g++ >/dev/null || leave_out "gloo, there is no g++" || return
    echo '#include <gloo/allreduce.h>' | g++ -E -x c++ - >/dev/null 2>&1 ||
        leave_out "gloo, its headers are not there (Debian: libgloo-dev)" || return
    build_support || leave_out "gloo, bench/support does not compile" || return
    # shellcheck disable=SC2086
    g++ -O3 -w -D_GNU_SOURCE -I. bench/peer_gloo.cc $support_objects -lgloo -lm -o "$tmp/gloo" ||
        leave_out "gloo, bench/peer_gloo.cc does not compile"
}

# Of several Pythons, the first that knows torch.
find_torch() {
    for python in python3 /usr/bin/python3; do
        "$python" -c 'import torch.distributed as d; raise SystemExit(not d.is_gloo_available())' 2>/dev/null && return
    done
    leave_out "torch, no python3 imports torch.distributed with Gloo (Debian: python3-torch)"
}

peer_build() {
    case $1 in
    openmpi | mpich) build_mpi "$1" ;;
    gloo) build_gloo ;;
    torch) find_torch ;;
    esac
}

# ---- what takes part ----

# What a peer can use.
peer_transports() {
    case $1 in
    hvd) echo "tcp tcp-reno${knows_transports:+ unix shm}" ;;
    hvd+alloc) echo "${knows_transports:+shm}" ;;
    openmpi | mpich) echo tcp tcp-reno shm ;;
    gloo | torch) echo tcp tcp-reno ;;
    bound) echo tcp tcp-reno unix shm ;;
    bound+alloc) echo shm ;;
    esac
}

# Words in front of a command that put it into a network namespace with reno. Fails where that is not permitted.
reno_find() {
    for reno in 'unshare -n' 'unshare -rn'; do
        reno="$reno sh bench/support/reno.sh"
        ! $reno true >/dev/null 2>&1 || return 0
    done
    return 1
}

# transports_find: $ways is the transports, and tcp-reno where it is asked for and permitted.
transports_find() {
    ways=
    for _transport in $transports; do
        [ "$_transport" = tcp ] && ! is_one_of default "$congestions" || ways="$ways $_transport"
        [ "$_transport" = tcp ] && is_one_of reno "$congestions" || continue
        if reno_find; then
            ways="$ways tcp-reno"
        else
            leave_out "TCP with reno, a network namespace with it is not permitted here"
        fi
    done
}

# ---- running ----

fresh_store() {
    rm -rf "$tmp/store" && mkdir "$tmp/store"
}

# Each rank on a core of its own, where there are enough.
run_hvd() {
    _alloc=$1 _transport=$2 _ranks=$3
    shift 3
    _start='exec "$@"'
    # shellcheck disable=SC2016  # for the shell of each rank
    [ "$_ranks" -gt "$cores" ] || _start='exec taskset -c $((HOROVOD_LOCAL_RANK % '$cores')) "$@"'
    [ -z "$knows_transports" ] || export HVD_TRANSPORT="$_transport"
    # shellcheck disable=SC2086  # an option, or none; a command in front, or none
    timeout -k 5 "$limit_s" $inside "$hvdrun" -np "$_ranks" sh -c "$_start" sh "$programs/collective" $_alloc "$@" >"$tmp/prefixed"
    _status=$?
    unset HVD_TRANSPORT
    sed -n 's/^\[0\]<stdout>://p' "$tmp/prefixed"
    return $_status
}

run_openmpi() {
    _transport=$1 _ranks=$2 _bind=core
    shift 2
    [ "$_ranks" -le "$cores" ] || _bind=none
    [ "$_transport" = tcp ] || _transport=vader
    _interface=
    [ -z "$inside" ] || _interface='--mca btl_tcp_if_include lo --mca oob_tcp_if_include lo'
    # shellcheck disable=SC2086
    timeout -k 5 "$limit_s" $inside mpirun.openmpi -np "$_ranks" --bind-to $_bind --mca btl "self,$_transport" --mca pml ob1 \
        $_interface "$tmp/openmpi" "$@"
}

run_mpich() {
    _transport=$1 _ranks=$2 _bind=core
    shift 2
    [ "$_ranks" -le "$cores" ] || _bind=none
    [ "$_transport" = shm ] || export UCX_TLS=tcp,self MPIR_CVAR_NOLOCAL=1
    # shellcheck disable=SC2086
    timeout -k 5 "$limit_s" $inside mpiexec.mpich -np "$_ranks" -bind-to $_bind "$tmp/mpich" "$@"
    _status=$?
    unset UCX_TLS MPIR_CVAR_NOLOCAL
    return $_status
}

# peer_torch.py knows no networks.
run_torch() {
    _ranks=$1 _name=$2 _samples=$3 _ms=$4
    shift 4
    fresh_store
    for _item; do
        case $_item in
        *:*) set -- "$@" "$_item" ;;
        *) set -- "$@" "$_item=$("$programs/layers" "$_item")" ;;
        esac
        shift
    done
    # shellcheck disable=SC2086
    timeout -k 5 "$limit_s" $inside "$python" bench/peer_torch.py "$_ranks" "$tmp/store/file" "$_name" "$_samples" "$_ms" "$@"
}

run_gloo() {
    _ranks=$1
    shift
    fresh_store
    # shellcheck disable=SC2086
    timeout -k 5 "$limit_s" $inside "$tmp/gloo" "$_ranks" "$tmp/store" "$@"
}

# run_bound PROGRAM RANKS NAME SAMPLES SAMPLE_MS ITEM...
run_bound() {
    _program=$programs/$1
    shift
    # shellcheck disable=SC2086
    timeout -k 5 "$limit_s" $inside "$_program" "$@"
}

peer_run() {
    _peer=$1 _link=$2 _n=$3 inside=
    shift 3
    set -- "$_peer/$_link" "$samples" "$sample_ms" "$@"
    [ "$_link" != tcp-reno ] || { inside=$reno && _link=tcp; }
    case $_peer/$_link in
    hvd/*) run_hvd '' "$_link" "$_n" "$@" ;;
    hvd+alloc/*) run_hvd --alloc "$_link" "$_n" "$@" ;;
    openmpi/*) run_openmpi "$_link" "$_n" "$@" ;;
    mpich/*) run_mpich "$_link" "$_n" "$@" ;;
    gloo/*) run_gloo "$_n" "$@" ;;
    torch/*) run_torch "$_n" "$@" ;;
    bound/shm) run_bound bound_private "$_n" "$@" ;;
    bound/*) run_bound bound_socket "$_n" "$@" ;;
    bound+alloc/*) run_bound bound_shared "$_n" "$@" ;;
    esac
}

# ---- starting ----

# Words of a command; nothing for a peer that starts nothing.
peer_launch() {
    case $1 in
    hvd) echo "$hvdrun -np $2 true" ;;
    openmpi) echo "mpirun.openmpi -np $2 true" ;;
    mpich) echo "mpiexec.mpich -np $2 true" ;;
    esac
}

peer_init() {
    case $1 in
    hvd) echo "$hvdrun -np $2 $programs/init" ;;
    openmpi) echo "mpirun.openmpi -np $2 $tmp/openmpi" ;;
    mpich) echo "mpiexec.mpich -np $2 $tmp/mpich" ;;
    gloo) echo "sh bench/support/gloo_init.sh $tmp $2" ;;
    esac
}
