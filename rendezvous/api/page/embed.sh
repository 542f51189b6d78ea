#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes a page as C on stdout: its text, and the headers it is sent with, which allow its own script and style, by
# their digests, and nothing else (Content-Security-Policy).
#
#   embed.sh status.html >status_html.c
#
# The page is ASCII; <style>, </style>, <script> and </script> stand on lines of their own, once.
set -eu
page=$1

# What stands between the two lines of an element, with the newline after the first as browsers see it.
inside() {
    echo
    sed -n "/^<$1>\$/,/^<\\/$1>\$/{/^<\\/\\{0,1\\}$1>\$/!p;}" "$page"
}

base64_of_hex() {
    awk '{
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        for (at = 1; at <= length($0); at += 6) {
            value = 0
            for (i = at; i < at + 6; i++)
                value = value * 16 + index("0123456789abcdef", substr($0 "0000", i, 1)) - 1
            for (unit = 262144; unit >= 1; unit /= 64)
                text = text substr(letters, int(value / unit) % 64 + 1, 1)
        }
        print substr(text, 1, 43) "="
    }'
}

digest() {
    inside "$1" | sha256sum | cut -d' ' -f1 | base64_of_hex
}

script=$(digest script)
style=$(digest style)
[ "${#script}${#style}" = 4444 ] || { echo "embed.sh: no digests; is sha256sum there?" >&2; exit 1; }

cat <<END
/* Made from status.html by embed.sh. */
#include "rendezvous/api/page/status_html.h"

const char status_html_headers[] =
    "Content-Security-Policy: default-src 'none'; img-src data:; connect-src 'self'; "
    "script-src 'sha256-$script'; style-src 'sha256-$style'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\\r\\n"
    "Referrer-Policy: no-referrer\\r\\n";

const char status_html[] =
END
sed 's/[\\"]/\\&/g; s/.*/    "&\\n"/; $s/$/;/' "$page"
echo
echo 'const size_t status_html_length = sizeof status_html - 1;'
