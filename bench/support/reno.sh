#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A command in a network namespace that has the loopback interface only, and whose TCP begins with reno:
#
#     unshare -n sh bench/support/reno.sh COMMAND...            as root
#     unshare -rn sh bench/support/reno.sh COMMAND...           where user namespaces are permitted
ip link set lo up && echo reno >/proc/sys/net/ipv4/tcp_congestion_control && exec "$@"
