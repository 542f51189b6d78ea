#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Gloo's wire-up with a file store, which must be new each time: gloo_init.sh FOLDER RANKS, where FOLDER has the peer's program.
rm -rf "$1/store" && mkdir "$1/store" && exec "$1/gloo" "$2" "$1/store"
