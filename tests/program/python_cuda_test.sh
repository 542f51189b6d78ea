#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tensors of CUDA in hvd.torch (tests/python/cuda_cases.py), on the stand-in of tests/stand_in_cuda; nothing here runs on a GPU.
. "$srcdir/tests/tap.sh"

if [ -z "$PYDIR" ] || ! "$PYTHON" -c 'import numpy, torch' 2>/dev/null; then
    skip "tensors of CUDA in Python" "built without Python, or no numpy or torch"
    finish
    exit
fi
stand_in=$builddir/tests/stand_in_cuda/.libs
export PYTHONPATH="$STAGE$PYDIR" PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH="$STAGE$LIBDIR:$stand_in" OMP_NUM_THREADS=1
run "$HVDRUN" -np 2 -x HVD_CUDA_NCCL=0 "$PYTHON" "$srcdir/tests/python/cuda_cases.py"
sed -i 's/^\[[0-9]*\]<std[a-z]*>://' "$tmp/out"
is "the cases end well" 0 "$status"
grep -E '^(not )?ok ' "$tmp/out" >"$tmp/cases"
while read -r outcome sentence; do
    ok "$sentence" [ "$outcome" = ok ]
done <"$tmp/cases"
finish
